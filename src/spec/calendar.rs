//! Days since 1970-01-01 and what people write for them. All in UTC: no other zone exists in here.

use time::{Date, Month};

/// The Julian day number of 1970-01-01.
const EPOCH_JULIAN_DAY: i32 = 2_440_588;
/// What MySQL's `TO_DAYS('1970-01-01')` is.
const EPOCH_TO_DAYS: i64 = 719_528;

/// Seconds in a day.
pub const DAY_SECONDS: i64 = 86_400;
/// Microseconds in a day.
pub const DAY_MICROS: i64 = DAY_SECONDS * 1_000_000;

/// A day as (year, month, day of month).
///
/// Days outside MySQL's DATE range (0000 to 9999) are moved to its edge.
pub fn year_month_day(day: i32) -> (u16, u8, u8) {
    let lowest = Date::MIN.to_julian_day().max(1_721_060); // 0000-01-01
    let highest = Date::MAX.to_julian_day().min(5_373_484); // 9999-12-31
    let julian = day.saturating_add(EPOCH_JULIAN_DAY).clamp(lowest, highest);
    let date = Date::from_julian_day(julian).unwrap_or(Date::MIN);
    (date.year().unsigned_abs() as u16, date.month().into(), date.day())
}

/// The day of a (year, month, day of month), if there is one.
pub fn day_of(year: u16, month: u8, day_of_month: u8) -> Option<i32> {
    let month = Month::try_from(month).ok()?;
    let date = Date::from_calendar_date(i32::from(year), month, day_of_month).ok()?;
    Some(date.to_julian_day() - EPOCH_JULIAN_DAY)
}

/// `2026-01-31`.
pub fn date_text(day: i32) -> String {
    let (year, month, day) = year_month_day(day);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The day that `2026-01-31` names.
pub fn parse_date(text: &str) -> Option<i32> {
    let mut parts = text.trim().split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 {
        return None;
    }
    day_of(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)
}

/// Microseconds since 1970 of `2026-01-31`, `2026-01-31 10:20:30` or `2026-01-31 10:20:30.123456`.
pub fn parse_instant(text: &str) -> Option<i64> {
    let text = text.trim();
    let (date, clock) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let valid = parts.next().is_none() && (0..24).contains(&hour);
    if !valid || !(0..60).contains(&minute) || !(0..60).contains(&second) || fraction.len() > 6 {
        return None;
    }
    let micros: i64 = format!("{fraction:0<6}").parse().ok().filter(|micros| *micros >= 0)?;
    let seconds = hour * 3_600 + minute * 60 + second;
    Some(i64::from(parse_date(date)?) * DAY_MICROS + seconds * 1_000_000 + micros)
}

/// MySQL's `TO_DAYS` of a day.
pub fn to_days(day: i32) -> i64 {
    i64::from(day) + EPOCH_TO_DAYS
}

/// The day whose `TO_DAYS` is given.
pub fn from_to_days(to_days: i64) -> Option<i32> {
    i32::try_from(to_days - EPOCH_TO_DAYS).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970_and_written_as_dates() {
        for (day, text) in
            [(0, "1970-01-01"), (20_454, "2026-01-01"), (11_016, "2000-02-29"), (-1, "1969-12-31")]
        {
            assert_eq!(date_text(day), text);
            assert_eq!(parse_date(text), Some(day));
        }
        for text in ["2026-02-30", "2026-13-01", "26-01-01", "2026-01", "today"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
    }

    #[test]
    fn to_days_counts_as_mysql_does() {
        // MySQL: SELECT TO_DAYS('2009-10-31') is 734076 (bug report 72383 has it).
        assert_eq!(to_days(parse_date("2009-10-31").unwrap()), 734_076);
        assert_eq!(from_to_days(734_076), parse_date("2009-10-31"));
    }

    #[test]
    fn instants_are_read_to_the_microsecond() {
        assert_eq!(parse_instant("1970-01-02 00:00:01.5"), Some(DAY_MICROS + 1_500_000));
        assert_eq!(parse_instant("1970-01-02"), Some(DAY_MICROS));
        assert_eq!(parse_instant("1970-01-02 24:00:00"), None);
    }
}
