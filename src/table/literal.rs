//! Single values as SQL literals.

use super::text::{DateText, Form, write_u64};
use crate::keys::{Cell, Row};
use crate::spec::table::{Charset, Column, ColumnKind};

/// Writes a cell as a literal that the column takes unchanged, whatever the connection's character set.
pub(super) fn write_literal(column: &Column, form: &Form, cell: Cell, row: &Row, out: &mut Vec<u8>) {
    let mut date = DateText::default();
    match cell {
        Cell::Null => out.extend_from_slice(b"NULL"),
        Cell::Generated => out.extend_from_slice(b"DEFAULT"),
        Cell::Int(_) | Cell::UInt(_) | Cell::Decimal(_) => form.write(cell, row, &mut date, out),
        // An ENUM's number, as a number: no character set has a say in it.
        Cell::Enum(number) => write_u64(u64::from(number), out),
        Cell::Date(_) => typed(b"DATE", form, cell, row, out),
        Cell::Instant(_) => typed(b"TIMESTAMP", form, cell, row, out),
        Cell::Bytes { .. } => write_bytes(column, row.bytes_of(cell), out),
    }
}

/// `DATE'2026-01-31'`.
fn typed(name: &[u8], form: &Form, cell: Cell, row: &Row, out: &mut Vec<u8>) {
    out.extend_from_slice(name);
    out.push(b'\'');
    form.write(cell, row, &mut DateText::default(), out);
    out.push(b'\'');
}

fn write_bytes(column: &Column, bytes: &[u8], out: &mut Vec<u8>) {
    let charset = match &column.kind {
        ColumnKind::Char(text) | ColumnKind::VarChar(text) => Some(text.charset),
        _ => None,
    };
    let plain = bytes.iter().all(|byte| (0x20..0x7f).contains(byte) && !matches!(byte, b'\'' | b'\\'));
    if charset.is_some() && plain {
        out.push(b'\'');
        out.extend_from_slice(bytes);
        out.push(b'\'');
        return;
    }
    out.extend_from_slice(match charset {
        Some(Charset::Ascii) => b"_ascii X'",
        Some(Charset::Utf8mb4) => b"_utf8mb4 X'",
        Some(Charset::Latin1) => b"_latin1 X'",
        None => b"X'",
    });
    for byte in bytes {
        out.extend_from_slice(&[hex_digit(byte >> 4), hex_digit(byte & 15)]);
    }
    out.push(b'\'');
}

fn hex_digit(nibble: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(nibble)]
}
