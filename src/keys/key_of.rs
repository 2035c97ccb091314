//! A row's primary key as values to bind.

use super::error::MakeError;
use super::maker::RowMaker;
use super::row::{Cell, Row, Value};
use crate::spec::dataset::Dataset;
use crate::spec::table::{Column, ColumnKind};

/// Makes the primary key of any row, in key order.
#[derive(Debug, Clone)]
pub struct KeyOf {
    columns: Vec<(usize, Column)>,
    maker: RowMaker,
    row: Row,
}

impl KeyOf {
    /// For a dataset whose table has a primary key (without one, the key is empty).
    ///
    /// # Errors
    /// As [`RowMaker::new`].
    pub fn new(dataset: &Dataset) -> Result<KeyOf, MakeError> {
        let parts = &dataset.table.primary_key;
        let indexes: Vec<usize> = parts.iter().map(|part| part.column).collect();
        KeyOf::of_columns(dataset, &indexes)
    }

    /// For any columns: the dedupe key without the partition column, say.
    ///
    /// # Errors
    /// As [`RowMaker::new`].
    pub fn of_columns(dataset: &Dataset, columns: &[usize]) -> Result<KeyOf, MakeError> {
        let maker = RowMaker::of_columns(dataset, columns)?;
        let columns = columns.iter().map(|index| (*index, dataset.table.columns[*index].clone())).collect();
        Ok(KeyOf { columns, maker, row: Row::default() })
    }

    /// The columns, as indexes into the table's.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|(index, _)| *index)
    }

    /// Replaces `values` by those of a row, in the columns' order.
    pub fn fill(&mut self, row: u64, values: &mut Vec<Value>) {
        self.maker.fill(row, &mut self.row);
        values.clear();
        let row = &self.row;
        values.extend(
            row.cells().iter().zip(&self.columns).map(|(cell, (_, column))| value(row, *cell, column)),
        );
    }

    /// The values of a row, in the columns' order.
    pub fn values(&mut self, row: u64) -> Vec<Value> {
        let mut values = Vec::with_capacity(self.columns.len());
        self.fill(row, &mut values);
        values
    }
}

fn value(row: &Row, cell: Cell, column: &Column) -> Value {
    match cell {
        Cell::Null | Cell::Generated => Value::Null,
        Cell::Int(number) => Value::Int(number),
        Cell::UInt(number) => Value::UInt(number),
        Cell::Date(day) => Value::date(day),
        Cell::Instant(micros) => Value::date_time(micros),
        Cell::Decimal(unscaled) => match column.kind {
            ColumnKind::Decimal { scale, .. } => Value::Text(decimal_text(unscaled, scale)),
            _ => Value::Int(unscaled),
        },
        Cell::Enum(number) => match &column.kind {
            ColumnKind::Enum(labels) => Value::Text(labels[usize::from(number) - 1].clone()),
            _ => Value::UInt(u64::from(number)),
        },
        Cell::Bytes { .. } => bytes_value(row.bytes_of(cell), &column.kind),
    }
}

fn bytes_value(bytes: &[u8], kind: &ColumnKind) -> Value {
    use crate::spec::table::Charset;
    match kind {
        // One byte a character, the same code points as Unicode's first 256.
        ColumnKind::Char(text) | ColumnKind::VarChar(text) if text.charset == Charset::Latin1 => {
            Value::Text(bytes.iter().map(|byte| char::from(*byte)).collect())
        }
        ColumnKind::Char(_) | ColumnKind::VarChar(_) => {
            Value::Text(String::from_utf8_lossy(bytes).into_owned())
        }
        _ => Value::Bytes(bytes.to_vec()),
    }
}

/// A decimal with its point, as the server prints it.
pub(super) fn decimal_text(unscaled: i64, scale: u8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = unscaled.unsigned_abs();
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let digits = format!("{digits:0>width$}", width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    format!("{sign}{whole}.{fraction}")
}
