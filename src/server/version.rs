//! A server's version as dotted integers: `9.7.4` is not later than `26.10` by its text.

use std::fmt;
use std::str::FromStr;

/// `8.0.36`, `9.7.4`, `26.10`; what follows the numbers (`-debug`, `-2ubuntu1`) is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerVersion {
    /// The first number.
    pub major: u16,
    /// The second.
    pub minor: u16,
    /// The third; 0 when there is none.
    pub patch: u16,
}

impl ServerVersion {
    /// A version from its numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> ServerVersion {
        ServerVersion { major, minor, patch }
    }

    /// `8.0`, `8.4`: releases that can use each other's data directories.
    pub fn series(self) -> (u16, u16) {
        (self.major, self.minor)
    }
}

impl FromStr for ServerVersion {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let mut numbers = text[..end].trim_end_matches('.').split('.').map(|number| number.parse::<u16>());
        let mut next = || numbers.next().transpose().map_err(|_| ());
        let (Some(major), Some(minor)) = (next()?, next()?) else { return Err(()) };
        Ok(ServerVersion { major, minor, patch: next()?.unwrap_or(0) })
    }
}

impl fmt::Display for ServerVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (text, expect) in [
            ("8.0.36", Ok((8, 0, 36))),
            ("9.7.4-2", Ok((9, 7, 4))),
            ("8.4.3-3-debug", Ok((8, 4, 3))),
            ("26.10", Ok((26, 10, 0))),
            ("8.0.36.1", Ok((8, 0, 36))),
            ("8", Err(())),
            ("", Err(())),
            ("Ver 8.0", Err(())),
            ("8..1", Err(())),
            ("99999.1", Err(())),
        ] {
            let found = text.parse::<ServerVersion>().map(|v| (v.major, v.minor, v.patch));
            assert_eq!(found, expect, "{text}");
        }
        assert!(ServerVersion::new(26, 10, 0) > ServerVersion::new(26, 7, 0));
        assert!(ServerVersion::new(9, 7, 4) < ServerVersion::new(26, 7, 0));
    }
}
