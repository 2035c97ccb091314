//! The time zone in which days are counted: a fixed distance from UTC.

use std::fmt;
use std::str::FromStr;

/// Minutes east of UTC. Zones with summer time have no days of one length and are not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Zone {
    /// From -14:00 to +14:00, as MySQL takes them.
    pub minutes_east: i32,
}

impl Zone {
    /// Seconds to be added to a UTC clock.
    pub fn seconds_east(self) -> i64 {
        i64::from(self.minutes_east) * 60
    }
}

impl FromStr for Zone {
    type Err = String;
    fn from_str(text: &str) -> Result<Zone, String> {
        let wrong = || {
            format!(
                "`{text}` is no distance from UTC such as +08:00 (zones with summer time have no days of one \
                 length)"
            )
        };
        if matches!(text, "UTC" | "utc" | "Z") {
            return Ok(Zone::default());
        }
        let (sign, rest) = match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(rest), _) => (1, rest),
            (_, Some(rest)) => (-1, rest),
            _ => return Err(wrong()),
        };
        let (hours, minutes) = rest.split_once(':').ok_or_else(wrong)?;
        let number = |text: &str| text.parse::<u8>().map(i32::from).map_err(|_| wrong());
        let (hours, minutes) = (number(hours)?, number(minutes)?);
        let all = hours * 60 + minutes;
        match minutes < 60 && all <= 14 * 60 {
            true => Ok(Zone { minutes_east: sign * all }),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, minutes) = (if self.minutes_east < 0 { '-' } else { '+' }, self.minutes_east.abs());
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_distances() {
        for (text, minutes) in [("+08:00", 480), ("-03:30", -210), ("UTC", 0), ("+14:00", 840)] {
            let zone: Zone = text.parse().expect(text);
            assert_eq!(zone.minutes_east, minutes);
            assert_eq!(zone.to_string().parse(), Ok(zone));
        }
        for text in ["Europe/Berlin", "8", "+8", "+15:00", "+01:60", ""] {
            assert!(text.parse::<Zone>().is_err(), "{text}");
        }
    }
}
