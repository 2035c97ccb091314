//! Pieces of SQL text, and values on their way into and out of statements.

use sqlx::mysql::{MySqlArguments, MySqlRow};
use sqlx::query::Query;
use sqlx::{MySql, Row};

use crate::keys::Value;
use crate::spec::table::{Column, ColumnKind};

/// A statement with its values.
pub(super) type Bound<'q> = Query<'q, MySql, MySqlArguments>;

/// An identifier in backquotes.
pub(super) fn name(identifier: &str) -> String {
    format!("`{}`", identifier.replace('`', "``"))
}

/// A string literal.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Binds one value. Dates and times go as text: the server turns it into the column's own type once per
/// execution, and still finds its partition and its key by it.
pub(super) fn bind<'q>(query: Bound<'q>, value: &Value) -> Bound<'q> {
    match value {
        Value::Null => query.bind(None::<i64>),
        Value::Int(number) => query.bind(*number),
        Value::UInt(number) => query.bind(*number),
        Value::Bytes(bytes) => query.bind(bytes.clone()),
        Value::Text(text) => query.bind(text.clone()),
        Value::Date { .. } | Value::DateTime { .. } => query.bind(plain_text(value)),
    }
}

/// Binds several, in order.
pub(super) fn bind_all<'q>(query: Bound<'q>, values: &[Value]) -> Bound<'q> {
    values.iter().fold(query, bind)
}

/// How a column is read back: as something that can be bound again and compared with what was bound.
pub(super) fn read_expression(column: &Column) -> String {
    let name = name(&column.name);
    match column.kind {
        ColumnKind::Integer { .. }
        | ColumnKind::Char(_)
        | ColumnKind::VarChar(_)
        | ColumnKind::Binary(_)
        | ColumnKind::VarBinary(_) => name,
        // As text, in the same words as `plain_text`.
        ColumnKind::Date
        | ColumnKind::DateTime { .. }
        | ColumnKind::Timestamp { .. }
        | ColumnKind::Enum(_)
        | ColumnKind::Decimal { .. } => format!("CAST({name} AS CHAR)"),
    }
}

/// A value of a row that was selected with [`read_expression`].
pub(super) fn read(row: &MySqlRow, index: usize, column: &Column) -> Result<Value, sqlx::Error> {
    Ok(match column.kind {
        ColumnKind::Integer { unsigned: true, .. } => row.try_get::<Option<u64>, _>(index)?.map(Value::UInt),
        ColumnKind::Integer { unsigned: false, .. } => row.try_get::<Option<i64>, _>(index)?.map(Value::Int),
        ColumnKind::Binary(_) | ColumnKind::VarBinary(_) => {
            row.try_get::<Option<Vec<u8>>, _>(index)?.map(Value::Bytes)
        }
        ColumnKind::DateTime { .. } | ColumnKind::Timestamp { .. } => {
            row.try_get::<Option<String>, _>(index)?.map(|text| Value::Text(without_empty_fraction(&text)))
        }
        _ => row.try_get::<Option<String>, _>(index)?.map(Value::Text),
    }
    .unwrap_or(Value::Null))
}

/// The value in words that are equal for equal values, however they came: `2026-01-01 00:00:00.5`.
pub fn plain_text(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::Date { year, month, day } => format!("{year:04}-{month:02}-{day:02}"),
        Value::DateTime { year, month, day, hour, minute, second, micros } => without_empty_fraction(
            &format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}"),
        ),
    }
}

/// `10:00:00.500000` and `10:00:00.5` are the same time, and so are `10:00:00.000` and `10:00:00`.
fn without_empty_fraction(time: &str) -> String {
    match time.contains('.') {
        true => time.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_words() {
        assert_eq!(plain_text(&Value::date_time(500_000)), "1970-01-01 00:00:00.5");
        assert_eq!(plain_text(&Value::date_time(0)), without_empty_fraction("1970-01-01 00:00:00.000"));
        assert_eq!(plain_text(&Value::date(0)), "1970-01-01");
        assert_eq!(plain_text(&Value::Bytes(vec![0xff, 0x00])), "ff00");
    }

    #[test]
    fn names_and_literals_cannot_break_out() {
        assert_eq!(name("a`b"), "`a``b`");
        assert_eq!(literal(r"it's \ here"), r"'it''s \\ here'");
    }
}
