//! Odd cases that others have met, on a real server: what its locks do, and that claims come through it.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use idembench::drive::{Options, Target};
use idembench::recorder::Outcome;
use idembench::results::StepResult;
use idembench::server::Server;
use idembench::spec::dataset::Dataset;
use idembench::spec::suite::{ClaimSpec, ClaimStatement, Load, Step, Targets, WarmUp, Workload};
use idembench::table::sweep;
use idembench::units::{PerSecond, Span};
use idembench::workload;
use sqlx::mysql::MySqlDatabaseError;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};
use tokio::sync::Mutex;

/// Lock waits are as long as a global variable says: who changes it, or minds it, is alone.
static LOCK_WAITS: Mutex<()> = Mutex::const_new(());

async fn execute(connection: &mut MySqlConnection, sql: &str) -> Result<(), sqlx::Error> {
    connection.execute(AssertSqlSafe(sql.to_owned())).await.map(|_| ())
}

async fn number(server: &Server, sql: &str) -> i64 {
    let mut connection = server.connect().await.expect("a connection");
    let row = connection.fetch_one(AssertSqlSafe(sql.to_owned())).await.expect(sql);
    row.try_get(0).expect("a number")
}

/// How the program would count this answer.
fn outcome(answer: Result<(), sqlx::Error>) -> Outcome {
    let Err(error) = answer else { return Outcome::Ok };
    let error = error.into_database_error().expect("the server's own answer");
    Outcome::of_error_code(error.downcast_ref::<MySqlDatabaseError>().number())
}

/// Three sessions insert one key, the first rolls back.
async fn check_rolled_back_insert(server: &Server, table: &str, insert: fn(u8) -> String) {
    let mut first = server.connect().await.expect("a connection");
    sweep::begin(&mut first).await.expect("begun");
    execute(&mut first, &insert(1)).await.expect("the first has it");
    let mut waiters = Vec::new();
    for waiter in [2, 3] {
        let mut connection = server.connect().await.expect("a connection");
        waiters.push(tokio::spawn(async move { outcome(execute(&mut connection, &insert(waiter)).await) }));
    }
    let waiting = format!(
        "SELECT COUNT(*) FROM performance_schema.data_locks \
         WHERE OBJECT_SCHEMA = DATABASE() AND OBJECT_NAME = '{table}' AND LOCK_STATUS = 'WAITING'"
    );
    while number(server, &waiting).await < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    sweep::rollback(&mut first).await.expect("rolled back");
    let mut outcomes = Vec::new();
    for waiter in waiters {
        outcomes.push(waiter.await.expect("it ends"));
    }
    outcomes.sort();
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Deadlock], "{table}");
    // The loser's second attempt learns that the message has been taken.
    assert_eq!(outcome(execute(&mut first, &insert(4)).await), Outcome::Duplicate, "{table}");
}

/// Both waiters are given a shared lock on the gap that the first one leaves, and each then waits for the
/// other to write into it. The consumer that will insert so is later work: this is the server's part of it, on
/// the table of the report and on ours.
#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_insert_lets_exactly_one_of_two_waiters_win() {
    let Some(server) = support::schema("cases_rolled_back").await else { return };
    let mut connection = server.connect().await.expect("a connection");
    support::loaded(&server, "t_idem", 100, 2).await;
    let user =
        "CREATE TABLE user (id VARCHAR(10) PRIMARY KEY, uniqkey VARCHAR(10) NOT NULL, UNIQUE (uniqkey))";
    execute(&mut connection, user).await.expect("a table");
    check_rolled_back_insert(&server, "user", |session| {
        format!("INSERT INTO user VALUES ('{session}', 'k')")
    })
    .await;
    check_rolled_back_insert(&server, "t_idem", |session| {
        format!(
            "INSERT INTO t_idem (biz_key, msg_id, event_day, status, owner, lease_until, created_at) \
             VALUES ('zz', 1, '2026-01-07', 'PENDING', {session}, NOW(3), NOW(3))"
        )
    })
    .await;
    assert_eq!(number(&server, "SELECT COUNT(*) FROM user").await, 1);
    assert_eq!(number(&server, "SELECT COUNT(*) FROM t_idem WHERE biz_key = 'zz'").await, 1);
}

/// Sweeps over four connections; no row can be taken twice while the step lasts.
fn sweeps(statement: ClaimStatement, per_second: f64, duration: Duration) -> Step {
    Step {
        name: "sweep".to_owned(),
        workload: Workload::Claim(ClaimSpec {
            statement,
            targets: Targets::Uniform,
            losing_share: 0.0,
            duplicate_share: 0.0,
            lease: Span::seconds(600),
        }),
        load: Load::Open { rate: PerSecond::new(per_second).expect("a rate"), connections: 4 },
        duration: Span(duration),
        warm_up: WarmUp { at_least: Span::seconds(0), at_most: Span::seconds(0) },
    }
}

async fn drive(server: &Server, dataset: &Dataset, step: &Step) -> StepResult {
    let target = Target { options: server.connect_options(), server_pid: server.pid() };
    workload::run(step, dataset, &target, &Options::default()).await.expect("a step that can be built")
}

fn count(result: &StepResult, outcome: Outcome) -> u64 {
    result.outcomes.get(outcome.name()).copied().unwrap_or(0)
}

/// Every operation has its outcome, every check holds, and the table has the rows that the sweeps say they
/// took, no more: nothing of a sweep that failed was committed.
async fn assert_nothing_is_lost(server: &Server, table: &str, result: &StepResult, operations: u64) {
    assert_eq!(result.failure, None, "{:?}", result.checks);
    assert!(result.checks.iter().all(|check| check.held), "{:?}", result.checks);
    assert_eq!(result.outcomes.values().sum::<u64>(), operations, "{:?}", result.outcomes);
    assert_eq!(count(result, Outcome::Error), 0, "{:?}", result.errors);
    let taken = result.checks.iter().find(|check| check.detail.contains("rows taken")).expect("it is said");
    let digits = taken.detail.split(" rows taken").next().expect("a number").replace(',', "");
    let taken: i64 = digits.parse().expect("a number");
    let there = format!("SELECT COUNT(*) FROM {table} WHERE owner <> 0 AND token = 1");
    assert_eq!(number(server, &there).await, taken, "{:?}", result.outcomes);
    assert_eq!(number(server, &format!("SELECT COUNT(*) FROM {table} WHERE token > 0")).await, taken);
}

/// A claimer of the old kind: it takes what is due through the secondary index, from its end, and holds two
/// locks a row until it commits.
async fn rival(server: Server, table: &'static str, done: Arc<AtomicBool>) {
    const LIMIT: u64 = 300;
    let mut connection = server.connect().await.expect("a connection");
    let limited = format!(
        "UPDATE {table} FORCE INDEX (k_status_lease) SET created_at = created_at + INTERVAL 1000 MICROSECOND \
         WHERE status = 'PENDING' ORDER BY status DESC, lease_until DESC LIMIT {LIMIT}"
    );
    let mut locked_max = 0;
    while !done.load(Ordering::SeqCst) {
        sweep::begin(&mut connection).await.expect("begun");
        match outcome(execute(&mut connection, &limited).await) {
            Outcome::Ok => {
                let locked = sweep::rows_locked(&mut connection).await.expect("asked");
                // The server's list of transactions is up to 100 ms old: ours may not stand in it yet.
                locked_max = locked_max.max(locked.unwrap_or(0));
                sweep::commit(&mut connection).await.expect("committed");
            }
            Outcome::Deadlock => sweep::rollback(&mut connection).await.expect("rolled back"),
            other => panic!("{other:?}"),
        }
        // Sweeps must come to their rows in between.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(locked_max >= 2 * LIMIT, "each row is locked in both indexes: {locked_max}");
}

/// Sweeps beside the rival: how they ended, every claim accounted for.
async fn sweeps_beside_a_rival(server: &Server, statement: ClaimStatement) -> StepResult {
    const TABLE: &str = "t_idem_status_index";
    let mut connection = server.connect().await.expect("a connection");
    for sql in [format!("DROP TABLE IF EXISTS {TABLE}"), "DROP TABLE IF EXISTS idembench_load".to_owned()] {
        execute(&mut connection, &sql).await.expect("a fresh table");
    }
    let dataset = support::loaded(server, TABLE, 20_000, 2).await;
    let done = Arc::new(AtomicBool::new(false));
    let rival = tokio::spawn(rival(server.in_schema("cases_limited"), TABLE, Arc::clone(&done)));
    let result = drive(server, &dataset, &sweeps(statement, 60.0, Duration::from_secs(2))).await;
    done.store(true, Ordering::SeqCst);
    rival.await.expect("the rival ends well");
    assert!(count(&result, Outcome::Ok) > 0, "{:?}", result.outcomes);
    assert_nothing_is_lost(server, TABLE, &result, 120).await;
    result
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limited_update_over_a_secondary_index_deadlocks_and_no_claim_is_lost() {
    let Some(server) = support::schema("cases_limited").await else { return };
    let _alone = LOCK_WAITS.lock().await;
    // One statement leaves little time between its locks: it may come through without a deadlock.
    sweeps_beside_a_rival(&server, ClaimStatement::SweepKeyList { batch: 20 }).await;
    // Between finding and taking there is a round trip; still, who meets whom is chance.
    for _ in 0..6 {
        let result = sweeps_beside_a_rival(&server, ClaimStatement::SweepSkipLocked { batch: 20 }).await;
        if count(&result, Outcome::Deadlock) > 0 {
            assert!(result.errors.iter().any(|error| error.code == 1213), "{:?}", result.errors);
            return;
        }
    }
    panic!("no sweep met its rival");
}

/// Error 1205 rolls back its statement and nothing else, so that a COMMIT after it keeps half the work.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_timeout_is_followed_by_a_rollback_and_half_work_is_never_committed() {
    let Some(server) = support::schema("cases_timeout").await else { return };
    let _alone = LOCK_WAITS.lock().await;
    let mut root = server.connect().await.expect("a connection");
    execute(&mut root, "SET GLOBAL innodb_lock_wait_timeout = 1").await.expect("set");
    for statement in
        [ClaimStatement::SweepSkipLocked { batch: 20 }, ClaimStatement::SweepKeyList { batch: 20 }]
    {
        sweeps_that_time_out(&server, statement).await;
    }
    // Last: a schema with a table of others would not be loaded into.
    half_a_pair(&server).await;
    execute(&mut root, "SET GLOBAL innodb_lock_wait_timeout = DEFAULT").await.expect("set back");
}

/// The fact, and that our rollback is the cure.
async fn half_a_pair(server: &Server) {
    let mut holder = server.connect().await.expect("a connection");
    for sql in
        ["CREATE TABLE pair (id INT PRIMARY KEY, n INT NOT NULL)", "INSERT INTO pair VALUES (1, 0), (2, 0)"]
    {
        execute(&mut holder, sql).await.expect(sql);
    }
    sweep::begin(&mut holder).await.expect("begun");
    execute(&mut holder, "UPDATE pair SET n = n WHERE id = 2").await.expect("held");
    for (commits, half) in [(false, 0), (true, 1)] {
        let mut connection = server.connect().await.expect("a connection");
        sweep::begin(&mut connection).await.expect("begun");
        execute(&mut connection, "UPDATE pair SET n = n + 1 WHERE id = 1").await.expect("the first row");
        let second = execute(&mut connection, "UPDATE pair SET n = n + 1 WHERE id = 2").await;
        assert_eq!(outcome(second), Outcome::LockTimeout);
        match commits {
            true => sweep::commit(&mut connection).await.expect("committed"),
            false => sweep::rollback(&mut connection).await.expect("rolled back"),
        }
        assert_eq!(number(server, "SELECT n FROM pair WHERE id = 1").await, half, "COMMIT: {commits}");
    }
}

/// Somebody holds the gap into which every claim writes its new lease, and lets it go in the middle.
async fn sweeps_that_time_out(server: &Server, statement: ClaimStatement) {
    const TABLE: &str = "t_idem_status_index";
    let mut holder = server.connect().await.expect("a connection");
    for sql in [format!("DROP TABLE IF EXISTS {TABLE}"), "DROP TABLE IF EXISTS idembench_load".to_owned()] {
        execute(&mut holder, &sql).await.expect("a fresh table");
    }
    let dataset = support::loaded(server, TABLE, 20_000, 2).await;
    let gap = format!(
        "SELECT COUNT(*) FROM {TABLE} FORCE INDEX (k_status_lease) \
         WHERE status = 'PENDING' AND lease_until > '2100-01-01' FOR UPDATE"
    );
    sweep::begin(&mut holder).await.expect("begun");
    execute(&mut holder, &gap).await.expect("held");
    let held = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        sweep::rollback(&mut holder).await.expect("let go");
    });
    let result = drive(server, &dataset, &sweeps(statement, 20.0, Duration::from_millis(2_500))).await;
    held.await.expect("it ends");
    assert!(count(&result, Outcome::LockTimeout) > 0, "{:?}", result.outcomes);
    assert!(count(&result, Outcome::Ok) > 0, "{:?}", result.outcomes);
    assert_eq!(count(&result, Outcome::Deadlock), 0, "{:?}", result.outcomes);
    assert!(result.errors.iter().any(|error| error.code == 1205), "{:?}", result.errors);
    assert_nothing_is_lost(server, TABLE, &result, 50).await;
}
