//! How long, in whole nanoseconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{Micros, ParseUnitError, serde_as_written};

/// A length of time, written `5s`, `10m` or `1h 30m`; a bare number means seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub Duration);

impl Span {
    pub(super) const EXPECTED: &'static str = "a length of time such as 500ms, 5s or 10m";

    /// So many seconds.
    pub const fn seconds(count: u64) -> Span {
        Span(Duration::from_secs(count))
    }

    fn as_written(self) -> String {
        humantime::format_duration(self.0).to_string()
    }
}

impl FromStr for Span {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let seconds = text.trim().parse::<u64>().map(Duration::from_secs).ok();
        seconds
            .or_else(|| humantime::parse_duration(text).ok())
            .map(Span)
            .ok_or_else(|| ParseUnitError { text: text.to_owned(), expected: Self::EXPECTED })
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            s if s >= 3600 => f.pad(&format!("{}h{:02}m", s / 3600, s % 3600 / 60)),
            s if s >= 60 => f.pad(&format!("{}m{:02}s", s / 60, s % 60)),
            _ => Micros(self.0.as_micros() as u64).fmt(f),
        }
    }
}

serde_as_written!(Span, |number| Some(Span::seconds(number)));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_printed_as_people_write_them() {
        for (text, millis, printed) in [
            ("5s", 5_000, "5 s"),
            ("500ms", 500, "500 ms"),
            ("76", 76_000, "1m16s"),
            ("1h 30m", 5_400_000, "1h30m"),
        ] {
            let read: Span = text.parse().expect(text);
            assert_eq!(read, Span(Duration::from_millis(millis)));
            assert_eq!(read.to_string(), printed);
        }
        assert!("soon".parse::<Span>().is_err());
    }
}
