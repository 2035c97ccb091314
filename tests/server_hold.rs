//! Messages settled on a real server: in one transaction and in two, against rivals, and from hand to hand. And
//! what the server does with locks, in scenarios small enough to be known beforehand: the workloads rely on it.

mod support;

use std::sync::Arc;
use std::time::Duration;

use idembench::drive::{Options, Target};
use idembench::load::{LoadRequest, Method, Progress, Verify, load};
use idembench::results::StepResult;
use idembench::server::Server;
use idembench::spec::dataset::Dataset;
use idembench::spec::suite::{
    ContentionSpec, Design, HoldSpec, Isolation, KeyOrder, Load, Locking, OwnerEnds, OwnerState,
    RebalanceSpec, Step, WarmUp, Workload,
};
use idembench::units::{PerSecond, Rows, Span};
use idembench::workload;
use sqlx::mysql::MySqlDatabaseError;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

const DESIGNS: [Design; 3] = [Design::OneTransaction, Design::TwoTransactions, Design::BatchedClaims];

fn request(dataset: &Dataset) -> LoadRequest {
    LoadRequest {
        dataset: dataset.clone(),
        method: Method::Insert,
        verify: Verify::Off,
        streams: None,
        replace: None,
    }
}

/// 5,000 rows of a built-in dataset, loaded.
async fn loaded(server: &Server, name: &str) -> Dataset {
    let dataset = Dataset::read(name).expect(name);
    let dataset = dataset.scaled(Some(Rows(5_000)), None, None, None).expect("scaled");
    load(server, &request(&dataset), &Arc::new(Progress::default())).await.expect("a load");
    dataset
}

fn ms(count: u64) -> Span {
    Span(Duration::from_millis(count))
}

fn hold(design: Design) -> HoldSpec {
    HoldSpec {
        design,
        batch: 1,
        rows_per_transaction: 1,
        handler_time: ms(0),
        isolation: Isolation::RepeatableRead,
        key_order: KeyOrder::AsDelivered,
        duplicate_share: 0.0,
        deadlock_retries: 3,
    }
}

fn contention(design: Design) -> ContentionSpec {
    ContentionSpec {
        consumers: hold(design),
        hot_orders: 3,
        exponent: 0.99,
        rival_share: 0.5,
        rival_time: ms(2),
    }
}

fn rebalance(design: Design, owner_state: OwnerState, locking: Locking) -> RebalanceSpec {
    RebalanceSpec {
        design,
        batch: 10,
        isolation: Isolation::ReadCommitted,
        owner_state,
        owner_ends: OwnerEnds::Vanishes,
        owner_time: ms(20),
        locking,
    }
}

/// A second and a half at `rate` over four connections, without a warm-up.
fn step(workload: Workload, rate: f64) -> Step {
    Step {
        name: "a step".to_owned(),
        workload,
        load: Load::Open { rate: PerSecond::new(rate).expect("a rate"), connections: 4 },
        duration: ms(1_500),
        warm_up: WarmUp { at_least: Span::seconds(0), at_most: Span::seconds(0) },
    }
}

async fn run(server: &Server, dataset: &Dataset, step: &Step) -> StepResult {
    let target = Target { options: server.connect_options(), server_pid: server.pid() };
    workload::run(step, dataset, &target, &Options::default()).await.expect("a step that can be built")
}

fn assert_sound(result: &StepResult, operations: u64) {
    assert_eq!(result.failure, None, "{:?}", result.checks);
    assert!(result.checks.iter().all(|check| check.held), "{:?}", result.checks);
    assert_eq!(result.outcomes.values().sum::<u64>(), operations, "{:?}", result.outcomes);
}

fn count(result: &StepResult, series: &str) -> u64 {
    result.latency_us.get(series).map_or(0, |summary| summary.count)
}

fn outcome(result: &StepResult, name: &str) -> u64 {
    result.outcomes.get(name).copied().unwrap_or(0)
}

/// A table's rows.
async fn rows(server: &Server, table: &str) -> i64 {
    let mut connection = server.connect().await.expect("a connection");
    let sql = format!("SELECT COUNT(*) FROM {table}");
    connection.fetch_one(AssertSqlSafe(sql)).await.expect("a count").get(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_design_settles_every_message_once_and_takes_its_rows_away() {
    for name in ["seed", "t_idem", "t_idem_surrogate"] {
        let Some(server) = support::schema(&format!("hold_designs_{name}")).await else { return };
        let dataset = loaded(&server, name).await;
        for design in DESIGNS {
            let result = run(&server, &dataset, &step(Workload::Hold(hold(design)), 100.0)).await;
            assert_sound(&result, 150);
            assert_eq!(outcome(&result, "ok"), 150, "{:?}", result.outcomes);
            let (one, two) = if design == Design::OneTransaction { (150, 0) } else { (0, 150) };
            let counts = ["hold", "commit", "hold_tx1", "commit_tx1", "hold_tx2", "commit_tx2", "window"]
                .map(|series| count(&result, series));
            assert_eq!(counts, [one, one, two, two, two, two, two], "{design:?}");
            assert_eq!(rows(&server, &dataset.table.name).await, 5_000);
            assert_eq!(rows(&server, "t_settle_bill").await, 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn polls_are_cut_into_transactions_and_redeliveries_are_left_out_of_them() {
    let Some(server) = support::schema("hold_polls").await else { return };
    let dataset = loaded(&server, "seed").await;
    for (design, key_order) in
        DESIGNS.into_iter().zip([KeyOrder::Sorted, KeyOrder::AsDelivered, KeyOrder::Sorted])
    {
        let spec = HoldSpec { batch: 20, rows_per_transaction: 7, key_order, ..hold(design) };
        let result = run(&server, &dataset, &step(Workload::Hold(spec.clone()), 10.0)).await;
        assert_sound(&result, 15);
        let (whole, claims, finishes) = match design {
            Design::OneTransaction => (45, 0, 0),
            Design::TwoTransactions => (0, 45, 45),
            Design::BatchedClaims => (0, 15, 45),
        };
        let counts = ["hold", "hold_tx1", "hold_tx2"].map(|series| count(&result, series));
        assert_eq!(counts, [whole, claims, finishes], "{design:?}");
        // 1062 ends the transaction at once; what is left of it is sent again.
        let spec = HoldSpec { duplicate_share: 0.3, isolation: Isolation::ReadCommitted, ..spec };
        let result = run(&server, &dataset, &step(Workload::Hold(spec), 10.0)).await;
        assert_sound(&result, 15);
        assert!(result.errors.iter().any(|error| error.code == 1062), "{:?}", result.errors);
        assert!(count(&result, "hold_rolled_back") > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_handler_s_time_is_held_by_one_transaction_and_lies_between_two() {
    let Some(server) = support::schema("hold_handler").await else { return };
    let dataset = loaded(&server, "seed").await;
    let of = async |design| {
        let spec = HoldSpec { handler_time: ms(20), ..hold(design) };
        let result = run(&server, &dataset, &step(Workload::Hold(spec), 20.0)).await;
        assert_sound(&result, 30);
        result
    };
    let one = of(Design::OneTransaction).await;
    assert!(one.latency_us["hold"].min >= 20_000, "{:?}", one.latency_us["hold"]);
    let two = of(Design::TwoTransactions).await;
    assert!(two.latency_us["window"].min >= 20_000, "{:?}", two.latency_us["window"]);
}

/// What a broken driver or a trigger does: a bill that is lost, one too many, a PENDING that nobody knows of.
#[tokio::test(flavor = "multi_thread")]
async fn lost_doubled_and_half_effects_fail_the_step() {
    let Some(server) = support::schema("hold_effects").await else { return };
    let dataset = loaded(&server, "seed").await;
    for (trigger, design, broken) in [
        (
            "BEFORE INSERT ON t_settle_bill FOR EACH ROW SET NEW.amount = NEW.amount + 0.01",
            DESIGNS[0],
            "message",
        ),
        ("BEFORE INSERT ON t_settle_bill FOR EACH ROW SET NEW.order_id = 'ord_other'", DESIGNS[0], "order"),
        ("BEFORE UPDATE ON t_idempotent FOR EACH ROW SET NEW.status = 'PENDING'", DESIGNS[1], "half"),
    ] {
        let mut connection = server.connect().await.expect("a connection");
        for statement in
            ["DROP TRIGGER IF EXISTS effects".to_owned(), format!("CREATE TRIGGER effects {trigger}")]
        {
            connection.execute(AssertSqlSafe(statement)).await.expect("a trigger");
        }
        let result = run(&server, &dataset, &step(Workload::Hold(hold(design)), 20.0)).await;
        assert_eq!(result.verdict, "failed", "{trigger}: {:?}", result.checks);
        let failed: Vec<&str> =
            result.checks.iter().filter(|check| !check.held).map(|check| check.name.as_str()).collect();
        assert!(failed.iter().any(|name| name.contains(broken)), "{trigger}: {failed:?}");
        assert_eq!(rows(&server, "t_idempotent").await, 5_000);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_step_leaves_is_gone_with_the_next_load() {
    let Some(server) = support::schema("hold_killed").await else { return };
    let dataset = loaded(&server, "seed").await;
    let mut connection = server.connect().await.expect("a connection");
    for statement in [
        "REPLACE INTO idembench_step_rows VALUES ('t_idempotent', 'msg_id', 5001, NOW())",
        "INSERT INTO t_idempotent VALUES ('ord_x', 5001, 'DONE'), ('ord_y', 5002, 'PENDING')",
    ] {
        connection.execute(statement).await.expect("a step's rows");
    }
    let again = load(&server, &request(&dataset), &Arc::new(Progress::default())).await.expect("it is whole");
    assert_eq!(again.method, "already loaded");
    assert_eq!(rows(&server, "t_idempotent").await, 5_000);
    assert_eq!(rows(&server, "idembench_step_rows").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rivals_update_the_bills_that_consumers_insert_and_the_money_is_right() {
    let Some(server) = support::schema("contention_rivals").await else { return };
    let dataset = loaded(&server, "seed").await;
    for (design, isolation) in
        [(DESIGNS[0], Isolation::RepeatableRead), (DESIGNS[1], Isolation::ReadCommitted)]
    {
        let mut spec = contention(design);
        spec.consumers = HoldSpec { isolation, duplicate_share: 0.1, handler_time: ms(1), ..spec.consumers };
        let result = run(&server, &dataset, &step(Workload::Contention(spec), 100.0)).await;
        assert_sound(&result, 150);
        assert!(count(&result, "update_rival") >= count(&result, "hold_rival"));
        assert!(count(&result, "hold_rival") > 30, "{:?}", result.latency_us);
        assert_eq!(result.statements[1].key.as_deref(), Some("k_order"), "{:?}", result.statements);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_changes_hands_whatever_its_old_owner_was_doing() {
    let Some(server) = support::schema("rebalance_states").await else { return };
    let dataset = loaded(&server, "seed").await;
    for design in DESIGNS {
        for state in [OwnerState::Idle, OwnerState::Executing, OwnerState::Waiting, OwnerState::Committing] {
            for locking in [Locking::Wait, Locking::NoWait, Locking::SkipLocked] {
                for owner_ends in [OwnerEnds::Vanishes, OwnerEnds::GoesOn] {
                    let spec = RebalanceSpec { owner_ends, ..rebalance(design, state, locking) };
                    let short = Step { duration: ms(300), ..step(Workload::Rebalance(spec.clone()), 20.0) };
                    let result = run(&server, &dataset, &short).await;
                    assert_eq!(result.failure, None, "{spec:?}: {:?} {:?}", result.errors, result.checks);
                    assert_sound(&result, 6);
                    assert_eq!(count(&result, "takeover"), 6, "{spec:?}");
                    let blocked = result.latency_us["takeover"].min;
                    // The first row at least is the old owner's until its time is over.
                    if state == OwnerState::Idle {
                        assert!(blocked >= 15_000, "{spec:?}: {blocked}");
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pauses_longer_than_the_lock_timeout_and_strange_tables_are_refused() {
    let Some(server) = support::schema("hold_refused").await else { return };
    let dataset = loaded(&server, "seed").await;
    let long = ContentionSpec { rival_time: Span::seconds(60), ..contention(DESIGNS[0]) };
    let result = run(&server, &dataset, &step(Workload::Contention(long), 1.0)).await;
    assert!(
        result.failure.as_ref().is_some_and(|why| why.contains("innodb_lock_wait_timeout")),
        "{result:?}"
    );
    let mut connection = server.connect().await.expect("a connection");
    connection
        .execute("DELETE FROM idembench_tables WHERE table_name = 't_settle_bill'")
        .await
        .expect("struck out");
    connection
        .execute("INSERT INTO t_settle_bill (order_id, amount, status) VALUES ('mine', 1, 'SETTLED')")
        .await
        .expect("a row");
    let result = run(&server, &dataset, &step(Workload::Hold(hold(DESIGNS[0])), 1.0)).await;
    assert!(result.failure.as_ref().is_some_and(|why| why.contains("did not make it")), "{result:?}");
    assert_eq!(rows(&server, "t_settle_bill").await, 1);
}

#[test]
fn what_does_not_fit_a_table_is_known_without_a_server() {
    let check = |dataset: &Dataset, workload: Workload, part: &str| {
        let error = workload::check(&step(workload, 1.0), dataset).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    let seed = Dataset::read("seed").expect("built in");
    let hash = Dataset::read("t_idem_hash").expect("built in");
    check(&hash, Workload::Hold(hold(DESIGNS[0])), "no text column");
    let mut bare = seed.clone();
    bare.companions.clear();
    check(&bare, Workload::Hold(hold(DESIGNS[0])), "t_settle_bill.sql");
    let mut unindexed = seed.clone();
    unindexed.companions[0].indexes.clear();
    check(&unindexed, Workload::Contention(contention(DESIGNS[0])), "KEY (order_id)");
    let many = ContentionSpec { hot_orders: 2_000_000, ..contention(DESIGNS[0]) };
    check(&seed, Workload::Contention(many), "more than the");
}

// What the server does with locks.

/// An idempotency table of three rows, with gaps between them.
async fn small_table(server: &Server) {
    let mut connection = server.connect().await.expect("a connection");
    for statement in [
        "CREATE TABLE t (k INT PRIMARY KEY, status VARCHAR(8) NOT NULL) ENGINE=InnoDB",
        "INSERT INTO t VALUES (10, 'PENDING'), (20, 'PENDING'), (30, 'PENDING')",
    ] {
        connection.execute(statement).await.expect("a table");
    }
}

async fn session(server: &Server, level: &str) -> MySqlConnection {
    let mut connection = server.connect().await.expect("a connection");
    let sql = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
    connection.execute(AssertSqlSafe(sql)).await.expect("a level");
    connection.execute("SET SESSION innodb_lock_wait_timeout = 1").await.expect("a timeout");
    connection
}

/// The error number of a statement, 0 if it worked.
async fn code(connection: &mut MySqlConnection, sql: &'static str) -> u16 {
    match connection.execute(sql).await {
        Ok(_) => 0,
        Err(error) => match error.as_database_error() {
            Some(error) => error.downcast_ref::<MySqlDatabaseError>().number(),
            None => panic!("{sql}: {error}"),
        },
    }
}

/// Waits until so many transactions wait for a lock with this statement.
async fn until_waiting(server: &Server, statement: &str, wanted: i64) {
    let mut connection = server.connect().await.expect("a connection");
    let sql = "SELECT COUNT(*) FROM information_schema.INNODB_TRX \
               WHERE trx_state = 'LOCK WAIT' AND trx_query = ?";
    for _ in 0..100 {
        let waiting: i64 =
            sqlx::query(sql).bind(statement).fetch_one(&mut connection).await.expect("a count").get(0);
        if waiting >= wanted {
            return;
        }
        // The server makes its list of transactions anew only when nobody has read it for 100 ms.
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    panic!("nobody waits");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_of_three_equal_inserts_deadlock_when_the_first_rolls_back() {
    let Some(server) = support::schema("locks_three").await else { return };
    small_table(&server).await;
    let insert = "INSERT INTO t VALUES (15, 'DONE')";
    let mut first = session(&server, "REPEATABLE READ").await;
    code(&mut first, "START TRANSACTION").await;
    assert_eq!(code(&mut first, insert).await, 0);
    let others = [(); 2].map(|()| {
        let server = server.in_schema("locks_three");
        tokio::spawn(async move {
            let mut other = session(&server, "REPEATABLE READ").await;
            code(&mut other, "SET SESSION innodb_lock_wait_timeout = 20").await;
            code(&mut other, "START TRANSACTION").await;
            let code = code(&mut other, insert).await;
            other.execute("ROLLBACK").await.expect("rolled back");
            code
        })
    });
    until_waiting(&server, insert, 2).await;
    assert_eq!(code(&mut first, "ROLLBACK").await, 0);
    let mut codes = Vec::new();
    for other in others {
        codes.push(other.await.expect("an answer"));
    }
    codes.sort_unstable();
    assert_eq!(codes, [0, 1213]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locking_read_of_a_missing_row_locks_its_gap_under_repeatable_read_only() {
    let Some(server) = support::schema("locks_gap").await else { return };
    small_table(&server).await;
    for (level, expect) in [("REPEATABLE READ", 1205), ("READ COMMITTED", 0)] {
        let mut reader = session(&server, level).await;
        let mut writer = session(&server, level).await;
        code(&mut reader, "START TRANSACTION").await;
        assert_eq!(code(&mut reader, "SELECT * FROM t WHERE k = 15 FOR UPDATE").await, 0);
        assert_eq!(code(&mut writer, "INSERT INTO t VALUES (16, 'DONE')").await, expect, "{level}");
        code(&mut reader, "ROLLBACK").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn error_1205_keeps_the_transaction_and_its_locks() {
    let Some(server) = support::schema("locks_timeout").await else { return };
    small_table(&server).await;
    let mut holder = session(&server, "READ COMMITTED").await;
    let mut waiter = session(&server, "READ COMMITTED").await;
    let mut third = session(&server, "READ COMMITTED").await;
    code(&mut holder, "START TRANSACTION").await;
    code(&mut holder, "UPDATE t SET status = 'DONE' WHERE k = 20").await;
    code(&mut waiter, "START TRANSACTION").await;
    assert_eq!(code(&mut waiter, "UPDATE t SET status = 'DONE' WHERE k = 10").await, 0);
    assert_eq!(code(&mut waiter, "UPDATE t SET status = 'DONE' WHERE k = 20").await, 1205);
    // Row 10 is still the waiter's: without a ROLLBACK it would be for as long as its session lives.
    assert_eq!(code(&mut third, "SELECT * FROM t WHERE k = 10 FOR UPDATE NOWAIT").await, 3572);
    code(&mut waiter, "ROLLBACK").await;
    assert_eq!(code(&mut third, "SELECT * FROM t WHERE k = 10 FOR UPDATE NOWAIT").await, 0);
    code(&mut holder, "ROLLBACK").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn skip_locked_does_not_show_what_a_finisher_holds() {
    let Some(server) = support::schema("locks_skip").await else { return };
    small_table(&server).await;
    let mut finisher = session(&server, "READ COMMITTED").await;
    let mut taker = session(&server, "READ COMMITTED").await;
    code(&mut finisher, "START TRANSACTION").await;
    code(&mut finisher, "UPDATE t SET status = 'DONE' WHERE k = 20").await;
    code(&mut finisher, "INSERT INTO t VALUES (25, 'DONE')").await;
    code(&mut taker, "START TRANSACTION").await;
    let found = taker.fetch_all("SELECT k FROM t WHERE k IN (10, 15, 20, 25) FOR UPDATE SKIP LOCKED").await;
    let found: Vec<i32> = found.expect("rows").iter().map(|row| row.get(0)).collect();
    // 15 is not there, 20 and 25 are: SKIP LOCKED does not tell them apart.
    assert_eq!(found, [10]);
    code(&mut finisher, "COMMIT").await;
    code(&mut taker, "ROLLBACK").await;
}

/// Error 1205 is an outcome of its own, its transaction is rolled back, and nothing of its message is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_timeout_leaves_neither_rows_nor_locks() {
    let Some(server) = support::schema("hold_timeout").await else { return };
    let dataset = loaded(&server, "seed").await;
    let mut admin = server.connect().await.expect("a connection");
    let mut blocker = server.connect().await.expect("a connection");
    admin.execute("SET GLOBAL innodb_lock_wait_timeout = 1").await.expect("set");
    // Gaps of all orders, so that no bill can be inserted: once there are any, for the step empties them first.
    let locks = tokio::spawn(async move {
        let count = "SELECT COUNT(*) FROM t_settle_bill";
        while blocker.fetch_one(count).await.expect("a count").get::<i64, _>(0) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        blocker.execute("START TRANSACTION").await.expect("begun");
        blocker.execute("SELECT * FROM t_settle_bill FOR UPDATE").await.expect("locked");
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        blocker.execute("ROLLBACK").await.expect("rolled back");
    });
    let long = Step { duration: Span::seconds(4), ..step(Workload::Hold(hold(DESIGNS[1])), 4.0) };
    let result = run(&server, &dataset, &long).await;
    locks.await.expect("no panic");
    admin.execute("SET GLOBAL innodb_lock_wait_timeout = 50").await.expect("set");
    assert!(outcome(&result, "lock_timeout") > 0, "{:?}", result.outcomes);
    assert_eq!(result.failure, None, "{:?}", result.checks);
    assert!(count(&result, "hold_rolled_back") > 0);
    assert_eq!(rows(&server, "t_idempotent").await, 5_000);
}
