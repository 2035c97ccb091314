//! A column's values of many rows at once, written over copies of the first row's record.
//!
//! Everything here answers "no" instead of failing: rows that are not made alike, or not right, go one by one,
//! and that way says what is wrong.

use super::step::{NumberStep, number};
use super::{
    Charset, DAY_MICROS, DAY_RANGE, DayMemo, Encoding, Step, Value, decimal, time_of_day, timestamp,
};

/// A column's values in consecutive rows.
#[derive(Debug, Clone, Copy)]
pub enum Column<'v> {
    /// One value for all rows.
    Same(Value<'v>),
    /// [`Value::Signed`].
    Signed(&'v [i64]),
    /// [`Value::Unsigned`].
    Unsigned(&'v [u64]),
    /// [`Value::Micros`].
    Micros(&'v [i64]),
    /// [`Value::Label`].
    Labels(&'v [u16]),
    /// [`Value::Decimal`].
    Decimals(&'v [i64]),
    /// [`Value::Bytes`] one after another, equally many for each row.
    Bytes {
        /// Of all rows.
        bytes: &'v [u8],
        /// How many belong to a row.
        each: usize,
    },
    /// Anything: to be asked for row by row.
    Each,
}

/// Consecutive rows, column by column.
pub trait Rows {
    /// How many there are.
    fn count(&self) -> usize;
    /// A column by its index in the table.
    fn column(&self, column: usize) -> Column<'_>;
    /// One value.
    fn value(&self, row: usize, column: usize) -> Value<'_>;
}

/// Equally long records, one after another, and where in each a field lies.
#[derive(Debug)]
pub struct Places<'r> {
    /// The records.
    pub records: &'r mut [u8],
    /// Bytes of each.
    pub record_bytes: usize,
    /// The field's first byte in it.
    pub at: usize,
    /// Bytes of the field.
    pub length: usize,
}

impl Places<'_> {
    fn count(&self) -> usize {
        self.records.len() / self.record_bytes
    }

    /// The field in each record.
    #[inline(always)]
    fn fields(&mut self, length: usize) -> impl Iterator<Item = &mut [u8]> {
        let at = self.at;
        self.records.chunks_exact_mut(self.record_bytes).map(move |record| &mut record[at..at + length])
    }
}

/// Writes the values of a column that differ from row to row; false when that cannot be done in this way.
/// Each field holds the bytes of a value that was encoded with all its checks, which has the same length.
pub fn put_column(step: Step, encoding: Encoding, column: Column<'_>, places: Places<'_>) -> bool {
    match (column, step) {
        (Column::Unsigned(values), Step::Number(step)) => {
            put_numbers(values, &step, |value| Value::Unsigned(*value), places)
        }
        (Column::Signed(values), Step::Number(step)) => {
            put_numbers(values, &step, |value| Value::Signed(*value), places)
        }
        (Column::Labels(values), Step::Number(step)) => {
            put_numbers(values, &step, |value| Value::Label(*value), places)
        }
        (Column::Micros(values), Step::Time) => put_instants(values, encoding, places),
        (Column::Decimals(values), Step::Other) => put_decimals(values, encoding, places),
        (Column::Bytes { bytes, each }, Step::Other) => put_bytes(bytes, each, encoding, places),
        _ => false,
    }
}

#[inline(always)]
fn put_numbers<'v, V>(
    values: &'v [V],
    step: &NumberStep,
    value: impl Fn(&'v V) -> Value<'static>,
    places: Places<'_>,
) -> bool {
    put_words(values, |number_of| number(step, value(number_of)).ok(), places)
}

fn put_instants(values: &[i64], encoding: Encoding, places: Places<'_>) -> bool {
    match encoding {
        Encoding::DateTime { fraction } => {
            let Some(first) = values.first() else { return false };
            let day = first.div_euclid(DAY_MICROS);
            if day < i64::from(*DAY_RANGE.start()) || day > i64::from(*DAY_RANGE.end()) {
                return false;
            }
            // Inside DAY_RANGE, so it fits.
            let day = DayMemo::of(day as i32);
            // Told apart outside of the loop.
            match fraction {
                0 => put_date_times::<0>(values, &day, places),
                3 => put_date_times::<3>(values, &day, places),
                6 => put_date_times::<6>(values, &day, places),
                _ => false,
            }
        }
        Encoding::Timestamp { fraction } => {
            put_words(values, |micros| timestamp(fraction, *micros).ok().map(|(_, word)| word), places)
        }
        _ => false,
    }
}

/// Instants of one day.
fn put_date_times<const FRACTION: u8>(values: &[i64], day: &DayMemo, places: Places<'_>) -> bool {
    let word = |micros: &i64| {
        let within = micros.wrapping_sub(day.start_micros);
        let inside = (0..DAY_MICROS).contains(&within);
        inside.then(|| time_of_day(FRACTION, within as u64, day).1)
    };
    put_words(values, word, places)
}

/// Big-endian words of the field's length.
#[inline(always)]
fn put_words<'v, V>(values: &'v [V], word: impl Fn(&'v V) -> Option<u64>, places: Places<'_>) -> bool {
    match places.length {
        1 => put_words_of::<1, V>(values, word, places),
        2 => put_words_of::<2, V>(values, word, places),
        3 => put_words_of::<3, V>(values, word, places),
        4 => put_words_of::<4, V>(values, word, places),
        5 => put_words_of::<5, V>(values, word, places),
        6 => put_words_of::<6, V>(values, word, places),
        7 => put_words_of::<7, V>(values, word, places),
        8 => put_words_of::<8, V>(values, word, places),
        _ => false,
    }
}

#[inline(always)]
fn put_words_of<'v, const BYTES: usize, V>(
    values: &'v [V],
    word: impl Fn(&'v V) -> Option<u64>,
    mut places: Places<'_>,
) -> bool {
    let mut fit = values.len() == places.count();
    for (field, value) in places.fields(BYTES).zip(values) {
        let word = word(value);
        fit &= word.is_some();
        field.copy_from_slice(&word.unwrap_or(0).to_be_bytes()[8 - BYTES..]);
    }
    fit
}

fn put_decimals(values: &[i64], encoding: Encoding, mut places: Places<'_>) -> bool {
    let Encoding::Decimal { precision, scale } = encoding else { return false };
    let mut fit = values.len() == places.count();
    for (field, value) in places.fields(places.length).zip(values) {
        fit &= decimal::encode(precision, scale, *value, field).is_ok();
    }
    fit
}

/// Equally long texts. Their length was checked with the first one, and so was the padding behind them.
fn put_bytes(bytes: &[u8], each: usize, encoding: Encoding, mut places: Places<'_>) -> bool {
    let charset_fits = match encoding {
        // Characters of several bytes are counted one text at a time.
        Encoding::Variable { charset: Some(Charset::Ascii | Charset::Utf8mb4), .. }
        | Encoding::Padded { ascii: true, .. } => bytes.is_ascii(),
        Encoding::Variable { .. } | Encoding::Padded { .. } => true,
        _ => return false,
    };
    if !charset_fits || each > places.length || bytes.len() != each * places.count() {
        return false;
    }
    // Two pieces that may overlap are all of a short text.
    match each {
        0 => {}
        4..8 => put_ends::<4>(bytes, each, places),
        8..16 => put_ends::<8>(bytes, each, places),
        16..=32 => put_ends::<16>(bytes, each, places),
        _ => {
            let fields = places.fields(each);
            fields.zip(bytes.chunks_exact(each)).for_each(|(field, text)| field.copy_from_slice(text));
        }
    }
    true
}

fn put_ends<const PIECE: usize>(bytes: &[u8], each: usize, mut places: Places<'_>) {
    let last = each - PIECE;
    for (field, text) in places.fields(each).zip(bytes.chunks_exact(each)) {
        field[..PIECE].copy_from_slice(&text[..PIECE]);
        field[last..].copy_from_slice(&text[last..]);
    }
}
