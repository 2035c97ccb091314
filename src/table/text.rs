//! Single values as text, exactly as the server prints and reads them.

use crate::keys::{Cell, Row};
use crate::spec::calendar::{DAY_MICROS, year_month_day};
use crate::spec::table::{Column, ColumnKind};

/// How a column's cells become text.
#[derive(Debug, Clone)]
pub(super) enum Form {
    /// Numbers, dates and NULL need no more than the cell.
    Plain,
    /// DATETIME and TIMESTAMP, with so many fractional digits.
    Instant(u8),
    /// DECIMAL, with so many digits behind the point.
    Decimal(u8),
    /// ENUM: the label of each number, from 1.
    Enum(Vec<Vec<u8>>),
}

impl Form {
    pub(super) fn of(column: &Column) -> Form {
        match &column.kind {
            ColumnKind::DateTime { fraction } | ColumnKind::Timestamp { fraction } => {
                Form::Instant(*fraction)
            }
            ColumnKind::Decimal { scale, .. } => Form::Decimal(*scale),
            ColumnKind::Enum(labels) => {
                Form::Enum(labels.iter().map(|label| label.as_bytes().to_vec()).collect())
            }
            _ => Form::Plain,
        }
    }

    /// Appends a cell's text; nothing for NULL and generated cells.
    #[inline]
    pub(super) fn write(&self, cell: Cell, row: &Row, date: &mut DateText, out: &mut Vec<u8>) {
        match (cell, self) {
            (Cell::Bytes { .. }, _) => out.extend_from_slice(row.bytes_of(cell)),
            (Cell::UInt(number), _) => write_u64(number, out),
            (Cell::Enum(number), Form::Enum(labels)) => {
                out.extend_from_slice(&labels[usize::from(number) - 1])
            }
            (Cell::Enum(number), _) => write_u64(u64::from(number), out),
            (Cell::Int(number), _) => write_i64(number, out),
            (Cell::Date(day), _) => out.extend_from_slice(date.of(day)),
            (Cell::Instant(micros), Form::Instant(fraction)) => date.write_instant(micros, *fraction, out),
            (Cell::Instant(micros), _) => date.write_instant(micros, 6, out),
            (Cell::Decimal(unscaled), Form::Decimal(scale)) => write_decimal(unscaled, *scale, out),
            (Cell::Decimal(unscaled), _) => write_i64(unscaled, out),
            (Cell::Null | Cell::Generated, _) => {}
        }
    }
}

/// The last day's text: rows come day by day, so it is seldom made anew.
#[derive(Debug, Clone)]
pub(super) struct DateText {
    day: i32,
    text: [u8; 10],
}

impl Default for DateText {
    fn default() -> Self {
        DateText { day: 0, text: *b"1970-01-01" }
    }
}

/// `00` to `99`.
const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
                            2021222324252627282930313233343536373839\
                            4041424344454647484950515253545556575859\
                            6061626364656667686970717273747576777879\
                            8081828384858687888990919293949596979899";

fn pair(number: u32) -> [u8; 2] {
    let at = (number % 100) as usize * 2;
    [PAIRS[at], PAIRS[at + 1]]
}

impl DateText {
    /// `2026-01-31`.
    #[inline]
    fn of(&mut self, day: i32) -> &[u8; 10] {
        if day != self.day {
            let (year, month, day_of_month) = year_month_day(day);
            let (year, month) = (u32::from(year), u32::from(month));
            let [a, b] = pair(year / 100);
            let [c, d] = pair(year);
            let [e, f] = pair(month);
            let [g, h] = pair(u32::from(day_of_month));
            *self = DateText { day, text: [a, b, c, d, b'-', e, f, b'-', g, h] };
        }
        &self.text
    }

    /// `2026-01-31 10:20:30.123`.
    #[inline]
    fn write_instant(&mut self, micros: i64, fraction: u8, out: &mut Vec<u8>) {
        let in_day = micros.rem_euclid(DAY_MICROS) as u64;
        let date = *self.of(micros.div_euclid(DAY_MICROS) as i32);
        let (seconds, micros) = ((in_day / 1_000_000) as u32, (in_day % 1_000_000) as u32);
        let mut text = *b"0000-00-00 00:00:00.000000";
        text[..10].copy_from_slice(&date);
        text[11..13].copy_from_slice(&pair(seconds / 3_600));
        text[14..16].copy_from_slice(&pair(seconds / 60 % 60));
        text[17..19].copy_from_slice(&pair(seconds % 60));
        text[20..22].copy_from_slice(&pair(micros / 10_000));
        text[22..24].copy_from_slice(&pair(micros / 100));
        text[24..26].copy_from_slice(&pair(micros));
        let length = if fraction == 0 { 19 } else { 20 + usize::from(fraction) };
        out.extend_from_slice(&text[..length]);
    }
}

#[inline]
pub(super) fn write_u64(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

#[inline]
pub(super) fn write_i64(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

pub(super) fn write_decimal(unscaled: i64, scale: u8, out: &mut Vec<u8>) {
    if unscaled < 0 {
        out.push(b'-');
    }
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(unscaled.unsigned_abs()).as_bytes();
    let scale = usize::from(scale);
    let whole = digits.len().saturating_sub(scale);
    out.extend_from_slice(if whole == 0 { b"0" } else { &digits[..whole] });
    if scale > 0 {
        out.push(b'.');
        out.extend(std::iter::repeat_n(b'0', scale.saturating_sub(digits.len())));
        out.extend_from_slice(&digits[whole..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(form: Form, cell: Cell, expect: &str) {
        let mut out = Vec::new();
        form.write(cell, &Row::default(), &mut DateText::default(), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn values_are_written_as_the_server_prints_them() {
        check(Form::Plain, Cell::Date(20_454), "2026-01-01");
        check(Form::Plain, Cell::Date(0), "1970-01-01");
        check(Form::Plain, Cell::Int(i64::MIN), "-9223372036854775808");
        check(Form::Plain, Cell::UInt(u64::MAX), "18446744073709551615");
        let micros = 20_454 * DAY_MICROS + 3_723_004_050;
        check(Form::Instant(0), Cell::Instant(micros), "2026-01-01 01:02:03");
        check(Form::Instant(3), Cell::Instant(micros), "2026-01-01 01:02:03.004");
        check(Form::Instant(6), Cell::Instant(micros), "2026-01-01 01:02:03.004050");
        check(Form::Instant(1), Cell::Instant(-1), "1969-12-31 23:59:59.9");
        for (unscaled, scale, text) in [
            (5, 2, "0.05"),
            (-1_234, 2, "-12.34"),
            (7, 0, "7"),
            (0, 0, "0"),
            (0, 3, "0.000"),
            (-5, 3, "-0.005"),
            (100, 2, "1.00"),
        ] {
            check(Form::Decimal(scale), Cell::Decimal(unscaled), text);
        }
        check(Form::Enum(vec![b"NEW".to_vec(), b"it's".to_vec()]), Cell::Enum(2), "it's");
        check(Form::Plain, Cell::Null, "");
    }
}
