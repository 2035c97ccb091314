//! Made rows as the page writer takes them.

use crate::keys::{Cell, Cells, RowBatch};
use crate::pages::encode::{Column, Rows, Value};

/// Rows made at a time: their columns, their records and the page at hand lie in the nearest cache together.
pub const ROWS_AT_A_TIME: u64 = 128;

/// A batch of made rows.
#[derive(Debug, Clone, Copy)]
pub struct MadeRows<'b>(pub &'b RowBatch);

impl MadeRows<'_> {
    fn of_cell(&self, cell: Cell) -> Value<'_> {
        match cell {
            Cell::Null | Cell::Generated => Value::Null,
            Cell::Int(number) => Value::Signed(number),
            Cell::UInt(number) => Value::Unsigned(number),
            cell @ Cell::Bytes { .. } => Value::Bytes(self.0.bytes_of(cell)),
            Cell::Date(day) => Value::Day(day),
            Cell::Instant(micros) => Value::Micros(micros),
            Cell::Decimal(unscaled) => Value::Decimal(unscaled),
            Cell::Enum(ordinal) => Value::Label(ordinal),
        }
    }
}

impl Rows for MadeRows<'_> {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn column(&self, column: usize) -> Column<'_> {
        match &self.0.columns()[column] {
            Cells::Same(cell) => Column::Same(self.of_cell(*cell)),
            Cells::Ints(numbers) => Column::Signed(numbers),
            Cells::UInts(numbers) => Column::Unsigned(numbers),
            Cells::Instants(micros) => Column::Micros(micros),
            Cells::Decimals(unscaled) => Column::Decimals(unscaled),
            Cells::Enums(ordinals) => Column::Labels(ordinals),
            Cells::Bytes { bytes, each } => Column::Bytes { bytes, each: *each },
            Cells::Each(_) => Column::Each,
        }
    }

    fn value(&self, row: usize, column: usize) -> Value<'_> {
        match &self.0.columns()[column] {
            Cells::Same(cell) => self.of_cell(*cell),
            Cells::Ints(numbers) => Value::Signed(numbers[row]),
            Cells::UInts(numbers) => Value::Unsigned(numbers[row]),
            Cells::Instants(micros) => Value::Micros(micros[row]),
            Cells::Decimals(unscaled) => Value::Decimal(unscaled[row]),
            Cells::Enums(ordinals) => Value::Label(ordinals[row]),
            Cells::Bytes { bytes, each } => Value::Bytes(&bytes[row * each..][..*each]),
            Cells::Each(cells) => self.of_cell(cells[row]),
        }
    }
}
