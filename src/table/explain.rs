//! How the server runs a statement, and what is wrong with that.

use sqlx::{AssertSqlSafe, MySqlConnection, Row};

use super::write::bind_all;
use crate::keys::Value;
use crate::results::Statement;
use crate::spec::table::{PartitionMethod, Table};

/// What a statement's condition says about the partition column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pins {
    /// It equals one value: one partition holds the row.
    OnePartition,
    /// It lies within a range of so many partitions.
    Range(usize),
    /// It is not named.
    Nothing,
}

/// A statement with the server's plan for these values, and advice where the plan is not what the
/// condition allows.
pub async fn explain(
    connection: &mut MySqlConnection,
    name: &str,
    sql: &str,
    values: &[Value],
    table: &Table,
    pins: Pins,
) -> Result<Statement, sqlx::Error> {
    let text = format!("EXPLAIN FORMAT=TRADITIONAL {sql}");
    // Not kept on the connection: it is sent once.
    let query = bind_all(sqlx::query(AssertSqlSafe(text)).persistent(false), values);
    let row = query.fetch_one(connection).await?;
    let partitions: Option<String> = row.try_get("partitions")?;
    let partitions: Vec<String> =
        partitions.iter().flat_map(|list| list.split(',')).map(str::to_owned).collect();
    let access: Option<String> = row.try_get("type")?;
    let advice = advice(table, &partitions, access.as_deref(), pins);
    Ok(Statement {
        name: name.to_owned(),
        sql: sql.to_owned(),
        partitions,
        key: row.try_get("key")?,
        access,
        rows: row.try_get::<Option<u64>, _>("rows")?,
        advice,
    })
}

/// What is wrong with a plan, if anything.
pub fn advice(table: &Table, partitions: &[String], access: Option<&str>, pins: Pins) -> Option<String> {
    let mut sentences = Vec::new();
    if let Some(partitioning) = &table.partitioning {
        let all = partitioning.partitions.len();
        let column = &table.columns[partitioning.column].name;
        sentences.extend(match pins {
            Pins::Nothing if partitions.len() == all && all > 1 => Some(format!(
                "every one of the {all} partitions is probed: name {column} in the condition (carry it in the message)"
            )),
            Pins::OnePartition if partitions.len() > 1 => extra(table, partitioning.method, partitions, 1),
            Pins::Range(expected) if partitions.len() > expected => {
                extra(table, partitioning.method, partitions, expected)
            }
            _ => None,
        });
    }
    match access {
        Some("ALL") => sentences.push(format!("the whole of {} is read: an index is missing", table.name)),
        Some("index") => {
            sentences.push("a whole index is read: its first column is not in the condition".to_owned())
        }
        _ => {}
    }
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// More partitions than the condition needs. With `TO_DAYS` the first one is always among those of a range:
/// an invalid date is NULL there and NULLs live in the first partition.
fn extra(table: &Table, method: PartitionMethod, partitions: &[String], expected: usize) -> Option<String> {
    let first = table.partitioning.as_ref().and_then(|partitioning| partitioning.partitions.first());
    let touches_first = first.is_some_and(|first| partitions.first().is_some_and(|name| *name == first.name));
    let many = partitions.len();
    Some(match method {
        PartitionMethod::ToDays if touches_first => format!(
            "{many} partitions are read where {expected} would do; {} is among them because TO_DAYS of an \
             invalid date is NULL: use RANGE COLUMNS, or keep an empty first partition",
            partitions[0]
        ),
        _ => format!(
            "{many} partitions are read where {expected} would do ({}): compare the column itself, without a \
             function around it, with a value of its own type",
            partitions.join(", ")
        ),
    })
}
