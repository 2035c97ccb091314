//! `--method import` on a real server: files built without it and taken while it runs.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.

mod support;

use std::sync::Arc;

use idembench::load::{self, By, LoadError, LoadRequest, Loaded, Method, Progress, Verify};
use idembench::server::Server;
use idembench::spec::dataset::{Dataset, built_in};
use idembench::units::Rows;
use sqlx::{AssertSqlSafe, Executor, Row};

fn dataset(name: &str, rows: u64, days: u32) -> Dataset {
    Dataset::read(name).unwrap().scaled(Some(Rows(rows)), Some(days), None, None).unwrap()
}

fn request(dataset: Dataset, verify: Verify) -> LoadRequest {
    LoadRequest { dataset, method: Method::Auto, verify, streams: None, replace: None }
}

async fn import(server: &Server, request: &LoadRequest) -> Result<Loaded, LoadError> {
    load::import(server, request, &Arc::new(Progress::default())).await
}

async fn sql(server: &Server, sql: &str) {
    let mut connection = server.connect().await.unwrap();
    let done = connection.execute(AssertSqlSafe(sql.to_owned())).await;
    done.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

async fn number(server: &Server, sql: &str) -> i64 {
    server.connect().await.unwrap().fetch_one(AssertSqlSafe(sql.to_owned())).await.unwrap().get(0)
}

/// CHECK TABLE says OK.
async fn check(server: &Server, table: &str) {
    let mut connection = server.connect().await.unwrap();
    let rows = connection.fetch_all(AssertSqlSafe(format!("CHECK TABLE {table}"))).await.unwrap();
    let said: Vec<String> = rows.iter().map(|row| row.get_unchecked(3)).collect();
    assert_eq!(said, ["OK"], "{table}");
}

/// No table that stood in is left, nor a file of one, nor a note.
async fn nothing_is_left(server: &Server) {
    let schema = &server.address().database;
    let tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'idembench\\_import%'";
    assert_eq!(number(server, tables).await, 0);
    assert_eq!(number(server, "SELECT COUNT(*) FROM idembench_stage").await, 0);
    let left: Vec<String> = files(server, schema)
        .into_iter()
        .filter(|name| name.starts_with("idembench_import") || !name.ends_with(".ibd"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn files(server: &Server, schema: &str) -> Vec<String> {
    let folder = server.data_directory().unwrap().join(schema);
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_built_in_dataset_is_imported_and_read_back() {
    let Some(server) = support::schema("import_all").await else { return };
    for built_in in built_in() {
        let days = if built_in.name == "seed" { 1 } else { 3 };
        let request = request(dataset(built_in.name, 60_001, days), Verify::Full);
        let loaded =
            import(&server, &request).await.unwrap_or_else(|error| panic!("{}: {error:?}", built_in.name));
        eprintln!("{}: {:?}", built_in.name, loaded.phases);
        assert_eq!((loaded.rows, loaded.method.as_str()), (60_001, "import: InnoDB pages"));
        assert!(loaded.verified.starts_with("files, ") && loaded.verified.contains("CHECK TABLE"));
        assert!(loaded.rows_per_second > 0.0 && loaded.bytes.unwrap() > 60_001 * 30);
        for phase in ["prepare", "create", "build", "verify_files", "import", "exchange", "analyze", "verify"]
        {
            assert!(loaded.phases.contains_key(phase), "{phase}");
        }
        check(&server, &request.dataset.table.name).await;
        assert_eq!(import(&server, &request).await.unwrap().method, "already loaded");
    }
    nothing_is_left(&server).await;
    // A counter goes on behind the rows that came in as files.
    sql(&server, "INSERT INTO t_idem_surrogate (biz_key, msg_id, event_day, status, lease_until, created_at) VALUES ('new', 1, '2026-01-05', 'PENDING', NOW(), NOW())").await;
    assert_eq!(number(&server, "SELECT CAST(MAX(id) AS SIGNED) FROM t_idem_surrogate").await, 60_002);
}

#[tokio::test(flavor = "multi_thread")]
async fn few_rows_go_by_sql_and_many_by_the_files_of_a_server_that_runs_on() {
    let Some(server) = support::schema("import_choice").await else { return };
    for (rows, by) in [(60_000, By::Sql), (2_000_000, By::Import)] {
        let choice =
            load::choose(&server, &request(dataset("t_idem", rows, 3), Verify::Quick)).await.unwrap();
        assert_eq!(choice.by, by, "{rows}: {}", choice.reason);
    }
}
