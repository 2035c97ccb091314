//! Making an owned server's data directory, once, in a way that survives being killed at any point.
//!
//! A note `initializing` stands while the directory is made and `initialized` when it is whole. A directory
//! with the first note only is thrown away and made anew; one with neither is not ours and is not touched.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use rand::RngExt;

use crate::spec::server::{OwnedSpec, Secret};
use crate::units::Bytes;

use super::child::{self, Ended};
use super::error_log::LastWords;
use super::files::{Files, remove_if_there, write_private};
use super::start::FREE_WHEN_FULL;
use crate::server::disk;
use crate::server::locate::Mysqld;
use crate::server::settings;
use crate::server::version::ServerVersion;

/// A new data directory takes about 200 MiB, its first redo files as much again.
const FREE_SPACE_NEEDED: Bytes = Bytes::mib(512);
/// Making it takes 2 to 5 s on a disk of our time; a slow one gets a hundred times as much.
const PATIENCE: Duration = Duration::from_secs(300);

/// Why there is no data directory.
#[derive(Debug, thiserror::Error)]
pub enum InitializeError {
    /// Files lie there that we did not make.
    #[error(
        "make a data directory in {path}: files lie there that idembench did not make — name another folder with \
         --data-directory, or remove them"
    )]
    Foreign {
        /// Where.
        path: PathBuf,
    },
    /// Another release made it.
    #[error(
        "start mysqld {mysqld} on {path}: MySQL {made_by} made that data directory, and releases do not share \
         one — use that mysqld in $IDEMBENCH_MYSQLD, another folder with --data-directory, or remove {path}"
    )]
    OtherRelease {
        /// The server's folder.
        path: PathBuf,
        /// The release that made it.
        made_by: String,
        /// The release to be started.
        mysqld: ServerVersion,
    },
    /// The disk is too full.
    #[error(
        "make a data directory in {path}: it needs {needed}, {free} are free there (df) — free space, or name a \
         folder on another disk with --data-directory"
    )]
    NoSpace {
        /// Where.
        path: PathBuf,
        /// How much it takes.
        needed: Bytes,
        /// How much there is.
        free: Bytes,
    },
    /// A file could not be written.
    #[error("make a data directory: write {path}: {source} — name another folder with --data-directory")]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Root's password is lost.
    #[error(
        "log in to the server in {root}: its file `password`: {source} — remove {root} to make a new server"
    )]
    Password {
        /// The server's folder.
        root: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The server program failed.
    #[error(
        "make a data directory in {path} with mysqld {version}: it {ended}: {words} — {log} has the rest"
    )]
    Failed {
        /// Where.
        path: PathBuf,
        /// The program's version.
        version: ServerVersion,
        /// How it ended.
        ended: Ended,
        /// What it said.
        words: LastWords,
        /// Its log.
        log: PathBuf,
    },
}

/// Sees to it that there is a whole data directory of this release, and gives root's password.
pub(super) async fn ensure(
    files: &Files,
    mysqld: &Mysqld,
    spec: &OwnedSpec,
) -> Result<Secret, InitializeError> {
    let write = |path: PathBuf| move |source| InitializeError::Write { path, source };
    if let Ok(made_by) = fs::read_to_string(files.initialized()) {
        check_release(files, mysqld, made_by.trim())?;
        remove_if_there(&files.initializing()).map_err(write(files.initializing()))?;
        let lost = |source| InitializeError::Password { root: files.root().to_owned(), source };
        return password(files).map_err(lost);
    }
    if files.initializing().exists() {
        discard_half_made(files).map_err(write(files.data()))?;
    }
    check_place(files)?;
    write_private(&files.initializing(), "").map_err(write(files.initializing()))?;
    let password = new_password();
    write_private(&files.password(), password.expose()).map_err(write(files.password()))?;
    write_private(&files.first_statements(), &first_statements(&password))
        .map_err(write(files.first_statements()))?;
    let made = make(files, mysqld, spec).await;
    // Gone in any case: it holds the password, and a second start has no use for it.
    remove_if_there(&files.first_statements()).map_err(write(files.first_statements()))?;
    made?;
    write_private(&files.initialized(), &mysqld.version.to_string()).map_err(write(files.initialized()))?;
    remove_if_there(&files.initializing()).map_err(write(files.initializing()))?;
    Ok(password)
}

/// Root's password, as it was written when the directory was made.
pub(super) fn password(files: &Files) -> io::Result<Secret> {
    fs::read_to_string(files.password()).map(Secret::new)
}

fn check_release(files: &Files, mysqld: &Mysqld, made_by: &str) -> Result<(), InitializeError> {
    let same = made_by.parse::<ServerVersion>().is_ok_and(|made| made.series() == mysqld.version.series());
    if same {
        return Ok(());
    }
    Err(InitializeError::OtherRelease {
        path: files.root().to_owned(),
        made_by: made_by.to_owned(),
        mysqld: mysqld.version,
    })
}

fn discard_half_made(files: &Files) -> io::Result<()> {
    match fs::remove_dir_all(files.data()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn check_place(files: &Files) -> Result<(), InitializeError> {
    let is_empty =
        |path: &std::path::Path| fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none());
    // Somebody's own data directory was named, or one of ours has lost its notes.
    if files.root().join("ibdata1").exists() || !is_empty(&files.data()) {
        return Err(InitializeError::Foreign { path: files.root().to_owned() });
    }
    match disk::free_space(files.root()) {
        Ok(free) if free < FREE_SPACE_NEEDED => {
            Err(InitializeError::NoSpace { path: files.root().to_owned(), needed: FREE_SPACE_NEEDED, free })
        }
        // Not knowing is no reason to refuse: the server itself will say.
        _ => Ok(()),
    }
}

async fn make(files: &Files, mysqld: &Mysqld, spec: &OwnedSpec) -> Result<(), InitializeError> {
    let log = files.begin_error_log();
    let log = log.map_err(|source| InitializeError::Write { path: files.error_log(), source })?;
    let mut arguments = child::common_arguments(files);
    arguments.push("--initialize-insecure".to_owned());
    arguments.push(format!("--init-file={}", files.first_statements().display()));
    arguments.push("--skip-log-bin".to_owned());
    arguments.push("--loose-mysqlx=OFF".to_owned());
    // Some of the user's options (page size, case of names) hold for a directory's whole life.
    arguments.extend(spec.options.iter().map(settings::argument));
    let ended = match child::spawn(mysqld, &arguments, log, files) {
        Ok(child) => child::wait(child, PATIENCE).await,
        Err(error) => Ended::NeverStarted(error.to_string()),
    };
    if ended.is_success() {
        return Ok(());
    }
    let free = disk::free_space(files.root()).unwrap_or_default();
    if free < FREE_WHEN_FULL && !matches!(ended, Ended::NeverStarted(_)) {
        return Err(InitializeError::NoSpace {
            path: files.root().to_owned(),
            needed: FREE_SPACE_NEEDED,
            free,
        });
    }
    let log = files.error_log();
    Err(InitializeError::Failed {
        path: files.root().to_owned(),
        version: mysqld.version,
        ended,
        words: LastWords::read(&log),
        log,
    })
}

/// 128 random bits.
fn new_password() -> Secret {
    Secret::new(format!("{:032x}", rand::rng().random::<u128>()))
}

/// Root may come over the socket (`localhost`) and over TCP from this machine; names are not looked up, so
/// both are written. One statement a line, as `--init-file` wants.
fn first_statements(password: &Secret) -> String {
    let password = password.expose();
    format!(
        "ALTER USER 'root'@'localhost' IDENTIFIED BY '{password}';\n\
         CREATE USER 'root'@'127.0.0.1' IDENTIFIED BY '{password}';\n\
         GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;\n"
    )
}
