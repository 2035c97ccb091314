//! Why a table was not loaded.

use super::pages::PagesError;
use super::pages::import::ImportError;
use super::pages::swap::SwapError;
use super::sample::AgeError;
use crate::keys::MakeError;
use crate::server::{ConnectError, GuardError};
use crate::units::{Bytes, Rows};

/// Why a table was not loaded. Rows that were committed stay, and a later load goes on behind them.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The dataset's rows cannot be made.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The server does not let us in.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The schema is not ours.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// Aged pages were asked for.
    #[error(
        "load {table}: SQL in key order leaves pages fresh, full and in order — use --method swap for aged pages, a \
         dataset with key_order = \"random\" and fill = \"aged\" for rows that age them by coming in random order, \
         or --fill fresh"
    )]
    FreshPages {
        /// The table.
        table: String,
    },
    /// A table's age is not known.
    #[error(transparent)]
    Age(#[from] AgeError),
    /// Another load of this table is running.
    #[error("load {table}: another load of it is running on this server — wait for it, or stop it")]
    Busy {
        /// The table.
        table: String,
    },
    /// A table of that name exists and is not ours.
    #[error(
        "load {table}: a table of that name exists and idembench did not make it — rename one of them, or say \
         --replace {table} to drop it"
    )]
    NotOurs {
        /// The table.
        table: String,
    },
    /// The table holds other rows.
    #[error(
        "table {table} holds other rows ({there}, fingerprint {fingerprint_there}; asked for {fingerprint}) — \
         {way_out}"
    )]
    OtherRows {
        /// The table.
        table: String,
        /// What is there, in words.
        there: String,
        /// What to say instead.
        way_out: String,
        /// Its fingerprint.
        fingerprint_there: String,
        /// The fingerprint asked for.
        fingerprint: String,
    },
    /// The table has rows that the ledger does not know.
    #[error("load {table}: {what} — say --replace {table} to drop it and load anew")]
    Damaged {
        /// The table.
        table: String,
        /// What does not fit.
        what: String,
    },
    /// The disk is too small.
    #[error(
        "{dataset} needs {needed}, {free} are free under {place} (df) — use --rows {rows_that_fit}, \
         --data-directory on another disk, or free space"
    )]
    DiskTooSmall {
        /// The dataset.
        dataset: String,
        /// Bytes that are still to be written.
        needed: Bytes,
        /// Bytes that are free.
        free: Bytes,
        /// Where.
        place: String,
        /// How many rows would fit, short.
        rows_that_fit: String,
    },
    /// The server refused a statement.
    #[error("failed to {act} {table}: {source}")]
    Sql {
        /// What was done.
        act: &'static str,
        /// To which table.
        table: String,
        /// The server's words.
        source: sqlx::Error,
    },
    /// The stream's client failed: the server refused rows, or went away.
    #[error("failed to load rows {first_row} to {last_row} of {table}: {source}")]
    Stream {
        /// The table.
        table: String,
        /// First row of the chunk.
        first_row: Rows,
        /// Last row of the chunk.
        last_row: Rows,
        /// The driver's or the server's words.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server took fewer rows than it was sent, or changed values.
    #[error(
        "failed to load rows {first_row} to {last_row} of {table}: the server took {taken} of {sent} rows; {warnings}"
    )]
    NotAllTaken {
        /// The table.
        table: String,
        /// First row of the chunk.
        first_row: Rows,
        /// Last row of the chunk.
        last_row: Rows,
        /// Rows that it took.
        taken: Rows,
        /// Rows that it was sent.
        sent: Rows,
        /// Its warnings, verbatim.
        warnings: String,
    },
    /// Error 1526 (1748 when a partition was named): a row belongs to no partition, or to another one.
    #[error(
        "failed to load rows {first_row} to {last_row} of {table}: no partition takes the rows of {day} (server: \
         {message}) — the table's partitions are not those of the dataset; add the day's partition or load with \
         --replace {table}"
    )]
    NoPartition {
        /// The table.
        table: String,
        /// First row of the chunk.
        first_row: Rows,
        /// Last row of the chunk.
        last_row: Rows,
        /// The chunk's day.
        day: String,
        /// The server's words.
        message: String,
    },
    /// Errors 1114 and 1021: the server's disk is full.
    #[error(
        "failed to load rows {first_row} to {last_row} of {table}: the server's disk is full (server: {message}) — free \
         space, and the same command goes on behind the rows that are there"
    )]
    DiskFull {
        /// The table.
        table: String,
        /// First row of the chunk.
        first_row: Rows,
        /// Last row of the chunk.
        last_row: Rows,
        /// The server's words.
        message: String,
    },
    /// Somebody else moved a checkpoint.
    #[error("load {table}: its checkpoint was moved by somebody else — only one load at a time")]
    CheckpointMoved {
        /// The table.
        table: String,
    },
    /// LOAD DATA LOCAL was demanded and is not to be had.
    #[error("load {table}: LOAD DATA LOCAL is not possible: {reason} — leave --method at auto")]
    NoLocalInfile {
        /// The table.
        table: String,
        /// Why not.
        reason: String,
    },
    /// The table was not written as pages.
    #[error(transparent)]
    Pages(Box<PagesError>),
    /// Its files were not exchanged.
    #[error(transparent)]
    Swap(Box<SwapError>),
    /// Its files were not imported.
    #[error(transparent)]
    Import(Box<ImportError>),
    /// [`super::Progress::stop`] was called.
    #[error("load {table}: stopped at {rows} rows — the same command goes on from there")]
    Stopped {
        /// The table.
        table: String,
        /// Rows that are in the table.
        rows: Rows,
    },
    /// The rows that were read back are not those that were sent.
    #[error("verify {table}: {what}")]
    Differs {
        /// The table.
        table: String,
        /// What differs, where.
        what: String,
    },
    /// A task of ours ended before its time.
    #[error("load {table}: a stream ended unexpectedly: {reason}")]
    TaskEnded {
        /// The table.
        table: String,
        /// Why.
        reason: String,
    },
}

impl From<PagesError> for LoadError {
    fn from(error: PagesError) -> LoadError {
        LoadError::Pages(Box::new(error))
    }
}

impl From<ImportError> for LoadError {
    fn from(error: ImportError) -> LoadError {
        LoadError::Import(Box::new(error))
    }
}

impl From<SwapError> for LoadError {
    fn from(error: SwapError) -> LoadError {
        LoadError::Swap(Box::new(error))
    }
}

/// Wraps the server's word about a table.
pub(super) fn sql(act: &'static str, table: &str) -> impl FnOnce(sqlx::Error) -> LoadError {
    let table = table.to_owned();
    move |source| LoadError::Sql { act, table, source }
}
