//! Why a dataset cannot be read or made.

use std::path::PathBuf;

use crate::spec::ddl::DdlError;

/// Why a dataset cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// Neither a built-in dataset nor a path.
    #[error(
        "no dataset is named `{name}`: use one of {known}, a dataset's folder or a file with a CREATE TABLE"
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in names.
        known: String,
    },
    /// A file cannot be read.
    #[error("failed to read {}: {source}", path.display())]
    ReadFile {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// `dataset.toml` says something that it cannot say.
    #[error("{file}, line {line}: {what}")]
    Toml {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// The CREATE TABLE cannot be read or used.
    #[error("{file}: {source}")]
    Ddl {
        /// The file.
        file: String,
        /// What is wrong.
        source: DdlError,
    },
    /// No partition takes a day's rows.
    #[error(
        "table {table} has no partition for {day} (MySQL would say 1526): add partitions, or use --days {days_that_fit}"
    )]
    MissingPartition {
        /// The table.
        table: String,
        /// The first day without one.
        day: String,
        /// Days that have one, from the first.
        days_that_fit: u32,
    },
    /// More days than partitions can be.
    #[error("{days} days need {} partitions, MySQL takes at most {}: use fewer days", days + 1, crate::spec::ddl::PARTITIONS_MAX)]
    TooManyDays {
        /// The days.
        days: u32,
    },
    /// Days that no calendar has.
    #[error(
        "{days} days from {first_day} leave the years 1000 to 9999 that MySQL's DATE holds: use fewer days"
    )]
    DaysOutOfRange {
        /// The days.
        days: u32,
        /// The first one.
        first_day: String,
    },
    /// Nothing to load.
    #[error("{what} must be at least 1")]
    Zero {
        /// `rows` or `days`.
        what: &'static str,
    },
}
