//! Real servers for tests.
//!
//! [`server`] is one private server for the whole test program, small and quickly started; [`schema`] is
//! that server with an empty schema of its own, for tests that run beside each other. Both are `None` where
//! there is no `mysqld`, after saying so; under `CI=true` that is a failure instead.
//!
//! ```ignore
//! mod support;
//! #[tokio::test]
//! async fn rows_are_counted() {
//!     let Some(server) = support::schema("rows_are_counted").await else { return };
//!     let mut connection = server.connect().await.unwrap();
//! }
//! ```
#![allow(dead_code)] // each test program uses its own part

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;

use idembench::load::{LoadRequest, Method, Progress, Verify, load};
use idembench::server::{self, Home, Server, locate_mysqld};
use idembench::spec::dataset::Dataset;
use idembench::spec::server::{OwnedSpec, ServerSpec};
use idembench::units::{Bytes, Rows};
use sqlx::{AssertSqlSafe, Connection, Executor};
use tokio::sync::OnceCell;

/// Small, so that many fit beside each other.
pub fn small() -> OwnedSpec {
    OwnedSpec { buffer_pool: Some(Bytes::mib(128)), redo: Some(Bytes::mib(64)), ..OwnedSpec::default() }
}

/// The home in which `mysqld` is looked for: where the product keeps it.
pub fn product_home() -> Home {
    Home::at(concat!(env!("CARGO_MANIFEST_DIR"), "/.idembench")).expect("an absolute path")
}

/// Whether there is a `mysqld`; says so loudly when there is none, and fails under `CI=true`.
pub fn has_mysqld() -> bool {
    match locate_mysqld(&product_home()) {
        Ok(_) => true,
        Err(error) => {
            skip(&error.to_string());
            false
        }
    }
}

/// Skips a test loudly, or fails it under `CI=true`.
pub fn skip(reason: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "under CI=true nothing is skipped: {reason}");
    // Past the test harness's capture: a skipped test must be seen.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
}

/// A home in a folder of its own, under the target directory: the disk that the project lies on, not /tmp.
/// The launchers are the product's.
pub fn home(name: &str) -> (tempfile::TempDir, Home) {
    let parent = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder = tempfile::Builder::new().prefix(name).tempdir_in(parent).expect("a folder");
    let home = Home::at(folder.path()).expect("an absolute path");
    let bin = product_home().bin();
    if bin.exists() {
        std::os::unix::fs::symlink(bin, home.bin()).expect("a link");
    }
    (folder, home)
}

struct Shared {
    server: Server,
    _watchdog: (Child, ChildStdin),
}

static SHARED: OnceCell<Option<Shared>> = OnceCell::const_new();

/// One private server for the whole test program.
pub async fn server() -> Option<&'static Server> {
    let shared = SHARED.get_or_init(async || {
        if !has_mysqld() {
            return None;
        }
        let (folder, home) = home("shared-server-");
        let folder = folder.keep();
        let server = server::open(&ServerSpec::Owned(small()), &home).await.expect("an owned server");
        let _watchdog = watchdog(server.pid().expect("an owned server has a process"), &folder);
        Some(Shared { server, _watchdog })
    });
    shared.await.as_ref().map(|shared| &shared.server)
}

/// Statics are never dropped: a shell waits until this program has ended, however it ends, stops the server
/// and removes its folder.
fn watchdog(pid: u32, folder: &std::path::Path) -> (Child, ChildStdin) {
    let script = r#"read _; kill "$1"; while kill -0 "$1" 2>/dev/null; do sleep 0.1; done; rm -rf "$2""#;
    let mut shell = Command::new("sh")
        .args(["-c", script, "sh", &pid.to_string()])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("a shell");
    let stdin = shell.stdin.take().expect("it is piped");
    (shell, stdin)
}

/// The shared server with an empty schema of this name.
pub async fn schema(name: &str) -> Option<Server> {
    let server = server().await?;
    let mut connection = server.connect().await.expect("a connection");
    let statements = [format!("DROP DATABASE IF EXISTS `{name}`"), format!("CREATE DATABASE `{name}`")];
    for statement in statements {
        connection.execute(AssertSqlSafe(statement)).await.expect("a schema");
    }
    connection.close().await.expect("closed");
    Some(server.in_schema(name))
}

/// A file system in memory.
pub struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// One of so many KiB; `None`, after saying so, where nothing can be mounted.
    pub fn mount(kib: u32) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            skip("mounting a small disk takes root");
        }
        mounted.then_some(SmallDisk { folder })
    }

    pub fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Takes all that is left.
    pub fn fill(&self) {
        let file = std::fs::File::create(self.path().join("filler")).expect("a file");
        let free = server::disk::free_space(self.path()).expect("asked").0;
        // At once, while others write; then whatever they left.
        let _ = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, free.max(1));
        let into = format!("of={}", self.path().join("filler").display());
        let _ = Command::new("dd")
            .args(["if=/dev/zero", "bs=64k", "oflag=append", "conv=notrunc"])
            .arg(into)
            .output();
    }

    /// Gives it back.
    pub fn empty(&self) {
        std::fs::remove_file(self.path().join("filler")).expect("it was filled");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).output();
    }
}

/// So many rows of a built-in dataset on so many days, loaded for tests of something else.
pub async fn loaded(server: &Server, name: &str, rows: u64, days: u32) -> Dataset {
    let dataset = Dataset::read(name).expect(name);
    let dataset = dataset.scaled(Some(Rows(rows)), Some(days), None, None).expect("scaled");
    let request = LoadRequest {
        dataset: dataset.clone(),
        method: Method::Insert,
        verify: Verify::Off,
        streams: None,
        replace: None,
    };
    load(server, &request, &Arc::new(Progress::default())).await.expect("a load");
    dataset
}
