//! Why rows cannot be made as the dataset says.

/// Why rows cannot be made as the dataset says.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MakeError {
    /// A recipe that a column of that kind cannot take.
    #[error("column {column} ({kind}) cannot be made by {recipe}: {reason}")]
    RecipeDoesNotFit {
        /// The column.
        column: String,
        /// Its kind in words.
        kind: String,
        /// The recipe in words.
        recipe: &'static str,
        /// Why, and what to do.
        reason: String,
    },
    /// A literal that is none for its column.
    #[error("column {column} ({kind}) cannot hold `{literal}`: {reason}")]
    Literal {
        /// The column.
        column: String,
        /// Its kind in words.
        kind: String,
        /// As written.
        literal: String,
        /// Why not.
        reason: String,
    },
    /// More rows than a column has values.
    #[error(
        "column {column} has {values} keys and {rows} rows need one each: give it more digits or a wider type"
    )]
    KeySpaceTooSmall {
        /// The column.
        column: String,
        /// Distinct values.
        values: u128,
        /// Rows that need one.
        rows: u64,
    },
    /// A unique key whose values repeat.
    #[error("rows would collide in {key}: {reason}")]
    KeysCollide {
        /// `PRIMARY KEY` or `UNIQUE KEY uk_biz`.
        key: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The partition column's value would lie outside the row's day.
    #[error(
        "column {column} decides the partition, so it must be made by day, instant or a day_offset below \
         86400 seconds: other values would land in another partition than the load expects"
    )]
    PartitionColumn {
        /// The column.
        column: String,
    },
}
