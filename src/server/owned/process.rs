//! A server process that is ours to stop.

use std::path::PathBuf;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use sqlx::{ConnectOptions, Executor};

use super::child::Ended;
use super::error_log::LastWords;
use super::files::Files;
use super::lock::Claim;
use super::processes;
use crate::server::address::Address;

/// A clean stop writes all dirty pages: a large pool on a slow disk takes minutes.
const STOP_PATIENCE: Duration = Duration::from_secs(600);
/// As long as we hold up our own end when nobody asked for a clean stop.
const DROP_PATIENCE: Duration = Duration::from_secs(60);

/// Why an owned server was not stopped, or had stopped before.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// It takes too long.
    #[error(
        "stop mysqld (process {pid}) on {root}: it still runs after {seconds} s — {log} tells what it does"
    )]
    StillRunning {
        /// Its process.
        pid: u32,
        /// Its folder.
        root: PathBuf,
        /// How long we waited.
        seconds: u64,
        /// Its log.
        log: PathBuf,
    },
    /// It had died before it was asked to stop.
    #[error("mysqld (process {pid}) {ended} while it was in use: {words} — {log} has the rest")]
    Died {
        /// Its process.
        pid: u32,
        /// How.
        ended: String,
        /// What it said.
        words: LastWords,
        /// Its log.
        log: PathBuf,
    },
}

/// A running server, started or adopted; shut down when closed, and at the latest when dropped.
#[derive(Debug)]
pub(crate) struct OwnedProcess {
    pub(super) pid: u32,
    /// Whether it is stopped when this is dropped.
    is_ours: bool,
    /// `None` for an adopted one: it is somebody else's child.
    child: Option<Child>,
    pub(super) files: Files,
    /// Held until the process is gone.
    claim: Option<Claim>,
}

impl OwnedProcess {
    pub(super) fn started(child: Child, files: Files) -> OwnedProcess {
        OwnedProcess { pid: child.id(), is_ours: true, child: Some(child), files, claim: None }
    }

    pub(super) fn adopted(pid: u32, files: Files) -> OwnedProcess {
        OwnedProcess { pid, is_ours: true, child: None, files, claim: None }
    }

    /// One that others use: it is looked at, and never stopped from here.
    pub(super) fn of_others(pid: u32, files: Files) -> OwnedProcess {
        OwnedProcess { pid, is_ours: false, child: None, files, claim: None }
    }

    /// Keeps the folder's lock for as long as the process is ours.
    pub(super) fn keep(&mut self, claim: Claim) {
        self.claim = Some(claim);
    }

    /// How it ended, if it has.
    pub(super) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.as_mut().and_then(|child| child.try_wait().ok().flatten())
    }

    /// Whether the process runs.
    pub(crate) fn is_running(&mut self) -> bool {
        match &self.child {
            Some(_) => self.exit_status().is_none(),
            None => processes::find(&self.files.data()).is_some_and(|found| found.pid == self.pid),
        }
    }

    /// What a dead server has left to say; `None` while it runs.
    pub(crate) fn cause_of_death(&mut self) -> Option<StopError> {
        if self.is_running() {
            return None;
        }
        let ended = self.exit_status().map_or("ended".to_owned(), |status| Ended::Exited(status).to_string());
        let log = self.files.error_log();
        let (pid, words) = (self.pid, LastWords::read(&log));
        Some(StopError::Died { pid, ended, words, log })
    }

    /// Lets it run on after we have gone.
    pub(super) fn leave_running(mut self) {
        self.pid = 0;
        self.child = None;
    }

    /// Shuts it down and gives its folder's lock, so that nobody else gets between.
    pub(super) async fn stop_and_hold(mut self, address: &Address) -> Result<Option<Claim>, StopError> {
        let claim = self.claim.take();
        self.stop(address).await?;
        Ok(claim)
    }

    /// Shuts it down: by SQL, which tells the log why, else by SIGTERM, which does the same.
    pub(crate) async fn stop(mut self, address: &Address) -> Result<(), StopError> {
        if let Some(death) = self.cause_of_death() {
            self.pid = 0;
            self.files.forget_socket();
            return Err(death);
        }
        // Somebody may have stopped it to see what happens.
        processes::signal(self.pid, Signal::CONT);
        if !ask_to_shut_down(address).await {
            processes::signal(self.pid, Signal::TERM);
        }
        let deadline = Instant::now() + STOP_PATIENCE;
        while self.is_running() {
            if Instant::now() >= deadline {
                let (pid, root, log) = (self.pid, self.files.root().to_owned(), self.files.error_log());
                self.pid = 0;
                return Err(StopError::StillRunning { pid, root, seconds: STOP_PATIENCE.as_secs(), log });
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.pid = 0;
        self.files.forget_socket();
        Ok(())
    }
}

async fn ask_to_shut_down(address: &Address) -> bool {
    let asked = async {
        let mut connection = address.options_without_schema().connect().await?;
        connection.execute("SHUTDOWN").await
    };
    matches!(tokio::time::timeout(Duration::from_secs(10), asked).await, Ok(Ok(_)))
}

impl Drop for OwnedProcess {
    /// An error or a panic is on its way out: stop the server all the same, and wait for it, for the folder's
    /// lock goes with us.
    fn drop(&mut self) {
        if self.pid == 0 || !self.is_ours || !self.is_running() {
            return;
        }
        processes::signal(self.pid, Signal::CONT);
        processes::signal(self.pid, Signal::TERM);
        let deadline = Instant::now() + DROP_PATIENCE;
        while self.is_running() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.files.forget_socket();
    }
}
