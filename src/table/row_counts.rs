//! What "affected rows" mean on a connection: a claim's outcome is decided by it, so it is tried, not assumed.

use std::fmt;

use sqlx::{Executor, MySqlConnection};

/// What a driver negotiated with the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowCounts {
    /// Rows that the condition matched (CLIENT_FOUND_ROWS).
    Found,
    /// Rows whose values really changed (the protocol's default).
    Changed,
}

/// Why row counts cannot be trusted.
#[derive(Debug, thiserror::Error)]
pub enum TryRowCountsError {
    /// The server refused.
    #[error("failed to try what row counts mean on a temporary table: {0}")]
    Server(#[from] sqlx::Error),
    /// The counts are neither of the two.
    #[error(
        "row counts cannot be trusted: an UPDATE that changes one row counted {changing}, one of no row counted {missing}, one to identical values counted {identical} — is there a proxy between? Connect to the server itself"
    )]
    Neither {
        /// Counted when a row changed.
        changing: u64,
        /// Counted when no row matched.
        missing: u64,
        /// Counted when a row was set to what it was.
        identical: u64,
    },
}

impl fmt::Display for RowCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RowCounts::Found => "found",
            RowCounts::Changed => "changed",
        })
    }
}

/// Finds out on a temporary table that only this connection sees.
pub async fn try_row_counts(connection: &mut MySqlConnection) -> Result<RowCounts, TryRowCountsError> {
    connection
        .execute("CREATE TEMPORARY TABLE idembench_row_counts (id INT PRIMARY KEY, value INT) ENGINE=InnoDB")
        .await?;
    connection.execute("INSERT INTO idembench_row_counts VALUES (1, 1)").await?;
    let changing = connection.execute("UPDATE idembench_row_counts SET value = 2 WHERE id = 1").await?;
    let missing = connection.execute("UPDATE idembench_row_counts SET value = 3 WHERE id = 2").await?;
    let identical = connection.execute("UPDATE idembench_row_counts SET value = 2 WHERE id = 1").await?;
    connection.execute("DROP TEMPORARY TABLE idembench_row_counts").await?;
    match (changing.rows_affected(), missing.rows_affected(), identical.rows_affected()) {
        (1, 0, 1) => Ok(RowCounts::Found),
        (1, 0, 0) => Ok(RowCounts::Changed),
        (changing, missing, identical) => Err(TryRowCountsError::Neither { changing, missing, identical }),
    }
}
