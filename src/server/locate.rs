//! Which `mysqld` runs as the owned server: `$IDEMBENCH_MYSQLD`, else one on PATH, else the unpacked one.
//!
//! One that was asked for by name is used or refused, never replaced in silence; one on PATH that does not
//! fit (MariaDB, 5.7) is passed over.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::home::Home;
use super::version::ServerVersion;

/// The oldest release that is used.
const OLDEST: ServerVersion = ServerVersion::new(8, 0, 0);

/// A server answers in 20 ms; from a cold disk it has to be read first.
const ANSWER_PATIENCE: Duration = Duration::from_secs(20);

/// A server program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mysqld {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says that it is.
    pub version: ServerVersion,
}

/// Why there is no server program to run.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// The one named by `$IDEMBENCH_MYSQLD` does not serve.
    #[error(
        "use $IDEMBENCH_MYSQLD={path}: it {reason} — name the mysqld of MySQL 8.0 or later, or unset the variable"
    )]
    Named {
        /// The program.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// There is none.
    #[error(
        "find a mysqld: none of MySQL 8.0 or later in $IDEMBENCH_MYSQLD, on PATH or in {bin}{passed_over} — run \
         `idembench server install` (or scripts/setup), or use `--server docker` or \
         `--server mysql://user@host/schema`"
    )]
    NotFound {
        /// Where the unpacked one would be.
        bin: PathBuf,
        /// What was found and did not fit, in brackets, or nothing.
        passed_over: String,
    },
}

/// Finds the server program for this home.
pub fn locate_mysqld(home: &Home) -> Result<Mysqld, LocateError> {
    if let Some(path) = std::env::var_os("IDEMBENCH_MYSQLD").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        let path = if path.components().count() == 1 { on_path(&path).unwrap_or(path) } else { path };
        return probe(&path).map_err(|reason| LocateError::Named { path, reason });
    }
    let candidates = on_path(Path::new("mysqld")).into_iter().chain([home.bin().join("mysqld")]);
    first_usable(candidates).map_err(|passed_over| LocateError::NotFound { bin: home.bin(), passed_over })
}

fn first_usable(candidates: impl Iterator<Item = PathBuf>) -> Result<Mysqld, String> {
    let mut passed_over = Vec::new();
    for path in candidates.filter(|path| path.exists()) {
        match probe(&path) {
            Ok(mysqld) => return Ok(mysqld),
            Err(reason) => passed_over.push(format!("{} {reason}", path.display())),
        }
    }
    match passed_over.as_slice() {
        [] => Err(String::new()),
        some => Err(format!(" ({})", some.join("; "))),
    }
}

fn on_path(name: &Path) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Asks a program for its version; an error completes "it …".
fn probe(path: &Path) -> Result<Mysqld, String> {
    // Absolute, for the server is started from another directory.
    let path = std::path::absolute(path).map_err(|error| format!("has no absolute path ({error})"))?;
    let output = asked(&path)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("nothing").trim().to_owned();
        return Err(format!("ends with {} when asked for its version, saying: {said}", output.status));
    }
    read_version(&printed).map(|version| Mysqld { path, version })
}

/// What a program prints when asked for its version; one that does something else instead is killed.
fn asked(path: &Path) -> Result<Output, String> {
    let failed = |error: std::io::Error| format!("cannot be run ({error})");
    let mut child = Command::new(path)
        .args(["--no-defaults", "--version"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let deadline = Instant::now() + ANSWER_PATIENCE;
    while child.try_wait().map_err(failed)?.is_none() {
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err("does not answer when asked for its version".to_owned());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().map_err(failed)
}

/// Reads `mysqld --version`; an error completes "it …".
fn read_version(printed: &str) -> Result<ServerVersion, String> {
    if printed.to_ascii_lowercase().contains("mariadb") {
        return Err("is MariaDB, whose locking and files differ".to_owned());
    }
    let version = printed
        .split_once("Ver ")
        .and_then(|(_, rest)| rest.trim_start().parse::<ServerVersion>().ok())
        .ok_or_else(|| "does not print a MySQL version".to_owned())?;
    if version < OLDEST {
        return Err(format!("is MySQL {version}"));
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_lines_of_public_releases_are_read() {
        for (printed, expect) in [
            (
                "/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)",
                Ok((8, 0, 36)),
            ),
            ("/x/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", Ok((9, 7, 4))),
            ("mysqld  Ver 8.4.3-3 for Linux on aarch64 (Percona Server (GPL), Release 3)", Ok((8, 4, 3))),
            (
                "mysqld  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)",
                Err("is MariaDB"),
            ),
            ("mysqld  Ver 5.7.44 for Linux on x86_64 (MySQL Community Server (GPL))", Err("is MySQL 5.7.44")),
            ("usage: mysqld", Err("does not print")),
        ] {
            match (read_version(printed), expect) {
                (Ok(found), Ok((major, minor, patch))) => {
                    assert_eq!(found, ServerVersion::new(major, minor, patch));
                }
                (Err(found), Err(expect)) => assert!(found.contains(expect), "{found}"),
                (found, expect) => panic!("{printed}: {found:?} instead of {expect:?}"),
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_passed_over_and_named() {
        let passed_over = first_usable([PathBuf::from("/bin/false"), PathBuf::from("/no/such")].into_iter())
            .expect_err("neither is a server");
        assert!(passed_over.contains("/bin/false ends with exit status: 1"), "{passed_over}");
        assert_eq!(first_usable(std::iter::empty()).expect_err("nothing"), "");
    }
}
