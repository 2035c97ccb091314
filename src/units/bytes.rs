//! How many bytes.

use std::fmt;
use std::str::FromStr;

use super::text::{number_and_suffix, whole};
use super::{ParseUnitError, serde_as_written, three_digits};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

/// A size in bytes, written `8GiB`, `512MiB` or `16384`; binary multipliers, as MySQL's own `8G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

impl Bytes {
    pub(super) const EXPECTED: &'static str = "a size such as 16KiB, 512MiB or 8GiB";

    /// So many mebibytes.
    pub const fn mib(count: u64) -> Bytes {
        Bytes(count * MIB)
    }

    /// So many gibibytes.
    pub const fn gib(count: u64) -> Bytes {
        Bytes(count * GIB)
    }

    /// The size in mebibytes.
    pub fn as_mib(self) -> f64 {
        self.0 as f64 / MIB as f64
    }

    fn as_written(self) -> u64 {
        self.0
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let multiplier = |suffix: &str| match suffix.to_ascii_lowercase().as_str() {
            "" | "b" => Some(1),
            "k" | "kib" => Some(KIB),
            "m" | "mib" => Some(MIB),
            "g" | "gib" => Some(GIB),
            "t" | "tib" => Some(TIB),
            _ => None,
        };
        number_and_suffix(text)
            .and_then(|(number, suffix)| whole(number, multiplier(suffix)? as f64))
            .map(Bytes)
            .ok_or_else(|| ParseUnitError { text: text.to_owned(), expected: Self::EXPECTED })
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            n if n >= TIB => (TIB, "TiB"),
            n if n >= GIB => (GIB, "GiB"),
            n if n >= MIB => (MIB, "MiB"),
            n if n >= KIB => (KIB, "KiB"),
            _ => (1, "B"),
        };
        f.pad(&format!("{} {name}", three_digits(self.0 as f64 / unit as f64)))
    }
}

serde_as_written!(Bytes, |number| Some(Bytes(number)));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_and_printed_with_binary_multipliers() {
        for (text, bytes, printed) in [
            ("8GiB", 8 * GIB, "8 GiB"),
            ("8G", 8 * GIB, "8 GiB"),
            ("1.5 MiB", 3 * MIB / 2, "1.5 MiB"),
            ("100", 100, "100 B"),
        ] {
            let read: Bytes = text.parse().expect(text);
            assert_eq!(read, Bytes(bytes));
            assert_eq!(read.to_string(), printed);
        }
        assert!("8 GB/s".parse::<Bytes>().is_err());
    }
}
