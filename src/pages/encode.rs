//! A value's bytes on disk, by column kind.

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
            Encoding::Decimal { precision, scale } => decimal_bytes(precision, scale),
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

/// Bytes of so many digits that do not fill a group of nine.
const PARTIAL_GROUP_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

fn decimal_bytes(precision: u8, scale: u8) -> usize {
    digits_bytes(precision - scale.min(precision)) + digits_bytes(scale)
}

fn digits_bytes(digits: u8) -> usize {
    usize::from(digits / 9) * 4 + PARTIAL_GROUP_BYTES[usize::from(digits % 9)]
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

/// Room behind a value's bytes that [`encode`] may write to: short values are stored as whole words.
pub const SLACK_BYTES: usize = 8;

/// Writes a value's bytes to the start of `out` and says how many; `out` must hold `bytes_max` and
/// [`SLACK_BYTES`] more.
#[inline]
pub fn encode(
    encoding: Encoding,
    value: Value<'_>,
    memo: &mut DayMemo,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    match encoding {
        Encoding::Padded { bytes, pad, ascii } => padded(usize::from(bytes), pad, ascii, value, out),
        Encoding::Variable { characters_max, padded_to, charset, .. } => {
            let text = bytes_of(value)?;
            check_text(text, usize::from(characters_max), charset)?;
            copy_short(out, text);
            if text.len() >= usize::from(padded_to) {
                return Ok(text.len());
            }
            out[text.len()..usize::from(padded_to)].fill(b' ');
            Ok(usize::from(padded_to))
        }
        Encoding::Decimal { precision, scale } => match value {
            Value::Decimal(unscaled) => decimal(precision, scale, unscaled, out),
            Value::Null => Err(EncodeError::NotNullable),
            _ => Err(EncodeError::WrongKind),
        },
        numeric => {
            let (bytes, word) = word(numeric, value, memo)?;
            out[..8].copy_from_slice(&(word << (64 - 8 * bytes)).to_be_bytes());
            Ok(bytes as usize)
        }
    }
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

/// Values of at most eight bytes: how many, and they, in the low bytes.
#[inline]
fn word(encoding: Encoding, value: Value<'_>, memo: &mut DayMemo) -> Result<(u32, u64), EncodeError> {
    match (encoding, value) {
        (Encoding::Integer { bytes, signed }, value) => {
            Ok((u32::from(bytes), integer(8 * u32::from(bytes), signed, value)?))
        }
        (Encoding::Date, Value::Day(day)) => {
            if day != memo.day {
                in_range(DAY_RANGE.contains(&day))?;
                *memo = DayMemo::of(day);
            }
            Ok((3, u64::from(memo.packed ^ 0x80_0000)))
        }
        (Encoding::DateTime { fraction }, Value::Micros(micros)) => date_time(fraction, micros, memo),
        (Encoding::Timestamp { fraction }, Value::Micros(micros)) => {
            let seconds = micros.div_euclid(1_000_000);
            // TIMESTAMP ends in January 2038 and 0 is its own word for "never".
            in_range((1..=i64::from(i32::MAX)).contains(&seconds))?;
            Ok(with_fraction(4, seconds as u64, fraction, micros.rem_euclid(1_000_000) as u32))
        }
        (Encoding::Enum { labels }, Value::Label(ordinal)) => {
            in_range((1..=labels).contains(&ordinal))?;
            Ok((1 + u32::from(labels > 255), u64::from(ordinal)))
        }
        (_, Value::Null) => Err(EncodeError::NotNullable),
        _ => Err(EncodeError::WrongKind),
    }
}

#[inline]
fn bytes_of(value: Value<'_>) -> Result<&[u8], EncodeError> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        Value::Null => Err(EncodeError::NotNullable),
        _ => Err(EncodeError::WrongKind),
    }
}

fn padded(
    bytes: usize,
    pad: u8,
    ascii: bool,
    value: Value<'_>,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    let text = bytes_of(value)?;
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
fn integer(bits: u32, signed: bool, value: Value<'_>) -> Result<u64, EncodeError> {
    let sign = 1 << (bits - 1);
    let mask = u64::MAX >> (64 - bits);
    match (value, signed) {
        (Value::Unsigned(number), false) => in_range(number <= mask).map(|()| number),
        (Value::Signed(number), true) => {
            in_range((number >> (bits - 1)) == (number >> 63)).map(|()| (number as u64 & mask) ^ sign)
        }
        // A recipe may count upwards in a signed column, or down to zero in an unsigned one.
        (Value::Unsigned(number), true) => in_range(number < sign).map(|()| number ^ sign),
        (Value::Signed(number), false) => {
            in_range(number >= 0 && number as u64 <= mask).map(|()| number as u64)
        }
        (Value::Null, _) => Err(EncodeError::NotNullable),
        _ => Err(EncodeError::WrongKind),
    }
}

#[inline]
fn date_time(fraction: u8, micros: i64, memo: &mut DayMemo) -> Result<(u32, u64), EncodeError> {
    let mut within = micros.wrapping_sub(memo.start_micros);
    if !(0..DAY_MICROS).contains(&within) {
        let day = micros.div_euclid(DAY_MICROS);
        in_range(day >= i64::from(*DAY_RANGE.start()) && day <= i64::from(*DAY_RANGE.end()))?;
        // Inside DAY_RANGE, so it fits.
        *memo = DayMemo::of(day as i32);
        within = micros - memo.start_micros;
    }
    // Below 86,400.
    let seconds = (within as u64 / 1_000_000) as u32;
    let micros = (within as u64 - u64::from(seconds) * 1_000_000) as u32;
    let minutes = seconds / 60;
    let time = (minutes / 60) << 12 | (minutes % 60) << 6 | (seconds - minutes * 60);
    Ok(with_fraction(5, memo.date_time | u64::from(time), fraction, micros))
}

/// Hundredths in one byte, ten-thousandths in two, millionths in three; digits beyond the column's are cut.
#[inline]
fn with_fraction(bytes: u32, whole: u64, fraction: u8, micros: u32) -> (u32, u64) {
    let cut = match fraction {
        0 => return (bytes, whole),
        1 => micros / 100_000 * 10,
        2 => micros / 10_000,
        3 => micros / 1_000 * 10,
        4 => micros / 100,
        5 => micros / 10 * 10,
        _ => micros,
    };
    let fraction_bytes = u32::from(fraction).div_ceil(2);
    (bytes + fraction_bytes, whole << (8 * fraction_bytes) | u64::from(cut))
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

fn decimal(precision: u8, scale: u8, unscaled: i64, out: &mut [u8]) -> Result<usize, EncodeError> {
    let magnitude = u128::from(unscaled.unsigned_abs());
    let power = |digits: u8| 10u128.checked_pow(u32::from(digits));
    in_range(power(precision).is_none_or(|limit| magnitude < limit))?;
    let unit = power(scale).ok_or(EncodeError::OutOfRange)?;
    let whole_bytes = digits_bytes(precision - scale);
    put_digits(magnitude / unit, precision - scale, true, &mut out[..whole_bytes]);
    let bytes = whole_bytes + digits_bytes(scale);
    put_digits(magnitude % unit, scale, false, &mut out[whole_bytes..bytes]);
    if unscaled < 0 {
        out[..bytes].iter_mut().for_each(|byte| *byte = !*byte);
    }
    out[0] ^= 0x80;
    Ok(bytes)
}

/// Digits in groups of nine counted from the point; the group that is short stands farthest from it.
fn put_digits(mut number: u128, digits: u8, short_group_first: bool, out: &mut [u8]) {
    let short_digits = u32::from(digits % 9);
    let short = PARTIAL_GROUP_BYTES[short_digits as usize];
    let mut put = |range: std::ops::Range<usize>, group: u32| {
        let skip = 4 - range.len();
        out[range].copy_from_slice(&group.to_be_bytes()[skip..]);
    };
    let groups = usize::from(digits / 9);
    let full_start = if short_group_first { short } else { 0 };
    if !short_group_first && short > 0 {
        let power = 10u128.pow(short_digits);
        put(groups * 4..groups * 4 + short, (number % power) as u32);
        number /= power;
    }
    for group in (0..groups).rev() {
        let start = full_start + group * 4;
        put(start..start + 4, (number % 1_000_000_000) as u32);
        number /= 1_000_000_000;
    }
    if short_group_first && short > 0 {
        put(0..short, number as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::table::Text;

    fn text(characters: u16, charset: Charset) -> Text {
        Text { characters, charset, collation: String::new() }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn check(kind: ColumnKind, value: Value<'_>, expect: &str) {
        let mut out = [0xEE; 512];
        let length = encode(Encoding::of(&kind), value, &mut DayMemo::default(), &mut out)
            .unwrap_or_else(|error| panic!("{kind:?} {value:?}: {error}"));
        assert_eq!(hex(&out[..length]), expect, "{kind:?} {value:?}");
    }

    /// 2024-01-01 is day 19723; 12:34:56.789.
    const DAY: i32 = 19_723;
    const INSTANT: i64 = DAY as i64 * DAY_MICROS + 45_296_789_000;

    #[test]
    fn values_are_stored_as_a_real_server_stores_them() {
        let int = |bytes, unsigned| ColumnKind::Integer { bytes, unsigned };
        check(int(1, false), Value::Signed(-2), "7e");
        check(int(1, true), Value::Unsigned(200), "c8");
        check(int(4, false), Value::Signed(-5), "7ffffffb");
        check(int(8, false), Value::Signed(-1), "7fffffffffffffff");
        check(int(8, true), Value::Unsigned(u64::MAX), "ffffffffffffffff");
        check(int(1, false), Value::Signed(1), "81");
        check(int(3, false), Value::Signed(-8_388_608), "000000");
        check(ColumnKind::Date, Value::Day(DAY), "8fd021");
        check(ColumnKind::DateTime { fraction: 3 }, Value::Micros(INSTANT), "99b242c8b81ed2");
        check(ColumnKind::DateTime { fraction: 0 }, Value::Micros(INSTANT), "99b242c8b8");
        check(ColumnKind::Timestamp { fraction: 3 }, Value::Micros(INSTANT), "6592b1701ed2");
        check(ColumnKind::Timestamp { fraction: 6 }, Value::Micros(INSTANT), "6592b1700c0a08");
        check(ColumnKind::Char(text(5, Charset::Ascii)), Value::Bytes(b"ab"), "6162202020");
        check(
            ColumnKind::Char(text(10, Charset::Utf8mb4)),
            Value::Bytes("cü".as_bytes()),
            "63c3bc20202020202020",
        );
        check(
            ColumnKind::VarChar(text(9, Charset::Utf8mb4)),
            Value::Bytes("héllo".as_bytes()),
            "68c3a96c6c6f",
        );
        check(ColumnKind::Binary(4), Value::Bytes(&[1, 0]), "01000000");
        check(ColumnKind::VarBinary(4), Value::Bytes(&[1, 0]), "0100");
        check(ColumnKind::Enum(vec!["NEW".into(), "DONE".into()]), Value::Label(2), "02");
    }

    #[test]
    fn decimals_are_packed_nine_digits_in_four_bytes() {
        let kind = |precision, scale| ColumnKind::Decimal { precision, scale };
        // The manual's own example, 1234567890.1234 as DECIMAL(14,4), and its negative.
        check(kind(14, 4), Value::Decimal(12_345_678_901_234), "810dfb38d204d2");
        check(kind(14, 4), Value::Decimal(-12_345_678_901_234), "7ef204c72dfb2d");
        check(kind(9, 0), Value::Decimal(7), "80000007");
        // 99.90: ten whole digits are one and nine, two digits behind the point are one byte.
        check(kind(12, 2), Value::Decimal(9990), "80000000635a");
    }

    #[test]
    fn what_does_not_fit_its_column_is_an_error_not_a_wrong_byte() {
        let fails = |kind: ColumnKind, value: Value<'_>, error: EncodeError| {
            let mut out = [0; 512];
            let got = encode(Encoding::of(&kind), value, &mut DayMemo::default(), &mut out);
            assert_eq!(got, Err(error), "{kind:?} {value:?}");
        };
        let int = |bytes, unsigned| ColumnKind::Integer { bytes, unsigned };
        fails(int(1, false), Value::Signed(128), EncodeError::OutOfRange);
        fails(int(1, true), Value::Unsigned(256), EncodeError::OutOfRange);
        fails(int(2, true), Value::Signed(-1), EncodeError::OutOfRange);
        fails(int(8, false), Value::Unsigned(1 << 63), EncodeError::OutOfRange);
        fails(ColumnKind::Date, Value::Day(3_000_000), EncodeError::OutOfRange);
        fails(ColumnKind::Timestamp { fraction: 0 }, Value::Micros(-1), EncodeError::OutOfRange);
        fails(ColumnKind::VarChar(text(2, Charset::Ascii)), Value::Bytes(b"abc"), EncodeError::TooLong);
        fails(ColumnKind::Char(text(2, Charset::Ascii)), Value::Bytes(b"abc"), EncodeError::TooLong);
        fails(
            ColumnKind::VarChar(text(9, Charset::Ascii)),
            Value::Bytes("é".as_bytes()),
            EncodeError::NotInCharset,
        );
        fails(
            ColumnKind::VarChar(text(9, Charset::Utf8mb4)),
            Value::Bytes(&[0xC3]),
            EncodeError::NotInCharset,
        );
        fails(ColumnKind::Enum(vec!["A".into()]), Value::Label(2), EncodeError::OutOfRange);
        fails(
            ColumnKind::Decimal { precision: 4, scale: 2 },
            Value::Decimal(10_000),
            EncodeError::OutOfRange,
        );
        fails(ColumnKind::Date, Value::Null, EncodeError::NotNullable);
        fails(ColumnKind::Date, Value::Signed(1), EncodeError::WrongKind);
    }

    #[test]
    fn days_follow_the_calendar() {
        for (day, packed) in
            [(0, (1970, 1, 1)), (19_782, (2024, 2, 29)), (19_783, (2024, 3, 1)), (-1, (1969, 12, 31))]
        {
            assert_eq!(pack_day(day), packed.0 << 9 | packed.1 << 5 | packed.2);
        }
    }
}
