//! Whether a server has room for as many connections as are wanted, asked before anything is loaded.

use sqlx::Row;

use super::{ConnectError, Server};

/// Beside the driving connections: the sampler, the check of the rows, the load's own, and a person who looks.
const BESIDE: u64 = 8;
/// Files that one driving connection keeps open here: its socket and what its thread waits with.
const FILES_EACH: u64 = 5;
/// Files beside: logs, results, the terminal.
const FILES_BESIDE: u64 = 64;

/// Why so many connections cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    /// The server does not let us in to ask.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It does not answer.
    #[error("ask the server for its room for connections: {0}")]
    Ask(#[from] sqlx::Error),
    /// It takes fewer.
    #[error(
        "open {wanted} connections: the server takes {max} in all (max_connections), {present} are there and {BESIDE} \
         are needed beside — say --connections {free}, or SET GLOBAL max_connections = {enough} on it"
    )]
    Server {
        /// Connections wanted.
        wanted: u64,
        /// `max_connections`.
        max: u64,
        /// Sessions of others.
        present: u64,
        /// Connections that there is room for.
        free: u64,
        /// What `max_connections` would have to be.
        enough: u64,
    },
    /// This process may not open so many files.
    #[error(
        "open {wanted} connections: this process may have {limit} files open and needs {needed} — say `ulimit -n \
         {needed}` first, or --connections {free}"
    )]
    Files {
        /// Connections wanted.
        wanted: u64,
        /// The limit.
        limit: u64,
        /// Files needed.
        needed: u64,
        /// Connections that there is room for.
        free: u64,
    },
}

/// `max_connections` that so many driving connections need on a server of our own.
pub(super) fn enough(wanted: u64) -> u64 {
    wanted + 4 * BESIDE
}

impl Server {
    /// Whether so many connections can be had on top of those that are there, here and on the server.
    ///
    /// # Errors
    /// [`RoomError`] says how many can.
    pub async fn room_for(&self, wanted: u32) -> Result<(), RoomError> {
        let wanted = u64::from(wanted);
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        files(wanted, limit.unwrap_or(u64::MAX))?;
        let mut connection = self.connect().await?;
        let max: u64 = sqlx::query_scalar("SELECT CAST(@@GLOBAL.max_connections AS UNSIGNED)")
            .fetch_one(&mut connection)
            .await?;
        let threads = sqlx::query("SHOW GLOBAL STATUS LIKE 'Threads_connected'").fetch_one(&mut connection);
        let threads: String = threads.await?.try_get(1)?;
        super::address::close(connection).await;
        // Our own goes away again.
        let present = threads.parse::<u64>().unwrap_or(1).saturating_sub(1);
        sessions(wanted, max, present)
    }
}

fn sessions(wanted: u64, max: u64, present: u64) -> Result<(), RoomError> {
    let free = max.saturating_sub(present + BESIDE);
    if wanted <= free {
        return Ok(());
    }
    Err(RoomError::Server { wanted, max, present, free: free.max(1), enough: enough(wanted) + present })
}

fn files(wanted: u64, limit: u64) -> Result<(), RoomError> {
    let needed = wanted * FILES_EACH + FILES_BESIDE;
    if needed <= limit {
        return Ok(());
    }
    let free = (limit.saturating_sub(FILES_BESIDE) / FILES_EACH).max(1);
    Err(RoomError::Files { wanted, limit, needed, free })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_the_ways_out() {
        assert!(sessions(100, 151, 40).is_ok());
        let said = sessions(200, 151, 40).expect_err("too many").to_string();
        for part in ["--connections 103", "SET GLOBAL max_connections = 272", "40 are there"] {
            assert!(said.contains(part), "{said}");
        }
        let said = files(2_000, 1_024).expect_err("too many").to_string();
        assert!(said.contains("ulimit -n 10064") && said.contains("--connections 192"), "{said}");
    }
}
