//! One row's values: cells that are copied, and one reused arena for bytes.

use crate::spec::calendar::{DAY_MICROS, year_month_day};

use super::days::Day;

/// One value of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell {
    /// NULL.
    Null,
    /// A signed integer column.
    Int(i64),
    /// An unsigned integer column.
    UInt(u64),
    /// A text or binary column: a range of [`Row::bytes_of`]'s arena. Text is in the column's character set.
    Bytes {
        /// Where it starts.
        start: u32,
        /// How long it is, in bytes.
        length: u32,
    },
    /// A DATE, in days since 1970-01-01.
    Date(i32),
    /// A DATETIME or TIMESTAMP, in microseconds since 1970-01-01, whole in the column's fraction.
    Instant(i64),
    /// A DECIMAL without its point.
    Decimal(i64),
    /// An ENUM label's number, from 1.
    Enum(u16),
    /// The server computes it.
    Generated,
}

/// A row that [`super::RowMaker::fill`] writes into; reused so that making rows allocates nothing.
#[derive(Debug, Clone, Default)]
pub struct Row {
    pub(super) cells: Vec<Cell>,
    pub(super) arena: Vec<u8>,
    /// The day of the last row, so that the next one on it needs no division.
    pub(super) day: Day,
}

impl Row {
    /// The values, in the order of the maker's columns.
    #[inline]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The day that the row lies on.
    pub fn day(&self) -> Day {
        self.day
    }

    /// The bytes of a text or binary cell, nothing for other cells.
    #[inline]
    pub fn bytes_of(&self, cell: Cell) -> &[u8] {
        match cell {
            Cell::Bytes { start, length } => &self.arena[start as usize..(start + length) as usize],
            _ => &[],
        }
    }
}

/// A value to bind to a statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Value {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer, or an ENUM by number.
    UInt(u64),
    /// A binary column.
    Bytes(Vec<u8>),
    /// A text column, an ENUM label or a DECIMAL.
    Text(String),
    /// A DATE.
    Date {
        /// 1000 to 9999.
        year: u16,
        /// 1 to 12.
        month: u8,
        /// 1 to 31.
        day: u8,
    },
    /// A DATETIME, or a TIMESTAMP in UTC.
    DateTime {
        /// 1000 to 9999.
        year: u16,
        /// 1 to 12.
        month: u8,
        /// 1 to 31.
        day: u8,
        /// 0 to 23.
        hour: u8,
        /// 0 to 59.
        minute: u8,
        /// 0 to 59.
        second: u8,
        /// 0 to 999999.
        micros: u32,
    },
}

impl Value {
    /// A day since 1970-01-01 as a DATE.
    pub fn date(day: i32) -> Value {
        let (year, month, day) = year_month_day(day);
        Value::Date { year, month, day }
    }

    /// Microseconds since 1970-01-01 as a DATETIME.
    pub fn date_time(micros: i64) -> Value {
        let (year, month, day) = year_month_day(micros.div_euclid(DAY_MICROS) as i32);
        let in_day = micros.rem_euclid(DAY_MICROS);
        let seconds = in_day / 1_000_000;
        Value::DateTime {
            year,
            month,
            day,
            hour: (seconds / 3_600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micros: (in_day % 1_000_000) as u32,
        }
    }
}
