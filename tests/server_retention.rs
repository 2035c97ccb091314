//! The daily roll of a table's partitions on a real server: what is dropped, what is refused, who is in the way.

mod support;

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use idembench::retention::patience::{self, Patience, PatienceError, Waited};
use idembench::retention::{self, Chosen, Wish};
use idembench::server::{Server, locate_mysqld};
use idembench::spec::calendar::parse_date;
use idembench::table::partition;
use idembench::units::Span;
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, Row};

/// What counts as today in these tests.
const TODAY: &str = "2026-01-20";

const DAYS: &str = "CREATE TABLE t (k INT NOT NULL, event_day DATE NOT NULL, PRIMARY KEY (k, event_day)) \
    PARTITION BY RANGE COLUMNS(event_day) (\
    PARTITION p20260110 VALUES LESS THAN ('2026-01-11'), PARTITION p20260111 VALUES LESS THAN ('2026-01-12'), \
    PARTITION p20260112 VALUES LESS THAN ('2026-01-13'), PARTITION p20260120 VALUES LESS THAN ('2026-01-21')";

/// A schema with tables `t` (days), `m` (with MAXVALUE), `plain` and `east` (days of another zone), and an account that may do anything there.
async fn tables(name: &str) -> Option<(Server, MySqlConnection)> {
    let server = support::schema(name).await?;
    let mut connection = server.connect().await.expect("a connection");
    let statements = [
        format!("{DAYS})"),
        format!("{DAYS}, PARTITION pmax VALUES LESS THAN (MAXVALUE))").replace("TABLE t ", "TABLE m "),
        "CREATE TABLE plain (k INT NOT NULL PRIMARY KEY, created_at DATETIME NOT NULL)".to_owned(),
        "INSERT INTO t VALUES (1, '2026-01-10'), (2, '2026-01-11'), (3, '2026-01-20')".to_owned(),
        // Days that end at 16:00 UTC: midnight eight hours east.
        "CREATE TABLE east (k INT NOT NULL, at TIMESTAMP NOT NULL, PRIMARY KEY (k, at)) \
         PARTITION BY RANGE (UNIX_TIMESTAMP(at)) (PARTITION p20260110 VALUES LESS THAN (1768060800), \
         PARTITION p20260120 VALUES LESS THAN (1768924800))"
            .to_owned(),
        "CREATE USER IF NOT EXISTS roll@localhost".to_owned(),
        "GRANT ALL ON *.* TO roll@localhost".to_owned(),
    ];
    for statement in statements {
        connection.execute(AssertSqlSafe(statement)).await.expect("a statement");
    }
    Some((server, connection))
}

/// `idembench retention …` against that server, on that day.
fn roll(server: &Server, arguments: &str) -> Command {
    let address = server.address();
    let socket = address.socket.as_ref().expect("a socket").display().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_idembench"));
    command
        .arg("retention")
        .args(arguments.split(' '))
        .args(["--today", TODAY, "--server"])
        .arg(format!("mysql://roll@localhost/{}?socket={socket}", address.database))
        .env("IDEMBENCH_MYSQLD", locate_mysqld(&support::product_home()).expect("a mysqld").path)
        .stdin(Stdio::null());
    command
}

async fn partitions(connection: &mut MySqlConnection, table: &str) -> Vec<String> {
    let layout = partition::layout(connection, table).await.expect("partitions").expect("a table");
    layout.partitions.into_iter().map(|(name, _)| name).collect()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn old_days_go_new_ones_come_and_a_second_call_has_nothing_to_do() {
    let Some((server, mut connection)) = tables("roll_apply").await else { return };
    let before = partitions(&mut connection, "t").await;
    for dry in ["plan t --ahead 2", "apply t --ahead 2"] {
        let output = roll(&server, dry).output().expect("it runs");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("DROP PARTITION `p20260110`"), "{said}");
        assert_eq!(partitions(&mut connection, "t").await, before, "{dry}");
    }
    for _ in 0..2 {
        let output =
            roll(&server, "apply t --ahead 2 --rest 0s --yes --not-ours t").output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let expect = ["p20260120", "p20260121", "p20260122"];
        assert_eq!(partitions(&mut connection, "t").await, expect, "{}", said(&output));
    }
    let rows: i64 =
        sqlx::query_scalar("SELECT COUNT(*) FROM t").fetch_one(&mut connection).await.expect("rows");
    assert_eq!(rows, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_is_named_and_nothing_is_dropped() {
    let Some((server, mut connection)) = tables("roll_refused").await else { return };
    let before = [partitions(&mut connection, "t").await, partitions(&mut connection, "m").await];
    for (arguments, words) in [
        ("apply t --partition p20251231 --yes --not-ours t", "no partition p20251231"),
        ("apply t --partition p20260120 --yes --not-ours t", "is the last one"),
        ("apply m --partition pmax --yes --not-ours m", "MAXVALUE"),
        (
            "apply m --partition p20260110 --partition p20260120 --yes --not-ours m",
            "may still be redelivered",
        ),
        ("apply t --redelivery 8d --yes --not-ours t", "may still be redelivered"),
        ("apply t --ahead 9000 --yes --not-ours t", "8,192"),
        ("apply t --yes", "--not-ours t"),
        ("apply t --yes --not-ours m", "--not-ours t"),
        ("apply plain --yes --not-ours plain", "DELETE FROM `plain` WHERE `created_at`"),
        ("plan plain", "is not partitioned"),
        ("plan nowhere", "no table nowhere"),
        ("plan t --time-zone Europe/Berlin", "+08:00"),
        ("apply east --yes --not-ours east", "--time-zone +08:00"),
    ] {
        let output = roll(&server, arguments).output().expect("it runs");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(words), "{arguments}: {said}");
        let now = [partitions(&mut connection, "t").await, partitions(&mut connection, "m").await];
        assert_eq!(now, before, "{arguments}");
        assert_eq!(partitions(&mut connection, "east").await.len(), 2, "{arguments}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn days_of_another_zone_go_when_the_zone_is_said() {
    let Some((server, mut connection)) = tables("roll_zone").await else { return };
    let arguments = "apply east --time-zone +08:00 --ahead 1 --rest 0s --yes --not-ours east";
    let output = roll(&server, arguments).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let layout = partition::layout(&mut connection, "east").await.expect("partitions").expect("a table");
    let expect = [("p20260120", "1768924800"), ("p20260121", "1769011200")];
    assert_eq!(layout.partitions, expect.map(|(name, bound)| (name.to_owned(), bound.to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_partitions_are_looked_at_without_opening_them() {
    let Some((server, mut connection)) = tables("roll_thousand").await else { return };
    // From 2023-05-15 on, the last of them after the day that counts as today.
    let day = |number: u32| format!("PARTITION q{number} VALUES LESS THAN ({})", 739_020 + number);
    let days = (0..1_000).map(day).collect::<Vec<_>>().join(", ");
    let create = format!(
        "CREATE TABLE many (k INT NOT NULL, event_day DATE NOT NULL, PRIMARY KEY (k, event_day)) \
         PARTITION BY RANGE (TO_DAYS(event_day)) ({days})"
    );
    connection.execute(AssertSqlSafe(create)).await.expect("a table");
    // Nothing of it is in any cache: the longest way that a look can take.
    connection.execute("FLUSH TABLES").await.expect("flushed");
    let begun = Instant::now();
    let facts = retention::look(&server, &mut connection, "many").await.expect("it can be looked at");
    let wish = Wish {
        chosen: Chosen::OlderThan { keep_days: 7 },
        ahead_days: 0,
        redelivery: Span::seconds(7 * 86_400),
        zone: None,
        today: parse_date(TODAY),
    };
    let plan = retention::plan(&facts, &wish).expect("a plan");
    // The time is told and not asserted: the machine may be busy.
    println!("1,000 partitions were looked at and planned in {}", Span(begun.elapsed()));
    assert_eq!(plan.partitions, 1_000);
    assert!(plan.steps.len() > 900, "{}", plan.steps.len());
    // That table of the server's opens every partition to fill a row of its own.
    let asked: i64 = sqlx::query_scalar(
        "SELECT COUNT(*) FROM performance_schema.events_statements_summary_by_digest \
         WHERE SCHEMA_NAME = DATABASE() AND DIGEST_TEXT LIKE '%INNODB_TABLES%'",
    )
    .fetch_one(&mut connection)
    .await
    .expect("a count");
    assert_eq!(asked, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_never_comes_free_is_told_with_who_holds_it() {
    let Some((server, mut connection)) = tables("roll_blocked").await else { return };
    let mut blocker = server.connect().await.expect("a connection");
    let id: u64 =
        sqlx::query_scalar("SELECT CONNECTION_ID()").fetch_one(&mut blocker).await.expect("a number");
    blocker.execute("START TRANSACTION").await.expect("begun");
    blocker.fetch_all("SELECT * FROM t WHERE k = 3").await.expect("rows");
    let before = partitions(&mut connection, "t").await;
    let arguments = "apply t --ahead 0 --lock-wait 1s --attempts 3 --pause 1s --yes --not-ours t";
    let output = roll(&server, arguments).output().expect("it runs");
    let said = said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for words in
        ["did not come free in 3 attempts", &format!("connection {id} "), "SELECT * FROM t WHERE k = 3"]
    {
        assert!(said.contains(words), "`{words}` is missing in {said}");
    }
    assert_eq!(partitions(&mut connection, "t").await, before);
    // The blocker goes: the same command goes through.
    blocker.close().await.expect("closed");
    let output = roll(&server, arguments).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(partitions(&mut connection, "t").await, ["p20260120"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn others_get_through_while_a_drop_waits_for_its_next_attempt() {
    let Some((server, mut connection)) = tables("roll_pile_up").await else { return };
    let mut blocker = server.connect().await.expect("a connection");
    blocker.execute("START TRANSACTION").await.expect("begun");
    blocker.fetch_all("SELECT * FROM t WHERE k = 3").await.expect("rows");
    let mut victim = server.connect().await.expect("a connection");
    let claiming = tokio::spawn(async move {
        // Each of them queues up behind a drop that waits, and none of them fails.
        for number in 10..30 {
            let claim = format!("INSERT INTO t VALUES ({number}, '2026-01-20')");
            victim.execute(AssertSqlSafe(claim)).await.expect("a claim");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut waits: Vec<Waited> = Vec::new();
    let patience = Patience { lock_wait: Span::seconds(1), attempts: 3, pause: Span::seconds(1) };
    let statement = partition::drop_sql("t", "p20260110");
    let mut keep = |waited: &Waited| waits.push(waited.clone());
    let sent = patience::send(&mut connection, "t", &statement, patience, &|| false, &mut keep);
    let error = sent.await.expect_err("the lock is held");
    assert!(matches!(error, PatienceError::NeverFree { attempts: 3, .. }), "{error}");
    claiming.await.expect("all claims");
    // The first attempt was sent; later ones were held back, for the blocker was known by then.
    assert!(waits[0].was_sent && !waits[2].was_sent, "{waits:?}");
    let blockers = waits[2].blockers.as_ref().expect("metadata_locks is on");
    assert!(blockers[0].transaction_s.is_some_and(|age| age > 1.0), "{blockers:?}");
    let row = connection.fetch_one("SELECT COUNT(*) FROM t").await.expect("rows");
    assert_eq!(row.get::<i64, _>(0), 23);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_roll_that_was_killed_between_two_steps_goes_on_from_what_is_there() {
    let Some((server, mut connection)) = tables("roll_killed").await else { return };
    let arguments = "apply t --ahead 0 --rest 600s --yes --not-ours t";
    let mut child =
        roll(&server, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let first_gone = async {
        while partitions(&mut connection, "t").await.len() == 4 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(240), first_gone).await.expect("the first day goes");
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert_eq!(partitions(&mut connection, "t").await, ["p20260111", "p20260112", "p20260120"]);
    let output = roll(&server, "apply t --ahead 0 --rest 0s --yes --not-ours t").output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(partitions(&mut connection, "t").await, ["p20260120"]);
}
