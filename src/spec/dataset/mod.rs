//! A dataset: a table definition plus how its rows are made, from `dataset.toml` or inferred.
//!
//! - `read` from a built-in name, a folder or a bare `TABLE.sql`; `wire` the file's own shape
//! - `infer` recipes and claim columns from kinds and keys, where the file says nothing
//! - `days` the partitions that the days need, and scaling to other rows and days
//! - `fill` full and in order, or lived in
//! - `fingerprint` when two datasets hold the same rows

mod builtin;
mod days;
mod error;
mod fill;
mod fingerprint;
mod infer;
mod read;
#[cfg(test)]
mod tests;
mod wire;

pub use builtin::{BuiltIn, built_in};
pub use error::DatasetError;
pub use fill::{FILL_PLACES, Fill, IndexAge, TableAge};

use crate::spec::table::Table;
use crate::units::Rows;

/// A table and how its rows are made. Every column value follows from (seed, row number).
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// The dataset's name: its folder's name, or the table's for a pasted table.
    pub name: String,
    /// One sentence for `list` and reports.
    pub description: String,
    /// The table, its partitions already those of `days` from `first_day`.
    pub table: Table,
    /// Tables made beside it, empty, such as `t_settle_bill`.
    pub companions: Vec<Table>,
    /// Rows in all, spread evenly over the days (the first days take the remainder).
    pub rows: Rows,
    /// Days that hold rows.
    pub days: u32,
    /// The first day, in days since 1970-01-01.
    pub first_day: i32,
    /// What every value is derived from, with the row number.
    pub seed: u64,
    /// Whether the partitions follow the days or stand as they were written.
    pub partitions: PartitionRule,
    /// Whether rows of a day come in key order.
    pub key_order: KeyOrder,
    /// Whether pages look freshly loaded or lived in.
    pub fill: Fill,
    /// How each column is made, parallel to [`Table::columns`]; `None` for
    /// generated columns.
    pub recipes: Vec<Option<Recipe>>,
    /// Which columns a claim reads and writes; `None` where the table has no such columns.
    pub claim: Option<ClaimColumns>,
}

/// Where a dataset's partitions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionRule {
    /// One partition a day, named `p20260101`, and an empty one behind the last day: made from the days.
    Daily,
    /// As the CREATE TABLE has them; the days must fit into them.
    AsWritten,
}

/// The order in which a day's rows are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrder {
    /// In primary-key order: loaders need no sort.
    Sorted,
    /// In an order unrelated to the key.
    Random,
}

/// How one column's value is made from (seed, row number).
#[derive(Debug, Clone, PartialEq)]
pub enum Recipe {
    /// A key that looks random, is unique over the whole table and rises with the row's place in its day.
    SortedKey(KeyShape),
    /// The same, but in an order unrelated to the row number.
    ShuffledKey(KeyShape),
    /// `start` + row number.
    Sequence {
        /// The value of row 0.
        start: u64,
    },
    /// The row's day (DATE), or its midnight (DATETIME, TIMESTAMP).
    Day,
    /// An instant within the row's day.
    Instant,
    /// An instant so many seconds after the start of the row's day: leases long run out.
    DayOffset {
        /// Seconds after midnight; may be negative.
        seconds: i64,
    },
    /// A pseudo-random value within the column's domain, or within `0..below`.
    Hash {
        /// Exclusive upper bound for integers and decimals (unscaled); `None`: the whole domain.
        below: Option<u64>,
    },
    /// One of several literals by weight (ENUM labels, text, numbers).
    Choice(Vec<(String, u32)>),
    /// The same literal in every row.
    Constant(String),
    /// NULL in every row.
    Null,
}

/// How a key's number is written into its column.
///
/// Text columns: `prefix`, then digits; integer columns: the number itself; binary columns: the number
/// big-endian, then pseudo-random bytes up to the column's length.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyShape {
    /// Text put before the digits (text columns only).
    pub prefix: String,
    /// Digits behind the prefix, or `None` for what the column holds, at most 24 (text columns only).
    pub digits: Option<u8>,
    /// Which digits.
    pub alphabet: Alphabet,
}

/// The digits of text keys, each alphabet in ascending byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Alphabet {
    /// `0-9a-v`, five bits a digit: sorts alike under every collation.
    #[default]
    Base32,
    /// `-0-9A-Z_a-z`, six bits a digit, as nanoid writes ids: needs a collation that tells cases apart.
    Base64,
}

/// The columns that the claim UPDATE reads and writes, as indexes into [`Table::columns`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimColumns {
    /// PENDING, DONE, …
    pub status: usize,
    /// The label or literal that says "pending".
    pub pending: String,
    /// The label or literal that says "done".
    pub done: String,
    /// The fencing number.
    pub token: usize,
    /// Who holds the claim.
    pub owner: usize,
    /// Until when.
    pub lease_until: usize,
}
