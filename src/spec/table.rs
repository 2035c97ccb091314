//! What a CREATE TABLE says: columns, keys and partitions, as loaders, workloads and models need them.
//!
//! The reader of the SQL text stands in [`super::ddl`]; whatever else makes a table goes through the
//! same types.

/// A table as its CREATE TABLE defines it.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The name, without schema and quotes.
    pub name: String,
    /// All columns in definition order, generated ones included.
    pub columns: Vec<Column>,
    /// The primary key's parts in key order; empty when there is none.
    pub primary_key: Vec<KeyPart>,
    /// Unique and plain secondary indexes in definition order.
    pub indexes: Vec<Index>,
    /// How the table is partitioned, if it is.
    pub partitioning: Option<Partitioning>,
    /// The statement up to the partition clause (without it), as the user wrote it.
    pub sql_without_partitions: String,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name without quotes.
    pub name: String,
    /// What it holds.
    pub kind: ColumnKind,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Whether the server computes it; loaders skip such columns.
    pub generated: bool,
    /// The DEFAULT literal as written (`'0'`, `CURRENT_TIMESTAMP(3)`), if any.
    pub default: Option<String>,
}

/// What a column holds: the kinds that the loaders know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnKind {
    /// TINYINT (1 byte) to BIGINT (8 bytes); BOOL is a signed one-byte integer.
    Integer {
        /// Bytes on disk: 1, 2, 3, 4 or 8.
        bytes: u8,
        /// Whether the sign is given up.
        unsigned: bool,
    },
    /// DATE.
    Date,
    /// DATETIME(n); `fraction` is the number of fractional digits, 0 to 6.
    DateTime {
        /// Fractional digits, 0 to 6.
        fraction: u8,
    },
    /// TIMESTAMP(n), stored in UTC.
    Timestamp {
        /// Fractional digits, 0 to 6.
        fraction: u8,
    },
    /// CHAR(n).
    Char(Text),
    /// VARCHAR(n).
    VarChar(Text),
    /// BINARY(n), n bytes.
    Binary(u16),
    /// VARBINARY(n), at most n bytes.
    VarBinary(u16),
    /// ENUM with its labels in order.
    Enum(Vec<String>),
    /// DECIMAL(precision, scale).
    Decimal {
        /// Digits in all, 1 to 65.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
    },
}

/// A character column's length and alphabet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Length in characters.
    pub characters: u16,
    /// The character set.
    pub charset: Charset,
    /// The collation's name, lower case.
    pub collation: String,
}

/// The character sets that the loaders write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// One byte a character, 0 to 127.
    Ascii,
    /// UTF-8, up to four bytes a character.
    Utf8mb4,
    /// One byte a character.
    Latin1,
}

impl Charset {
    /// The most bytes that one character takes.
    pub fn bytes_per_character_max(self) -> u16 {
        match self {
            Charset::Ascii | Charset::Latin1 => 1,
            Charset::Utf8mb4 => 4,
        }
    }
}

/// One part of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyPart {
    /// Index into [`Table::columns`].
    pub column: usize,
    /// `KEY (c(10))`: only so many characters are in the key.
    pub prefix: Option<u16>,
    /// `KEY (c DESC)`.
    pub descending: bool,
}

/// A secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its name.
    pub name: String,
    /// Whether it is UNIQUE.
    pub unique: bool,
    /// Its parts in key order.
    pub parts: Vec<KeyPart>,
}

/// A RANGE partitioning by day, in one of the three ways that people write it.
#[derive(Debug, Clone, PartialEq)]
pub struct Partitioning {
    /// How the bound is written.
    pub method: PartitionMethod,
    /// The partition column, an index into [`Table::columns`].
    pub column: usize,
    /// The partitions in order; their bounds increase.
    pub partitions: Vec<Partition>,
}

/// How a RANGE partitioning computes its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionMethod {
    /// `RANGE COLUMNS(c)` over a DATE or DATETIME column.
    RangeColumns,
    /// `RANGE (TO_DAYS(c))`.
    ToDays,
    /// `RANGE (UNIX_TIMESTAMP(c))` over a TIMESTAMP column.
    UnixTimestamp,
    /// `RANGE (c)` or `RANGE COLUMNS(c)` over an integer column.
    Integer,
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// `VALUES LESS THAN`.
    pub less_than: Bound,
}

/// An upper bound, exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// A day, in days since 1970-01-01 (for a DATETIME bound: its midnight; others are refused).
    Day(i32),
    /// An integer (seconds since 1970-01-01 for [`PartitionMethod::UnixTimestamp`]).
    Integer(i64),
    /// `MAXVALUE`.
    MaxValue,
}

impl Table {
    /// The index of the column of that name, compared as MySQL does: without case.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    /// The columns that a loader writes, with their index: all but the generated ones.
    pub fn loaded_columns(&self) -> impl Iterator<Item = (usize, &Column)> {
        self.columns.iter().enumerate().filter(|(_, column)| !column.generated)
    }
}
