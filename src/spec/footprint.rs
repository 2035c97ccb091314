//! How many bytes a table's rows will take: arithmetic from its definition, no server needed.
//!
//! Sources: InnoDB's page and record headers (storage/innobase/include/page0types.h, page0page.h) as of MySQL
//! 8.0, and trials on 9.7.4: 16 KiB pages, ROW_FORMAT=DYNAMIC.

use super::dataset::{Dataset, Fill, IndexAge, Recipe};
use super::table::{Charset, ColumnKind, KeyPart, Table};
use crate::units::{Bytes, Rows};

/// Bytes of a page.
const PAGE: f64 = 16_384.0;
/// Bytes of a page that records and the directory share: page less headers (120), trailer (8) and the two
/// directory slots that every page has (4).
const PAGE_USABLE: f64 = 16_252.0;
/// Directory bytes a record: 2 for each group of 4 to 8 records; 4 when rows come in order.
const DIRECTORY_A_RECORD: f64 = 0.5;
/// Before each record of the COMPACT and DYNAMIC formats.
const RECORD_HEADER: f64 = 5.0;
/// DB_TRX_ID and DB_ROLL_PTR, in each record of the clustered index.
const SYSTEM_COLUMNS: f64 = 13.0;
/// How full inserts in key order leave a clustered leaf: a sixteenth stays free.
const FILL_SORTED: f64 = 15.0 / 16.0;
/// How full inserts in random order leave a leaf in the long run: ln 2.
const FILL_RANDOM: f64 = std::f64::consts::LN_2;
/// A child page's number in a node pointer.
const CHILD_PAGE: f64 = 4.0;
/// What files are larger than their used pages: they grow by 4 MiB, and a segment reserves some extents.
const ALLOCATION: f64 = 1.03;
/// A partition's file before its first row.
const EMPTY_FILE: f64 = 114_688.0;

/// One index's share.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexFootprint {
    /// `PRIMARY` or the index's name.
    pub name: String,
    /// Bytes of one leaf record, its header included.
    pub record_bytes: f64,
    /// Share of a leaf's usable bytes that records fill.
    pub fill: f64,
    /// Bytes on disk for each row: leaves, and the levels above them.
    pub bytes_a_row: f64,
}

/// A table's bytes for each row, by index.
#[derive(Debug, Clone, PartialEq)]
pub struct Footprint {
    /// The clustered index first.
    pub indexes: Vec<IndexFootprint>,
    files: f64,
}

impl Footprint {
    /// For a dataset as it is loaded.
    pub fn new(dataset: &Dataset) -> Footprint {
        let table = &dataset.table;
        let fill = |ordinal: usize, parts: &[KeyPart], in_order: f64| match &dataset.fill {
            _ if counts_up(dataset, parts) => in_order,
            Fill::Fresh if comes_sorted(dataset, parts) => in_order,
            Fill::Like(age) => age.index(ordinal).map_or(FILL_RANDOM, IndexAge::mean_fill),
            Fill::Fresh | Fill::Aged => FILL_RANDOM,
        };
        let mut indexes = vec![index(
            "PRIMARY",
            clustered_record(dataset),
            key_bytes(dataset, &table.primary_key),
            fill(0, &table.primary_key, FILL_SORTED),
        )];
        for (place, secondary) in table.indexes.iter().enumerate() {
            let parts = with_primary_key(&secondary.parts, table);
            let record = record_bytes(dataset, &parts);
            let fill = fill(place + 1, &secondary.parts, 1.0);
            indexes.push(index(&secondary.name, record, record - RECORD_HEADER, fill));
        }
        let files = table.partitioning.as_ref().map_or(1, |partitioning| partitioning.partitions.len());
        Footprint { indexes, files: files as f64 }
    }

    /// Bytes on disk for each row, all indexes together.
    pub fn bytes_a_row(&self) -> f64 {
        self.indexes.iter().map(|index| index.bytes_a_row).sum()
    }

    /// Bytes on disk for so many rows.
    pub fn bytes(&self, rows: Rows) -> Bytes {
        Bytes((rows.0 as f64 * self.bytes_a_row() * ALLOCATION + self.files * EMPTY_FILE).ceil() as u64)
    }

    /// How many rows fit into so many bytes.
    pub fn rows_in(&self, bytes: Bytes) -> Rows {
        let for_rows = (bytes.0 as f64 - self.files * EMPTY_FILE).max(0.0);
        Rows((for_rows / (self.bytes_a_row() * ALLOCATION)) as u64)
    }
}

fn index(name: &str, record_bytes: f64, key_bytes: f64, fill: f64) -> IndexFootprint {
    let rows_a_leaf = (PAGE_USABLE * fill / (record_bytes + DIRECTORY_A_RECORD)).floor().max(2.0);
    let node = RECORD_HEADER + key_bytes + CHILD_PAGE + DIRECTORY_A_RECORD;
    let fan_out = (PAGE_USABLE * fill / node).max(2.0);
    // Leaves, and above them a level for every power of the fan-out: a geometric series.
    let bytes_a_row = PAGE / rows_a_leaf * (1.0 + 1.0 / (fan_out - 1.0));
    IndexFootprint { name: name.to_owned(), record_bytes, fill, bytes_a_row }
}

fn clustered_record(dataset: &Dataset) -> f64 {
    let columns: Vec<usize> = stored_columns(&dataset.table).collect();
    let row_id = if dataset.table.primary_key.is_empty() { 6.0 } else { 0.0 };
    record_bytes(dataset, &columns) + SYSTEM_COLUMNS + row_id
}

/// Generated columns count too: whether they are STORED is not known here, and 0 would promise too much.
fn stored_columns(table: &Table) -> impl Iterator<Item = usize> {
    0..table.columns.len()
}

fn with_primary_key(parts: &[KeyPart], table: &Table) -> Vec<usize> {
    let mut columns: Vec<usize> = parts.iter().map(|part| part.column).collect();
    for part in &table.primary_key {
        if !columns.contains(&part.column) {
            columns.push(part.column);
        }
    }
    columns
}

fn key_bytes(dataset: &Dataset, parts: &[KeyPart]) -> f64 {
    let columns: Vec<usize> = parts.iter().map(|part| part.column).collect();
    record_bytes(dataset, &columns) - RECORD_HEADER
}

/// Header, NULL bits, lengths and values of a record of these columns.
fn record_bytes(dataset: &Dataset, columns: &[usize]) -> f64 {
    let nullable = columns.iter().filter(|column| dataset.table.columns[**column].nullable).count();
    let values: f64 = columns.iter().map(|column| column_bytes(dataset, *column)).sum();
    RECORD_HEADER + nullable.div_ceil(8) as f64 + values
}

/// A column's bytes in a record, its length bytes included.
fn column_bytes(dataset: &Dataset, column: usize) -> f64 {
    let kind = &dataset.table.columns[column].kind;
    if matches!(dataset.recipes[column], Some(Recipe::Null)) {
        return 0.0;
    }
    let variable = |bytes: f64, most: f64| bytes + if most > 255.0 && bytes > 127.0 { 2.0 } else { 1.0 };
    match kind {
        ColumnKind::Binary(length) => f64::from(*length),
        ColumnKind::Char(text) if text.charset != Charset::Utf8mb4 => f64::from(text.characters),
        ColumnKind::Char(text) => {
            let most = f64::from(text.characters) * 4.0;
            variable(text_bytes(dataset, column, text.characters).max(f64::from(text.characters)), most)
        }
        ColumnKind::VarChar(text) => {
            let most = f64::from(text.characters) * f64::from(text.charset.bytes_per_character_max());
            variable(text_bytes(dataset, column, text.characters), most)
        }
        ColumnKind::VarBinary(length) => variable(f64::from(*length).min(16.0), f64::from(*length)),
        fixed => fixed_bytes(fixed) as f64,
    }
}

/// Bytes of a column whose values all have the same length; 0 for text and binary strings.
pub(super) fn fixed_bytes(kind: &ColumnKind) -> u64 {
    match kind {
        ColumnKind::Integer { bytes, .. } => u64::from(*bytes),
        ColumnKind::Date => 3,
        ColumnKind::DateTime { fraction } => 5 + u64::from(fraction.div_ceil(2)),
        ColumnKind::Timestamp { fraction } => 4 + u64::from(fraction.div_ceil(2)),
        ColumnKind::Enum(labels) => 1 + u64::from(labels.len() > 255),
        ColumnKind::Decimal { precision, scale } => {
            u64::from(digits_bytes(precision - scale) + digits_bytes(*scale))
        }
        ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Binary(_) | ColumnKind::VarBinary(_) => 0,
    }
}

/// Packed decimal: 4 bytes for nine digits, and for the rest 1 to 4 (MySQL's strings/decimal.cc).
fn digits_bytes(digits: u8) -> u8 {
    const REST: [u8; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    digits / 9 * 4 + REST[usize::from(digits % 9)]
}

/// The mean length of a text column's values, as its recipe makes them.
fn text_bytes(dataset: &Dataset, column: usize, characters: u16) -> f64 {
    let room = f64::from(characters);
    match &dataset.recipes[column] {
        Some(Recipe::SortedKey(shape) | Recipe::ShuffledKey(shape)) => {
            let prefix = shape.prefix.len() as f64;
            prefix + shape.digits.map_or((room - prefix).min(24.0), f64::from)
        }
        Some(Recipe::Constant(text)) => text.len() as f64,
        Some(Recipe::Choice(values)) => {
            let weights: f64 = values.iter().map(|(_, weight)| f64::from(*weight)).sum();
            let bytes: f64 = values.iter().map(|(text, weight)| text.len() as f64 * f64::from(*weight)).sum();
            bytes / weights.max(1.0)
        }
        Some(Recipe::Hash { .. }) => room.min(12.0),
        _ => room,
    }
}

/// Whether the key rises from row to row however old the table is: its leaves stay full and in order.
pub fn counts_up(dataset: &Dataset, parts: &[KeyPart]) -> bool {
    let Some(first) = parts.first() else { return true };
    matches!(dataset.recipes[first.column], Some(Recipe::Sequence { .. })) && !first.descending
}

/// Whether rows arrive in the order of this key: then its leaves are filled one after another.
fn comes_sorted(dataset: &Dataset, parts: &[KeyPart]) -> bool {
    let Some(first) = parts.first() else { return true };
    match dataset.recipes[first.column] {
        Some(Recipe::Sequence { .. }) => !first.descending,
        Some(Recipe::SortedKey(_)) => {
            !first.descending && dataset.key_order == super::dataset::KeyOrder::Sorted
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, record_bytes: &[f64]) {
        let footprint = Footprint::new(&Dataset::read(name).unwrap());
        let records: Vec<_> = footprint.indexes.iter().map(|index| index.record_bytes).collect();
        assert_eq!(records, record_bytes, "{name}");
    }

    #[test]
    fn records_are_as_long_as_the_format_makes_them() {
        // 5 header + 13 system; key 1+12, msg_id 8, day 3, status 1, token 4, owner 4, two DATETIME(3) 14.
        check("t_idem", &[65.0]);
        check("t_idem_hash", &[60.0]);
        check("t_idem_surrogate", &[73.0, 5.0 + 13.0 + 8.0 + 3.0 + 8.0]);
        check("t_idem_status_index", &[65.0, 5.0 + 1.0 + 7.0 + 13.0 + 8.0 + 3.0]);
        check("seed", &[5.0 + 13.0 + 15.0 + 8.0 + 1.0]);
    }

    #[test]
    fn rows_and_bytes_agree_with_each_other() {
        let footprint = Footprint::new(&Dataset::read("t_idem").unwrap());
        let bytes = footprint.bytes(Rows(700_000_000));
        assert!((45.0..50.0).contains(&(bytes.0 as f64 / (1u64 << 30) as f64)), "{bytes}");
        let rows = footprint.rows_in(bytes).0;
        assert!((699_999_990..=700_000_001).contains(&rows), "{rows}");
    }

    #[test]
    fn decimals_are_packed_as_mysql_packs_them() {
        // DECIMAL(20,4): 16 digits before the point take 4 + 4 bytes, 4 behind it 2.
        assert_eq!(digits_bytes(16) + digits_bytes(4), 10);
        assert_eq!(digits_bytes(10) + digits_bytes(2), 6);
    }
}
