//! Which `mysqld` runs on a data directory: asked of the process list, which cannot be out of date.
//!
//! A pid file may outlive its server and its number may have gone to another program; a process whose
//! command line names our data directory is our server. Its socket and port stand in the same line.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

/// A server that runs on our data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its process.
    pub pid: u32,
    /// Its command line.
    arguments: Vec<String>,
}

impl Running {
    /// The value of `--name=…`; of two the last, as the server takes it.
    pub fn option(&self, name: &str) -> Option<&str> {
        let name = name.replace('_', "-");
        self.arguments.iter().rev().find_map(|argument| {
            let (found, value) = argument.strip_prefix("--")?.split_once('=')?;
            (found.replace('_', "-") == name).then_some(value)
        })
    }

    /// Whether it was started with this `--name=value`.
    pub fn has(&self, name: &str, value: &str) -> bool {
        if value.is_empty() {
            return self.arguments.iter().any(|argument| argument.strip_prefix("--") == Some(name));
        }
        self.option(name) == Some(value)
    }

    /// Whether it only makes the data directory.
    pub fn is_initializing(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--initialize-insecure")
    }

    /// Its socket.
    pub fn socket(&self) -> Option<PathBuf> {
        self.option("socket").map(PathBuf::from)
    }

    /// Its port.
    pub fn port(&self) -> Option<u16> {
        self.option("port")?.parse().ok()
    }
}

/// The server that runs on this data directory, if one does. A dead one that nobody has waited for has no
/// command line and is not found.
pub fn find(data: &Path) -> Option<Running> {
    let mut system = System::new().ok()?;
    let kind = ProcessRefreshKind::nothing().without_tasks().with_cmd(UpdateKind::Always);
    system.refresh_processes_specifics(ProcessesToUpdate::All, true, kind);
    let wanted = format!("--datadir={}", data.display());
    system.processes().values().find_map(|process| {
        let arguments: Vec<_> =
            process.cmd().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        arguments.contains(&wanted).then(|| Running { pid: process.pid().as_u32(), arguments })
    })
}

/// Sends a signal; that the process is gone is no error.
pub fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Waits until no server runs on the data directory; false when one still does.
pub async fn wait_until_gone(data: &Path, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while find(data).is_some() {
        if Instant::now() >= deadline {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_found_by_either_spelling_and_the_last_counts() {
        let running = Running {
            pid: 1,
            arguments: ["mysqld", "--port=1", "--innodb_io_capacity=5", "--port=2", "--skip-log-bin"]
                .map(str::to_owned)
                .to_vec(),
        };
        assert_eq!(running.port(), Some(2));
        assert!(running.has("innodb-io-capacity", "5"));
        assert!(running.has("skip-log-bin", "") && !running.has("log-bin", "binlog"));
        assert_eq!(running.socket(), None);
    }

    #[test]
    fn a_process_is_known_by_its_data_directory_alone() {
        let data = Path::new("/nowhere/idembench-processes-test/data");
        assert_eq!(find(data), None);
        let mut child = std::process::Command::new("sh")
            .args(["-c", "read _", "sh", "--datadir=/nowhere/idembench-processes-test/data", "--port=7"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let found = find(data).expect("the shell");
        assert_eq!((found.pid, found.port()), (child.id(), Some(7)));
        child.kill().expect("still there");
        // Killed, but not waited for: a zombie does not count.
        let gone = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            find(data).is_none()
        });
        assert!(gone);
        child.wait().expect("waited for");
    }
}
