//! A real mysqld for a test: its own folder, socket only, ended with the test.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx::{ConnectOptions, Connection, Row};

/// A server process and its folder.
pub struct Mysqld {
    binary: PathBuf,
    folder: tempfile::TempDir,
    child: Option<Child>,
    pub connection: Option<MySqlConnection>,
}

/// The servers to test on: `IDEMBENCH_MYSQLD`, PATH or `.idembench/bin`, then `IDEMBENCH_MYSQLD_ALSO`. None is
/// an error under CI and said aloud elsewhere.
pub fn binaries() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = std::env::var_os("IDEMBENCH_MYSQLD").map(PathBuf::from);
    let on_path = std::env::var_os("PATH").and_then(|path| {
        std::env::split_paths(&path).map(|folder| folder.join("mysqld")).find(|file| file.is_file())
    });
    let ours = Some(root.join(".idembench/bin/mysqld")).filter(|file| file.is_file());
    let mut found: Vec<PathBuf> = named.or(on_path).or(ours).into_iter().collect();
    if let Some(also) = std::env::var_os("IDEMBENCH_MYSQLD_ALSO") {
        found.extend(std::env::split_paths(&also).filter(|file| file.is_file()));
    }
    if found.is_empty() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no mysqld found: run scripts/setup");
        eprintln!("SKIPPED: no mysqld in IDEMBENCH_MYSQLD, PATH or .idembench/bin (run scripts/setup)");
    }
    found
}

impl Mysqld {
    /// Initialises a data directory and starts the server on it.
    pub async fn start(binary: &Path) -> Mysqld {
        let folder = tempfile::Builder::new().prefix("idb").tempdir_in("/tmp").unwrap();
        let mut server = Mysqld { binary: binary.to_owned(), folder, child: None, connection: None };
        let initialised = server.command().arg("--initialize-insecure").status().unwrap();
        assert!(initialised.success(), "{}", server.log());
        server.resume().await;
        server
    }

    fn command(&self) -> Command {
        let folder = self.folder.path();
        let log = std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let mut command = Command::new(&self.binary);
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.data().display()))
            .arg(format!("--socket={}", folder.join("s").display()))
            .arg(format!("--secure-file-priv={}", folder.display()))
            .args(["--skip-networking", "--loose-mysqlx=OFF", "--skip-log-bin", "--user=root"])
            .args(["--innodb-buffer-pool-size=64M", "--innodb-flush-method=fsync"])
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        command
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Starts the server again and connects.
    pub async fn resume(&mut self) {
        self.child = Some(self.command().spawn().unwrap());
        let options = MySqlConnectOptions::new()
            .socket(self.folder.path().join("s"))
            .username("root")
            .ssl_mode(MySqlSslMode::Disabled)
            .disable_statement_logging();
        let deadline = Instant::now() + Duration::from_secs(120);
        loop {
            if let Ok(connection) = options.connect().await {
                self.connection = Some(connection);
                return;
            }
            let child = self.child.as_mut().unwrap();
            assert!(child.try_wait().unwrap().is_none(), "mysqld ended:\n{}", self.log());
            assert!(Instant::now() < deadline, "mysqld does not answer:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    pub async fn run(&mut self, sql: &str) {
        let connection = self.connection.as_mut().unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned()))
            .execute(connection)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// The first column of every row, as text.
    pub async fn column(&mut self, sql: &str, column: usize) -> Vec<String> {
        let connection = self.connection.as_mut().unwrap();
        let rows = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned()))
            .fetch_all(connection)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        rows.iter().map(|row| row.get_unchecked::<String, _>(column)).collect()
    }

    pub async fn number(&mut self, sql: &str) -> u64 {
        let cells = self.column(&format!("SELECT CAST(({sql}) AS CHAR)"), 0).await;
        cells[0].parse().unwrap_or_else(|_| panic!("{sql}: {cells:?}"))
    }

    /// Clean shutdown with everything purged.
    pub async fn stop(&mut self) {
        self.run("SET GLOBAL innodb_fast_shutdown = 0").await;
        self.run("SHUTDOWN").await;
        if let Some(connection) = self.connection.take() {
            let _ = connection.close().await;
        }
        assert!(self.child.take().unwrap().wait().unwrap().success(), "{}", self.log());
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.connection = None;
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Mysqld {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
