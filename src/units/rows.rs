//! How many rows.

use std::fmt;
use std::str::FromStr;

use super::text::{decimal_multiplier, grouped, number_and_suffix, whole};
use super::{ParseUnitError, serde_as_written, three_digits};

/// A count of rows, written `700M`, `10k` or `1,000,000`; decimal multipliers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rows(pub u64);

impl Rows {
    pub(super) const EXPECTED: &'static str = "a number of rows such as 10000, 10k or 700M";

    /// The short form, `10M`, that reads back as the same count where it is exact.
    pub fn short(self) -> String {
        let count = self.0 as f64;
        match self.0 {
            n if n >= 1_000_000_000 => format!("{}G", three_digits(count / 1e9)),
            n if n >= 1_000_000 => format!("{}M", three_digits(count / 1e6)),
            n if n >= 1_000 => format!("{}k", three_digits(count / 1e3)),
            n => n.to_string(),
        }
    }

    fn as_written(self) -> u64 {
        self.0
    }
}

impl FromStr for Rows {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        number_and_suffix(text)
            .and_then(|(number, suffix)| whole(number, decimal_multiplier(suffix)?))
            .map(Rows)
            .ok_or_else(|| ParseUnitError { text: text.to_owned(), expected: Self::EXPECTED })
    }
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&grouped(self.0))
    }
}

serde_as_written!(Rows, |number| Some(Rows(number)));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_people_write_them() {
        for (text, rows) in [
            ("700M", 700_000_000),
            ("10k", 10_000),
            ("1.5M", 1_500_000),
            ("1,000", 1_000),
            ("1_000", 1_000),
            ("7", 7),
        ] {
            assert_eq!(text.parse(), Ok(Rows(rows)));
        }
        for text in ["", "M", "1.5", "-3", "10 parsecs", "1e3", "99999999999999999999"] {
            assert!(text.parse::<Rows>().is_err(), "{text}");
        }
    }
}
