//! `--method swap` on a real server: files built without it, and everything a table must go through after.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.

mod support;
#[path = "support/tables.rs"]
mod tables;

use std::sync::Arc;

use idembench::load::{self, LoadError, LoadRequest, Loaded, Progress, Verify};
use idembench::server::{self, Home, Server};
use idembench::spec::dataset::built_in;
use idembench::spec::server::OwnedSpec;
use tables::{dataset, innochecksum, number, open, request, sql};

async fn swap(
    server: Server,
    spec: &OwnedSpec,
    home: &Home,
    request: &LoadRequest,
) -> Result<(Server, Loaded), LoadError> {
    load::swap(server, spec, home, request, &Arc::new(Progress::default())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_built_in_dataset_is_swapped_in_and_read_back() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("swap_all");
    let spec = support::small();
    let mut server = open(&spec, &home).await;
    for built_in in built_in() {
        let days = if built_in.name == "seed" { 1 } else { 3 };
        let request = request(dataset(built_in.name, 60_001, days), Verify::Full);
        let (back, loaded) = swap(server, &spec, &home, &request)
            .await
            .unwrap_or_else(|error| panic!("{}: {error:?}", built_in.name));
        server = back;
        assert_eq!((loaded.rows, loaded.method.as_str()), (60_001, "swap: InnoDB pages"));
        assert!(loaded.verified.contains("CHECK TABLE"), "{}", loaded.verified);
        eprintln!("{}: {:?}", built_in.name, loaded.phases);
        let (back, again) = swap(server, &spec, &home, &request).await.unwrap();
        server = back;
        assert_eq!(again.method, "already loaded");
    }
    let data = server.data_directory().unwrap().to_owned();
    // A counter goes on behind the rows that came in as files.
    sql(&server, "INSERT INTO t_idem_surrogate (biz_key, msg_id, event_day, status, lease_until, created_at) VALUES ('new', 1, '2026-01-05', 'PENDING', NOW(), NOW())").await;
    assert_eq!(number(&server, "SELECT CAST(MAX(id) AS SIGNED) FROM t_idem_surrogate").await, 60_002);
    server.close().await.unwrap();
    let leftovers: Vec<_> = std::fs::read_dir(data.join(server::DATABASE))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| !name.to_string_lossy().ends_with(".ibd"))
        .collect();
    assert!(leftovers.is_empty(), "{leftovers:?}");
    for built_in in built_in() {
        innochecksum(&home, &data, &dataset(built_in.name, 1, 1).table.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swapped_table_lives_like_any_other() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("swap_life");
    let spec = support::small();
    let request = request(dataset("t_idem", 300_000, 7), Verify::Quick);
    let (server, loaded) = swap(open(&spec, &home).await, &spec, &home, &request).await.unwrap();
    eprintln!("{loaded:?}");
    tables::lives_like_any_other(server, &spec, &home).await;
}
