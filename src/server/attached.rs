//! Somebody else's server: it is used as it is, and nothing of it is changed but one schema of ours.

use std::path::PathBuf;

use sqlx::mysql::MySqlDatabaseError;
use sqlx::{ConnectOptions, MySqlConnection};

use super::address::{self, Address};
use super::version::ServerVersion;
use crate::spec::server::AttachedSpec;

/// The oldest release that is measured.
const OLDEST: ServerVersion = ServerVersion::new(8, 0, 0);
/// Access denied for the account, and for the account on the schema.
const DENIED: [u16; 3] = [1044, 1045, 1698];
/// There is no such schema.
const UNKNOWN_SCHEMA: u16 = 1049;

/// Why an attached server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// Nobody answers, or TLS does not come about.
    #[error("connect to {url}: {source} — does it run, and is this its address and ssl-mode?")]
    Connect {
        /// The URL without its password.
        url: String,
        /// The driver's words.
        source: Box<sqlx::Error>,
    },
    /// It does not let us in.
    #[error(
        "connect to {url}: {source} — give the password in $IDEMBENCH_PASSWORD or an option file in \
         $IDEMBENCH_OPTION_FILE, and let the account use the schema"
    )]
    Denied {
        /// The URL without its password.
        url: String,
        /// The server's words.
        source: Box<sqlx::Error>,
    },
    /// The schema does not exist.
    #[error(
        "connect to {url}: {source} — make an empty schema for idembench: CREATE DATABASE `{database}`, and give \
         the account ALL on it"
    )]
    UnknownSchema {
        /// The URL without its password.
        url: String,
        /// The schema.
        database: String,
        /// The server's words.
        source: Box<sqlx::Error>,
    },
    /// It is something else.
    #[error("use the server at {url}: it calls itself `{version}` — idembench measures MySQL 8.0 or later")]
    Unsuitable {
        /// The URL without its password.
        url: String,
        /// What it calls itself.
        version: String,
    },
}

/// A server that answers.
pub(super) struct Attached {
    pub(super) address: Address,
    pub(super) version: ServerVersion,
    pub(super) pid: Option<u32>,
    pub(super) data_directory: Option<PathBuf>,
}

/// Connects, and looks what answers.
pub(super) async fn open(spec: &AttachedSpec) -> Result<Attached, AttachError> {
    let url = || spec.url_without_password.clone();
    let address = Address::from(spec.clone());
    address.let_server_remember_password().await;
    let connected = address.connect_options().connect().await;
    let mut connection = connected.map_err(|source| classified(source, spec))?;
    let named = name_of(&mut connection).await;
    let named = named.map_err(|source| AttachError::Connect { url: url(), source: Box::new(source) })?;
    address::close(connection).await;
    let version = suitable(&named).ok_or_else(|| AttachError::Unsuitable { url: url(), version: named })?;
    let pid = peer(&address).await;
    // A server's working directory is its data directory.
    let data_directory = pid.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/cwd")).ok());
    Ok(Attached { address, version, pid, data_directory })
}

fn classified(source: sqlx::Error, spec: &AttachedSpec) -> AttachError {
    let (url, code) = (spec.url_without_password.clone(), code_of(&source));
    let source = Box::new(source);
    match code {
        Some(code) if DENIED.contains(&code) => AttachError::Denied { url, source },
        Some(UNKNOWN_SCHEMA) => AttachError::UnknownSchema { url, database: spec.database.clone(), source },
        _ => AttachError::Connect { url, source },
    }
}

/// MySQL's error number.
pub(super) fn code_of(error: &sqlx::Error) -> Option<u16> {
    let error = error.as_database_error()?;
    error.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}

async fn name_of(connection: &mut MySqlConnection) -> Result<String, sqlx::Error> {
    sqlx::query_scalar("SELECT CONCAT(VERSION(), ' ', @@version_comment)").fetch_one(connection).await
}

/// The version of a server that is MySQL or a close relative of it.
fn suitable(named: &str) -> Option<ServerVersion> {
    let other = ["mariadb", "tidb"].iter().any(|name| named.to_ascii_lowercase().contains(name));
    named.parse().ok().filter(|version| !other && *version >= OLDEST)
}

/// The process behind a Unix socket, as the kernel knows it; none behind TCP.
async fn peer(address: &Address) -> Option<u32> {
    let stream = tokio::net::UnixStream::connect(address.socket.as_ref()?).await.ok()?;
    stream.peer_cred().ok()?.pid()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mysql_of_a_known_age_is_measured() {
        for (named, expect) in [
            ("8.0.36 MySQL Community Server - GPL", Some(ServerVersion::new(8, 0, 36))),
            ("8.4.3-3 Percona Server (GPL), Release 3", Some(ServerVersion::new(8, 4, 3))),
            ("10.11.6-MariaDB-0+deb12u1 Debian 12", None),
            ("8.0.11-TiDB-v8.5.0 TiDB Server", None),
            ("5.7.44 MySQL Community Server (GPL)", None),
            ("", None),
        ] {
            assert_eq!(suitable(named), expect, "{named}");
        }
    }
}
