//! What the records of a table must look like, derived from its definition once more, apart from the
//! writer's plan.

use std::cmp::Ordering;

use crate::spec::table::{Charset, Column, ColumnKind, KeyPart, Table};

/// All indexes of a table in the order of their roots.
#[derive(Debug, Clone)]
pub struct Shape {
    pub(super) indexes: Vec<IndexShape>,
}

/// One index.
#[derive(Debug, Clone)]
pub(super) struct IndexShape {
    pub name: String,
    /// Leaf fields in order; the transaction id and roll pointer of the clustered index are one of them.
    pub leaf: Vec<FieldShape>,
    /// Fields of a node pointer, the child's page number left out: a prefix of `leaf`.
    pub key_fields: usize,
    /// Leading fields that are unique unless one of them is NULL.
    pub unique: Option<usize>,
    pub null_bytes: usize,
    pub clustered: bool,
}

/// One field.
#[derive(Debug, Clone)]
pub(super) struct FieldShape {
    pub length: Length,
    pub nullable: bool,
    pub order: FieldOrder,
    pub descending: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Fixed(usize),
    /// At most so many bytes; two-byte lengths exist only when the column may be longer than 255.
    Variable {
        at_most: usize,
        long: bool,
    },
}

/// How the server compares values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldOrder {
    /// Byte by byte, a prefix first.
    Bytes,
    /// The same, the shorter one filled up with spaces.
    PadSpace,
}

impl Shape {
    /// Of a table that the writer does not refuse.
    pub fn of(table: &Table) -> Shape {
        let mut unique_not_null = Vec::new();
        let mut unique_null = Vec::new();
        let mut plain = Vec::new();
        for index in &table.indexes {
            let may_be_null = index.parts.iter().any(|part| table.columns[part.column].nullable);
            let rank = match (index.unique, may_be_null) {
                (true, false) => &mut unique_not_null,
                (true, true) => &mut unique_null,
                (false, _) => &mut plain,
            };
            rank.push(index);
        }
        for rank in [&mut unique_not_null, &mut unique_null] {
            // Prefix keys come behind the others of their rank.
            let (whole, prefix): (Vec<_>, Vec<_>) =
                rank.drain(..).partition(|index| index.parts.iter().all(|part| part.prefix.is_none()));
            rank.extend(whole.into_iter().chain(prefix));
        }
        let mut indexes = vec![primary(table)];
        for index in unique_not_null.into_iter().chain(unique_null).chain(plain) {
            let mut leaf: Vec<FieldShape> = index.parts.iter().map(|part| key_field(table, part)).collect();
            let unique = index.unique.then_some(leaf.len());
            for part in &table.primary_key {
                let in_key = index.parts.iter().any(|key| key.column == part.column && key.prefix.is_none());
                if !in_key {
                    leaf.push(key_field(table, part));
                }
            }
            let key_fields = leaf.len();
            indexes.push(IndexShape::new(&index.name, leaf, key_fields, unique, false));
        }
        Shape { indexes }
    }
}

fn primary(table: &Table) -> IndexShape {
    let mut leaf: Vec<FieldShape> = table.primary_key.iter().map(|part| key_field(table, part)).collect();
    let key_fields = leaf.len();
    let system = FieldShape {
        length: Length::Fixed(6 + 7),
        nullable: false,
        order: FieldOrder::Bytes,
        descending: false,
    };
    leaf.push(system);
    for (number, column) in table.columns.iter().enumerate() {
        if !table.primary_key.iter().any(|part| part.column == number) {
            leaf.push(field(column));
        }
    }
    IndexShape::new("PRIMARY", leaf, key_fields, Some(key_fields), true)
}

impl IndexShape {
    fn new(
        name: &str,
        leaf: Vec<FieldShape>,
        key_fields: usize,
        unique: Option<usize>,
        clustered: bool,
    ) -> IndexShape {
        let null_bytes = leaf.iter().filter(|field| field.nullable).count().div_ceil(8);
        IndexShape { name: name.to_owned(), leaf, key_fields, unique, null_bytes, clustered }
    }
}

fn key_field(table: &Table, part: &KeyPart) -> FieldShape {
    let column = &table.columns[part.column];
    let mut shape = field(column);
    shape.descending = part.descending;
    if let Some(characters) = part.prefix.map(usize::from) {
        let width = match &column.kind {
            ColumnKind::Char(text) | ColumnKind::VarChar(text) => most_bytes(text.charset),
            _ => 1,
        };
        shape.length = match shape.length {
            Length::Fixed(bytes) => Length::Fixed(bytes.min(characters)),
            // Whether lengths may be long follows from the column, not from the prefix.
            Length::Variable { at_most, long } => {
                Length::Variable { at_most: at_most.min(characters * width), long }
            }
        };
    }
    shape
}

fn most_bytes(charset: Charset) -> usize {
    match charset {
        Charset::Ascii | Charset::Latin1 => 1,
        Charset::Utf8mb4 => 4,
    }
}

fn field(column: &Column) -> FieldShape {
    let variable = |at_most: usize| Length::Variable { at_most, long: at_most > 255 };
    let fraction = |digits: &u8| usize::from(digits.div_ceil(2));
    let length = match &column.kind {
        ColumnKind::Integer { bytes, .. } => Length::Fixed(usize::from(*bytes)),
        ColumnKind::Date => Length::Fixed(3),
        ColumnKind::DateTime { fraction: digits } => Length::Fixed(5 + fraction(digits)),
        ColumnKind::Timestamp { fraction: digits } => Length::Fixed(4 + fraction(digits)),
        ColumnKind::Char(text) if most_bytes(text.charset) == 1 => {
            Length::Fixed(usize::from(text.characters))
        }
        ColumnKind::Char(text) | ColumnKind::VarChar(text) => {
            variable(usize::from(text.characters) * most_bytes(text.charset))
        }
        ColumnKind::Binary(bytes) => Length::Fixed(usize::from(*bytes)),
        ColumnKind::VarBinary(bytes) => variable(usize::from(*bytes)),
        ColumnKind::Enum(labels) => Length::Fixed(if labels.len() < 256 { 1 } else { 2 }),
        ColumnKind::Decimal { precision, scale } => {
            let digits = |count: u8| usize::from(count / 9) * 4 + usize::from((count % 9).div_ceil(2));
            Length::Fixed(digits(precision - scale) + digits(*scale))
        }
    };
    let order = match &column.kind {
        ColumnKind::Char(text) | ColumnKind::VarChar(text) if text.collation != "utf8mb4_0900_bin" => {
            FieldOrder::PadSpace
        }
        _ => FieldOrder::Bytes,
    };
    FieldShape { length, nullable: column.nullable, order, descending: false }
}

impl FieldShape {
    /// Compares two values as the server does; `None` is NULL, which comes before everything.
    #[inline]
    pub(super) fn compare(&self, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
        let ordering = match (a, b) {
            (Some(a), Some(b)) if self.order == FieldOrder::PadSpace => pad_space(a, b),
            (a, b) => a.cmp(&b),
        };
        if self.descending { ordering.reverse() } else { ordering }
    }
}

fn pad_space(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    a[..common].cmp(&b[..common]).then_with(|| {
        let spaces = |rest: &[u8]| {
            rest.iter()
                .map(|byte| byte.cmp(&b' '))
                .find(|ordering| ordering.is_ne())
                .unwrap_or(Ordering::Equal)
        };
        spaces(&a[common..]).then(spaces(&b[common..]).reverse())
    })
}
