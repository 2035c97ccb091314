//! `--method import` on a real server: files built without it and taken while it runs.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.

mod support;
#[path = "support/tables.rs"]
mod tables;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use idembench::load::{self, By, LoadError, LoadRequest, Loaded, Progress, Verify};
use idembench::server::{self, Home, Server};
use idembench::spec::dataset::built_in;
use idembench::spec::server::{OwnedSpec, ServerSpec, Written};
use sqlx::{AssertSqlSafe, Executor};
use tables::{check, dataset, number, open, request, sql};

async fn import(server: &Server, request: &LoadRequest) -> Result<Loaded, LoadError> {
    load::import(server, request, &Arc::new(Progress::default())).await
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

/// Loads with somebody acting, once, when a point is reached.
async fn import_while(
    server: &Server,
    request: &LoadRequest,
    point: &'static str,
    act: impl Fn() + Send + Sync + 'static,
) -> Result<Loaded, LoadError> {
    let done = AtomicBool::new(false);
    let progress = Progress::with_witness(move |reached| {
        if reached == point && !done.swap(true, Ordering::Relaxed) {
            act();
        }
    });
    load::import(server, request, &Arc::new(progress)).await
}

/// The program stops itself at a point and is killed there, as by `kill -9`.
fn killed_at(folder: &Path, point: &str) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_idembench"))
        .args(["load", "t_idem", "--rows", "20k", "--days", "3", "--method", "import"])
        .args(["--buffer-pool", "128MiB", "--redo", "64MiB"])
        .env("IDEMBENCH_HOME", folder)
        .env("IDEMBENCH_HALT_AT", point)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
        if stat.rsplit_once(") ").unwrap().1.starts_with('T') {
            break;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before it came to {point}");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_import_leaves_an_empty_table_or_a_whole_one_and_the_next_finishes() {
    if !support::has_mysqld() {
        return;
    }
    let (folder, home) = support::home("import_kill");
    let spec = support::small();
    for (point, rows) in [("building", 0), ("discarded", 0), ("exchanged-one", 0), ("renamed", 20_000)] {
        killed_at(folder.path(), point);
        let server = open(&spec, &home).await;
        assert_eq!(number(&server, "SELECT COUNT(*) FROM t_idem").await, rows, "{point}");
        check(&server, "t_idem").await;
        let request = request(dataset("t_idem", 20_000, 3), Verify::Full);
        let loaded = import(&server, &request).await.unwrap_or_else(|error| panic!("{point}: {error:?}"));
        assert!(loaded.verified.contains("CHECK TABLE"), "{point}: {}", loaded.verified);
        assert_eq!(loaded.rows_resumed, rows as u64, "{point}");
        nothing_is_left(&server).await;
        sql(&server, "DROP TABLE t_idem").await;
        for table in ["idembench_load_piece", "idembench_load", "idembench_tables"] {
            sql(&server, &format!("DELETE FROM {table} WHERE table_name = 't_idem'")).await;
        }
        server.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_with_a_new_file_in_place_starts_again_and_the_next_load_finishes() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("import_server_kill");
    let spec = support::small();
    let request = request(dataset("t_idem", 20_000, 3), Verify::Full);
    let server = open(&spec, &home).await;
    let pid = server.pid().unwrap().to_string();
    import_while(&server, &request, "placed", move || {
        assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    })
    .await
    .expect_err("its server is gone");
    drop(server);
    let server = open(&spec, &home).await;
    assert_eq!(number(&server, "SELECT COUNT(*) FROM t_idem").await, 0);
    check(&server, "t_idem").await;
    assert_eq!(import(&server, &request).await.unwrap().rows_resumed, 0);
    nothing_is_left(&server).await;
    server.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_others_write_meanwhile_are_not_lost() {
    let Some(server) = support::schema("import_written").await else { return };
    let request = request(dataset("t_idem", 20_000, 2), Verify::Quick);
    let (view, runtime) = (server.in_schema("import_written"), tokio::runtime::Handle::current());
    let error = import_while(&server, &request, "exchanged", move || {
        tokio::task::block_in_place(|| {
            runtime.block_on(sql(&view, "INSERT INTO t_idem (biz_key, msg_id, event_day, status, lease_until, created_at) VALUES ('theirs', 1, '2026-01-05', 'PENDING', NOW(), NOW())"));
        });
    })
    .await
    .expect_err("somebody has written");
    assert!(error.to_string().contains("it was empty when the load began"), "{error}");
    assert_eq!(number(&server, "SELECT COUNT(*) FROM t_idem WHERE biz_key = 'theirs'").await, 1);
    nothing_is_left(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_import_leaves_the_empty_table_and_nothing_beside_it() {
    let Some(server) = support::schema("import_stop").await else { return };
    let request = request(dataset("t_idem", 20_000, 2), Verify::Quick);
    let progress: Arc<std::sync::OnceLock<Arc<Progress>>> = Arc::default();
    let witness = Arc::clone(&progress);
    let stopped = Arc::new(Progress::with_witness(move |point| {
        if point == "placed" {
            witness.get().unwrap().stop();
        }
    }));
    progress.set(Arc::clone(&stopped)).unwrap();
    let error = load::import(&server, &request, &stopped).await.expect_err("stopped");
    assert!(matches!(error, LoadError::Stopped { .. }), "{error:?}");
    assert_eq!(number(&server, "SELECT COUNT(*) FROM t_idem").await, 0);
    nothing_is_left(&server).await;
    assert_eq!(import(&server, &request).await.unwrap().rows, 20_000);
}

/// Somebody else's server, through a URL.
async fn attach(url: String, password: &Option<idembench::spec::server::Secret>) -> Server {
    let written = Written { flag: Some(url), password: password.clone(), ..Written::default() };
    server::open(&ServerSpec::read(&written).unwrap(), &Home::at("/none").unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_go_to_a_socket_on_this_machine_and_to_no_server_behind_tcp() {
    let Some(server) = support::schema("import_attach").await else { return };
    let address = server.address();
    let request = request(dataset("t_idem", 20_000, 2), Verify::Full);
    sql(&server, "CREATE USER IF NOT EXISTS import_tcp@'127.0.0.1'").await;
    sql(&server, "GRANT ALL ON import_attach.* TO import_tcp@'127.0.0.1'").await;
    let tcp = attach(format!("mysql://import_tcp@127.0.0.1:{}/import_attach", address.port), &None).await;
    let error = import(&tcp, &request).await.expect_err("out of reach").to_string();
    assert!(error.contains("answers over TCP") && error.contains("--method sql"), "{error}");
    let socket = address.socket.as_ref().unwrap().display().to_string();
    let local =
        attach(format!("mysql://root@localhost/import_attach?socket={socket}"), &address.password).await;
    assert_eq!((local.kind(), import(&local, &request).await.unwrap().rows), ("attached", 20_000));
    nothing_is_left(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_would_not_take_the_files_are_refused_and_auto_goes_round_them() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("import_refuse");
    let options = vec![("innodb_page_size".to_owned(), "8k".to_owned())];
    let server = open(&OwnedSpec { options, ..support::small() }, &home).await;
    let request = request(dataset("t_idem", 30_000_000, 2), Verify::Quick);
    let error = import(&server, &request).await.expect_err("other pages").to_string();
    assert!(error.contains("innodb_page_size is 8192"), "{error}");
    let choice = load::choose(&server, &request).await.unwrap();
    assert!(choice.by == By::Sql && choice.reason.contains("innodb_page_size"), "{choice:?}");
    sql(&server, "SET GLOBAL innodb_file_per_table = OFF").await;
    let error = import(&server, &request).await.expect_err("no files").to_string();
    assert!(error.contains("SET GLOBAL innodb_file_per_table = ON"), "{error}");
    assert_eq!(number(&server, "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 't_idem'").await, 0);
    server.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_in_is_chosen_by_size_and_by_whose_server_it_is() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("import_choose");
    let server = open(&support::small(), &home).await;
    let view = server.in_schema(server::DATABASE);
    for (server, name, rows, by, reason) in [
        (&server, "t_idem", 60_000, By::Sql, "too few"),
        (&view, "t_idem", 60_000, By::Sql, "too few"),
        (&server, "t_idem", 2_000_000, By::Import, "do not repay"),
        (&server, "t_idem", 50_000_000, By::Swap, "repay two restarts"),
        (&view, "t_idem", 2_000_000, By::Import, "goes on running"),
        (&view, "t_idem", 50_000_000, By::Import, "goes on running"),
    ] {
        let choice = load::choose(server, &request(dataset(name, rows, 2), Verify::Quick)).await.unwrap();
        assert!(choice.by == by && choice.reason.contains(reason), "{rows}: {choice:?}");
    }
    server.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_table_lives_like_any_other() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("import_life");
    let spec = support::small();
    let server = open(&spec, &home).await;
    import(&server, &request(dataset("t_idem", 300_000, 7), Verify::Quick)).await.unwrap();
    tables::lives_like_any_other(server, &spec, &home).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_server_has_not_compared_with_its_definition_is_not_used() {
    let Some(server) = support::schema("import_warned").await else { return };
    let request = request(dataset("t_idem", 20_000, 2), Verify::Quick);
    let folder = server.data_directory().unwrap().join("import_warned");
    let error = import_while(&server, &request, "placed", move || {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "cfg") {
                std::fs::remove_file(path).unwrap();
            }
        }
    })
    .await
    .expect_err("there is no description");
    assert!(error.to_string().contains("1810") && error.to_string().contains("--method sql"), "{error}");
    assert_eq!(number(&server, "SELECT COUNT(*) FROM t_idem").await, 0);
    nothing_is_left(&server).await;
    assert_eq!(import(&server, &request).await.unwrap().rows, 20_000);
}

/// With a binary log, which nobody follows at first.
#[tokio::test(flavor = "multi_thread")]
async fn missing_grants_are_named_and_enough_and_a_group_gets_no_files() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("import_rights");
    let options = ["gtid_mode", "enforce_gtid_consistency"].map(|name| (name.to_owned(), "ON".to_owned()));
    let spec = OwnedSpec { binlog: true, options: options.to_vec(), ..support::small() };
    let server = open(&spec, &home).await;
    let address = server.address();
    let socket = address.socket.as_ref().unwrap().display().to_string();
    let request = request(dataset("t_idem", 20_000, 2), Verify::Quick);
    sql(&server, "CREATE USER importer@localhost").await;
    sql(&server, "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON idembench.* TO importer@localhost").await;
    let local = attach(format!("mysql://importer@localhost/idembench?socket={socket}"), &None).await;
    let error = import(&local, &request).await.expect_err("not allowed").to_string();
    assert!(error.contains("'importer'@'localhost' may not") && error.contains("--method sql"), "{error}");
    let grants = error.split(" may not — ").nth(1).unwrap().split(", or use").next().unwrap();
    assert!(
        grants.starts_with(
            "GRANT FLUSH_TABLES, SESSION_VARIABLES_ADMIN ON *.* TO 'importer'@'localhost'; GRANT "
        ),
        "{error}"
    );
    sql(&server, grants).await;
    assert_eq!(import(&local, &request).await.unwrap_or_else(|error| panic!("{error}")).rows, 20_000);
    nothing_is_left(&server).await;

    let mut connection = server.connect().await.unwrap();
    let plugin = "INSTALL PLUGIN group_replication SONAME 'group_replication.so'";
    if let Err(error) = connection.execute(plugin).await {
        support::skip(&format!("no group replication: {error}"));
        server.close().await.unwrap();
        return;
    }
    // The plugin alone is no group, for who may look.
    assert_eq!(import(&server, &request).await.unwrap().method, "already loaded");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for statement in [
        "SET GLOBAL group_replication_group_name = '9d0b8f1e-6a4c-4a51-8c2e-1f0e5d7a3b60'".to_owned(),
        format!("SET GLOBAL group_replication_local_address = '127.0.0.1:{port}'"),
        "SET GLOBAL group_replication_bootstrap_group = ON".to_owned(),
        "START GROUP_REPLICATION".to_owned(),
    ] {
        let done = connection.execute(AssertSqlSafe(statement.clone())).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    for member in [&local, &server] {
        let error = import(member, &request).await.expect_err("a group").to_string();
        assert!(
            error.contains("group replication is on") && error.contains("STOP GROUP_REPLICATION"),
            "{error}"
        );
    }
    server.close().await.unwrap();
}
