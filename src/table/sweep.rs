//! The sweeper's batch: rows that are due, taken together.
//!
//! Both ways start at the row that the targets pick and go forward in key order within its partition, so
//! that several sweepers do not stand in each other's way and no sweep reads the whole table.

use std::sync::Arc;

use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use super::claim::{Parts, WriteClaimError, claim_columns, dedupe_key, equals};
use super::write::{bind_all, name, read, read_expression};
use crate::keys::Value;
use crate::spec::dataset::Dataset;
use crate::spec::table::Column;
use crate::units::Span;

/// A batch claim: its texts, and what is bound.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepStatements {
    /// Finds rows that are due: start is bound as [`SweepStatements::start`] says.
    pub select: Arc<str>,
    /// Takes them: owner, then [`SweepStatements::batch`] times the key (and the token, in a key list).
    pub update: Arc<str>,
    /// The UPDATE with one row of its list written out: for people.
    pub update_in_short: String,
    /// Which rows of a list belong to an owner: bound like the UPDATE.
    pub held: Arc<str>,
    /// What the selection starts with, as indexes into the table's columns.
    pub start: Vec<usize>,
    /// The key's columns, in order.
    pub key: Vec<usize>,
    /// Rows in a batch.
    pub batch: u32,
    /// Whether every row of the list is compared with the token that was read, and set only then.
    pub compares_tokens: bool,
    columns: Vec<Column>,
    token: Column,
}

/// A row that a sweep found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its key.
    pub key: Vec<Value>,
    /// Its token when it was read.
    pub token: u64,
}

/// Most rows in a batch: 65,535 placeholders divided by keys of up to five columns and a token.
pub const BATCH_MAX: u32 = 10_000;

impl SweepStatements {
    /// SELECT … FOR UPDATE SKIP LOCKED, then UPDATE by key, in one transaction.
    pub fn skip_locked(dataset: &Dataset, lease: Span, batch: u32) -> Result<Self, WriteClaimError> {
        SweepStatements::new(dataset, lease, batch, false)
    }

    /// SELECT without locks, then one compare-and-set UPDATE over the list of keys.
    pub fn key_list(dataset: &Dataset, lease: Span, batch: u32) -> Result<Self, WriteClaimError> {
        SweepStatements::new(dataset, lease, batch, true)
    }

    fn new(
        dataset: &Dataset,
        lease: Span,
        batch: u32,
        compares_tokens: bool,
    ) -> Result<Self, WriteClaimError> {
        let batch = batch.clamp(1, BATCH_MAX);
        let table = &dataset.table;
        let parts = Parts::new(dataset, lease)?;
        let key = dedupe_key(dataset)?;
        let token = table.columns[claim_columns(dataset)?.token].clone();
        let columns: Vec<Column> = key.iter().map(|column| table.columns[*column].clone()).collect();
        let (from, start) = starting_at(dataset, key[0]);
        let selected = columns.iter().chain([&token]).map(read_expression).collect::<Vec<_>>().join(", ");
        let locking = if compares_tokens { "" } else { " FOR UPDATE SKIP LOCKED" };
        let select = format!(
            "SELECT {selected} FROM {} WHERE {from} AND {} LIMIT {batch}{locking}",
            name(&table.name),
            parts.claimable
        );
        let mut row = equals(table, &key);
        if compares_tokens {
            row = format!("{row} AND {} = ?", parts.token);
        }
        // An OR of equalities and not a list of rows: the optimizer prunes partitions by it.
        let rows = vec![format!("({row})"); batch as usize].join(" OR ");
        let set = format!(
            "UPDATE {} SET {} = {} + 1, {}",
            name(&table.name),
            parts.token,
            parts.token,
            parts.take_over
        );
        let update = |rows: &str| match compares_tokens {
            true => format!("{set} WHERE ({rows}) AND {}", parts.claimable),
            false => format!("{set} WHERE {rows}"),
        };
        let owner = name(&table.columns[claim_columns(dataset)?.owner].name);
        let held = format!("SELECT {selected} FROM {} WHERE {owner} = ? AND ({rows})", name(&table.name));
        Ok(SweepStatements {
            select: select.into(),
            held: held.into(),
            update: update(&rows).into(),
            update_in_short: update(&format!("({row}) OR … ({batch} rows)")),
            start,
            key,
            batch,
            compares_tokens,
            columns,
            token,
        })
    }

    /// The values of an UPDATE's list: short lists repeat their last row, which changes nothing.
    pub fn list(&self, found: &[Found]) -> Vec<Value> {
        let Some(last) = found.last() else { return Vec::new() };
        let rows = found.iter().chain(std::iter::repeat(last)).take(self.batch as usize);
        let mut values = Vec::with_capacity(self.batch as usize * (self.key.len() + 1));
        for row in rows {
            values.extend(row.key.iter().cloned());
            if self.compares_tokens {
                values.push(Value::UInt(row.token));
            }
        }
        values
    }

    fn found(&self, row: &MySqlRow) -> Result<Found, sqlx::Error> {
        let key = self.columns.iter().enumerate().map(|(index, column)| read(row, index, column));
        let key = key.collect::<Result<Vec<_>, _>>()?;
        let token = match read(row, self.columns.len(), &self.token)? {
            Value::UInt(token) => token,
            Value::Int(token) => token.max(0) as u64,
            _ => 0,
        };
        Ok(Found { key, token })
    }
}

/// `event_day = ? AND biz_key >= ?`: from a row on, within its partition's value.
fn starting_at(dataset: &Dataset, first_key_column: usize) -> (String, Vec<usize>) {
    let table = &dataset.table;
    let from = format!("{} >= ?", name(&table.columns[first_key_column].name));
    match table.partitioning.as_ref().map(|partitioning| partitioning.column) {
        Some(column) if column != first_key_column => {
            (format!("{} AND {from}", equals(table, &[column])), vec![column, first_key_column])
        }
        _ => (from, vec![first_key_column]),
    }
}

/// Begins a transaction.
pub async fn begin(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    connection.execute("START TRANSACTION").await.map(|_| ())
}

/// Commits it.
pub async fn commit(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    connection.execute("COMMIT").await.map(|_| ())
}

/// Rolls it back; also after a lock timeout, which by itself rolls back the last statement only.
pub async fn rollback(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    connection.execute("ROLLBACK").await.map(|_| ())
}

/// Finds rows that are due, from `start` on.
pub async fn select(
    connection: &mut MySqlConnection,
    statements: &SweepStatements,
    start: &[Value],
) -> Result<Vec<Found>, sqlx::Error> {
    let query = sqlx::query(AssertSqlSafe(statements.select.clone()));
    let rows = bind_all(query, start).fetch_all(connection).await?;
    rows.iter().map(|row| statements.found(row)).collect()
}

/// Takes the rows of a list; returns how many it took.
pub async fn update(
    connection: &mut MySqlConnection,
    statements: &SweepStatements,
    owner: u32,
    found: &[Found],
) -> Result<u64, sqlx::Error> {
    if found.is_empty() {
        return Ok(0);
    }
    let query = sqlx::query(AssertSqlSafe(statements.update.clone())).bind(owner);
    Ok(bind_all(query, &statements.list(found)).execute(connection).await?.rows_affected())
}

/// Which rows of a list the owner holds with the token after the one that was read: those that its UPDATE took.
pub async fn won(
    connection: &mut MySqlConnection,
    statements: &SweepStatements,
    owner: u32,
    found: &[Found],
) -> Result<Vec<Found>, sqlx::Error> {
    let taken: Vec<Found> =
        found.iter().map(|row| Found { key: row.key.clone(), token: row.token + 1 }).collect();
    let query = sqlx::query(AssertSqlSafe(statements.held.clone())).bind(owner);
    let rows = bind_all(query, &statements.list(&taken)).fetch_all(connection).await?;
    let held = rows.iter().map(|row| statements.found(row)).collect::<Result<Vec<_>, _>>()?;
    Ok(held.into_iter().map(|row| Found { token: row.token - 1, ..row }).collect())
}

/// Row locks that the connection's open transaction holds, as the server counts them; `None` where it
/// does not say (the PROCESS privilege is missing).
pub async fn rows_locked(connection: &mut MySqlConnection) -> Result<Option<u64>, sqlx::Error> {
    let answer = sqlx::raw_sql(
        "SELECT CAST(trx_rows_locked AS UNSIGNED) FROM information_schema.INNODB_TRX \
         WHERE trx_mysql_thread_id = CONNECTION_ID()",
    )
    .fetch_optional(connection)
    .await;
    match answer {
        Ok(row) => row.map(|row| row.try_get(0)).transpose(),
        Err(sqlx::Error::Database(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
