//! Values of made-up rows as columns, as alike as they are.
#![allow(dead_code)] // Not every test uses all of it.

use idembench::pages::encode::{Column, Rows, Value};

/// Consecutive rows: their values, column by column.
pub struct Batch<'v> {
    count: usize,
    columns: Vec<(Vec<Value<'v>>, Alike)>,
}

/// What the values of a column have in common.
enum Alike {
    Same,
    Signed(Vec<i64>),
    Unsigned(Vec<u64>),
    Micros(Vec<i64>),
    Labels(Vec<u16>),
    Decimals(Vec<i64>),
    Bytes(Vec<u8>, usize),
    Nothing,
}

impl<'v> Batch<'v> {
    pub fn new(rows: std::ops::Range<u64>, columns: usize, value: impl Fn(u64, usize) -> Value<'v>) -> Self {
        let values = |column| rows.clone().map(|row| value(row, column)).collect::<Vec<_>>();
        let columns = (0..columns).map(values).map(|values| {
            let alike = alike(&values);
            (values, alike)
        });
        Batch { columns: columns.collect(), count: (rows.end - rows.start) as usize }
    }
}

fn alike(values: &[Value<'_>]) -> Alike {
    /// The values, if all are of one kind.
    macro_rules! all {
        ($kind:ident) => {{
            let one = |value: &_| if let Value::$kind(it) = value { Some(*it) } else { None };
            values.iter().map(one).collect::<Option<Vec<_>>>()
        }};
    }
    if values.iter().all(|value| *value == values[0]) {
        return Alike::Same;
    }
    let bytes = all!(Bytes).filter(|bytes| bytes.iter().all(|text| text.len() == bytes[0].len()));
    let alike = all!(Signed).map(Alike::Signed);
    let alike = alike.or_else(|| all!(Unsigned).map(Alike::Unsigned));
    let alike = alike.or_else(|| all!(Micros).map(Alike::Micros));
    let alike = alike.or_else(|| all!(Label).map(Alike::Labels));
    let alike = alike.or_else(|| all!(Decimal).map(Alike::Decimals));
    let alike = alike.or_else(|| bytes.map(|bytes| Alike::Bytes(bytes.concat(), bytes[0].len())));
    alike.unwrap_or(Alike::Nothing)
}

impl Rows for Batch<'_> {
    fn count(&self) -> usize {
        self.count
    }

    fn column(&self, column: usize) -> Column<'_> {
        let (values, alike) = &self.columns[column];
        match alike {
            Alike::Same => Column::Same(values[0]),
            Alike::Signed(numbers) => Column::Signed(numbers),
            Alike::Unsigned(numbers) => Column::Unsigned(numbers),
            Alike::Micros(micros) => Column::Micros(micros),
            Alike::Labels(ordinals) => Column::Labels(ordinals),
            Alike::Decimals(unscaled) => Column::Decimals(unscaled),
            Alike::Bytes(bytes, each) => Column::Bytes { bytes, each: *each },
            Alike::Nothing => Column::Each,
        }
    }

    fn value(&self, row: usize, column: usize) -> Value<'_> {
        self.columns[column].0[row]
    }
}
