//! The version of `run.json`, major.minor.
//!
//! A reader takes every file of its own major version and an equal or lower minor one; a file from the
//! future is refused with the release that can read it. Changes:
//! - 1.0 the first
//! - 1.1 `steps[].pool`: the rows that a step's claims can win
//! - 1.1 further series in `latency_us` and `histograms`; `errors` counts those that a workload dealt with too

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The version that this release writes.
pub const CURRENT: SchemaVersion = SchemaVersion { major: 1, minor: 1 };

/// The version of a result file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaVersion {
    /// Raised when old readers would misread the file.
    pub major: u16,
    /// Raised when fields are added.
    pub minor: u16,
}

/// The file was written by a later release.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "its schema version is {found}, this release reads up to {CURRENT} — use a later idembench to read it"
)]
pub struct FromTheFuture {
    /// What the file says.
    pub found: SchemaVersion,
}

impl SchemaVersion {
    /// Whether this release can read such a file.
    pub fn check_readable(self) -> Result<(), FromTheFuture> {
        let readable = self.major == CURRENT.major && self.minor <= CURRENT.minor;
        if readable { Ok(()) } else { Err(FromTheFuture { found: self }) }
    }
}

impl fmt::Display for SchemaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for SchemaVersion {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a schema version such as 1.0");
        let (major, minor) = text.split_once('.').ok_or_else(wrong)?;
        let number = |text: &str| text.parse().map_err(|_| wrong());
        Ok(SchemaVersion { major: number(major)?, minor: number(minor)? })
    }
}

impl Serialize for SchemaVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SchemaVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
