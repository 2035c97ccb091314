//! The claim workload on a real server: who wins, who loses, what the rows say afterwards.

mod support;

use std::time::Duration;

use idembench::drive::{Options, Target};
use idembench::results::StepResult;
use idembench::server::Server;
use idembench::spec::dataset::Dataset;
use idembench::spec::suite::{ClaimSpec, ClaimStatement, Load, Step, Targets, WarmUp, Workload};
use idembench::units::{PerSecond, Span};
use idembench::workload;
use sqlx::{AssertSqlSafe, Executor, Row};

/// 20,000 rows of a built-in dataset on three days, loaded.
async fn loaded(server: &Server, name: &str) -> Dataset {
    support::loaded(server, name, 20_000, 3).await
}

fn spec(statement: ClaimStatement) -> ClaimSpec {
    ClaimSpec {
        statement,
        targets: Targets::Uniform,
        losing_share: 0.0,
        duplicate_share: 0.0,
        lease: Span(Duration::from_millis(500)),
    }
}

/// A second at `rate` over four connections, without a warm-up.
fn step(spec: ClaimSpec, rate: f64) -> Step {
    Step {
        name: "a step".to_owned(),
        workload: Workload::Claim(spec),
        load: Load::Open { rate: PerSecond::new(rate).expect("a rate"), connections: 4 },
        duration: Span(Duration::from_millis(1_500)),
        warm_up: WarmUp { at_least: Span::seconds(0), at_most: Span::seconds(0) },
    }
}

async fn run(server: &Server, dataset: &Dataset, step: &Step) -> StepResult {
    let target = Target { options: server.connect_options(), server_pid: server.pid() };
    workload::run(step, dataset, &target, &Options::default()).await.expect("a step that can be built")
}

/// Every step that is right is right in these ways.
fn assert_sound(result: &StepResult, ticks: u64) {
    assert_eq!(result.failure, None, "{:?}", result.checks);
    assert!(result.checks.iter().all(|check| check.held), "{:?}", result.checks);
    assert_eq!(result.outcomes.values().sum::<u64>(), ticks, "{:?}", result.outcomes);
    assert_eq!(result.latency_us["response"].count, ticks);
    let intended: u64 = result.intervals.iter().map(|interval| interval.intended).sum();
    let responses: u64 = result.intervals.iter().map(|interval| interval.response_us.count).sum();
    assert_eq!((intended, responses), (ticks, ticks));
}

fn outcome(result: &StepResult, name: &str) -> u64 {
    result.outcomes.get(name).copied().unwrap_or(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_by_the_full_key_win_and_read_one_partition() {
    let Some(server) = support::schema("claims_full_key").await else { return };
    let dataset = loaded(&server, "t_idem").await;
    let result = run(&server, &dataset, &step(spec(ClaimStatement::FullKey), 400.0)).await;
    assert_sound(&result, 600);
    assert!(outcome(&result, "ok") > 500, "{:?}", result.outcomes);
    assert_eq!(result.statements.len(), 1);
    let statement = &result.statements[0];
    assert_eq!(statement.partitions.len(), 1, "{statement:?}");
    assert_eq!((statement.key.as_deref(), &statement.advice), (Some("PRIMARY"), &None));
    assert_eq!(result.rate_per_s, Some(400.0));
    assert!(result.per_operation["client_cpu_us"] >= 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_without_the_partition_column_probe_every_partition() {
    let Some(server) = support::schema("claims_no_partition").await else { return };
    let dataset = loaded(&server, "t_idem").await;
    let all = dataset.table.partitioning.as_ref().expect("it is partitioned").partitions.len();
    let result = run(&server, &dataset, &step(spec(ClaimStatement::NoPartitionKey), 200.0)).await;
    assert_sound(&result, 300);
    let statement = &result.statements[0];
    assert_eq!(statement.partitions.len(), all, "{statement:?}");
    assert!(statement.advice.as_ref().is_some_and(|advice| advice.contains("event_day")), "{statement:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn losing_claims_lose_and_redeliveries_are_duplicates() {
    let Some(server) = support::schema("claims_losing").await else { return };
    let dataset = loaded(&server, "t_idem").await;
    let spec = ClaimSpec {
        losing_share: 0.5,
        duplicate_share: 0.2,
        lease: Span::seconds(30),
        ..spec(ClaimStatement::FullKey)
    };
    let result = run(&server, &dataset, &step(spec, 400.0)).await;
    assert_sound(&result, 600);
    let (ok, lost, duplicate) =
        (outcome(&result, "ok"), outcome(&result, "lost"), outcome(&result, "duplicate"));
    assert!((100..=140).contains(&duplicate), "{:?}", result.outcomes);
    assert!(ok > 150 && lost > 150, "{:?}", result.outcomes);
}

/// The pool is counted on the server; a lease that takes too much of it is warned of, and does cost wins.
#[tokio::test(flavor = "multi_thread")]
async fn the_pool_is_the_pending_rows_and_one_that_is_too_small_is_warned_of() {
    let Some(server) = support::schema("claims_pool").await else { return };
    let dataset = loaded(&server, "t_idem").await;
    let mut connection = server.connect().await.expect("a connection");
    let count = async |connection: &mut sqlx::MySqlConnection, from: &str| -> u64 {
        let sql = format!("SELECT COUNT(*) FROM {from} WHERE status = 'PENDING'");
        let count: i64 = connection.fetch_one(AssertSqlSafe(sql)).await.expect("a count").get(0);
        count as u64
    };
    let pending = count(&mut connection, "t_idem").await;
    let newest_partition = dataset.table.partitioning.as_ref().expect("daily").partitions[2].name.clone();
    let newest = count(&mut connection, &format!("t_idem PARTITION ({newest_partition})")).await;
    assert!(newest > 0 && newest < pending);

    // A machine that is too busy reaches less than 400/s.
    let rate = |result: &StepResult| result.overload.map_or(400.0, |overload| overload.reached_per_s);
    let warned = |result: &StepResult| result.warnings.iter().any(|warning| warning.contains("leased"));
    let enough = ClaimSpec { lease: Span(Duration::from_millis(100)), ..spec(ClaimStatement::FullKey) };
    let result = run(&server, &dataset, &step(enough, 400.0)).await;
    let pool = result.pool.expect("a claim step has one");
    assert_eq!((pool.rows, pool.even_rows, pool.leased_rows), (pending, pending as f64, rate(&result) * 0.1));
    assert!(!pool.is_small() && !warned(&result), "{pool:?} {:?}", result.warnings);
    let lost = outcome(&result, "lost");

    let newest_day = Targets::NewestDay { share: 1.0 };
    let long = ClaimSpec { targets: newest_day, lease: Span::seconds(30), ..spec(ClaimStatement::FullKey) };
    let result = run(&server, &dataset, &step(long, 400.0)).await;
    assert_sound(&result, 600);
    let pool = result.pool.expect("a claim step has one");
    assert_eq!((pool.rows, pool.leased_rows), (newest, rate(&result) * 30.0));
    assert!(pool.is_small() && warned(&result), "{pool:?} {:?}", result.warnings);
    assert!(outcome(&result, "lost") > lost + 50, "{lost} {:?}", result.outcomes);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_key_can_be_claimed_by() {
    let Some(server) = support::schema("claims_kinds").await else { return };
    for (name, key) in
        [("t_idem_hash", "PRIMARY"), ("t_idem_surrogate", "uk_dedupe"), ("t_idem_status_index", "PRIMARY")]
    {
        let dataset = loaded(&server, name).await;
        let result = run(&server, &dataset, &step(spec(ClaimStatement::FullKey), 200.0)).await;
        assert_sound(&result, 300);
        assert!(outcome(&result, "ok") > 250, "{name}: {:?}", result.outcomes);
        assert_eq!(result.statements[0].key.as_deref(), Some(key), "{:?}", result.statements);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sweepers_take_batches_and_know_what_they_took() {
    let Some(server) = support::schema("claims_sweep").await else { return };
    for name in ["t_idem", "t_idem_status_index"] {
        let dataset = loaded(&server, name).await;
        for statement in
            [ClaimStatement::SweepSkipLocked { batch: 20 }, ClaimStatement::SweepKeyList { batch: 20 }]
        {
            let result = run(&server, &dataset, &step(spec(statement), 40.0)).await;
            assert_sound(&result, 60);
            assert!(outcome(&result, "ok") > 40, "{name}: {:?}", result.outcomes);
            assert_eq!(result.statements.len(), 2);
            let holds = result.latency_us.contains_key("hold");
            assert_eq!(holds, matches!(statement, ClaimStatement::SweepSkipLocked { .. }));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_locks_more_than_it_takes_is_told_so() {
    let Some(server) = support::schema("claims_locks").await else { return };
    let dataset = loaded(&server, "t_idem").await;
    let result =
        run(&server, &dataset, &step(spec(ClaimStatement::SweepSkipLocked { batch: 20 }), 20.0)).await;
    let warned = result.warnings.iter().any(|warning| warning.contains("locked"));
    assert!(warned, "{:?}", result.warnings);
}

/// An effect that is applied twice, and one that is lost: what a broken driver or a trigger does.
#[tokio::test(flavor = "multi_thread")]
async fn a_doubled_and_a_lost_effect_fail_the_step() {
    let Some(server) = support::schema("claims_effects").await else { return };
    let dataset = loaded(&server, "t_idem").await;
    for body in ["SET NEW.token = NEW.token + 1", "SET NEW.token = OLD.token", "SET NEW.owner = 0"] {
        let mut connection = server.connect().await.expect("a connection");
        for statement in [
            "DROP TRIGGER IF EXISTS effects".to_owned(),
            format!("CREATE TRIGGER effects BEFORE UPDATE ON t_idem FOR EACH ROW {body}"),
        ] {
            connection.execute(AssertSqlSafe(statement)).await.expect("a trigger");
        }
        let result = run(&server, &dataset, &step(spec(ClaimStatement::FullKey), 100.0)).await;
        assert_eq!(result.verdict, "failed", "{body}: {:?}", result.checks);
        let failure = result.failure.expect("a reason");
        assert!(failure.contains("check"), "{failure}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_loop_is_labelled_and_has_no_response_time() {
    let Some(server) = support::schema("claims_closed").await else { return };
    let dataset = loaded(&server, "t_idem").await;
    let closed = Step { load: Load::Closed { connections: 2 }, ..step(spec(ClaimStatement::FullKey), 1.0) };
    let result = run(&server, &dataset, &closed).await;
    assert_eq!(result.failure, None, "{:?}", result.checks);
    assert_eq!(result.rate_per_s, None);
    let series: Vec<&str> = result.latency_us.keys().map(String::as_str).collect();
    assert_eq!(series, ["service"]);
    assert_eq!(result.latency_us["service"].count, result.outcomes.values().sum::<u64>());
    assert!(result.throughput_per_s > 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_out_of_reach_is_overload_and_nothing_is_omitted() {
    let Some(server) = support::schema("claims_overload").await else { return };
    let dataset = loaded(&server, "t_idem").await;
    let overloaded = step(spec(ClaimStatement::FullKey), 1_000_000.0);
    let target = Target { options: server.connect_options(), server_pid: None };
    let options = Options { drain_at_most: Duration::from_millis(500), ..Options::default() };
    let result = workload::run(&overloaded, &dataset, &target, &options).await.expect("a step");
    assert_sound(&result, 1_500_000);
    let overload = result.overload.expect("a million a second is too many");
    assert_eq!(overload.unsent, outcome(&result, "unsent"));
    assert!(overload.unsent > 1_000_000 && overload.reached_per_s < 500_000.0, "{overload:?}");
    assert_eq!(result.verdict, "overloaded");
    // The youngest was due half a second before draining ended, the oldest two seconds: lower bounds.
    assert!(result.latency_us["response"].p50 > 500_000, "{:?}", result.latency_us);
}

/// Case 15: error 1205 rolls back its statement only; the sweeper must not keep the rows of the batch.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_timeout_is_an_outcome_of_its_own_and_leaves_no_transaction_open() {
    let Some(server) = support::schema("claims_timeout").await else { return };
    let dataset = loaded(&server, "t_idem").await;
    let mut blocker = server.connect().await.expect("a connection");
    let mut admin = server.connect().await.expect("a connection");
    admin.execute("SET GLOBAL innodb_lock_wait_timeout = 1").await.expect("set");
    blocker.execute("START TRANSACTION").await.expect("begun");
    blocker.execute("UPDATE t_idem SET owner = owner").await.expect("all rows locked");
    let short = Step { duration: Span::seconds(3), ..step(spec(ClaimStatement::FullKey), 2.0) };
    let result = run(&server, &dataset, &short).await;
    admin.execute("SET GLOBAL innodb_lock_wait_timeout = 50").await.expect("set");
    blocker.execute("ROLLBACK").await.expect("rolled back");
    assert_eq!(outcome(&result, "lock_timeout"), 6, "{:?}", result.outcomes);
    assert_eq!(result.errors.iter().map(|error| (error.code, error.count)).collect::<Vec<_>>(), [(1205, 6)]);
    let open = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_rows_locked > 0";
    let open: i64 = admin.fetch_one(open).await.expect("a count").get(0);
    assert_eq!(open, 0);
}
