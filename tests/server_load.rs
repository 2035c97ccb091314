//! The SQL loader on a real server: round trips, resumes, refusals.

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use idembench::load::{self, LoadError, LoadRequest, Loaded, Method, Progress, Verify};
use idembench::server::Server;
use idembench::spec::dataset::{Dataset, built_in};
use idembench::units::Rows;
use sqlx::{AssertSqlSafe, Connection, Executor, Row};

fn request(dataset: Dataset) -> LoadRequest {
    LoadRequest { dataset, method: Method::Auto, verify: Verify::Full, streams: None, replace: None }
}

fn dataset(name: &str, rows: u64, days: u32) -> Dataset {
    Dataset::read(name)
        .expect("a dataset")
        .scaled(Some(Rows(rows)), Some(days), None, None)
        .expect("it scales")
}

async fn load(server: &Server, request: &LoadRequest) -> Result<Loaded, LoadError> {
    load::load(server, request, &Arc::new(Progress::default())).await
}

async fn sql(server: &Server, sql: &str) {
    let mut connection = server.connect().await.expect("a connection");
    connection.execute(AssertSqlSafe(sql.to_owned())).await.expect(sql);
    connection.close().await.expect("closed");
}

async fn number(server: &Server, sql: &str) -> i64 {
    let mut connection = server.connect().await.expect("a connection");
    let row = connection.fetch_one(AssertSqlSafe(sql.to_owned())).await.expect(sql);
    row.try_get(0).expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_built_in_dataset_makes_the_round_trip() {
    let Some(server) = support::schema("load_round_trip").await else { return };
    for built_in in built_in() {
        let days = if built_in.name == "seed" { 1 } else { 7 };
        let request = request(dataset(built_in.name, 70_001, days));
        let loaded = load(&server, &request).await.expect(built_in.name);
        assert_eq!(loaded.rows, 70_001);
        assert_eq!(loaded.method, "sql: LOAD DATA LOCAL");
        assert!(loaded.verified.contains("column checksums"));
        assert!(loaded.bytes.expect("the server says") > 70_001 * 30);
        let table = &request.dataset.table.name;
        assert_eq!(number(&server, &format!("SELECT COUNT(*) FROM {table}")).await, 70_001);
        let again = load(&server, &request).await.expect("loaded");
        assert_eq!(again.method, "already loaded");
    }
}

/// A dataset in a folder of its own.
fn written(table: &str, toml: &str) -> Dataset {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("table.sql"), table).expect("written");
    fs::write(folder.path().join("dataset.toml"), toml).expect("written");
    read(folder.path())
}

fn read(path: &Path) -> Dataset {
    Dataset::read(path.to_str().expect("UTF-8")).expect("a dataset")
}

/// Every column kind, with the values that are easily lost on the way.
const ALL_KINDS: &str = r"CREATE TABLE kinds (
  k VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  day TIMESTAMP NOT NULL,
  t1 TINYINT NOT NULL, t2 SMALLINT UNSIGNED NOT NULL, t3 MEDIUMINT NOT NULL, t4 INT NOT NULL, t8 BIGINT NOT NULL,
  u8 BIGINT UNSIGNED NOT NULL,
  d DATE NULL, dt0 DATETIME NOT NULL, dt6 DATETIME(6) NOT NULL, ts0 TIMESTAMP NOT NULL, ts6 TIMESTAMP(6) NOT NULL,
  c CHAR(10) CHARACTER SET utf8mb4 NOT NULL, ca CHAR(8) CHARACTER SET ascii NULL, l VARCHAR(20) CHARACTER SET latin1 NOT NULL,
  odd VARCHAR(40) CHARACTER SET utf8mb4 NULL,
  b BINARY(16) NOT NULL, b20 BINARY(20) NOT NULL, vb VARBINARY(30) NULL, bh BINARY(5) NOT NULL,
  e ENUM('NEW','it''s','a\\b','1') NOT NULL, de DECIMAL(12,3) NOT NULL, dn DECIMAL(18,0) NULL, n INT NULL,
  flag BOOL NOT NULL,
  g INT GENERATED ALWAYS AS (t4 + 1) STORED, gv DATE GENERATED ALWAYS AS (CAST(dt0 AS DATE)) VIRTUAL,
  PRIMARY KEY (k, day), KEY k_b (b, e)
) ENGINE=InnoDB
PARTITION BY RANGE (UNIX_TIMESTAMP(day)) (PARTITION p VALUES LESS THAN (1), PARTITION m VALUES LESS THAN MAXVALUE)";

const ALL_RECIPES: &str = r#"
rows = 5000
days = 3
partitions = "daily"
[columns.k]
make = "sorted_key"
prefix = "k'%_"
alphabet = "base64"
[columns.day]
make = "instant"
[columns.t4]
make = "constant"
value = "-2147483648"
[columns.d]
make = "null"
[columns.c]
make = "choice"
values = [{ value = "héllo", weight = 1 }, { value = "日本 ", weight = 1 }, { value = "", weight = 1 }]
[columns.ca]
make = "choice"
values = [{ value = "NULL", weight = 1 }, { value = "\\N", weight = 1 }, { value = "a\\", weight = 1 }]
[columns.l]
make = "choice"
values = [{ value = "grün", weight = 1 }, { value = "ÿ", weight = 1 }]
[columns.odd]
make = "choice"
values = [{ value = "a\tb\nc\\d\r'\"", weight = 1 }, { value = "😀|x", weight = 1 }, { value = "\u0000", weight = 1 }, { value = "trailing  ", weight = 1 }]
[columns.b]
make = "choice"
values = [{ value = "0x000102030405060708090a0b0c0dff00", weight = 1 }, { value = "0x5c6e0a090d005c5c2700000000000000", weight = 1 }]
[columns.b20]
make = "constant"
value = "0xffffffffffffffffffff00000000000000000000"
[columns.vb]
make = "choice"
values = [{ value = "0x00", weight = 1 }, { value = "0x", weight = 1 }, { value = "0x410000", weight = 1 }]
[columns.de]
make = "choice"
values = [{ value = "-0.005", weight = 1 }, { value = "999999999.999", weight = 1 }, { value = "7", weight = 1 }]
[columns.n]
make = "null"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn every_column_kind_survives_both_ways_in() {
    let Some(server) = support::schema("load_kinds").await else { return };
    let dataset = written(ALL_KINDS, ALL_RECIPES);
    for method in [Method::LoadData, Method::Insert] {
        let request = LoadRequest { method, replace: Some("kinds".to_owned()), ..request(dataset.clone()) };
        let loaded = load(&server, &request).await.expect("loaded and verified in full");
        assert_eq!(loaded.method.contains("INSERT"), method == Method::Insert);
        // Case 17: trailing zero bytes are part of the key.
        for (value, column) in [
            ("000102030405060708090A0B0C0DFF00", "b"),
            ("5C6E0A090D005C5C2700000000000000", "b"),
            ("FFFFFFFFFFFFFFFFFFFF00000000000000000000", "b20"),
            ("410000", "vb"),
            ("00", "vb"),
            ("", "vb"),
        ] {
            let sql = format!("SELECT COUNT(*) FROM kinds WHERE HEX({column}) = '{value}'");
            assert!(number(&server, &sql).await > 1_000, "{value}");
        }
        for (condition, least) in [
            ("odd = 'a\\tb\\nc\\\\d\\r\\'\"'", 1_000),
            ("odd = '😀|x' AND n IS NULL AND d IS NULL", 1_000),
            ("HEX(odd) = '00'", 1_000),
            ("HEX(odd) = '747261696C696E672020'", 1_000),
            ("ca = 'NULL'", 1_000),
            ("ca = '\\\\N'", 1_000),
            ("c = '日本'", 1_000),
            ("HEX(l) = '6772FC6E'", 1_000),
            ("e = 'a\\\\b'", 1_000),
            ("e = '1'", 1_000),
            ("de = -0.005", 1_000),
            ("g = -2147483647 AND t4 = -2147483648", 5_000),
            ("t1 < 0", 1_000),
            ("u8 > 9223372036854775807", 1_000),
            ("MICROSECOND(ts6) % 1000 > 0", 1_000),
            ("day >= '2026-01-05' AND day < '2026-01-08'", 5_000),
        ] {
            let rows = number(&server, &format!("SELECT COUNT(*) FROM kinds WHERE {condition}")).await;
            assert!(rows >= least, "{condition}: {rows}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_cell_a_lost_row_and_a_swap_are_found() {
    let Some(server) = support::schema("load_verify").await else { return };
    let dataset = dataset("t_idem", 20_000, 2);
    let reload = LoadRequest { replace: Some("t_idem".to_owned()), ..request(dataset.clone()) };
    for (damage, found) in [
        ("UPDATE t_idem SET token = 1 ORDER BY biz_key LIMIT 1", "differs in token"),
        ("UPDATE t_idem SET created_at = created_at + INTERVAL 1000 MICROSECOND LIMIT 1", "differs in created_at"),
        ("UPDATE t_idem SET biz_key = REPLACE(biz_key, '0', 'W') WHERE biz_key LIKE '%0%' LIMIT 1", "differs in biz_key"),
        ("DELETE FROM t_idem LIMIT 1", "rows and should have 10,000"),
        // Two rows exchange their instants: every column's own sum stays right.
        (
            "UPDATE t_idem a JOIN (SELECT MIN(msg_id) low, MAX(msg_id) high FROM t_idem PARTITION (p20260106)) m
             JOIN t_idem l ON l.msg_id = m.low JOIN t_idem h ON h.msg_id = m.high
             SET a.created_at = IF(a.msg_id = m.low, h.created_at, l.created_at) WHERE a.msg_id IN (m.low, m.high)",
            "in other rows",
        ),
    ] {
        load(&server, &LoadRequest { verify: Verify::Off, ..reload.clone() }).await.expect("loaded");
        sql(&server, damage).await;
        // As if the load had been cut off before its verification.
        sql(&server, "UPDATE idembench_load SET state = 'loading'").await;
        let lost_row = damage.starts_with("DELETE");
        if lost_row {
            let error = load(&server, &request(dataset.clone())).await.expect_err("a row is lost").to_string();
            assert!(error.contains("has 19,999 rows and its ledger says 20,000"), "{error}");
            continue;
        }
        for verify in [Verify::Quick, Verify::Full] {
            let again = LoadRequest { verify, ..request(dataset.clone()) };
            let error = load(&server, &again).await.expect_err(damage).to_string();
            assert!(error.contains(found), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_load_goes_on_where_it_was() {
    let Some(server) = support::schema("load_stop").await else { return };
    let request = request(dataset("t_idem_surrogate", 300_000, 3));
    let progress = Arc::new(Progress::default());
    let stopper = {
        let progress = Arc::clone(&progress);
        tokio::spawn(async move {
            while progress.rows_committed() == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            progress.stop();
        })
    };
    let error = load::load(&server, &request, &progress).await.expect_err("it was stopped");
    assert!(matches!(error, LoadError::Stopped { .. }), "{error}");
    stopper.await.expect("it stopped the load");
    let there = number(&server, "SELECT COUNT(*) FROM t_idem_surrogate").await as u64;
    assert!(there > 0 && there < 300_000, "{there}");
    let loaded = load(&server, &request).await.expect("it goes on");
    assert_eq!(loaded.rows_resumed, there);
    assert!(loaded.verified.contains("row and column checksums"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_that_is_dropped_again_and_again_never_loses_or_doubles_a_row() {
    let Some(server) = support::schema("load_abort").await else { return };
    let request = Arc::new(request(dataset("t_idem", 400_000, 4)));
    let server = Arc::new(server);
    for round in 0..4u64 {
        let (server, request) = (Arc::clone(&server), Arc::clone(&request));
        let task = tokio::spawn(async move { load(&server, &request).await.map(|_| ()) });
        tokio::time::sleep(std::time::Duration::from_millis(150 + 350 * round)).await;
        task.abort();
        let _ = task.await;
    }
    // The aborted session's lock is given back when the server notices that its client has gone.
    let loaded = loop {
        match load(&server, &request).await {
            Err(LoadError::Busy { .. }) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            ended => break ended.expect("it goes on"),
        }
    };
    assert_eq!(loaded.rows, 400_000);
    assert_eq!(number(&server, "SELECT COUNT(DISTINCT msg_id) FROM t_idem").await, 400_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_rows_and_other_peoples_tables_are_left_alone() {
    let Some(server) = support::schema("load_refuse").await else { return };
    let small = dataset("t_idem", 1_000, 2);
    load(&server, &request(small.clone())).await.expect("loaded");
    let other = small.clone().scaled(None, None, Some(7), None).expect("another seed");
    let error = load(&server, &request(other.clone())).await.expect_err("other rows").to_string();
    assert!(error.contains("table t_idem holds other rows (1,000 of t_idem, fingerprint"), "{error}");
    assert!(error.contains("say --rows 1000 --days 2 --seed 42"), "{error}");
    assert!(error.contains("--replace t_idem"), "{error}");
    let replace = LoadRequest { replace: Some("t_idem".to_owned()), ..request(other) };
    assert_eq!(load(&server, &replace).await.expect("replaced").rows, 1_000);

    sql(&server, "CREATE TABLE t_idem_hash (precious INT)").await;
    let error =
        load(&server, &request(dataset("t_idem_hash", 10, 1))).await.expect_err("not ours").to_string();
    assert!(error.contains("idembench did not make it"), "{error}");
    assert_eq!(number(&server, "SELECT COUNT(*) FROM t_idem_hash").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_the_server_refuses_leaves_nothing_behind() {
    let Some(server) = support::schema("load_ddl").await else { return };
    let dataset = written(
        "CREATE TABLE bad (k VARCHAR(32) PRIMARY KEY, KEY dup (k), KEY dup (k)) ENGINE=InnoDB",
        "rows = 10\n",
    );
    let error = load(&server, &request(dataset)).await.expect_err("refused").to_string();
    assert!(error.contains("1061") && error.contains("Duplicate key name 'dup'"), "{error}");
    assert_eq!(number(&server, "SELECT COUNT(*) FROM idembench_load").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_without_a_partition_is_told_with_its_day() {
    let Some(server) = support::schema("load_1526").await else { return };
    let request = request(dataset("t_idem", 1_000, 2));
    let stop = Arc::new(Progress::default());
    stop.stop();
    load::load(&server, &request, &stop).await.expect_err("stopped before the first row");
    // Somebody moves the first day's bound under our hands.
    sql(
        &server,
        "ALTER TABLE t_idem REORGANIZE PARTITION p20260106 INTO (PARTITION p20260106 VALUES LESS THAN ('2026-01-06'),
         PARTITION px VALUES LESS THAN ('2026-01-07'))",
    )
    .await;
    for method in [Method::LoadData, Method::Insert] {
        let error =
            load(&server, &LoadRequest { method, ..request.clone() }).await.expect_err("no partition");
        assert!(matches!(&error, LoadError::NoPartition { day, .. } if day == "2026-01-06"), "{error}");
        assert!(error.to_string().contains("1748"), "{error}");
    }

    let numbers = written(
        "CREATE TABLE numbers (n INT PRIMARY KEY) PARTITION BY RANGE (n) (PARTITION a VALUES LESS THAN (100))",
        "rows = 200\n",
    );
    for method in [Method::LoadData, Method::Insert] {
        let request = LoadRequest { method, ..self::request(numbers.clone()) };
        let error = load(&server, &request).await.expect_err("no partition").to_string();
        assert!(error.contains("1526 Table has no partition for value 100"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_left_by_a_killed_load_are_put_back_by_the_next() {
    let Some(server) = support::schema("load_settings").await else { return };
    load(&server, &request(dataset("t_idem", 10, 1))).await.expect("loaded");
    // As a load that was killed leaves it: noted, changed, not restored.
    sql(&server, "INSERT INTO idembench_setting VALUES ('long_query_time', '7.5', UTC_TIMESTAMP())").await;
    load(&server, &request(dataset("t_idem_hash", 10, 1))).await.expect("loaded");
    assert_eq!(number(&server, "SELECT CAST(@@GLOBAL.long_query_time * 10 AS SIGNED)").await, 75);
    assert_eq!(number(&server, "SELECT COUNT(*) FROM idembench_setting").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_rows_than_the_disk_holds_are_refused_before_the_first() {
    let Some(server) = support::schema("load_disk").await else { return };
    let error = load(&server, &request(dataset("t_idem", 9_000_000_000_000, 7)))
        .await
        .expect_err("too many")
        .to_string();
    assert!(error.contains("t_idem needs") && error.contains("TiB"), "{error}");
    assert!(error.contains("use --rows"), "{error}");
    assert_eq!(number(&server, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 't\\_idem%'").await, 0);
}
