//! Rows of a stretch, column by column: the same values as [`super::RowMaker::fill`] makes, a fraction of the
//! cost, since what is the same in all rows is made once and the rest in short loops.

use std::ops::Range;

use super::column::{ColumnMaker, KeyForm, instant_in_day, spread, write_random_bytes};
use super::days::Day;
use super::mix::{hash, scale};
use super::row::Cell;

/// Consecutive rows of one day that [`super::RowMaker::fill_batch`] writes into; reused, so that making rows
/// allocates nothing.
#[derive(Debug, Clone, Default)]
pub struct RowBatch {
    pub(super) rows: Range<u64>,
    pub(super) day: Day,
    pub(super) columns: Vec<Cells>,
    /// What [`Cell::Bytes`] refer to.
    pub(super) constants: Vec<u8>,
}

/// A column's values in the rows of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cells {
    /// One for all rows.
    Same(Cell),
    /// [`Cell::Int`].
    Ints(Vec<i64>),
    /// [`Cell::UInt`].
    UInts(Vec<u64>),
    /// [`Cell::Instant`].
    Instants(Vec<i64>),
    /// [`Cell::Decimal`].
    Decimals(Vec<i64>),
    /// [`Cell::Enum`].
    Enums(Vec<u16>),
    /// Bytes of all rows one after another, equally many for each.
    Bytes {
        /// Of all rows.
        bytes: Vec<u8>,
        /// How many belong to a row.
        each: usize,
    },
    /// Anything.
    Each(Vec<Cell>),
}

impl RowBatch {
    /// The numbers of the rows that were made.
    pub fn rows(&self) -> Range<u64> {
        self.rows.clone()
    }

    /// How many rows that are.
    pub fn count(&self) -> usize {
        // A batch is short.
        (self.rows.end - self.rows.start) as usize
    }

    /// The columns, in the order of the maker's.
    pub fn columns(&self) -> &[Cells] {
        &self.columns
    }

    /// The bytes of a text or binary cell of [`Cells::Same`] or [`Cells::Each`], nothing for other cells.
    #[inline]
    pub fn bytes_of(&self, cell: Cell) -> &[u8] {
        match cell {
            Cell::Bytes { start, length } => &self.constants[start as usize..(start + length) as usize],
            _ => &[],
        }
    }
}

/// A vector of one of the kinds, emptied, with its old memory if it had that kind before.
macro_rules! emptied {
    ($cells:expr, $kind:ident) => {{
        if !matches!($cells, Cells::$kind(_)) {
            *$cells = Cells::$kind(Vec::new());
        }
        match $cells {
            Cells::$kind(values) => {
                values.clear();
                values
            }
            // It has just been made one.
            _ => return,
        }
    }};
}

impl ColumnMaker {
    /// Makes the cells of rows that lie on a day.
    pub(super) fn cells(&self, rows: Range<u64>, day: &Day, constants: &[u8], out: &mut Cells) {
        match self {
            ColumnMaker::Fixed(_) | ColumnMaker::Date(_) | ColumnMaker::Offset(_) => {
                // None of them appends bytes.
                *out = Cells::Same(self.cell(rows.start, day, &mut Vec::new()));
            }
            ColumnMaker::UnsignedSequence(start) => {
                emptied!(out, UInts).extend(rows.map(|row| start.wrapping_add(row)));
            }
            ColumnMaker::SignedSequence(start) => {
                emptied!(out, Ints).extend(rows.map(|row| start.wrapping_add_unsigned(row)));
            }
            ColumnMaker::InstantInDay { key, steps, step_micros } => {
                let made = rows.map(|row| instant_in_day(*key, *steps, *step_micros, row, day));
                emptied!(out, Instants).extend(made);
            }
            ColumnMaker::UnsignedHash { key, span } => {
                emptied!(out, UInts).extend(rows.map(|row| spread(hash(*key, row), *span)));
            }
            ColumnMaker::SignedHash { key, low, span } => {
                let made = rows.map(|row| low.wrapping_add_unsigned(spread(hash(*key, row), *span)));
                emptied!(out, Ints).extend(made);
            }
            ColumnMaker::DecimalHash { key, span } => {
                emptied!(out, Decimals).extend(rows.map(|row| scale(hash(*key, row), *span) as i64));
            }
            ColumnMaker::EnumHash { key, labels } => {
                emptied!(out, Enums).extend(rows.map(|row| scale(hash(*key, row), *labels) as u16 + 1));
            }
            ColumnMaker::TextHash { digits, key } => {
                let (bytes, each) = texts(out, &rows, digits.count());
                for (row, text) in rows.zip(bytes.chunks_exact_mut(each)) {
                    digits.put(hash(*key, row), row, text);
                }
            }
            ColumnMaker::BytesHash { key, length } => {
                let (bytes, each) = texts(out, &rows, usize::from(*length));
                for (row, text) in rows.zip(bytes.chunks_exact_mut(each)) {
                    write_random_bytes(*key, row, text);
                }
            }
            ColumnMaker::Choice { .. } => {
                // Its bytes are constants.
                emptied!(out, Each).extend(rows.map(|row| self.cell(row, day, &mut Vec::new())));
            }
            ColumnMaker::Status(blocks) => match blocks.has_labels() {
                true => blocks.append_labels(rows, day, emptied!(out, Enums)),
                false => emptied!(out, Each).extend(rows.map(|row| blocks.status(row, day))),
            },
            ColumnMaker::Key { numbers, rows_a_day_max, form } => {
                form.cells(rows, |row| numbers.number(row, day, *rows_a_day_max), constants, out);
            }
        }
    }
}

impl KeyForm {
    fn cells(&self, rows: Range<u64>, number: impl Fn(u64) -> u64, constants: &[u8], out: &mut Cells) {
        match self {
            KeyForm::Unsigned => emptied!(out, UInts).extend(rows.map(number)),
            KeyForm::Signed => emptied!(out, Ints).extend(rows.map(|row| number(row) as i64)),
            KeyForm::Text { prefix: (from, length), digits } => {
                let prefix = &constants[*from as usize..(*from + *length) as usize];
                let (bytes, each) = texts(out, &rows, prefix.len() + digits.count());
                for (row, text) in rows.zip(bytes.chunks_exact_mut(each)) {
                    let (start, rest) = text.split_at_mut(prefix.len());
                    start.copy_from_slice(prefix);
                    digits.put(number(row), row, rest);
                }
            }
            KeyForm::Bytes { number_bytes, length, key } => {
                let number_bytes = usize::from(*number_bytes);
                let (bytes, each) = texts(out, &rows, usize::from(*length));
                for (row, bytes) in rows.zip(bytes.chunks_exact_mut(each)) {
                    let (start, rest) = bytes.split_at_mut(number_bytes);
                    start.copy_from_slice(&number(row).to_be_bytes()[8 - number_bytes..]);
                    write_random_bytes(*key, row, rest);
                }
            }
        }
    }
}

/// Room for equally long bytes of so many rows, and their length, at least 1.
fn texts<'c>(out: &'c mut Cells, rows: &Range<u64>, length: usize) -> (&'c mut [u8], usize) {
    if !matches!(out, Cells::Bytes { .. }) {
        *out = Cells::Bytes { bytes: Vec::new(), each: length };
    }
    match out {
        Cells::Bytes { bytes, each } => {
            *each = length;
            // Every byte is overwritten.
            bytes.resize((rows.end - rows.start) as usize * length, 0);
            (bytes, length.max(1))
        }
        // It has just been made one.
        _ => (&mut [], 1),
    }
}
