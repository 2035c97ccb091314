//! Recipes and claim columns from kinds, names and keys, where `dataset.toml` says nothing.

use super::{ClaimColumns, KeyShape, Recipe};
use crate::spec::table::{Column, ColumnKind, KeyPart, Table};

/// An hour into the row's day: where a lease ends, unless the file says otherwise.
const LEASE_SECONDS: i64 = 3_600;
/// Rows in a hundred that are PENDING, unless the file says otherwise.
const PENDING_WEIGHT: u32 = 20;

/// A recipe for every column, `None` for the generated ones.
pub(super) fn recipes(table: &Table) -> Vec<Option<Recipe>> {
    table
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| if column.generated { None } else { Some(recipe(table, index, column)) })
        .collect()
}

fn recipe(table: &Table, index: usize, column: &Column) -> Recipe {
    if table.partitioning.as_ref().is_some_and(|partitioning| partitioning.column == index) {
        return partition_column(table, index, column);
    }
    let sorted_key = leading_key_column(table, &table.primary_key) == Some(index);
    let other_key =
        table.indexes.iter().any(|key| key.unique && leading_key_column(table, &key.parts) == Some(index));
    match &column.kind {
        ColumnKind::Integer { bytes: 4.., .. } if in_key(table, index) => Recipe::Sequence { start: 1 },
        ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Binary(_) | ColumnKind::VarBinary(_)
            if sorted_key =>
        {
            Recipe::SortedKey(KeyShape::default())
        }
        ColumnKind::Char(_) | ColumnKind::VarChar(_) | ColumnKind::Binary(_) | ColumnKind::VarBinary(_)
            if other_key =>
        {
            Recipe::ShuffledKey(KeyShape::default())
        }
        kind => outside_keys(column, kind),
    }
}

fn partition_column(table: &Table, index: usize, column: &Column) -> Recipe {
    match &column.kind {
        ColumnKind::Date => Recipe::Day,
        ColumnKind::DateTime { .. } | ColumnKind::Timestamp { .. } => {
            // A day in a key says more than an instant in it, but the user's table decides.
            if in_key(table, index) { Recipe::Day } else { Recipe::Instant }
        }
        _ => Recipe::Sequence { start: 0 },
    }
}

fn outside_keys(column: &Column, kind: &ColumnKind) -> Recipe {
    match kind {
        ColumnKind::Date => Recipe::Day,
        ColumnKind::DateTime { .. } | ColumnKind::Timestamp { .. } => {
            let name = column.name.to_ascii_lowercase();
            match ["lease", "until", "expire"].iter().any(|word| name.contains(word)) {
                true => Recipe::DayOffset { seconds: LEASE_SECONDS },
                false => Recipe::Instant,
            }
        }
        ColumnKind::Enum(labels) if is_status(labels) => Recipe::Choice(vec![
            ("PENDING".to_owned(), PENDING_WEIGHT),
            ("DONE".to_owned(), 100 - PENDING_WEIGHT),
        ]),
        ColumnKind::Integer { .. } => match column.default.as_deref().and_then(number_literal) {
            Some(number) => Recipe::Constant(number),
            None => Recipe::Hash { below: None },
        },
        _ => Recipe::Hash { below: None },
    }
}

/// The number in a DEFAULT such as `'0'` or `0`.
fn number_literal(default: &str) -> Option<String> {
    let number = default.trim_matches('\'');
    number.parse::<i64>().ok().map(|_| number.to_owned())
}

fn is_status(labels: &[String]) -> bool {
    ["PENDING", "DONE"].iter().all(|label| labels.iter().any(|own| own == label))
}

fn in_key(table: &Table, index: usize) -> bool {
    let holds = |parts: &[KeyPart]| parts.iter().any(|part| part.column == index);
    holds(&table.primary_key) || table.indexes.iter().any(|key| key.unique && holds(&key.parts))
}

/// The first column of a key that is not the partition column.
fn leading_key_column(table: &Table, parts: &[KeyPart]) -> Option<usize> {
    let partition_column = table.partitioning.as_ref().map(|partitioning| partitioning.column);
    parts.iter().map(|part| part.column).find(|column| Some(*column) != partition_column)
}

/// The claim's columns by their usual names; `None` unless all are there.
pub(super) fn claim(table: &Table) -> Option<ClaimColumns> {
    let status = table.column_index("status")?;
    let ColumnKind::Enum(labels) = &table.columns[status].kind else { return None };
    if !is_status(labels) {
        return None;
    }
    let either = |names: [&str; 2]| names.iter().find_map(|name| table.column_index(name));
    Some(ClaimColumns {
        status,
        pending: "PENDING".to_owned(),
        done: "DONE".to_owned(),
        token: either(["token", "fencing_token"])?,
        owner: either(["owner", "owner_id"])?,
        lease_until: either(["lease_until", "lease_expires_at"])?,
    })
}
