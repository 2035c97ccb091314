//! Literals of `constant` and `choice`, read into cells once.

use super::error::MakeError;
use super::row::Cell;
use crate::spec::calendar::{parse_date, parse_instant};
use crate::spec::table::{Charset, Column, ColumnKind, Text};

/// A kind in words, as SQL has it.
pub(super) fn kind_text(kind: &ColumnKind) -> String {
    match kind {
        ColumnKind::Integer { bytes, unsigned } => {
            let name = match bytes {
                1 => "TINYINT",
                2 => "SMALLINT",
                3 => "MEDIUMINT",
                4 => "INT",
                _ => "BIGINT",
            };
            format!("{name}{}", if *unsigned { " UNSIGNED" } else { "" })
        }
        ColumnKind::Date => "DATE".to_owned(),
        ColumnKind::DateTime { fraction } => format!("DATETIME({fraction})"),
        ColumnKind::Timestamp { fraction } => format!("TIMESTAMP({fraction})"),
        ColumnKind::Char(text) => format!("CHAR({})", text.characters),
        ColumnKind::VarChar(text) => format!("VARCHAR({})", text.characters),
        ColumnKind::Binary(length) => format!("BINARY({length})"),
        ColumnKind::VarBinary(length) => format!("VARBINARY({length})"),
        ColumnKind::Enum(_) => "ENUM".to_owned(),
        ColumnKind::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
    }
}

/// The lowest and the highest value of an integer column.
pub(super) fn integer_range(bytes: u8, unsigned: bool) -> (i128, i128) {
    let bits = u32::from(bytes) * 8;
    match unsigned {
        true => (0, (1i128 << bits) - 1),
        false => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
    }
}

/// Seconds since 1970 that a TIMESTAMP holds (1970-01-01 00:00:01 to 2038-01-19 03:14:07).
pub(super) const TIMESTAMP_SECONDS: std::ops::RangeInclusive<i64> = 1..=2_147_483_647;

/// Reads a literal for a column; bytes go into the arena of constants.
pub(super) fn literal_cell(column: &Column, literal: &str, arena: &mut Vec<u8>) -> Result<Cell, MakeError> {
    let refuse = |reason: String| MakeError::Literal {
        column: column.name.clone(),
        kind: kind_text(&column.kind),
        literal: literal.to_owned(),
        reason,
    };
    match &column.kind {
        ColumnKind::Integer { bytes, unsigned } => {
            let (low, high) = integer_range(*bytes, *unsigned);
            let number: i128 = literal.trim().parse().map_err(|_| refuse("not a whole number".to_owned()))?;
            if !(low..=high).contains(&number) {
                return Err(refuse(format!("it holds {low} to {high}")));
            }
            // Within the column's range, so within 64 bits of its sign.
            Ok(if *unsigned { Cell::UInt(number as u64) } else { Cell::Int(number as i64) })
        }
        ColumnKind::Date => parse_date(literal)
            .map(Cell::Date)
            .ok_or_else(|| refuse("not a day such as 2026-01-31".to_owned())),
        ColumnKind::DateTime { fraction } => instant(literal, *fraction).map(Cell::Instant).map_err(refuse),
        ColumnKind::Timestamp { fraction } => {
            let micros = instant(literal, *fraction).map_err(refuse)?;
            match TIMESTAMP_SECONDS.contains(&micros.div_euclid(1_000_000)) {
                true => Ok(Cell::Instant(micros)),
                false => {
                    Err(refuse("a TIMESTAMP holds 1970-01-01 00:00:01 to 2038-01-19 03:14:07".to_owned()))
                }
            }
        }
        ColumnKind::Char(text) | ColumnKind::VarChar(text) => {
            let bytes = encoded(literal, text).map_err(refuse)?;
            Ok(push(arena, trimmed(&column.kind, &bytes)))
        }
        ColumnKind::Binary(length) | ColumnKind::VarBinary(length) => {
            let mut bytes = hex_or_text(literal).map_err(refuse)?;
            if bytes.len() > usize::from(*length) {
                return Err(refuse(format!("{} bytes", bytes.len())));
            }
            if matches!(column.kind, ColumnKind::Binary(_)) {
                bytes.resize(usize::from(*length), 0);
            }
            Ok(push(arena, &bytes))
        }
        ColumnKind::Enum(labels) => labels
            .iter()
            .position(|label| label == literal)
            .map(|place| Cell::Enum(place as u16 + 1))
            .ok_or_else(|| refuse(format!("its labels are {}", labels.join(", ")))),
        ColumnKind::Decimal { precision, scale } => {
            decimal(literal, *precision, *scale).map(Cell::Decimal).map_err(refuse)
        }
    }
}

fn push(arena: &mut Vec<u8>, bytes: &[u8]) -> Cell {
    let start = arena.len() as u32;
    arena.extend_from_slice(bytes);
    Cell::Bytes { start, length: bytes.len() as u32 }
}

/// CHAR gives its trailing spaces up when it is read, so they are not part of the value.
fn trimmed<'a>(kind: &ColumnKind, bytes: &'a [u8]) -> &'a [u8] {
    match kind {
        ColumnKind::Char(_) => bytes.trim_ascii_end(),
        _ => bytes,
    }
}

fn instant(literal: &str, fraction: u8) -> Result<i64, String> {
    let micros =
        parse_instant(literal).ok_or_else(|| "not an instant such as 2026-01-31 10:20:30.123".to_owned())?;
    match micros % 10i64.pow(6 - u32::from(fraction)) {
        0 => Ok(micros),
        _ => Err(format!("the column keeps {fraction} fractional digits and would round")),
    }
}

/// The literal in the column's character set.
fn encoded(literal: &str, text: &Text) -> Result<Vec<u8>, String> {
    if literal.chars().count() > usize::from(text.characters) {
        return Err(format!("{} characters", literal.chars().count()));
    }
    match text.charset {
        Charset::Ascii if !literal.is_ascii() => Err("not ascii".to_owned()),
        Charset::Ascii | Charset::Utf8mb4 => Ok(literal.as_bytes().to_vec()),
        // MySQL's latin1 is Windows-1252; only the part that it shares with ISO 8859-1 is taken.
        Charset::Latin1 => literal
            .chars()
            .map(|character| match character as u32 {
                code @ (0..=0x7f | 0xa0..=0xff) => Ok(code as u8),
                _ => Err(format!("`{character}` is not in latin1")),
            })
            .collect(),
    }
}

/// `0x…` as bytes, anything else as its own bytes.
fn hex_or_text(literal: &str) -> Result<Vec<u8>, String> {
    let Some(hex) = literal.strip_prefix("0x") else { return Ok(literal.as_bytes().to_vec()) };
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    if digits.len() != hex.len() || !digits.len().is_multiple_of(2) {
        return Err("not an even number of hex digits".to_owned());
    }
    Ok(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

fn decimal(literal: &str, precision: u8, scale: u8) -> Result<i64, String> {
    let number = literal.trim();
    let (sign, digits) = number.strip_prefix('-').map_or((1, number), |digits| (-1, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits || fraction.len() > usize::from(scale) {
        return Err(format!("not a number with at most {scale} digits behind the point"));
    }
    let unscaled: i64 = format!("{whole}{fraction:0<width$}", width = usize::from(scale))
        .parse()
        .map_err(|_| "more than 18 digits".to_owned())?;
    let fits = precision >= 19 || unscaled < 10i64.pow(u32::from(precision));
    if fits { Ok(sign * unscaled) } else { Err(format!("more than {precision} digits")) }
}
