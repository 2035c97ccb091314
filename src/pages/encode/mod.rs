//! A value's bytes on disk, by column kind.

mod columns;
mod decimal;
mod step;

pub use columns::{Column, Places, Rows, put_column};
pub use step::{SLACK_BYTES, Step, encode};

use crate::spec::table::{Charset, ColumnKind, Text};

/// A column's value on its way to disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// DATE: days since 1970-01-01.
    Day(i32),
    /// DATETIME (wall clock) or TIMESTAMP (UTC): microseconds since 1970-01-01.
    Micros(i64),
    /// CHAR, VARCHAR, BINARY, VARBINARY: bytes in the column's own character set.
    Bytes(&'a [u8]),
    /// ENUM: the label's ordinal, from 1.
    Label(u16),
    /// DECIMAL: the number times 10 to the power of its scale.
    Decimal(i64),
}

/// Why a value cannot be stored in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The recipe made another kind of value than the column holds.
    #[error("the value is not of the column's kind")]
    WrongKind,
    /// Outside the column's domain.
    #[error("the value is outside the column's range")]
    OutOfRange,
    /// More characters or bytes than the column holds.
    #[error("the value is longer than the column")]
    TooLong,
    /// Bytes that are no text in the column's character set.
    #[error("the value is no text in the column's character set")]
    NotInCharset,
    /// NULL in a NOT NULL column.
    #[error("NULL in a NOT NULL column")]
    NotNullable,
}

/// How a kind of column is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// 1, 2, 3, 4 or 8 bytes, big-endian; signed ones with the sign bit flipped.
    Integer {
        /// Bytes.
        bytes: u8,
        /// Whether negative values exist.
        signed: bool,
    },
    /// 3 bytes: year, month and day packed.
    Date,
    /// 5 bytes and the fraction.
    DateTime {
        /// Fractional digits.
        fraction: u8,
    },
    /// 4 bytes of seconds and the fraction.
    Timestamp {
        /// Fractional digits.
        fraction: u8,
    },
    /// Exactly so many bytes, padded on the right.
    Padded {
        /// Bytes.
        bytes: u16,
        /// 0x20 for CHAR, 0x00 for BINARY.
        pad: u8,
        /// Whether only ASCII may be stored.
        ascii: bool,
    },
    /// Bytes with a length of their own.
    Variable {
        /// The most bytes.
        bytes_max: u16,
        /// The most characters; equals `bytes_max` for byte strings.
        characters_max: u16,
        /// CHAR in a multi-byte character set is filled up with spaces to so many bytes.
        padded_to: u16,
        /// What the bytes are.
        charset: Option<Charset>,
    },
    /// 1 or 2 bytes.
    Enum {
        /// Labels.
        labels: u16,
    },
    /// Groups of nine digits in four bytes, sign bit flipped.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits behind the point.
        scale: u8,
    },
}

impl Encoding {
    /// How a column of that kind is stored.
    pub fn of(kind: &ColumnKind) -> Encoding {
        match kind {
            ColumnKind::Integer { bytes, unsigned } => Encoding::Integer { bytes: *bytes, signed: !unsigned },
            ColumnKind::Date => Encoding::Date,
            ColumnKind::DateTime { fraction } => Encoding::DateTime { fraction: *fraction },
            ColumnKind::Timestamp { fraction } => Encoding::Timestamp { fraction: *fraction },
            ColumnKind::Char(text) if text.charset == Charset::Utf8mb4 => variable(text, text.characters),
            ColumnKind::Char(text) => {
                Encoding::Padded { bytes: text.characters, pad: b' ', ascii: text.charset == Charset::Ascii }
            }
            ColumnKind::VarChar(text) => variable(text, 0),
            ColumnKind::Binary(bytes) => Encoding::Padded { bytes: *bytes, pad: 0, ascii: false },
            ColumnKind::VarBinary(bytes) => {
                Encoding::Variable { bytes_max: *bytes, characters_max: *bytes, padded_to: 0, charset: None }
            }
            ColumnKind::Enum(labels) => Encoding::Enum { labels: labels.len().min(65535) as u16 },
            ColumnKind::Decimal { precision, scale } => {
                Encoding::Decimal { precision: *precision, scale: *scale }
            }
        }
    }

    /// The length of every value, or `None` where each value brings its own.
    pub fn fixed_bytes(self) -> Option<usize> {
        Some(match self {
            Encoding::Integer { bytes, .. } => usize::from(bytes),
            Encoding::Date => 3,
            Encoding::DateTime { fraction } => 5 + fraction_bytes(fraction),
            Encoding::Timestamp { fraction } => 4 + fraction_bytes(fraction),
            Encoding::Padded { bytes, .. } => usize::from(bytes),
            Encoding::Variable { .. } => return None,
            Encoding::Enum { labels } => 1 + usize::from(labels > 255),
            Encoding::Decimal { precision, scale } => decimal::bytes(precision, scale),
        })
    }

    /// The most bytes that a value takes, its length entry left out.
    pub fn bytes_max(self) -> usize {
        match self {
            Encoding::Variable { bytes_max, .. } => usize::from(bytes_max),
            fixed => fixed.fixed_bytes().unwrap_or(0),
        }
    }
}

fn variable(text: &Text, padded_to: u16) -> Encoding {
    Encoding::Variable {
        bytes_max: text.characters.saturating_mul(text.charset.bytes_per_character_max()),
        characters_max: text.characters,
        padded_to,
        charset: Some(text.charset),
    }
}

fn fraction_bytes(fraction: u8) -> usize {
    usize::from(fraction.div_ceil(2))
}

/// The last day that was taken apart: rows of a partition share theirs, so this saves the divisions.
#[derive(Debug, Clone, Copy)]
pub struct DayMemo {
    day: i32,
    /// `year << 9 | month << 5 | day of month`.
    packed: u32,
    /// Its midnight.
    start_micros: i64,
    /// A DATETIME's date, biased, in place.
    date_time: u64,
    /// The last DATETIME, and what became of it: leases of a day often end together.
    last_micros: i64,
    last: (u32, u64),
}

impl Default for DayMemo {
    fn default() -> Self {
        DayMemo::of(0)
    }
}

impl DayMemo {
    fn of(day: i32) -> DayMemo {
        let packed = pack_day(day);
        let (year, month, day_of_month) = (packed >> 9, packed >> 5 & 15, packed & 31);
        // A DATETIME counts 13 months a year.
        let date = u64::from((year * 13 + month) << 5 | day_of_month);
        DayMemo {
            day,
            packed,
            start_micros: i64::from(day) * DAY_MICROS,
            date_time: (date << 17) + 0x80_0000_0000,
            // No DATETIME.
            last_micros: i64::MIN,
            last: (0, 0),
        }
    }
}

/// Days since 1970-01-01 to the calendar (Howard Hinnant's `civil_from_days`, years 0 to 9999).
fn pack_day(day: i32) -> u32 {
    let shifted = i64::from(day) + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let day_of_month = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    (year << 9 | month << 5 | day_of_month) as u32
}

/// 0000-01-01 and 9999-12-31 in days since 1970-01-01.
const DAY_RANGE: std::ops::RangeInclusive<i32> = -719_528..=2_932_896;
const DAY_MICROS: i64 = 86_400_000_000;

/// Texts, and what is rare.
#[inline]
fn encode_text(encoding: Encoding, value: Value<'_>, out: &mut [u8]) -> Result<usize, EncodeError> {
    match (encoding, value) {
        (Encoding::Variable { characters_max, padded_to, charset, .. }, Value::Bytes(text)) => {
            variable_text(text, characters_max, padded_to, charset, out)
        }
        (Encoding::Padded { bytes, pad, ascii }, Value::Bytes(text)) => {
            padded(usize::from(bytes), pad, ascii, text, out)
        }
        (Encoding::Decimal { precision, scale }, Value::Decimal(unscaled)) => {
            decimal::encode(precision, scale, unscaled, out)
        }
        (_, other) => Err(misfit(other)),
    }
}

#[cold]
fn misfit(value: Value<'_>) -> EncodeError {
    if value == Value::Null { EncodeError::NotNullable } else { EncodeError::WrongKind }
}

#[inline]
fn variable_text(
    text: &[u8],
    characters_max: u16,
    padded_to: u16,
    charset: Option<Charset>,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    check_text(text, usize::from(characters_max), charset)?;
    copy_short(out, text);
    if text.len() >= usize::from(padded_to) {
        return Ok(text.len());
    }
    out[text.len()..usize::from(padded_to)].fill(b' ');
    Ok(usize::from(padded_to))
}

/// Copies a text without calling a copying routine when it is as short as keys are.
#[inline]
pub fn copy_short(out: &mut [u8], text: &[u8]) {
    let length = text.len();
    let out = &mut out[..length];
    match length {
        0 => {}
        1..4 => out.iter_mut().zip(text).for_each(|(to, from)| *to = *from),
        4..8 => copy_ends::<4>(out, text),
        8..16 => copy_ends::<8>(out, text),
        16..=32 => copy_ends::<16>(out, text),
        _ => out.copy_from_slice(text),
    }
}

/// Two pieces that may overlap are all of it.
#[inline]
fn copy_ends<const PIECE: usize>(out: &mut [u8], text: &[u8]) {
    let last = text.len() - PIECE;
    out[..PIECE].copy_from_slice(&text[..PIECE]);
    out[last..].copy_from_slice(&text[last..]);
}

/// A DATE's word.
#[inline]
fn date(day: i32, memo: &mut DayMemo) -> Result<u64, EncodeError> {
    if day != memo.day {
        in_range(DAY_RANGE.contains(&day))?;
        *memo = DayMemo::of(day);
    }
    Ok(u64::from(memo.packed ^ 0x80_0000))
}

#[inline]
fn timestamp(fraction: u8, micros: i64) -> Result<(u32, u64), EncodeError> {
    let seconds = micros.div_euclid(1_000_000);
    // TIMESTAMP ends in January 2038 and 0 is its own word for "never".
    in_range((1..=i64::from(i32::MAX)).contains(&seconds))?;
    Ok(with_fraction(4, seconds as u64, fraction, micros.rem_euclid(1_000_000) as u32))
}

fn padded(bytes: usize, pad: u8, ascii: bool, text: &[u8], out: &mut [u8]) -> Result<usize, EncodeError> {
    if text.len() > bytes {
        return Err(EncodeError::TooLong);
    }
    if ascii && !text.is_ascii() {
        return Err(EncodeError::NotInCharset);
    }
    copy_short(out, text);
    out[text.len()..bytes].fill(pad);
    Ok(bytes)
}

fn in_range(inside: bool) -> Result<(), EncodeError> {
    if inside { Ok(()) } else { Err(EncodeError::OutOfRange) }
}

#[inline]
fn date_time(fraction: u8, micros: i64, memo: &mut DayMemo) -> Result<(u32, u64), EncodeError> {
    if micros == memo.last_micros {
        return Ok(memo.last);
    }
    let mut within = micros.wrapping_sub(memo.start_micros);
    if !(0..DAY_MICROS).contains(&within) {
        let day = micros.div_euclid(DAY_MICROS);
        in_range(day >= i64::from(*DAY_RANGE.start()) && day <= i64::from(*DAY_RANGE.end()))?;
        // Inside DAY_RANGE, so it fits.
        *memo = DayMemo::of(day as i32);
        within = micros - memo.start_micros;
    }
    memo.last_micros = within + memo.start_micros;
    memo.last = time_of_day(fraction, within as u64, memo);
    Ok(memo.last)
}

/// A DATETIME's bytes and word, so many microseconds into a day.
#[inline(always)]
fn time_of_day(fraction: u8, within: u64, day: &DayMemo) -> (u32, u64) {
    // Below 86,400.
    let seconds = (within / 1_000_000) as u32;
    let micros = (within - u64::from(seconds) * 1_000_000) as u32;
    let minutes = seconds / 60;
    let time = (minutes / 60) << 12 | (minutes % 60) << 6 | (seconds - minutes * 60);
    with_fraction(5, day.date_time | u64::from(time), fraction, micros)
}

/// Hundredths in one byte, ten-thousandths in two, millionths in three; digits beyond the column's are cut.
#[inline]
fn with_fraction(bytes: u32, whole: u64, fraction: u8, micros: u32) -> (u32, u64) {
    let cut = match fraction {
        3 => micros / 1_000 * 10,
        6 => micros,
        0 => return (bytes, whole),
        rare => cut_rare(rare, micros),
    };
    let fraction_bytes = u32::from(fraction).div_ceil(2);
    (bytes + fraction_bytes, whole << (8 * fraction_bytes) | u64::from(cut))
}

#[cold]
fn cut_rare(fraction: u8, micros: u32) -> u32 {
    match fraction {
        1 => micros / 100_000 * 10,
        2 => micros / 10_000,
        4 => micros / 100,
        _ => micros / 10 * 10,
    }
}

#[inline]
fn check_text(text: &[u8], characters_max: usize, charset: Option<Charset>) -> Result<(), EncodeError> {
    match charset {
        Some(Charset::Ascii) if !text.is_ascii() => Err(EncodeError::NotInCharset),
        Some(Charset::Utf8mb4) if !text.is_ascii() => {
            let text = std::str::from_utf8(text).map_err(|_| EncodeError::NotInCharset)?;
            if text.chars().count() > characters_max { Err(EncodeError::TooLong) } else { Ok(()) }
        }
        _ if text.len() > characters_max => Err(EncodeError::TooLong),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
