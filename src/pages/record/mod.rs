//! Records: a clustered row, a secondary entry, a node pointer. A record is made in a scratch buffer
//! around its origin (lengths and NULL bits grow downwards from the header, data upwards) and copied to
//! its page in one piece; page-dependent header bytes are filled in there.
//!
//! Beside the record stands its *sort key*: bytes that compare as the server compares the index's key.
//! A secondary record is made back from its sort key, so sorting needs to carry nothing else.

mod batch;

use std::ops::Range;

pub use batch::Batch;

use super::encode::{DayMemo, EncodeError, Encoding, Value, copy_short, encode};
use super::format::{RECORD_HEADER, ROW_ROLL_POINTER, ROW_TRANSACTION};
use super::plan::{Field, IndexPlan, KeyText};
use crate::spec::table::Charset;

/// Where the origin lies in the scratch buffer: 1017 columns have at most so many lengths and NULL bits.
const ORIGIN: usize = 2304;
/// Records of 8126 bytes and more are refused with the schema.
const SCRATCH_BYTES: usize = ORIGIN + 16384;

/// Why a row cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// A value does not fit its column.
    #[error("column number {column}: {source}")]
    Value {
        /// Index into the table's columns.
        column: usize,
        /// Why.
        source: EncodeError,
    },
    /// A key text that the server would not sort by its bytes.
    #[error(
        "column number {column} of {index}: a key with control characters or with spaces at its end sorts differently on the server (use --method sql)"
    )]
    KeyText {
        /// Index into the table's columns.
        column: usize,
        /// The index.
        index: String,
    },
}

/// A record in memory order: lengths, NULL bitmap, header, data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// All of it.
    pub bytes: &'a [u8],
    /// Where its origin (the first data byte) lies in `bytes`.
    pub origin: usize,
}

/// Makes the records of one index.
#[derive(Debug)]
pub struct RecordMaker {
    plan: IndexPlan,
    memos: Vec<DayMemo>,
    scratch: Vec<u8>,
    start: usize,
    end: usize,
    /// Lengths (as bytes in front of the bitmap) and data that belong to the key.
    key_start: usize,
    key_end: usize,
    /// Nullable fields so far.
    null_bit: usize,
    /// Where each field lies: in the record at hand, counted from its origin, or in the sort key at hand.
    places: Vec<Range<usize>>,
    sort_key: Vec<u8>,
    unique_bytes: Option<usize>,
    batch: Batch,
}

impl RecordMaker {
    /// For that index.
    pub fn new(plan: &IndexPlan) -> RecordMaker {
        RecordMaker {
            memos: vec![DayMemo::default(); plan.fields.len()],
            plan: plan.clone(),
            scratch: vec![0; SCRATCH_BYTES],
            start: ORIGIN,
            end: ORIGIN,
            key_start: ORIGIN,
            key_end: ORIGIN,
            null_bit: 0,
            places: vec![0..0; plan.fields.len()],
            sort_key: Vec::with_capacity(256),
            unique_bytes: None,
            batch: Batch::default(),
        }
    }

    /// The index.
    pub fn plan(&self) -> &IndexPlan {
        &self.plan
    }

    /// The record made last.
    #[inline]
    pub fn record(&self) -> Record<'_> {
        Record { bytes: &self.scratch[self.start..self.end], origin: ORIGIN - self.start }
    }

    /// The sort key made last.
    #[inline]
    pub fn sort_key(&self) -> &[u8] {
        &self.sort_key
    }

    /// How many leading bytes of the sort key no other entry may share; `None` when NULL is among them or
    /// nothing was promised.
    #[inline]
    pub fn unique_bytes(&self) -> Option<usize> {
        self.unique_bytes
    }

    /// Makes a clustered record and its sort key from a row; `value` gives a column's value.
    #[inline]
    pub fn make_row<'v>(&mut self, values: &impl Fn(usize) -> Value<'v>) -> Result<(), RowError> {
        self.begin();
        let (key_fields, fields) = (self.plan.key_fields, self.plan.fields.len());
        self.make_fields(0..key_fields, values)?;
        push_sort_key(&self.plan, &self.places, &self.scratch[ORIGIN..], &mut self.sort_key)?;
        self.end_row_key();
        self.make_fields(key_fields..fields, values)
    }

    /// Appends fields to the record.
    #[inline]
    fn make_fields<'v>(
        &mut self,
        positions: Range<usize>,
        values: &impl Fn(usize) -> Value<'v>,
    ) -> Result<(), RowError> {
        // In registers while fields are made.
        let (mut start, mut end, mut null_bit) = (self.start, self.end, self.null_bit);
        let scratch = &mut self.scratch[..];
        let fields = self.plan.fields[positions.clone()].iter().zip(&mut self.memos[positions.clone()]);
        for ((field, memo), place) in fields.zip(&mut self.places[positions]) {
            if field.nullable {
                null_bit += 1;
                if matches!(values(field.column), Value::Null) {
                    scratch[ORIGIN - RECORD_HEADER - 1 - (null_bit - 1) / 8] |= 1 << ((null_bit - 1) % 8);
                    continue;
                }
            }
            let length = encode(field.step, field.encoding, values, field.column, memo, &mut scratch[end..])
                .map_err(|source| RowError::Value { column: field.column, source })?;
            *place = end - ORIGIN..end - ORIGIN + length;
            end += length;
            if let Encoding::Variable { bytes_max, .. } = field.encoding {
                put_length(scratch, &mut start, length, bytes_max > 255);
            }
        }
        (self.start, self.end, self.null_bit) = (start, end, null_bit);
        Ok(())
    }

    /// Makes a secondary entry's sort key from a row.
    #[inline]
    pub fn make_sort_key<'v>(&mut self, values: &impl Fn(usize) -> Value<'v>) -> Result<(), RowError> {
        self.sort_key.clear();
        let fields = self.plan.fields.iter().zip(&mut self.memos);
        for ((field, memo), place) in fields.zip(&mut self.places) {
            if field.nullable {
                let null = matches!(values(field.column), Value::Null);
                self.sort_key.push(u8::from(!null) ^ inversion(field));
                if null {
                    continue;
                }
            }
            let out = &mut self.scratch[ORIGIN..];
            let length = encode(field.step, field.encoding, values, field.column, memo, out)
                .map_err(|source| RowError::Value { column: field.column, source })?;
            let length = prefix_length(field, &out[..length]);
            *place = self.sort_key.len()..self.sort_key.len() + length;
            push_sort_field(field, &out[..length], &self.plan.name, &mut self.sort_key)?;
        }
        Ok(())
    }

    /// Makes a secondary record back from a sort key that `make_sort_key` made.
    #[inline]
    pub fn make_entry(&mut self, sort_key: &[u8]) {
        self.begin();
        let mut null_bit = 0;
        let mut at = 0;
        let mut unique = self.plan.unique_fields;
        for position in 0..self.plan.fields.len() {
            let field = &self.plan.fields[position];
            let inversion = inversion(field);
            if field.nullable {
                null_bit += 1;
                at += 1;
                if sort_key[at - 1] ^ inversion == 0 {
                    self.set_null(null_bit - 1);
                    unique = unique.filter(|fields| position >= *fields);
                    continue;
                }
            }
            let fixed =
                field.encoding.fixed_bytes().map(|bytes| field.prefix.map_or(bytes, |p| bytes.min(p.into())));
            let (stored, length) = match fixed {
                Some(length) => (length, {
                    let out = &mut self.scratch[self.end..self.end + length];
                    out.copy_from_slice(&sort_key[at..at + length]);
                    if inversion != 0 {
                        out.iter_mut().for_each(|byte| *byte = !*byte);
                    }
                    length
                }),
                None => unescape(&sort_key[at..], inversion, field.text, &mut self.scratch[self.end..]),
            };
            at += stored;
            self.end_field(position, length);
            if unique == Some(position + 1) {
                self.unique_bytes = Some(at);
            }
        }
        self.end_key();
        self.sort_key.clear();
        self.sort_key.extend_from_slice(sort_key);
    }

    /// Puts back a clustered record that was sorted as bytes.
    pub fn restore(&mut self, sort_key: &[u8], record: Record<'_>) {
        self.begin();
        self.start = ORIGIN - record.origin;
        self.end = self.start + record.bytes.len();
        self.scratch[self.start..self.end].copy_from_slice(record.bytes);
        self.sort_key.extend_from_slice(sort_key);
        self.unique_bytes = Some(sort_key.len());
        // The key's extent is read back from its lengths, field by field.
        let mut low = ORIGIN - RECORD_HEADER - self.plan.null_bytes;
        let mut end = ORIGIN;
        for field in &self.plan.fields[..self.plan.key_fields] {
            end += field.encoding.fixed_bytes().unwrap_or_else(|| {
                low -= 1;
                let first = usize::from(self.scratch[low]);
                if field.has_long_length() && first >= 0x80 {
                    low -= 1;
                    return (first & 0x3F) << 8 | usize::from(self.scratch[low]);
                }
                first
            });
        }
        (self.key_start, self.key_end) = (low, end);
    }

    /// The node pointer's record for the record made last, its child page number still zero.
    pub fn node_pointer(&self) -> NodePointer {
        self.pointer_to(self.record())
    }

    /// The same for a record of the batch made last.
    pub fn pointer_to(&self, record: Record<'_>) -> NodePointer {
        // Records of a batch are laid out as its first one, which was made in the scratch buffer.
        let in_front = ORIGIN - self.key_start;
        let mut bytes = Vec::with_capacity(self.key_end - self.key_start + 4);
        bytes.extend_from_slice(&record.bytes[record.origin - in_front..record.origin]);
        let origin = bytes.len();
        if self.plan.clustered {
            // As wide as the leaf's bitmap, but a primary key has no NULLs.
            bytes[origin - RECORD_HEADER - self.plan.null_bytes..].fill(0);
        }
        bytes.extend_from_slice(&record.bytes[record.origin..record.origin + self.key_end - ORIGIN]);
        bytes.extend_from_slice(&[0; 4]);
        NodePointer { bytes, origin }
    }

    fn begin(&mut self) {
        self.sort_key.clear();
        self.unique_bytes = None;
        self.null_bit = 0;
        self.start = ORIGIN - RECORD_HEADER - self.plan.null_bytes;
        self.end = ORIGIN;
        self.scratch[self.start..ORIGIN].fill(0);
    }

    fn set_null(&mut self, bit: usize) {
        self.scratch[ORIGIN - RECORD_HEADER - 1 - bit / 8] |= 1 << (bit % 8);
    }

    fn end_key(&mut self) {
        (self.key_start, self.key_end) = (self.start, self.end);
    }

    /// Behind the primary key stand the transaction id and the roll pointer.
    #[inline]
    fn end_row_key(&mut self) {
        self.end_key();
        self.unique_bytes = Some(self.sort_key.len());
        self.scratch[self.end..self.end + 6].copy_from_slice(&ROW_TRANSACTION);
        self.scratch[self.end + 6..self.end + 13].copy_from_slice(&ROW_ROLL_POINTER);
        self.end += 13;
    }

    #[inline]
    fn end_field(&mut self, position: usize, length: usize) {
        self.end += length;
        let field = &self.plan.fields[position];
        if field.is_variable() {
            put_length(&mut self.scratch, &mut self.start, length, field.has_long_length());
        }
    }
}

/// Lengths grow downwards, the first field's next to the NULL bitmap.
#[inline]
fn put_length(scratch: &mut [u8], start: &mut usize, length: usize, may_be_long: bool) {
    *start -= 1;
    if may_be_long && length >= 0x80 {
        scratch[*start] = 0x80 | (length >> 8) as u8;
        *start -= 1;
    }
    scratch[*start] = length as u8;
}

/// Whether a byte below the space is among them: eight at a time, the last eight perhaps twice.
#[inline]
fn has_control(bytes: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let below = |piece: &[u8]| {
        // Eight bytes by construction. The lowest set bit is exact, so the answer is.
        let word = piece.try_into().map_or(0, u64::from_le_bytes);
        word.wrapping_sub(ONES * 0x20) & !word & (ONES * 0x80) != 0
    };
    match bytes.len() {
        0..8 => bytes.iter().any(|byte| *byte < b' '),
        length => bytes.chunks_exact(8).any(below) || below(&bytes[length - 8..]),
    }
}

/// A node pointer's record: key, then the child's page number in its last four bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodePointer {
    bytes: Vec<u8>,
    origin: usize,
}

impl NodePointer {
    /// Says which page it points to.
    pub fn set_child(&mut self, page: u32) {
        let at = self.bytes.len() - 4;
        self.bytes[at..].copy_from_slice(&page.to_be_bytes());
    }

    /// The record.
    pub fn record(&self) -> Record<'_> {
        Record { bytes: &self.bytes, origin: self.origin }
    }
}

fn inversion(field: &Field) -> u8 {
    if field.descending { 0xFF } else { 0 }
}

/// Ends a variable field in a sort key; below every byte that such a field may hold after escaping.
const END: u8 = 0;

/// Appends a clustered record's key, which begins at its origin.
#[inline]
fn push_sort_key(
    plan: &IndexPlan,
    places: &[Range<usize>],
    from_origin: &[u8],
    sort_key: &mut Vec<u8>,
) -> Result<(), RowError> {
    sort_key.clear();
    let fields = plan.fields[..plan.key_fields].iter().zip(places);
    fields.into_iter().try_for_each(|(field, place)| {
        push_sort_field(field, &from_origin[place.clone()], &plan.name, sort_key)
    })
}

/// Appends a stored value to a sort key.
#[inline]
fn push_sort_field(
    field: &Field,
    stored: &[u8],
    index: &str,
    sort_key: &mut Vec<u8>,
) -> Result<(), RowError> {
    let start = sort_key.len();
    // CHAR is padded alike in every row, so its spaces do not disturb the order.
    let trailing_spaces_stored =
        matches!(field.encoding, Encoding::Padded { .. } | Encoding::Variable { padded_to: 1.., .. });
    let fits = match field.text {
        KeyText::Bytes => true,
        KeyText::PadSpace => !has_control(stored) && (trailing_spaces_stored || stored.last() != Some(&b' ')),
        KeyText::NoPad => !stored.contains(&0),
    };
    if !fits {
        return Err(RowError::KeyText { column: field.column, index: index.to_owned() });
    }
    if !field.is_variable() {
        append_short(sort_key, stored);
    } else if field.text == KeyText::Bytes {
        for byte in stored {
            sort_key.push(*byte);
            if *byte == END {
                sort_key.push(0xFF);
            }
        }
        sort_key.extend_from_slice(&[END, END]);
    } else {
        append_short(sort_key, stored);
        sort_key.push(END);
    }
    if field.descending {
        sort_key[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(())
}

#[inline]
fn append_short(to: &mut Vec<u8>, bytes: &[u8]) {
    let start = to.len();
    to.resize(start + bytes.len(), 0);
    copy_short(&mut to[start..], bytes);
}

/// The reverse: copies a variable field's bytes out of a sort key; (bytes of the sort key, bytes stored).
fn unescape(sort_key: &[u8], inversion: u8, text: KeyText, out: &mut [u8]) -> (usize, usize) {
    let (mut at, mut length) = (0, 0);
    loop {
        let byte = sort_key[at] ^ inversion;
        at += 1;
        if byte == END {
            if text != KeyText::Bytes {
                return (at, length);
            }
            at += 1;
            if sort_key[at - 1] ^ inversion == END {
                return (at, length);
            }
        }
        out[length] = byte;
        length += 1;
    }
}

/// How much of a stored value stands in a prefix key part.
fn prefix_length(field: &Field, stored: &[u8]) -> usize {
    let Some(prefix) = field.prefix else { return stored.len() };
    let characters = usize::from(prefix);
    match field.encoding {
        Encoding::Variable { charset: Some(Charset::Utf8mb4), .. } => {
            // A character begins at every byte that is no continuation byte.
            let starts = stored.iter().enumerate().filter(|(_, byte)| *byte & 0xC0 != 0x80);
            starts.map(|(at, _)| at).nth(characters).unwrap_or(stored.len())
        }
        _ => characters.min(stored.len()),
    }
}

#[cfg(test)]
mod tests;
