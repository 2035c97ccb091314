//! Counts, sizes, rates, spans and latencies as people write and read them.
//!
//! Every flag, every TOML value and every printed figure goes through these types, so that `700M`
//! means the same in a file, on the command line and in a report. No other module formats a unit.

mod bytes;
mod line;
mod micros;
mod per_second;
mod rows;
mod span;
mod text;

pub use bytes::Bytes;
pub use line::{is_unprintable, one_line};
pub use micros::Micros;
pub use per_second::PerSecond;
pub use rows::Rows;
pub use span::Span;
pub use text::{grouped, three_digits};

/// Why a figure written by a person could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{text}` is not {expected}")]
pub struct ParseUnitError {
    /// What was written.
    pub text: String,
    /// What would have been right, with an example.
    pub expected: &'static str,
}

/// Implements serde for a unit by its `FromStr` and `Display`; whole numbers are taken as they are.
macro_rules! serde_as_written {
    ($unit:ty, $from_u64:expr) => {
        impl serde::Serialize for $unit {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.as_written())
            }
        }
        impl<'de> serde::Deserialize<'de> for $unit {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Written;
                impl serde::de::Visitor<'_> for Written {
                    type Value = $unit;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(<$unit>::EXPECTED)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$unit, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$unit, E> {
                        let from_u64: fn(u64) -> Option<$unit> = $from_u64;
                        from_u64(number).ok_or_else(|| E::custom(<$unit>::EXPECTED))
                    }
                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$unit, E> {
                        let number = u64::try_from(number).map_err(|_| E::custom(<$unit>::EXPECTED))?;
                        self.visit_u64(number)
                    }
                }
                deserializer.deserialize_any(Written)
            }
        }
    };
}
pub(crate) use serde_as_written;
