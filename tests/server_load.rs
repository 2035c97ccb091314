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
