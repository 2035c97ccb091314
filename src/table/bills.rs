//! The business table beside a dataset's: which of its columns a bill fills, and how.

use super::settle::WriteSettleError;
use super::write::{literal, name};
use crate::spec::dataset::Dataset;
use crate::spec::table::{ColumnKind, Index, Table};

/// Digits of an amount: a message's number, and some thousand times a rival's amount.
const AMOUNT_DIGITS: u8 = 12;

/// The business table's parts.
pub(super) struct Bills<'d> {
    pub(super) table: &'d Table,
    order: &'d str,
    amount: &'d str,
    pub(super) scale: u8,
    status: Option<(&'d str, String)>,
    /// The message's number in the business table, and the column of the idempotency table that it comes from.
    number: Option<&'d str>,
    pub(super) number_column: Option<usize>,
    /// Columns that get the time.
    times: Vec<(&'d str, u8)>,
    pub(super) index: Option<String>,
    /// What tells the newest bill of an order: the last column of the primary key.
    newest: Option<&'d str>,
}

impl<'d> Bills<'d> {
    pub(super) fn of(dataset: &'d Dataset, key: &[usize]) -> Result<Bills<'d>, WriteSettleError> {
        let lacking =
            || WriteSettleError::NoBills { dataset: dataset.name.clone(), table: dataset.table.name.clone() };
        let has = |table: &&Table| table.column_index("order_id").is_some();
        let table = dataset.companions.iter().find(has).ok_or_else(lacking)?;
        let order = table.column_index("order_id").ok_or_else(lacking)?;
        let decimal = |kind: &ColumnKind| match kind {
            ColumnKind::Decimal { precision, scale } => Some((*precision, *scale)),
            _ => None,
        };
        let amount = table.columns.iter().find_map(|column| Some((column, decimal(&column.kind)?)));
        let (amount, (precision, scale)) = amount.ok_or_else(lacking)?;
        if precision < AMOUNT_DIGITS {
            return Err(WriteSettleError::AmountTooSmall {
                table: table.name.clone(),
                column: amount.name.clone(),
                digits: AMOUNT_DIGITS,
            });
        }
        let status = table.column_index("status").map(|index| &table.columns[index]);
        let status = status.map(|column| {
            let label = match &column.kind {
                ColumnKind::Enum(labels) => labels.first().cloned().unwrap_or_default(),
                _ => "SETTLED".to_owned(),
            };
            (column.name.as_str(), label)
        });
        let shared = key.iter().find_map(|column| {
            let wanted = &dataset.table.columns[*column];
            let is_number = matches!(wanted.kind, ColumnKind::Integer { .. });
            let found = table.columns.iter().find(|other| other.name.eq_ignore_ascii_case(&wanted.name));
            found.filter(|_| is_number).map(|found| (found.name.as_str(), *column))
        });
        let times = table.columns.iter().filter_map(|column| match column.kind {
            ColumnKind::DateTime { fraction } | ColumnKind::Timestamp { fraction }
                if !column.nullable && column.default.is_none() =>
            {
                Some((column.name.as_str(), fraction))
            }
            _ => None,
        });
        let primary = table.primary_key.first().is_some_and(|part| part.column == order);
        let by_order = |index: &&Index| index.parts.first().is_some_and(|part| part.column == order);
        let index = match primary {
            true => Some("PRIMARY".to_owned()),
            false => table.indexes.iter().find(by_order).map(|index| index.name.clone()),
        };
        Ok(Bills {
            table,
            order: &table.columns[order].name,
            amount: &amount.name,
            scale,
            status,
            number: shared.map(|(name, _)| name),
            number_column: shared.map(|(_, column)| column),
            times: times.collect(),
            index,
            newest: table.primary_key.last().map(|part| table.columns[part.column].name.as_str()),
        })
    }

    pub(super) fn insert(&self) -> String {
        let mut columns = vec![name(self.order), name(self.amount)];
        let mut values = vec!["?".to_owned(), "?".to_owned()];
        let mut add = |column: &str, value: String| {
            columns.push(name(column));
            values.push(value);
        };
        if let Some(number) = self.number {
            add(number, "?".to_owned());
        }
        if let Some((column, label)) = &self.status {
            add(column, literal(label));
        }
        for (column, fraction) in &self.times {
            add(column, if *fraction == 0 { "NOW()".to_owned() } else { format!("NOW({fraction})") });
        }
        let (columns, values) = (columns.join(", "), values.join(", "));
        format!("INSERT INTO {} ({columns}) VALUES ({values})", name(&self.table.name))
    }

    pub(super) fn update(&self) -> String {
        let (order, amount) = (name(self.order), name(self.amount));
        // Left to itself the optimizer may walk the primary key back until it meets the order, and lock all
        // that it meets.
        let index =
            self.index.as_ref().map_or_else(String::new, |index| format!(" FORCE INDEX ({})", name(index)));
        let newest =
            self.newest.map_or_else(String::new, |column| format!(" ORDER BY {} DESC", name(column)));
        format!(
            "UPDATE {}{index} SET {amount} = {amount} + ? WHERE {order} = ?{newest} LIMIT 1",
            name(&self.table.name)
        )
    }

    pub(super) fn read(&self) -> String {
        let smallest = 10u64.pow(u32::from(self.scale));
        format!(
            "SELECT CAST({} AS CHAR), CAST({} * {smallest} AS SIGNED) FROM {}",
            name(self.order),
            name(self.amount),
            name(&self.table.name)
        )
    }
}
