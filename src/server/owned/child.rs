//! The server program as a child process.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::files::Files;
use crate::server::locate::Mysqld;

/// How a server program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// By itself or by a signal.
    Exited(ExitStatus),
    /// It was given up after so many seconds.
    GivenUp(u64),
    /// It could not be run.
    NeverStarted(String),
}

impl Ended {
    pub(super) fn is_success(&self) -> bool {
        matches!(self, Ended::Exited(status) if status.success())
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exited(status) => match status.signal() {
                // The kernel's out-of-memory killer uses it, and says so only in its own log.
                Some(9) => f.write_str("was killed (signal 9; short of memory? `dmesg` tells)"),
                Some(signal) => write!(f, "died of signal {signal}"),
                None => write!(f, "ended with {status}"),
            },
            Ended::GivenUp(seconds) => write!(f, "did not end within {seconds} s"),
            Ended::NeverStarted(reason) => write!(f, "could not be run ({reason})"),
        }
    }
}

/// What every start on these files needs; `--no-defaults` must come first.
pub(super) fn common_arguments(files: &Files) -> Vec<String> {
    let mut arguments = vec![
        "--no-defaults".to_owned(),
        format!("--datadir={}", files.data().display()),
        format!("--secure-file-priv={}", files.exported().display()),
        format!("--tmpdir={}", files.scratch().display()),
    ];
    if rustix::process::geteuid().is_root() {
        // The server refuses to run as root unless told to.
        arguments.push("--user=root".to_owned());
    }
    arguments
}

/// Starts the program with its output in the log.
///
/// It gets a process group of its own: the terminal's Ctrl-C goes to us, and we shut it down. Secrets that
/// may stand in our environment are not handed on.
pub(super) fn spawn(mysqld: &Mysqld, arguments: &[String], log: File, files: &Files) -> io::Result<Child> {
    Command::new(&mysqld.path)
        .args(arguments)
        .current_dir(files.root())
        .env_remove("IDEMBENCH_PASSWORD")
        .env_remove("IDEMBENCH_SERVER")
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0)
        .spawn()
}

/// Waits for a program that ends by itself. It is killed when its time is up, or when the waiting is
/// dropped (a signal came): what it makes is then made anew.
pub(super) async fn wait(child: Child, patience: Duration) -> Ended {
    let mut child = KilledWhenDropped(child);
    let deadline = Instant::now() + patience;
    loop {
        match child.0.try_wait() {
            Ok(Some(status)) => return Ended::Exited(status),
            Ok(None) if Instant::now() < deadline => tokio::time::sleep(Duration::from_millis(20)).await,
            Ok(None) => return Ended::GivenUp(patience.as_secs()),
            Err(error) => return Ended::NeverStarted(error.to_string()),
        }
    }
}

struct KilledWhenDropped(Child);

impl Drop for KilledWhenDropped {
    fn drop(&mut self) {
        // Does nothing to a child that has ended and was waited for.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
