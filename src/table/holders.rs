//! Who holds which rows: read after a step, to check what its claims say they did.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, MySqlConnection, Row};

use super::claim::{WriteClaimError, claim_columns, equals};
use super::write::{bind_all, name, read_expression};
use super::{plain_text, write};
use crate::keys::Value;
use crate::spec::dataset::Dataset;
use crate::spec::table::Column;

/// Reads a batch of rows by key.
#[derive(Debug, Clone)]
pub struct ReadHolders {
    sql: Arc<str>,
    columns: Vec<Column>,
}

/// A row as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Its key in words, see [`key_text`].
    pub key: String,
    /// Its token.
    pub token: u64,
    /// Its owner; 0 where that is no number.
    pub owner: u64,
}

/// Rows that are read at once.
const BATCH: usize = 200;

/// A key in words: equal for equal keys, whether they were made or read.
pub fn key_text(key: &[Value]) -> String {
    key.iter().map(plain_text).collect::<Vec<_>>().join("\u{1f}")
}

impl ReadHolders {
    /// By these columns of the dataset's table.
    pub fn by(dataset: &Dataset, key: &[usize]) -> Result<ReadHolders, WriteClaimError> {
        let table = &dataset.table;
        let claim = claim_columns(dataset)?;
        let columns: Vec<Column> = key.iter().map(|column| table.columns[*column].clone()).collect();
        let selected = columns.iter().map(read_expression).collect::<Vec<_>>().join(", ");
        let (token, owner) = (name(&table.columns[claim.token].name), name(&table.columns[claim.owner].name));
        let rows = vec![format!("({})", equals(table, key)); BATCH].join(" OR ");
        let sql = format!(
            "SELECT {selected}, CAST({token} AS UNSIGNED), CAST({owner} AS CHAR) FROM {} WHERE {rows}",
            name(&table.name)
        );
        Ok(ReadHolders { sql: sql.into(), columns })
    }

    /// The rows with these keys, in any order; keys without a row are missing.
    pub async fn read(
        &self,
        connection: &mut MySqlConnection,
        keys: &[Vec<Value>],
    ) -> Result<Vec<Holder>, sqlx::Error> {
        let mut holders = Vec::with_capacity(keys.len());
        for batch in keys.chunks(BATCH) {
            // A short batch repeats its last key, so that the statement is prepared only once.
            let padded = batch.iter().chain(std::iter::repeat(&batch[batch.len() - 1])).take(BATCH);
            let values: Vec<Value> = padded.flatten().cloned().collect();
            let query = bind_all(sqlx::query(AssertSqlSafe(self.sql.clone())), &values);
            for row in query.fetch_all(&mut *connection).await? {
                holders.push(self.holder(&row)?);
            }
        }
        Ok(holders)
    }

    fn holder(&self, row: &sqlx::mysql::MySqlRow) -> Result<Holder, sqlx::Error> {
        let read = |(index, column): (usize, &Column)| write::read(row, index, column);
        let key = self.columns.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
        let owner: Option<String> = row.try_get(self.columns.len() + 1)?;
        Ok(Holder {
            key: key_text(&key),
            token: row.try_get(self.columns.len())?,
            owner: owner.and_then(|owner| owner.trim().parse().ok()).unwrap_or(0),
        })
    }
}
