//! The owned server's life: start, stop, adopt, share, recover.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use idembench::server::{self, Home, OpenError, OwnedError, Server};
use idembench::spec::server::{OwnedSpec, ServerSpec};
use idembench::units::Bytes;
use sqlx::{Connection, Executor};

async fn open(home: &Home) -> Result<Server, OpenError> {
    server::open(&ServerSpec::Owned(support::small()), home).await
}

/// What remains when a program is killed: the server runs on, and nobody holds the lock.
fn orphan(server: Server, home: &Home) -> u32 {
    let pid = server.pid().expect("an owned server has a process");
    // The lock goes with the file that holds it: closed in a killed program, replaced here.
    std::mem::forget(server);
    let lock = home.server().join("lock");
    fs::remove_file(&lock).expect("the lock file");
    pid
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill").success());
}

async fn gone(home: &Home) {
    for _ in 0..600 {
        if server::status(&support::small(), home).await.is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the server still runs");
}

async fn ask(server: &Server, sql: &'static str) -> String {
    let mut connection = server.connect().await.expect("a connection");
    let answer = sqlx::query_scalar(sql).fetch_one(&mut connection).await.expect("an answer");
    connection.close().await.expect("closed");
    answer
}

#[tokio::test]
async fn a_server_starts_answers_and_stops_with_us() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("start-");
    let server = open(&home).await.expect("a server");
    assert_eq!(ask(&server, "SELECT DATABASE()").await, "idembench");
    let description = server.describe().await.expect("described");
    assert_eq!(description.kind, "owned");
    for (name, value) in [
        ("innodb_buffer_pool_size", "134217728"),
        ("innodb_flush_method", "O_DIRECT"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("log_bin", "OFF"),
        ("connection", "unix socket, not encrypted"),
    ] {
        assert_eq!(description.settings[name], value, "{name}");
    }
    assert!(server::machine::file_system(server.data_directory().expect("local")).is_some());
    let status = server::status(&support::small(), &home).await.expect("it runs");
    assert_eq!((status.pid, status.version), (server.pid().expect("local"), server.version().to_string()));
    server.close().await.expect("a clean stop");
    assert_eq!(server::status(&support::small(), &home).await, None);

    let again = open(&home).await.expect("a second start");
    drop(again);
    assert_eq!(
        server::status(&support::small(), &home).await,
        None,
        "dropped without being closed: stopped too"
    );
}

#[tokio::test]
async fn the_password_is_in_no_process_list_and_in_no_readable_file() {
    use std::os::unix::fs::PermissionsExt;
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("secret-");
    let server = open(&home).await.expect("a server");
    let password = server.address().password.clone().expect("root has one");
    let line = fs::read_to_string(format!("/proc/{}/cmdline", server.pid().expect("local"))).expect("a line");
    assert!(!line.contains(password.expose()));
    assert!(!format!("{server:?}").contains(password.expose()));
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&home.server()), 0o700);
    assert_eq!(mode(&home.server().join("password")), 0o600);
    assert!(!home.server().join("first-statements.sql").exists());
    // Nobody gets in without it, neither by the socket nor by the port.
    for socket in [server.address().socket.clone(), None] {
        let mut address = server.address().clone();
        (address.socket, address.password) = (socket, None);
        let refused =
            sqlx::ConnectOptions::connect(&address.connect_options()).await.expect_err("no password");
        assert!(refused.to_string().contains("1045"), "{refused}");
    }
    let mut address = server.address().clone();
    address.socket = None;
    let over_tcp = sqlx::ConnectOptions::connect(&address.connect_options()).await;
    over_tcp.expect("with the password the port serves as well").close().await.expect("closed");
    server.close().await.expect("a clean stop");
}

#[tokio::test]
async fn a_server_whose_program_was_killed_is_adopted_and_stopped_at_the_end() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("adopt-");
    let pid = orphan(open(&home).await.expect("a server"), &home);
    let adopted = open(&home).await.expect("the same server");
    assert_eq!((adopted.pid(), adopted.was_found_running()), (Some(pid), true));
    assert_eq!(ask(&adopted, "SELECT DATABASE()").await, "idembench");
    let pid = orphan(adopted, &home);

    // Another one was asked for: the orphan makes room for it.
    let larger = OwnedSpec { buffer_pool: Some(Bytes::mib(256)), ..support::small() };
    let replaced = server::open(&ServerSpec::Owned(larger), &home).await.expect("a larger server");
    assert_ne!(replaced.pid(), Some(pid));
    assert!(!replaced.was_found_running());
    assert_eq!(ask(&replaced, "SELECT CAST(@@innodb_buffer_pool_size AS CHAR)").await, "268435456");
    replaced.close().await.expect("a clean stop");
    gone(&home).await;
}

#[tokio::test]
async fn two_programs_do_not_share_a_server_that_one_of_them_will_stop() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("two-");
    let first = open(&home).await.expect("a server");
    let refused = open(&home).await.expect_err("somebody has it").to_string();
    assert!(refused.contains(&format!("process {} (", std::process::id())), "{refused}");
    assert!(refused.contains("--data-directory"), "{refused}");
    let refused = server::down(&support::small(), &home).await.expect_err("somebody has it").to_string();
    assert!(refused.contains("is using it"), "{refused}");
    assert_eq!(ask(&first, "SELECT DATABASE()").await, "idembench", "the first one was not disturbed");
    first.close().await.expect("a clean stop");
    open(&home).await.expect("free again").close().await.expect("a clean stop");
}

#[tokio::test]
async fn a_server_that_was_put_up_serves_several_commands_and_stays_until_it_is_taken_down() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("up-");
    let spec = support::small();
    assert_eq!(server::down(&spec, &home).await.expect("nothing to do"), None);
    let up = server::up(&spec, &home).await.expect("up");
    assert_eq!(server::up(&spec, &home).await.expect("up twice"), up);
    let (first, second) = (open(&home).await.expect("one"), open(&home).await.expect("another"));
    assert_eq!((first.pid(), second.pid()), (Some(up.pid), Some(up.pid)));
    let refused = server::down(&spec, &home).await.expect_err("two use it").to_string();
    assert!(refused.contains("using it"), "{refused}");
    first.close().await.expect("closed");
    drop(second);
    assert_eq!(server::status(&spec, &home).await, Some(up.clone()), "it outlives them");

    let larger = OwnedSpec { buffer_pool: Some(Bytes::mib(256)), ..spec.clone() };
    let refused =
        server::open(&ServerSpec::Owned(larger), &home).await.expect_err("another pool").to_string();
    assert!(refused.contains("--innodb-buffer-pool-size=268435456"), "{refused}");
    assert_eq!(server::down(&spec, &home).await.expect("down"), Some(up));
    assert_eq!(server::status(&spec, &home).await, None);

    // Taken down means that the next command's server is its own again.
    open(&home).await.expect("a server").close().await.expect("a clean stop");
    assert_eq!(server::status(&spec, &home).await, None);
}

#[tokio::test]
async fn a_data_directory_that_was_not_finished_is_made_anew() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("half-");
    // The making is cut off, as by Ctrl-C, once it has begun.
    {
        let making = open(&home);
        tokio::select! {
            _ = making => panic!("made before it could be cut off"),
            () = until(|| home.server().join("data").exists()) => {}
        }
    }
    assert!(home.server().join("initializing").exists());
    assert!(home.server().join("data").exists());
    let server = open(&home).await.expect("made anew");
    assert!(!home.server().join("initializing").exists());
    server.close().await.expect("a clean stop");
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn files_of_others_are_not_touched() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("foreign-");
    let theirs = home.server().join("data");
    fs::create_dir_all(&theirs).expect("a folder");
    fs::write(theirs.join("precious"), "data").expect("a file");
    let refused = open(&home).await.expect_err("not ours").to_string();
    assert!(refused.contains("did not make"), "{refused}");
    assert_eq!(fs::read_to_string(theirs.join("precious")).expect("still there"), "data");
}

#[tokio::test]
async fn another_releases_data_directory_is_refused() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("release-");
    fs::create_dir_all(home.server()).expect("a folder");
    fs::write(home.server().join("initialized"), "8.3.0").expect("a note");
    let refused = open(&home).await.expect_err("8.3").to_string();
    assert!(refused.contains("MySQL 8.3.0 made that data directory"), "{refused}");
}

#[tokio::test]
async fn a_server_that_dies_leaves_its_last_words() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("dies-");
    let mut server = open(&home).await.expect("a server");
    assert!(server.cause_of_death().is_none());
    kill(server.pid().expect("local"));
    let cause = loop {
        match server.cause_of_death() {
            Some(cause) => break cause.to_string(),
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    assert!(cause.contains("signal 9"), "{cause}");
    let refused = server.connect().await.expect_err("nobody there").to_string();
    assert!(refused.contains("mysqld.sock"), "{refused}");
    server.close().await.expect_err("a dead server is not stopped in silence");
    // The next start recovers.
    open(&home).await.expect("recovered").close().await.expect("a clean stop");
}

#[tokio::test]
async fn a_server_that_does_not_start_says_why() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("option-");
    open(&home).await.expect("a server").close().await.expect("a clean stop");
    let spec = OwnedSpec { options: vec![("no-such-option".into(), "1".into())], ..support::small() };
    let refused = server::open(&ServerSpec::Owned(spec), &home).await.expect_err("no such option");
    assert!(refused.to_string().contains("no-such-option"), "{refused}");
    assert_eq!(server::status(&support::small(), &home).await, None);
}

#[tokio::test]
async fn numbers_without_a_redo_log_are_refused_and_so_is_what_a_crash_leaves_of_it() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("redo-");
    let server = open(&home).await.expect("a server");
    let mut connection = server.connect().await.expect("a connection");
    connection.execute("ALTER INSTANCE DISABLE INNODB REDO_LOG").await.expect("off");
    let refused = server.describe().await.expect_err("redo is off").to_string();
    assert!(refused.contains("re-initialised"), "{refused}");
    let _ = connection.close().await;
    kill(server.pid().expect("local"));
    gone(&home).await;
    drop(server);
    match open(&home).await.expect_err("damaged") {
        OpenError::Owned(OwnedError::Start(error)) => {
            assert!(error.to_string().contains("must be re-initialised"), "{error}");
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_socket_in_a_deep_folder_gets_a_short_path_that_goes_with_the_server() {
    if !support::has_mysqld() {
        return;
    }
    let (folder, home) = support::home("deep-");
    let deep = folder.path().join("a-folder-with-a-long-name-".repeat(5));
    let spec = OwnedSpec { data_directory: Some(deep), ..support::small() };
    let server = server::open(&ServerSpec::Owned(spec.clone()), &home).await.expect("a server");
    let socket = server.address().socket.clone().expect("it has one");
    assert!(socket.as_os_str().len() < 108 && socket.exists(), "{}", socket.display());
    server.close().await.expect("a clean stop");
    assert!(!socket.parent().expect("a folder").exists());
}

#[tokio::test]
async fn the_binary_log_is_on_and_synced_when_asked_for() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("binlog-");
    let spec = OwnedSpec { binlog: true, ..support::small() };
    let server = server::open(&ServerSpec::Owned(spec), &home).await.expect("a server");
    let settings = server.describe().await.expect("described").settings;
    assert_eq!((settings["log_bin"].as_str(), settings["sync_binlog"].as_str()), ("ON", "1"));
    server.close().await.expect("a clean stop");
}

#[tokio::test]
async fn a_full_disk_is_said_to_be_full() {
    if !support::has_mysqld() {
        return;
    }
    let Some(disk) = support::SmallDisk::mount(300 << 10) else { return };
    let (_folder, home) = support::home("full-");
    let spec = OwnedSpec { data_directory: Some(disk.path().join("server")), ..support::small() };
    let refused =
        server::open(&ServerSpec::Owned(spec), &home).await.expect_err("300 MiB are too few").to_string();
    assert!(refused.contains("are free there (df)") && refused.contains("--data-directory"), "{refused}");
}

#[tokio::test]
async fn a_server_starts_on_a_disk_that_was_filled_so_that_its_tables_can_be_dropped() {
    if !support::has_mysqld() {
        return;
    }
    let Some(disk) = support::SmallDisk::mount(700 << 10) else { return };
    let (_folder, home) = support::home("filled-");
    let spec = OwnedSpec { data_directory: Some(disk.path().join("server")), ..support::small() };
    let spec = ServerSpec::Owned(spec);
    server::open(&spec, &home).await.expect("it fits").close().await.expect("a clean stop");
    disk.fill();
    server::open(&spec, &home).await.expect("a server").close().await.expect("a clean stop");
}
