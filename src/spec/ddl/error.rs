//! Why a CREATE TABLE cannot be read or used: what is wrong, and the way out.

use std::fmt;

/// A fault in a CREATE TABLE. `Display` is one line: [`DdlError::what`], then [`DdlError::advice`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DdlError {
    /// The text cannot be cut into tokens.
    NotSql {
        /// Line, from 1.
        line: u64,
        /// What the tokeniser said.
        reason: String,
    },
    /// There is no CREATE TABLE in the text.
    NoTable,
    /// A statement beside the CREATE TABLE.
    FurtherStatement {
        /// Line, from 1.
        line: u64,
        /// How it begins.
        statement: String,
    },
    /// A token does not fit.
    Unexpected {
        /// Line, from 1.
        line: u64,
        /// What would have fitted.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A column of a kind that the loaders do not write.
    UnsupportedColumn {
        /// Line, from 1.
        line: u64,
        /// The column.
        column: String,
        /// Its type as written.
        kind: String,
        /// Why not, and what to use.
        reason: &'static str,
    },
    /// Something else in the statement that MySQL may take and we do not.
    Unsupported {
        /// Line, from 1.
        line: u64,
        /// The thing.
        what: String,
        /// Why not, and what to use.
        reason: &'static str,
    },
    /// A key or the partitioning names a column that the table lacks.
    UnknownColumn {
        /// Line, from 1.
        line: u64,
        /// The name.
        column: String,
        /// Where it is named.
        place: String,
    },
    /// MySQL error 1503.
    KeyLacksPartitionColumn {
        /// `PRIMARY KEY` or `UNIQUE KEY uk_biz`.
        key: String,
        /// Its columns.
        columns: Vec<String>,
        /// The column that must be in it.
        partition_column: String,
    },
    /// MySQL error 1493.
    BoundsNotIncreasing {
        /// The partition whose bound is too low.
        partition: String,
        /// The one before it.
        previous: String,
    },
    /// MySQL error 1493 (1481 for a MAXVALUE that is not last).
    MaxValueNotLast {
        /// The partition that stands behind a MAXVALUE.
        partition: String,
        /// The partition with MAXVALUE.
        previous: String,
    },
    /// MySQL error 1499.
    TooManyPartitions {
        /// How many there are.
        partitions: usize,
    },
    /// MySQL error 1517.
    PartitionNameTwice {
        /// The name.
        partition: String,
    },
    /// The partitioning has no partitions.
    NoPartitions,
}

/// MySQL's limit of partitions in a table, subpartitions included.
pub const PARTITIONS_MAX: usize = 8192;

impl DdlError {
    /// The line where it stands, when it stands on one.
    pub fn line(&self) -> Option<u64> {
        match self {
            DdlError::NotSql { line, .. }
            | DdlError::FurtherStatement { line, .. }
            | DdlError::Unexpected { line, .. }
            | DdlError::UnsupportedColumn { line, .. }
            | DdlError::Unsupported { line, .. }
            | DdlError::UnknownColumn { line, .. } => Some(*line),
            _ => None,
        }
    }

    /// What is wrong.
    pub fn what(&self) -> String {
        match self {
            DdlError::NotSql { line, reason } => format!("line {line}: not SQL ({reason})"),
            DdlError::NoTable => "no CREATE TABLE in the text".to_owned(),
            DdlError::FurtherStatement { line, statement } => {
                format!(
                    "line {line}: `{statement}` is a further statement, and only one CREATE TABLE is read"
                )
            }
            DdlError::Unexpected { line, expected, found } => {
                format!("line {line}: expected {expected}, found {found}")
            }
            DdlError::UnsupportedColumn { line, column, kind, .. } => {
                format!("line {line}: column {column} is {kind}, which cannot be loaded")
            }
            DdlError::Unsupported { line, what, .. } => format!("line {line}: {what} is not supported"),
            DdlError::UnknownColumn { line, column, place } => {
                format!("line {line}: {place} names {column}, which is no column of the table")
            }
            DdlError::KeyLacksPartitionColumn { key, columns, partition_column } => {
                format!("{key} ({}) lacks the partition column {partition_column}", columns.join(", "))
            }
            DdlError::BoundsNotIncreasing { partition, previous } => {
                format!("partition {partition} does not end above partition {previous}")
            }
            DdlError::MaxValueNotLast { partition, previous } => {
                format!("partition {partition} stands behind {previous}, which already ends at MAXVALUE")
            }
            DdlError::TooManyPartitions { partitions } => {
                format!("{partitions} partitions; MySQL takes at most {PARTITIONS_MAX} (1499)")
            }
            DdlError::PartitionNameTwice { partition } => {
                format!("two partitions are named {partition} (1517)")
            }
            DdlError::NoPartitions => "PARTITION BY RANGE without partitions".to_owned(),
        }
    }

    /// The way out.
    pub fn advice(&self) -> String {
        match self {
            DdlError::UnsupportedColumn { reason, .. } | DdlError::Unsupported { reason, .. } => {
                (*reason).to_owned()
            }
            DdlError::KeyLacksPartitionColumn { columns, partition_column, .. } => format!(
                "MySQL refuses this table (1503). A key that must be unique over all days cannot be on a \
                 partitioned table: carry the day in the message and use PRIMARY KEY ({}, {partition_column}), \
                 or keep a table without partitions.",
                columns.join(", ")
            ),
            DdlError::BoundsNotIncreasing { .. } => {
                "MySQL refuses this table (1493: VALUES LESS THAN value must \
                 be strictly increasing for each partition); put the partitions in order"
                    .to_owned()
            }
            DdlError::MaxValueNotLast { .. } => {
                "MySQL refuses this table (1493 for a second MAXVALUE, 1481 for \
                 one that is not last); keep one MAXVALUE at the end, or none"
                    .to_owned()
            }
            DdlError::TooManyPartitions { .. } => "use longer partitions, such as weeks".to_owned(),
            DdlError::PartitionNameTwice { .. } => "rename one".to_owned(),
            DdlError::NoPartitions => {
                "add `(PARTITION p20260101 VALUES LESS THAN ('2026-01-02'))`".to_owned()
            }
            DdlError::FurtherStatement { .. } => {
                "keep one CREATE TABLE in the file (comments and SET statements may stand beside it)"
                    .to_owned()
            }
            DdlError::NoTable => "write the statement as SHOW CREATE TABLE prints it".to_owned(),
            DdlError::NotSql { .. } | DdlError::Unexpected { .. } | DdlError::UnknownColumn { .. } => {
                String::new()
            }
        }
    }
}

impl fmt::Display for DdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what())?;
        match self.advice() {
            advice if advice.is_empty() => Ok(()),
            advice => write!(f, " — {advice}"),
        }
    }
}

impl std::error::Error for DdlError {}
