//! `server install`: unpacks a MySQL under the home with the set-up script that the program carries.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::home::Home;
use super::locate::{LocateError, locate_mysqld};

/// The same file that `scripts/setup` runs.
const SCRIPT: &str = include_str!("../../scripts/setup-mysql");

/// Why there is still no MySQL.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The script could not be run.
    #[error("install MySQL under {home}: run bash: {source}")]
    Run {
        /// Where to.
        home: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The script failed, and said why on standard error.
    #[error("install MySQL under {home}: {said}")]
    Failed {
        /// Where to.
        home: PathBuf,
        /// Its last line.
        said: String,
    },
    /// What it left does not serve.
    #[error(transparent)]
    Locate(#[from] LocateError),
}

/// Runs the script, whose progress goes to standard error, and finds the server that it left; the answer
/// says which, in words. One that is there already is found, not replaced.
pub fn install(home: &Home) -> Result<String, InstallError> {
    let run = |source| InstallError::Run { home: home.path().to_owned(), source };
    let mut shell = Command::new("bash")
        .args(["-s", "--", "--into"])
        .arg(home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(run)?;
    if let Some(mut stdin) = shell.stdin.take() {
        // A script that has ended early has said why.
        let _ = stdin.write_all(SCRIPT.as_bytes());
    }
    let said = shell.stderr.take().map(passed_on).unwrap_or_default();
    let status = shell.wait().map_err(run)?;
    if !status.success() {
        let said = said.trim_start_matches("setup-mysql: ").to_owned();
        let said = if said.is_empty() { format!("the script ended with {status}") } else { said };
        return Err(InstallError::Failed { home: home.path().to_owned(), said });
    }
    let mysqld = locate_mysqld(home)?;
    Ok(format!("MySQL {} at {}", mysqld.version, mysqld.path.display()))
}

/// Shows the script's lines as they come, all but the last, which is returned: it goes into the error.
fn passed_on(stderr: std::process::ChildStderr) -> String {
    use std::io::{BufRead, BufReader};
    let mut last = String::new();
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if !last.is_empty() {
            eprintln!("{last}");
        }
        last = line;
    }
    last
}
