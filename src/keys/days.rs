//! Which row lies on which day: rows are spread evenly, the first days take the remainder.

use crate::spec::dataset::Dataset;

/// One day of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Day {
    /// 0 is the first day.
    pub index: u32,
    /// In days since 1970-01-01.
    pub day: i32,
    /// Its first row.
    pub first_row: u64,
    /// Its rows, from `first_row` on.
    pub rows: u64,
}

impl Day {
    /// Whether the row lies on this day.
    pub fn holds(&self, row: u64) -> bool {
        row.wrapping_sub(self.first_row) < self.rows
    }
}

/// The days of a dataset, found by row number or index in constant time.
#[derive(Debug, Clone, Copy)]
pub struct Days {
    first_day: i32,
    days: u32,
    rows: u64,
    /// Rows of the shorter days.
    short: u64,
    /// How many days hold one row more.
    long_days: u64,
}

impl Days {
    /// The days of a dataset (at least one day, at least one row).
    pub fn new(dataset: &Dataset) -> Days {
        let days = u64::from(dataset.days.max(1));
        Days {
            first_day: dataset.first_day,
            days: dataset.days.max(1),
            rows: dataset.rows.0,
            short: dataset.rows.0 / days,
            long_days: dataset.rows.0 % days,
        }
    }

    /// How many days there are.
    pub fn count(&self) -> u32 {
        self.days
    }

    /// Rows over all days.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The most rows of any day.
    pub fn rows_a_day_max(&self) -> u64 {
        self.short + u64::from(self.long_days > 0)
    }

    /// The day with that index (below [`Days::count`]).
    pub fn day(&self, index: u32) -> Day {
        let place = u64::from(index);
        Day {
            index,
            day: self.first_day.saturating_add(index as i32),
            first_row: place * self.short + place.min(self.long_days),
            rows: self.short + u64::from(place < self.long_days),
        }
    }

    /// The day of a row (below [`Days::rows`]).
    pub fn day_of(&self, row: u64) -> Day {
        let long_rows = self.long_days * (self.short + 1);
        let index = match row < long_rows {
            true => row / (self.short + 1),
            // Not below `long_rows`, so there are short days with rows and `short` is not 0.
            false => self.long_days + (row - long_rows) / self.short.max(1),
        };
        self.day(index.min(u64::from(self.days) - 1) as u32)
    }
}
