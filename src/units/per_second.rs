//! How often.

use std::fmt;
use std::str::FromStr;

use super::text::{decimal_multiplier, grouped, number_and_suffix};
use super::{ParseUnitError, serde_as_written, three_digits};

/// A rate above zero in operations per second, written `2000/s`, `2k/s` or `2000`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct PerSecond(f64);

impl PerSecond {
    pub(super) const EXPECTED: &'static str = "a rate above zero such as 2000/s, 2k/s or 0.5/s";
    /// Above it the schedule's nanoseconds no longer tell one operation from the next.
    const HIGHEST: f64 = 100e6;

    /// A rate of `per_second`, if it is above zero and at most 100 million.
    pub fn new(per_second: f64) -> Option<PerSecond> {
        (per_second > 0.0 && per_second <= Self::HIGHEST).then_some(PerSecond(per_second))
    }

    /// Operations per second.
    pub fn get(self) -> f64 {
        self.0
    }

    fn as_written(self) -> String {
        format!("{}/s", self.0)
    }
}

impl FromStr for PerSecond {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.trim().strip_suffix("/s").unwrap_or(text);
        number_and_suffix(bare)
            .and_then(|(number, suffix)| PerSecond::new(number * decimal_multiplier(suffix)?))
            .ok_or_else(|| ParseUnitError { text: text.to_owned(), expected: Self::EXPECTED })
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match self.0 {
            r if r >= 1000.0 => grouped(r.round() as u64),
            r => three_digits(r),
        };
        f.pad(&format!("{number}/s"))
    }
}

serde_as_written!(PerSecond, |number| PerSecond::new(number as f64));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_and_without_their_unit() {
        for (text, rate, printed) in [
            ("2000/s", 2000.0, "2,000/s"),
            ("2k/s", 2000.0, "2,000/s"),
            ("500", 500.0, "500/s"),
            ("0.5/s", 0.5, "0.5/s"),
        ] {
            let read: PerSecond = text.parse().expect(text);
            assert_eq!(read.get(), rate);
            assert_eq!(read.to_string(), printed);
        }
        for text in ["0/s", "-1/s", "fast", "1/m"] {
            assert!(text.parse::<PerSecond>().is_err(), "{text}");
        }
    }
}
