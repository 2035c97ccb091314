//! A table compiled into what the record writer needs: each index's fields in the order of its records.

use super::encode::{Encoding, Step};
use super::refuse::{self, Refusal};
use crate::spec::table::{Charset, ColumnKind, Index, KeyPart, Table};

/// The indexes of a table, in the order in which the server creates them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePlan {
    /// The primary key with all other columns behind it.
    pub clustered: IndexPlan,
    /// Secondary indexes in the order of their roots.
    pub secondary: Vec<IndexPlan>,
}

/// One index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexPlan {
    /// Its name; `PRIMARY` for the clustered one.
    pub name: String,
    /// The fields of a leaf record in order; the system columns of the clustered index are not among them.
    pub fields: Vec<Field>,
    /// How many leading fields order the index and stand in its node pointers.
    pub key_fields: usize,
    /// How many leading fields must be unique as long as none is NULL; `None`: no such promise.
    pub unique_fields: Option<usize>,
    /// Bytes of the NULL bitmap: one bit for each nullable field.
    pub null_bytes: usize,
    /// Whether this is the clustered index.
    pub clustered: bool,
    /// The most bytes of a record, header included.
    pub record_bytes_max: usize,
}

/// One field of an index record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Index into the table's columns.
    pub column: usize,
    /// How its value is stored.
    pub encoding: Encoding,
    /// The same as a step to be taken for every row.
    pub step: Step,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// `KEY (c(10))`: so many characters only.
    pub prefix: Option<u16>,
    /// `KEY (c DESC)`.
    pub descending: bool,
    /// What a key value's bytes must be so that their order is the server's.
    pub text: KeyText,
}

/// What is demanded of a text in a key so that comparing bytes is comparing as the server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyText {
    /// Any byte: numbers, dates, byte strings.
    Bytes,
    /// A PAD SPACE collation: no byte below the space, no space at the end.
    PadSpace,
    /// A NO PAD collation: no zero byte.
    NoPad,
}

impl Field {
    /// Whether a record holds a length for this field.
    pub fn is_variable(&self) -> bool {
        matches!(self.encoding, Encoding::Variable { .. })
    }

    /// Whether a length of 128 or more takes two bytes.
    pub fn has_long_length(&self) -> bool {
        matches!(self.encoding, Encoding::Variable { bytes_max, .. } if bytes_max > 255)
    }

    /// The most bytes of the stored value.
    pub fn bytes_max(&self) -> usize {
        match (self.prefix, self.encoding) {
            (Some(prefix), Encoding::Variable { charset, .. }) => {
                let width = charset.map_or(1, Charset::bytes_per_character_max);
                (usize::from(prefix) * usize::from(width)).min(self.encoding.bytes_max())
            }
            (Some(prefix), _) => usize::from(prefix).min(self.encoding.bytes_max()),
            (None, _) => self.encoding.bytes_max(),
        }
    }
}

impl TablePlan {
    /// Compiles a table, or says everything that stands against writing its pages.
    pub fn new(table: &Table) -> Result<TablePlan, Vec<Refusal>> {
        let refusals = refuse::refusals(table);
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let plan = TablePlan {
            clustered: clustered(table),
            secondary: creation_order(table).into_iter().map(|index| secondary(table, index)).collect(),
        };
        let too_long = refuse::too_long(&plan);
        if too_long.is_empty() { Ok(plan) } else { Err(too_long) }
    }

    /// All indexes, the clustered one first: the order of roots in the file.
    pub fn indexes(&self) -> impl Iterator<Item = &IndexPlan> {
        std::iter::once(&self.clustered).chain(&self.secondary)
    }
}

/// The server creates unique indexes without NULLs first, then other unique ones, then the rest; within
/// the unique ones those without prefix parts come first. Seen in `ibd2sdi` output.
fn creation_order(table: &Table) -> Vec<&Index> {
    let mut indexes: Vec<&Index> = table.indexes.iter().collect();
    let has_prefix = |index: &Index| index.parts.iter().any(|part| part.prefix.is_some());
    let has_null = |index: &Index| index.parts.iter().any(|part| table.columns[part.column].nullable);
    indexes.sort_by_key(|index| match index.unique {
        true => (0, has_null(index), has_prefix(index)),
        false => (1, false, false),
    });
    indexes
}

fn clustered(table: &Table) -> IndexPlan {
    let mut fields: Vec<Field> = table.primary_key.iter().map(|part| field(table, part)).collect();
    let key_fields = fields.len();
    let rest: Vec<usize> =
        (0..table.columns.len()).filter(|column| fields.iter().all(|key| key.column != *column)).collect();
    fields.extend(rest.into_iter().map(|column| whole(table, column)));
    index("PRIMARY".to_owned(), fields, key_fields, Some(key_fields), true)
}

fn secondary(table: &Table, definition: &Index) -> IndexPlan {
    let mut fields: Vec<Field> = definition.parts.iter().map(|part| field(table, part)).collect();
    let unique_fields = definition.unique.then_some(fields.len());
    for part in &table.primary_key {
        if !fields.iter().any(|key| key.column == part.column && key.prefix.is_none()) {
            fields.push(field(table, part));
        }
    }
    let key_fields = fields.len();
    index(definition.name.clone(), fields, key_fields, unique_fields, false)
}

fn index(
    name: String,
    fields: Vec<Field>,
    key_fields: usize,
    unique_fields: Option<usize>,
    clustered: bool,
) -> IndexPlan {
    let nullable = fields.iter().filter(|field| field.nullable).count();
    let lengths: usize =
        fields.iter().filter(|f| f.is_variable()).map(|f| 1 + usize::from(f.has_long_length())).sum();
    let data: usize = fields.iter().map(Field::bytes_max).sum();
    let null_bytes = nullable.div_ceil(8);
    // Transaction id and roll pointer.
    let system = if clustered { 13 } else { 0 };
    let record_bytes_max = lengths + null_bytes + super::format::RECORD_HEADER + data + system;
    IndexPlan { name, fields, key_fields, unique_fields, null_bytes, clustered, record_bytes_max }
}

fn whole(table: &Table, column: usize) -> Field {
    field(table, &KeyPart { column, prefix: None, descending: false })
}

fn field(table: &Table, part: &KeyPart) -> Field {
    let column = &table.columns[part.column];
    Field {
        column: part.column,
        encoding: Encoding::of(&column.kind),
        step: Step::of(Encoding::of(&column.kind)),
        nullable: column.nullable,
        prefix: part.prefix,
        descending: part.descending,
        text: key_text(&column.kind),
    }
}

fn key_text(kind: &ColumnKind) -> KeyText {
    match kind {
        ColumnKind::Char(text) | ColumnKind::VarChar(text) if text.collation == "utf8mb4_0900_bin" => {
            KeyText::NoPad
        }
        ColumnKind::Char(_) | ColumnKind::VarChar(_) => KeyText::PadSpace,
        _ => KeyText::Bytes,
    }
}
