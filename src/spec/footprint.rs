//! How many bytes a dataset takes in InnoDB, by arithmetic on its definition.
//!
//! 16 KiB pages, ROW_FORMAT=DYNAMIC. A page holds 16,384 − 120 (headers, infimum, supremum) − 8 (trailer)
//! − 4 (the two directory slots that are always there) = 16,252 bytes; each record also costs half a byte
//! of directory (one two-byte slot for a group of four). Sources: `storage/innobase/include/page0types.h`
//! and the record format described in the manual's "InnoDB Row Formats".

use crate::spec::dataset::{Dataset, Fill, KeyShape, Recipe};
use crate::spec::table::{Column, ColumnKind, KeyPart, Text};
use crate::units::Bytes;

/// Bytes of a page that records and their directory share.
const PAGE_USABLE: f64 = 16_252.0;
/// Bytes of a page.
const PAGE: f64 = 16_384.0;
/// Directory bytes for each record.
const DIRECTORY_PER_RECORD: f64 = 0.5;
/// Record header.
const RECORD_HEADER: f64 = 5.0;
/// DB_TRX_ID and DB_ROLL_PTR of a clustered leaf record.
const SYSTEM_COLUMNS: f64 = 13.0;
/// Child page number in a node pointer.
const CHILD_PAGE: f64 = 4.0;
/// Share of a clustered leaf that ascending inserts fill: one sixteenth is kept free.
const FILL_CLUSTERED: f64 = 15.0 / 16.0;
/// Share of a page that random inserts leave filled in the long run: ln 2.
const FILL_RANDOM: f64 = 0.69;
/// A partition's own pages and the extents that the server keeps ahead, once per partition.
const PARTITION_OVERHEAD: u64 = 4 << 20;
/// Pages that a growing segment holds in reserve, as a share.
const RESERVE: f64 = 1.01;

/// A dataset's size.
#[derive(Debug, Clone, PartialEq)]
pub struct Footprint {
    /// The clustered index first, then the secondary ones in definition order.
    pub indexes: Vec<IndexFootprint>,
    /// All files of the table.
    pub bytes: Bytes,
}

/// One index's size.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexFootprint {
    /// `PRIMARY` or the index's name.
    pub name: String,
    /// Mean bytes of a leaf record, header included.
    pub record_bytes: f64,
    /// Rows on a leaf page at the dataset's fill.
    pub rows_per_leaf: f64,
    /// Leaf pages over all partitions.
    pub leaf_pages: f64,
    /// Pages above the leaves.
    pub node_pages: f64,
}

/// The size of a dataset after its load.
pub fn of(dataset: &Dataset) -> Footprint {
    let rows = dataset.rows.0 as f64;
    let mut indexes = vec![clustered(dataset, rows)];
    for index in &dataset.table.indexes {
        indexes.push(secondary(dataset, &index.name, &index.parts, rows));
    }
    let pages: f64 = indexes.iter().map(|index| index.leaf_pages + index.node_pages).sum();
    let partitions = dataset.table.partitioning.as_ref().map_or(1, |p| p.partitions.len() as u64);
    let bytes = Bytes((pages * PAGE * RESERVE) as u64 + partitions * PARTITION_OVERHEAD);
    Footprint { indexes, bytes }
}

impl Footprint {
    /// Bytes a row, all indexes and overheads included.
    pub fn bytes_per_row(&self, dataset: &Dataset) -> f64 {
        self.bytes.0 as f64 / dataset.rows.0.max(1) as f64
    }
}

fn clustered(dataset: &Dataset, rows: f64) -> IndexFootprint {
    let all: Vec<usize> = dataset.table.loaded_columns().map(|(column, _)| column).collect();
    let record = record_bytes(dataset, &all) + SYSTEM_COLUMNS;
    let key: Vec<usize> = dataset.table.primary_key.iter().map(|part| part.column).collect();
    let fill = match dataset.fill {
        Fill::Fresh => FILL_CLUSTERED,
        Fill::Aged => FILL_RANDOM,
    };
    index_footprint("PRIMARY".to_owned(), record, record_bytes(dataset, &key) + CHILD_PAGE, fill, rows)
}

fn secondary(dataset: &Dataset, name: &str, parts: &[KeyPart], rows: f64) -> IndexFootprint {
    let mut columns: Vec<usize> = parts.iter().map(|part| part.column).collect();
    for part in &dataset.table.primary_key {
        if !columns.contains(&part.column) {
            columns.push(part.column);
        }
    }
    let record = record_bytes(dataset, &columns);
    // Rows do not come in this index's order, so its pages split in the middle.
    index_footprint(name.to_owned(), record, record + CHILD_PAGE, FILL_RANDOM, rows)
}

fn index_footprint(name: String, record: f64, node: f64, fill: f64, rows: f64) -> IndexFootprint {
    let per_page = |record: f64| (PAGE_USABLE * fill / (record + DIRECTORY_PER_RECORD)).floor().max(2.0);
    let rows_per_leaf = per_page(record);
    let leaf_pages = (rows / rows_per_leaf).ceil();
    let mut node_pages = 0.0;
    let mut level = leaf_pages;
    while level > 1.0 {
        level = (level / per_page(node)).ceil();
        node_pages += level;
    }
    IndexFootprint { name, record_bytes: record, rows_per_leaf, leaf_pages, node_pages }
}

fn record_bytes(dataset: &Dataset, columns: &[usize]) -> f64 {
    let nullable = columns.iter().filter(|&&column| dataset.table.columns[column].nullable).count();
    let data: f64 = columns.iter().map(|&column| column_bytes(dataset, column)).sum();
    RECORD_HEADER + nullable.div_ceil(8) as f64 + data
}

/// Mean bytes of a column in a record, its length bytes included.
fn column_bytes(dataset: &Dataset, column: usize) -> f64 {
    let definition: &Column = &dataset.table.columns[column];
    let recipe = dataset.recipes.get(column).and_then(Option::as_ref);
    if matches!(recipe, Some(Recipe::Null)) {
        return 0.0;
    }
    match &definition.kind {
        ColumnKind::VarChar(text) => {
            let length = text_length(recipe, text);
            length + length_bytes(length, bytes_max(text))
        }
        ColumnKind::Char(text) if text.charset.bytes_per_character_max() > 1 => {
            let length = text_length(recipe, text).max(f64::from(text.characters));
            length + length_bytes(length, bytes_max(text))
        }
        ColumnKind::Char(text) => f64::from(text.characters),
        ColumnKind::Binary(bytes) => f64::from(*bytes),
        ColumnKind::VarBinary(bytes) => {
            f64::from(*bytes) + length_bytes(f64::from(*bytes), u32::from(*bytes))
        }
        other => fixed_bytes(other).unwrap_or(0) as f64,
    }
}

fn bytes_max(text: &Text) -> u32 {
    u32::from(text.characters) * u32::from(text.charset.bytes_per_character_max())
}

/// One byte when the column holds at most 255 bytes or the value is shorter than 128, else two.
fn length_bytes(length: f64, bytes_max: u32) -> f64 {
    if bytes_max <= 255 || length < 128.0 { 1.0 } else { 2.0 }
}

/// Mean bytes of a text column's values.
fn text_length(recipe: Option<&Recipe>, text: &Text) -> f64 {
    let whole = f64::from(text.characters);
    match recipe {
        Some(Recipe::SortedKey(shape) | Recipe::ShuffledKey(shape)) => key_length(shape, whole),
        Some(Recipe::Constant(literal)) => literal.len() as f64,
        Some(Recipe::Choice(choices)) => {
            let weights: u64 = choices.iter().map(|(_, weight)| u64::from(*weight)).sum();
            let bytes: u64 =
                choices.iter().map(|(label, weight)| label.len() as u64 * u64::from(*weight)).sum();
            bytes as f64 / weights.max(1) as f64
        }
        _ => whole,
    }
}

/// Digits that a key has when its shape does not say: what the column holds, at most 24.
const KEY_DIGITS_MAX: f64 = 24.0;

fn key_length(shape: &KeyShape, whole: f64) -> f64 {
    let prefix = shape.prefix.len() as f64;
    let digits = shape.digits.map_or((whole - prefix).min(KEY_DIGITS_MAX), f64::from);
    prefix + digits
}

/// Bytes of a column whose values all have the same length; `None` for the others.
pub fn fixed_bytes(kind: &ColumnKind) -> Option<u64> {
    Some(match kind {
        ColumnKind::Integer { bytes, .. } => u64::from(*bytes),
        ColumnKind::Date => 3,
        ColumnKind::DateTime { fraction } => 5 + u64::from(fraction.div_ceil(2)),
        ColumnKind::Timestamp { fraction } => 4 + u64::from(fraction.div_ceil(2)),
        ColumnKind::Enum(labels) => 1 + u64::from(labels.len() > 255),
        ColumnKind::Decimal { precision, scale } => decimal_bytes(precision - scale.min(precision), *scale),
        ColumnKind::Binary(bytes) => u64::from(*bytes),
        ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::VarBinary(_) => return None,
    })
}

/// Nine digits take four bytes; a rest of 1-2, 3-4, 5-6 or 7-9 digits takes one to four.
fn decimal_bytes(integer_digits: u8, fraction_digits: u8) -> u64 {
    let part = |digits: u8| u64::from(digits / 9) * 4 + u64::from((digits % 9).div_ceil(2));
    part(integer_digits) + part(fraction_digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dataset: &str, bytes_per_row: std::ops::Range<f64>) {
        let dataset = Dataset::read(dataset).unwrap();
        let per_row = of(&dataset).bytes_per_row(&dataset);
        assert!(bytes_per_row.contains(&per_row), "{}: {per_row} bytes a row", dataset.name);
    }

    #[test]
    fn built_in_datasets_have_the_sizes_that_servers_gave_them() {
        check("t_idem", 65.0..76.0);
        check("t_idem_hash", 45.0..70.0);
    }

    #[test]
    fn more_rows_take_more_bytes() {
        let dataset = Dataset::read("t_idem").unwrap();
        let small = of(&dataset).bytes;
        let large =
            of(&dataset.scaled(Some(crate::units::Rows(700_000_000)), None, None, None).unwrap()).bytes;
        assert!(large.0 > 60 * small.0 && large.0 < 72 * small.0);
    }

    #[test]
    fn decimals_take_what_the_manual_says() {
        assert_eq!(decimal_bytes(16, 4), 10);
        assert_eq!(decimal_bytes(10, 2), 6);
    }
}
