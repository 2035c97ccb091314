//! The records of many rows at once, or their sort keys: the first row's is made with all its checks and copied,
//! then what differs from row to row is written over the copies, column by column.
//!
//! Rows that are not made alike, or that are not right, are turned away whole: they go one by one, and that
//! way says what is wrong.

use super::{ORIGIN, Record, RecordMaker, push_sort_key};
use crate::pages::encode::{Column, Places, Rows, put_column};
use crate::pages::plan::{Field, KeyText};

/// Equally long records or sort keys, one after another.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    each: usize,
    origin: usize,
    first_key: Vec<u8>,
}

impl Batch {
    /// All of them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes of each.
    pub fn each(&self) -> usize {
        self.each
    }

    /// Where a record's origin lies in it.
    pub fn origin(&self) -> usize {
        self.origin
    }

    /// The sort key of the first record.
    pub fn first_key(&self) -> &[u8] {
        &self.first_key
    }

    /// So many copies, `count` at least 1.
    fn fill(&mut self, first: &[u8], count: usize) {
        self.each = first.len();
        self.bytes.clear();
        self.bytes.extend_from_slice(first);
        let all = first.len() * count;
        // Few long copies instead of many short ones.
        while self.bytes.len() < all {
            let more = self.bytes.len().min(all - self.bytes.len());
            self.bytes.extend_from_within(..more);
        }
    }

    fn put(&mut self, field: &Field, column: Column<'_>, at: usize, length: usize) -> bool {
        let places = Places { records: &mut self.bytes, record_bytes: self.each, at, length };
        put_column(field.step, field.encoding, column, places)
    }

    /// Whether the bytes of each record in `key` are above those of the one before it.
    fn rises(&self, key: std::ops::Range<usize>) -> bool {
        let keys = || self.bytes.chunks_exact(self.each).map(|record| &record[key.clone()]);
        match key.len() {
            // The first eight bytes decide nearly always.
            8.. => {
                let head = |key: &[u8]| key.first_chunk().map_or(0, |head| u64::from_be_bytes(*head));
                keys().zip(keys().skip(1)).all(|(a, b)| head(a) < head(b) || a < b)
            }
            _ => keys().zip(keys().skip(1)).all(|(a, b)| a < b),
        }
    }
}

impl RecordMaker {
    /// Makes the clustered records of rows, in [`RecordMaker::batch`]; the sort key made last is the last row's.
    /// False when these rows must go one by one.
    pub fn make_rows(&mut self, rows: &impl Rows) -> bool {
        if rows.count() == 0 || self.make_row(&|column| rows.value(0, column)).is_err() {
            return false;
        }
        let record = Record { bytes: &self.scratch[self.start..self.end], origin: ORIGIN - self.start };
        let batch = &mut self.batch;
        batch.fill(record.bytes, rows.count());
        batch.origin = record.origin;
        let key_fields = self.plan.key_fields;
        for (position, (field, place)) in self.plan.fields.iter().zip(&self.places).enumerate() {
            let column = rows.column(field.column);
            if matches!(column, Column::Same(_)) {
                continue;
            }
            let fits = position >= key_fields || sorts_by_bytes(field, column);
            if !fits || !batch.put(field, column, batch.origin + place.start, place.len()) {
                return false;
            }
        }
        let key = batch.origin..batch.origin + self.key_end - ORIGIN;
        std::mem::swap(&mut batch.first_key, &mut self.sort_key);
        let last = &batch.bytes[batch.bytes.len() - batch.each..][key.clone()];
        batch.rises(key) && push_sort_key(&self.plan, &self.places, last, &mut self.sort_key).is_ok()
    }

    /// Makes the sort keys of rows, in [`RecordMaker::batch`]. False when these rows must go one by one.
    pub fn make_sort_keys(&mut self, rows: &impl Rows) -> bool {
        if rows.count() == 0 || self.make_sort_key(&|column| rows.value(0, column)).is_err() {
            return false;
        }
        self.batch.fill(&self.sort_key, rows.count());
        self.plan.fields.iter().zip(&self.places).all(|(field, place)| {
            let column = rows.column(field.column);
            let escaped = field.is_variable() && field.text == KeyText::Bytes;
            matches!(column, Column::Same(_))
                || field.prefix.is_none()
                    && !escaped
                    && sorts_by_bytes(field, column)
                    && self.batch.put(field, column, place.start, place.len())
        })
    }

    /// What was made last of many rows.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }
}

/// Whether the order of equally long stored values is that of the server.
fn sorts_by_bytes(field: &Field, column: Column<'_>) -> bool {
    let texts = match column {
        Column::Bytes { bytes, .. } => bytes,
        _ => &[],
    };
    !field.descending
        && match field.text {
            KeyText::Bytes => true,
            // The least of all bytes, since that is found many at a time.
            KeyText::PadSpace => texts.iter().fold(u8::MAX, |least, byte| least.min(*byte)) > b' ',
            KeyText::NoPad => !texts.contains(&0),
        }
}
