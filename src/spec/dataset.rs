//! A dataset: a table definition plus how its rows are made, from `dataset.toml` or inferred.

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
    /// Whether rows of a day come in key order.
    pub key_order: KeyOrder,
    /// Whether pages look freshly loaded or lived in.
    pub fill: Fill,
    /// How each column is made, parallel to [`Table::columns`]; `None` for generated columns.
    pub recipes: Vec<Option<Recipe>>,
    /// Which columns a claim reads and writes; `None` where the table has no such columns.
    pub claim: Option<ClaimColumns>,
}

/// The order in which a day's rows are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrder {
    /// In primary-key order: loaders need no sort.
    Sorted,
    /// In an order unrelated to the key.
    Random,
}

/// What the pages of the table look like after the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// As a load leaves them: full and in order.
    Fresh,
    /// As random inserts leave them: about 69 % full and shuffled (the pages loader only).
    Aged,
}

/// How one column's value is made from (seed, row number).
#[derive(Debug, Clone, PartialEq)]
pub enum Recipe {
    /// A key that looks random, is unique within its day and rises with the row's place in the day.
    /// Text columns: `prefix`, then base-32 digits up to the column's length or `digits`;
    /// integer and binary columns: the number itself, big-endian.
    SortedKey {
        /// Text put before the digits.
        prefix: String,
        /// Base-32 digits (5 bits each) or `None` for what the column holds.
        digits: Option<u8>,
    },
    /// The same, but in an order unrelated to the row number; still unique over the whole table.
    ShuffledKey {
        /// Text put before the digits.
        prefix: String,
        /// Base-32 digits (5 bits each) or `None` for what the column holds.
        digits: Option<u8>,
    },
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
