//! Aged pages on a real server: swapped in, lived with, and taken as the model for another table.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.

mod support;

use std::sync::Arc;

use idembench::load::{self, LoadError, LoadRequest, Loaded, Method, Progress, Verify};
use idembench::server::{self, Home, Server};
use idembench::spec::dataset::{Dataset, Fill};
use idembench::spec::server::{OwnedSpec, ServerSpec};
use idembench::units::Rows;
use sqlx::{AssertSqlSafe, Executor, Row};

fn request(name: &str, rows: u64, fill: Fill) -> LoadRequest {
    let dataset = Dataset::read(name).unwrap().scaled(Some(Rows(rows)), Some(3), None, Some(fill)).unwrap();
    let replace = Some(dataset.table.name.clone());
    LoadRequest { dataset, method: Method::Auto, verify: Verify::Full, streams: None, replace }
}

async fn open(spec: &OwnedSpec, home: &Home) -> Server {
    server::open(&ServerSpec::Owned(spec.clone()), home).await.unwrap()
}

async fn swap(server: Server, spec: &OwnedSpec, home: &Home, request: &LoadRequest) -> (Server, Loaded) {
    load::swap(server, spec, home, request, &Arc::new(Progress::default())).await.unwrap()
}

async fn sql(server: &Server, sql: &str) {
    let run = server.connect().await.unwrap().execute(AssertSqlSafe(sql.to_owned())).await;
    run.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// CHECK TABLE says OK.
async fn check(server: &Server, table: &str) {
    let sql = AssertSqlSafe(format!("CHECK TABLE {table}"));
    let rows = server.connect().await.unwrap().fetch_all(sql).await.unwrap();
    let said: Vec<String> = rows.iter().map(|row| row.get_unchecked(3)).collect();
    assert_eq!(said, ["OK"], "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_aged_table_lives_like_any_other_and_is_a_model_for_others() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("swap_aged");
    let spec = support::small();
    let (server, loaded) =
        swap(open(&spec, &home).await, &spec, &home, &request("t_idem", 300_000, Fill::Aged)).await;
    assert!(loaded.verified.contains("CHECK TABLE"), "{}", loaded.verified);
    assert!((loaded.indexes[0].leaves.mean_fill - 0.67).abs() < 0.02, "{:?}", loaded.indexes);
    assert_eq!(loaded.fill, "aged");

    let sample = load::sample_table(&server, "t_idem").await.unwrap();
    let leaves = &sample.indexes[0].leaves;
    assert_eq!(leaves.leaf_pages, loaded.indexes[0].leaves.leaf_pages);
    assert_eq!(leaves.leaves_by_tenths, loaded.indexes[0].leaves.leaves_by_tenths);

    // Splits find free pages and extents, merges give them back.
    sql(&server, "INSERT INTO t_idem SELECT REVERSE(biz_key), msg_id, event_day, status, token, owner, lease_until, created_at FROM t_idem").await;
    check(&server, "t_idem").await;
    sql(&server, "DELETE FROM t_idem WHERE msg_id % 5 < 4").await;
    check(&server, "t_idem").await;

    // A table that real inserts and deletes have aged is the model.
    let model = load::sample_table(&server, "idembench.t_idem").await.unwrap();
    let like = request("t_idem", 200_000, Fill::Like(model.age()));
    let (server, loaded) = swap(server, &spec, &home, &like).await;
    let (wanted, seen) = (&model.indexes[0].leaves, &loaded.indexes[0].leaves);
    assert!((wanted.mean_fill - seen.mean_fill).abs() < 0.03, "{wanted:?}\n{seen:?}");
    check(&server, "t_idem").await;

    // Secondary indexes age too; rows that are numbered as they come do not.
    let (server, loaded) = swap(server, &spec, &home, &request("t_idem_surrogate", 60_000, Fill::Aged)).await;
    let fills: Vec<f64> = loaded.indexes.iter().map(|index| index.leaves.mean_fill).collect();
    assert!(fills[0] > 0.9 && (fills[1] - 0.69).abs() < 0.05, "{fills:?}");
    server.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_does_not_pretend_to_have_aged_pages() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("sql_aged");
    let server = open(&support::small(), &home).await;
    let progress = Arc::new(Progress::default());
    let mut request = request("t_idem", 1000, Fill::Aged);
    request.replace = None;
    let refused = load::load(&server, &request, &progress).await;
    assert!(matches!(refused, Err(LoadError::FreshPages { .. })), "{refused:?}");
    request.dataset.key_order = idembench::spec::dataset::KeyOrder::Random;
    assert_eq!(load::load(&server, &request, &progress).await.unwrap().rows, 1000);
    let missing = load::sample_table(&server, "nothing").await;
    assert!(missing.is_err(), "{missing:?}");
    server.close().await.unwrap();
}
