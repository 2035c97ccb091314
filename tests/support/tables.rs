//! Tables that were loaded as files: asked, looked through, and worn as any table is.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.
#![allow(dead_code)] // Not every test uses all of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use idembench::load::{LoadRequest, Method, Verify};
use idembench::server::{self, Home, Server};
use idembench::spec::dataset::Dataset;
use idembench::spec::server::{OwnedSpec, ServerSpec};
use idembench::units::Rows;
use sqlx::{AssertSqlSafe, Executor, Row};

use crate::support;

pub fn dataset(name: &str, rows: u64, days: u32) -> Dataset {
    Dataset::read(name).unwrap().scaled(Some(Rows(rows)), Some(days), None, None).unwrap()
}

pub fn request(dataset: Dataset, verify: Verify) -> LoadRequest {
    LoadRequest { dataset, method: Method::Auto, verify, streams: None, replace: None }
}

pub async fn open(spec: &OwnedSpec, home: &Home) -> Server {
    server::open(&ServerSpec::Owned(spec.clone()), home).await.unwrap()
}

pub async fn sql(server: &Server, sql: &str) {
    let mut connection = server.connect().await.unwrap();
    let done = connection.execute(AssertSqlSafe(sql.to_owned())).await;
    done.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

pub async fn number(server: &Server, sql: &str) -> i64 {
    server.connect().await.unwrap().fetch_one(AssertSqlSafe(sql.to_owned())).await.unwrap().get(0)
}

/// CHECK TABLE says OK.
pub async fn check(server: &Server, table: &str) {
    let mut connection = server.connect().await.unwrap();
    let rows = connection.fetch_all(AssertSqlSafe(format!("CHECK TABLE {table}"))).await.unwrap();
    let said: Vec<String> = rows.iter().map(|row| row.get_unchecked(3)).collect();
    assert_eq!(said, ["OK"], "{table}");
}

/// The table's files, found below the data directory.
fn table_files(data: &Path, table: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data.join(server::DATABASE)).unwrap().map(|entry| entry.unwrap().path());
    let of_table = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name == format!("{table}.ibd") || name.starts_with(&format!("{table}#p#"))
    };
    entries.filter(of_table).collect()
}

/// Every page's checksum, by the server's own tool if it is there; the server has stopped.
pub fn innochecksum(home: &Home, data: &Path, table: &str) {
    let mysqld = server::locate_mysqld(home).unwrap();
    let tool = mysqld.path.with_file_name("innochecksum");
    if !tool.is_file() {
        support::skip("no innochecksum beside mysqld");
        return;
    }
    let files = table_files(data, table);
    assert!(!files.is_empty(), "{table} has no files");
    for file in files {
        let output = Command::new(&tool).arg(&file).output().unwrap();
        assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    }
}

/// What stands in every row, in one number.
async fn checksum(server: &Server, table: &str) -> i64 {
    number(server, &format!("SELECT CAST(COUNT(*) + BIT_XOR(CRC32(CONCAT_WS('|', biz_key, msg_id, status))) AS SIGNED) FROM {table}")).await
}

/// `t_idem` of 300,000 rows in seven days goes through everything that a table goes through; the server is
/// stopped at the end.
pub async fn lives_like_any_other(server: Server, spec: &OwnedSpec, home: &Home) {
    // Random inserts split pages; deletes merge them.
    sql(&server, "INSERT INTO t_idem SELECT REVERSE(biz_key), msg_id, event_day, status, token, owner, lease_until, created_at FROM t_idem WHERE msg_id % 3 = 0").await;
    check(&server, "t_idem").await;
    assert_eq!(number(&server, "SELECT COUNT(*) FROM t_idem").await, 400_000);
    sql(&server, "DELETE FROM t_idem WHERE msg_id % 5 < 3").await;
    sql(&server, "UPDATE t_idem SET token = token + 1, owner = 9, status = 'DONE' WHERE msg_id % 7 = 0")
        .await;
    sql(&server, "START TRANSACTION; DELETE FROM t_idem; ROLLBACK").await;
    check(&server, "t_idem").await;
    let before = checksum(&server, "t_idem").await;

    // SIGKILL in the middle of an uncommitted change; recovery.
    let mut open_end = server.connect().await.unwrap();
    open_end.execute("START TRANSACTION").await.unwrap();
    open_end.execute("UPDATE t_idem SET status = 'FAILED' WHERE msg_id % 2 = 0").await.unwrap();
    kill(server.pid().unwrap());
    drop(open_end);
    drop(server);
    let server = open(spec, home).await;
    check(&server, "t_idem").await;
    assert_eq!(checksum(&server, "t_idem").await, before);

    sql(&server, "ALTER TABLE t_idem TRUNCATE PARTITION p20260103").await;
    sql(&server, "ALTER TABLE t_idem DROP PARTITION p20260102").await;
    sql(&server, "ALTER TABLE t_idem ADD COLUMN note VARCHAR(20) NULL, ALGORITHM = INSTANT").await;
    sql(&server, "UPDATE t_idem SET note = 'x' WHERE msg_id % 10 = 0").await;
    check(&server, "t_idem").await;
    let data = server.data_directory().unwrap().to_owned();
    server.close().await.unwrap();
    innochecksum(home, &data, "t_idem");
}

fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
    while std::fs::read_link(format!("/proc/{pid}/exe")).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
