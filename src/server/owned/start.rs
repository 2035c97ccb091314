//! Starting a server on a whole data directory, and waiting until it answers.

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::ConnectOptions;
use sqlx::mysql::MySqlSslMode;

use crate::spec::server::{OwnedSpec, Secret, Tls};
use crate::units::Bytes;

use super::child::{self, Ended};
use super::error_log::{LastWords, PORT_IN_USE, REDO_WAS_OFF};
use super::files::Files;
use super::process::OwnedProcess;
use crate::server::address::{self, Address};
use crate::server::locate::Mysqld;
use crate::server::{DATABASE, disk, machine, settings};

/// A server that says nothing for so long is not starting any more; recovery reports its progress.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// Recovery of a large redo log on a slow disk.
const PATIENCE: Duration = Duration::from_secs(1800);
/// Between choosing a free port and the server's taking it another program may take it.
const PORT_TRIES: usize = 3;

/// Why the owned server does not answer.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The files for it could not be written.
    #[error("start mysqld {mysqld}: {path}: {source} — use --data-directory for another folder")]
    Prepare {
        /// The program.
        mysqld: PathBuf,
        /// What could not be written or opened.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program could not be run or ended at once.
    #[error("start mysqld on {root}: it {ended}: {words} — {log} has the rest")]
    Ended {
        /// The server's folder.
        root: PathBuf,
        /// How.
        ended: Ended,
        /// What it said.
        words: LastWords,
        /// Its log.
        log: PathBuf,
    },
    /// The disk is full.
    #[error(
        "start mysqld on {root}: {free} are free there (df), it said: {words} — free space, or use \
         --data-directory for a folder on another disk"
    )]
    NoSpace {
        /// The server's folder.
        root: PathBuf,
        /// Free space.
        free: Bytes,
        /// What it said.
        words: LastWords,
    },
    /// The files are worth nothing.
    #[error(
        "start mysqld on {root}: it was killed while its redo log was off, so its files may be damaged — the \
         instance must be re-initialised: remove {root} and load again"
    )]
    RedoWasOff {
        /// The server's folder.
        root: PathBuf,
    },
    /// It runs, but does not answer.
    #[error(
        "wait for mysqld (process {pid}) on {root}: no answer after {seconds} s — {log} tells what it does"
    )]
    Silent {
        /// Its process.
        pid: u32,
        /// The server's folder.
        root: PathBuf,
        /// How long we waited.
        seconds: u64,
        /// Its log.
        log: PathBuf,
    },
    /// It answers, but does not let us in.
    #[error(
        "log in to mysqld on {root}: {source} — was its root account changed? Remove {root} to make it anew"
    )]
    LogIn {
        /// The server's folder.
        root: PathBuf,
        /// Its words.
        source: Box<sqlx::Error>,
    },
}

/// Starts the server and waits until it answers.
pub(super) async fn start(
    files: &Files,
    mysqld: &Mysqld,
    spec: &OwnedSpec,
    password: Secret,
) -> Result<(OwnedProcess, Address), StartError> {
    let mut tries = 1;
    loop {
        match start_once(files, mysqld, spec, password.clone()).await {
            Err(StartError::Ended { words, .. })
                if words.has(PORT_IN_USE) && spec.port.is_none() && tries < PORT_TRIES =>
            {
                tries += 1;
            }
            answer => return answer,
        }
    }
}

async fn start_once(
    files: &Files,
    mysqld: &Mysqld,
    spec: &OwnedSpec,
    password: Secret,
) -> Result<(OwnedProcess, Address), StartError> {
    let prepare =
        |path: PathBuf| move |source| StartError::Prepare { mysqld: mysqld.path.clone(), path, source };
    let port = spec.port.map_or_else(free_port, Ok).map_err(prepare(PathBuf::from("127.0.0.1")))?;
    let socket = files.new_socket().map_err(prepare(files.root().to_owned()))?;
    let log = files.begin_error_log().map_err(prepare(files.error_log()))?;
    let address = address(&socket, port, password);
    let arguments = arguments(files, mysqld, spec, &address);
    let child = child::spawn(mysqld, &arguments, log, files).map_err(|error| StartError::Ended {
        root: files.root().to_owned(),
        ended: Ended::NeverStarted(error.to_string()),
        words: LastWords::default(),
        log: files.error_log(),
    })?;
    let mut process = OwnedProcess::started(child, files.clone());
    let free = || disk::free_space(files.root()).ok();
    wait_until_it_answers(&mut process, &address).await.map_err(|error| explained(error, free()))?;
    Ok((process, address))
}

/// Root on this machine.
pub(super) fn address(socket: &Path, port: u16, password: Secret) -> Address {
    Address {
        socket: Some(socket.to_owned()),
        host: "127.0.0.1".to_owned(),
        port,
        user: "root".to_owned(),
        password: Some(password),
        database: DATABASE.to_owned(),
        tls: Tls::default(),
    }
}

fn arguments(files: &Files, mysqld: &Mysqld, spec: &OwnedSpec, address: &Address) -> Vec<String> {
    let mut arguments = child::common_arguments(files);
    let memory = machine::memory();
    let socket = address.socket.as_deref().unwrap_or(Path::new("")).display();
    arguments.extend([
        format!("--socket={socket}"),
        format!("--pid-file={}", files.pid().display()),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--port={}", address.port),
        // Looking up names would only add a wait; both of root's accounts are written as addresses.
        "--skip-name-resolve".to_owned(),
    ]);
    arguments.extend(settings::measured(mysqld.version, spec, memory).iter().map(settings::argument));
    arguments
}

fn free_port() -> io::Result<u16> {
    TcpListener::bind(("127.0.0.1", 0))?.local_addr().map(|address| address.port())
}

/// Waits until the server lets us in; the first login goes over TLS, which
/// [`Address::let_server_remember_password`] explains.
pub(super) async fn wait_until_it_answers(
    process: &mut OwnedProcess,
    address: &Address,
) -> Result<(), StartError> {
    let begun = Instant::now();
    let log = process.files.error_log();
    let root = process.files.root().to_owned();
    let (mut last_length, mut last_word) = (0, Instant::now());
    let options = address.options_without_schema().ssl_mode(MySqlSslMode::Required);
    loop {
        if !process.is_running() {
            let ended =
                process.exit_status().map_or(Ended::NeverStarted("it is gone".to_owned()), Ended::Exited);
            let words = LastWords::read(&log);
            return Err(StartError::Ended { root, ended, words, log });
        }
        match tokio::time::timeout(Duration::from_secs(10), options.connect()).await {
            Ok(Ok(connection)) => {
                address::close(connection).await;
                return Ok(());
            }
            Ok(Err(source)) if !may_pass(&source) => {
                return Err(StartError::LogIn { root, source: Box::new(source) });
            }
            _ => {}
        }
        let length = log.metadata().map_or(0, |metadata| metadata.len());
        if length != last_length {
            (last_length, last_word) = (length, Instant::now());
        }
        if last_word.elapsed() > SILENCE_MAX || begun.elapsed() > PATIENCE {
            return Err(StartError::Silent {
                pid: process.pid,
                root,
                seconds: begun.elapsed().as_secs(),
                log,
            });
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

/// Whether a failed connection only means that the server is not ready yet: there is no socket, or it
/// already shuts down or is full (1040, 1053).
fn may_pass(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => error
            .try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>()
            .is_some_and(|error| matches!(error.number(), 1040 | 1053)),
        _ => false,
    }
}

/// So little is free when the server has run out of space: it writes pages in clusters of 1 MiB, and its
/// own temporary tablespaces take 12 MiB.
pub(super) const FREE_WHEN_FULL: Bytes = Bytes::mib(32);

/// Says what is behind a server's end where that is known.
fn explained(error: StartError, free: Option<Bytes>) -> StartError {
    let StartError::Ended { root, words, .. } = &error else { return error };
    let root = root.clone();
    match free {
        _ if words.has(REDO_WAS_OFF) => StartError::RedoWasOff { root },
        Some(free) if free < FREE_WHEN_FULL => StartError::NoSpace { root, free, words: words.clone() },
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, free: Bytes, expect: &str) {
        let words = LastWords { lines: vec!["its own words".into()], codes: vec![code.into()] };
        let root = PathBuf::from("/there");
        let ended = Ended::GivenUp(1);
        let log = PathBuf::from("/there/error.log");
        let shown = explained(StartError::Ended { root, ended, words, log }, Some(free)).to_string();
        assert!(shown.contains(expect), "{shown}");
    }

    #[test]
    fn a_server_that_ends_is_explained_by_its_code_and_by_the_disk() {
        check(REDO_WAS_OFF, Bytes::gib(1), "must be re-initialised");
        check("MY-012639", Bytes::mib(3), "3 MiB are free there (df), it said: its own words");
        check("MY-012639", Bytes::gib(1), "it did not end within 1 s: its own words");
    }
}
