//! A message settled: its idempotency row and its bill, and what is asked about them afterwards.
//!
//! ```sql
//! INSERT INTO `t_idempotent` (`biz_key`, `msg_id`, `status`) VALUES (?, ?, 'DONE')
//! INSERT INTO `t_settle_bill` (`order_id`, `amount`, `status`) VALUES (?, ?, 'SETTLED')
//! UPDATE `t_idempotent` SET `status` = 'DONE' WHERE `biz_key` = ? AND `msg_id` = ?
//! ```
//!
//! A bill's amount is its message's number, plus one, in the smallest coin: so every bill names its message
//! without a further column, and the sum of money says whether any is missing or too many.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use super::bills::Bills;
use super::claim::{WriteClaimError, dedupe_key, equals};
use super::holders::key_text;
use super::text::write_decimal;
use super::write::{bind_all, literal, name, read, read_expression};
use crate::keys::{MESSAGES_MAX, Value};
use crate::spec::dataset::Dataset;
use crate::spec::suite::{Isolation, Locking};
use crate::spec::table::{Column, ColumnKind};

/// Why a dataset's messages cannot be settled.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WriteSettleError {
    /// No key to find the row by.
    #[error(transparent)]
    Key(#[from] WriteClaimError),
    /// No text in the key.
    #[error("the key of {table} has no text column: a bill needs one, which names its order")]
    NoOrder {
        /// The idempotency table.
        table: String,
    },
    /// No status.
    #[error(
        "table {table} has no status column with PENDING and DONE: name it under [claim] in its dataset.toml, or give \
         it `status` ENUM('PENDING','DONE')"
    )]
    NoStatus {
        /// The idempotency table.
        table: String,
    },
    /// No table for bills.
    #[error(
        "dataset {dataset} has no business table beside {table}: put one with order_id, a DECIMAL amount and status into \
         its folder, such as t_settle_bill.sql"
    )]
    NoBills {
        /// The dataset.
        dataset: String,
        /// Its table.
        table: String,
    },
    /// An index is missing.
    #[error(
        "{table} has no index that begins with {column}: every rival's UPDATE would read and lock all of it — give it \
         KEY ({column})"
    )]
    NoIndex {
        /// The business table.
        table: String,
        /// Its order column.
        column: String,
    },
    /// Amounts are too small.
    #[error(
        "column {column} of {table} holds fewer than {digits} digits: amounts carry the messages' numbers"
    )]
    AmountTooSmall {
        /// The business table.
        table: String,
        /// Its amount.
        column: String,
        /// Digits needed.
        digits: u8,
    },
}

/// The statements of one dataset.
#[derive(Debug, Clone)]
pub struct SettleStatements {
    /// The idempotency row as DONE: [`SettleStatements::columns`] are bound.
    pub insert_done: Arc<str>,
    /// The same as PENDING.
    pub insert_pending: Arc<str>,
    /// PENDING to DONE, by key.
    pub finish: Arc<str>,
    /// The bill: order, amount, and the message's number where the table has a place for it.
    pub insert_bill: Arc<str>,
    /// A rival's: what is added to the newest bill of an order, then the order.
    pub update_bill: Arc<str>,
    /// Columns of the idempotency row that are bound.
    pub columns: Vec<usize>,
    /// The key's places among them, in key order.
    pub key: Vec<usize>,
    /// The key's columns of the table.
    pub key_columns: Vec<usize>,
    /// The order's place among the bound columns.
    pub order: usize,
    /// The idempotency table.
    pub table: String,
    /// The business table.
    pub bills: String,
    /// The index that a rival's UPDATE finds bills by.
    pub bill_index: Option<String>,
    key_kinds: Vec<Column>,
    /// The number's place among the bound columns, where bills have it too.
    number: Option<usize>,
    scale: u8,
    read_rows: String,
    read_bills: Arc<str>,
    delete_rows: String,
    /// `(biz_key = ? AND msg_id = ?)`.
    one_key: String,
}

/// An idempotency row as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRow {
    /// Its key in words, see [`key_text`].
    pub key: String,
    /// Whether it is DONE.
    pub done: bool,
}

/// A bill as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBill {
    /// Its order.
    pub order: String,
    /// Its amount in the smallest coin.
    pub amount: i64,
}

/// What a rival adds to a bill, or takes away: more than any message's number, so that the number can still
/// be read off.
pub const RIVAL_AMOUNT: i64 = MESSAGES_MAX as i64;
/// Rows that are read or deleted at once.
pub const KEYS_AT_ONCE: usize = 200;

impl SettleStatements {
    /// For a dataset whose companion holds the bills.
    ///
    /// # Errors
    /// What the tables lack.
    pub fn new(dataset: &Dataset) -> Result<SettleStatements, WriteSettleError> {
        let table = &dataset.table;
        let (status, pending, done) = status_of(dataset)?;
        let key_columns = dedupe_key(dataset)?;
        let columns: Vec<usize> =
            table.loaded_columns().map(|(column, _)| column).filter(|column| *column != status).collect();
        let place = |column: usize| columns.iter().position(|other| *other == column);
        let key: Vec<usize> = key_columns.iter().filter_map(|column| place(*column)).collect();
        let is_text = |column: &&usize| {
            matches!(table.columns[**column].kind, ColumnKind::Char(_) | ColumnKind::VarChar(_))
        };
        let order = key_columns.iter().find(is_text).and_then(|column| place(*column));
        let order = order.ok_or_else(|| WriteSettleError::NoOrder { table: table.name.clone() })?;
        let names = columns.iter().map(|column| name(&table.columns[*column].name));
        let names = names.collect::<Vec<_>>().join(", ");
        let marks = vec!["?"; columns.len()].join(", ");
        let status_name = name(&table.columns[status].name);
        let insert = |label: &str| {
            format!(
                "INSERT INTO {} ({names}, {status_name}) VALUES ({marks}, {})",
                name(&table.name),
                literal(label)
            )
        };
        let one_key = equals(table, &key_columns);
        let selected = key_columns.iter().map(|column| read_expression(&table.columns[*column]));
        let selected = selected.collect::<Vec<_>>().join(", ");
        let bills = Bills::of(dataset, &key_columns)?;
        Ok(SettleStatements {
            insert_done: insert(&done).into(),
            insert_pending: insert(&pending).into(),
            finish: format!(
                "UPDATE {} SET {status_name} = {} WHERE {one_key}",
                name(&table.name),
                literal(&done)
            )
            .into(),
            insert_bill: bills.insert().into(),
            update_bill: bills.update().into(),
            number: bills.number_column.and_then(place),
            scale: bills.scale,
            read_bills: bills.read().into(),
            bill_index: bills.index,
            columns,
            key,
            order,
            table: table.name.clone(),
            bills: bills.table.name.clone(),
            read_rows: format!(
                "SELECT CAST({status_name} = {} AS SIGNED), {selected} FROM {}",
                literal(&done),
                name(&table.name)
            ),
            delete_rows: format!("DELETE FROM {}", name(&table.name)),
            one_key: format!("({one_key})"),
            key_kinds: key_columns.iter().map(|column| table.columns[*column].clone()).collect(),
            key_columns,
        })
    }

    /// The key of an idempotency row, of the values that are bound for it.
    pub fn key_of<'v>(&'v self, values: &'v [Value]) -> impl Iterator<Item = &'v Value> + 'v {
        self.key.iter().map(|place| &values[*place])
    }

    /// The text of a locking read of so many rows.
    pub fn take_over_sql(&self, rows: usize, locking: Locking) -> String {
        let keys = vec![self.one_key.as_str(); rows].join(" OR ");
        let locking = match locking {
            Locking::Wait => "FOR UPDATE",
            Locking::NoWait => "FOR UPDATE NOWAIT",
            Locking::SkipLocked => "FOR UPDATE SKIP LOCKED",
        };
        format!("{} WHERE {keys} {locking}", self.read_rows)
    }

    /// An amount in the column's own words: `1.00` for a hundred of the smallest coin.
    pub fn amount(&self, smallest: i64) -> String {
        let mut text = Vec::new();
        write_decimal(smallest, self.scale, &mut text);
        // Digits, a point and a sign.
        String::from_utf8_lossy(&text).into_owned()
    }
}

fn status_of(dataset: &Dataset) -> Result<(usize, String, String), WriteSettleError> {
    if let Some(claim) = &dataset.claim {
        return Ok((claim.status, claim.pending.clone(), claim.done.clone()));
    }
    let lacking = || WriteSettleError::NoStatus { table: dataset.table.name.clone() };
    let column = dataset.table.column_index("status").ok_or_else(lacking)?;
    let (pending, done) = ("PENDING".to_owned(), "DONE".to_owned());
    match &dataset.table.columns[column].kind {
        ColumnKind::Enum(labels) if !(labels.contains(&pending) && labels.contains(&done)) => Err(lacking()),
        ColumnKind::Enum(_) | ColumnKind::Char(_) | ColumnKind::VarChar(_) => Ok((column, pending, done)),
        _ => Err(lacking()),
    }
}

impl SettleStatements {
    /// Whether bills of an order are found without reading all bills.
    ///
    /// # Errors
    /// The index that is missing.
    pub fn check_bill_index(&self) -> Result<(), WriteSettleError> {
        match &self.bill_index {
            Some(_) => Ok(()),
            None => {
                Err(WriteSettleError::NoIndex { table: self.bills.clone(), column: "order_id".to_owned() })
            }
        }
    }
}

/// Sets the isolation level of the session's transactions.
pub async fn set_isolation(connection: &mut MySqlConnection, level: Isolation) -> Result<(), sqlx::Error> {
    let sql = match level {
        Isolation::ReadCommitted => "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        Isolation::RepeatableRead => "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    };
    connection.execute(sql).await.map(|_| ())
}

/// Inserts the idempotency row, DONE or PENDING.
pub async fn insert_row(
    connection: &mut MySqlConnection,
    statements: &SettleStatements,
    done: bool,
    values: &[Value],
) -> Result<(), sqlx::Error> {
    let sql = if done { &statements.insert_done } else { &statements.insert_pending };
    bind_all(sqlx::query(AssertSqlSafe(sql.clone())), values).execute(connection).await.map(|_| ())
}

/// Inserts a message's bill; `values` are those of its idempotency row.
pub async fn insert_bill(
    connection: &mut MySqlConnection,
    statements: &SettleStatements,
    message: u64,
    values: &[Value],
) -> Result<(), sqlx::Error> {
    let amount = Value::Text(statements.amount(message as i64 + 1));
    let mut bound = vec![values[statements.order].clone(), amount];
    bound.extend(statements.number.map(|place| values[place].clone()));
    let query = sqlx::query(AssertSqlSafe(statements.insert_bill.clone()));
    bind_all(query, &bound).execute(connection).await.map(|_| ())
}

/// Turns the idempotency row to DONE; says how many rows it found.
pub async fn finish(
    connection: &mut MySqlConnection,
    statements: &SettleStatements,
    values: &[Value],
) -> Result<u64, sqlx::Error> {
    let key: Vec<Value> = statements.key_of(values).cloned().collect();
    let query = sqlx::query(AssertSqlSafe(statements.finish.clone()));
    bind_all(query, &key).execute(connection).await.map(|answer| answer.rows_affected())
}

/// Adds an amount to an order's newest bill; says how many rows it found.
pub async fn update_bill(
    connection: &mut MySqlConnection,
    statements: &SettleStatements,
    smallest: i64,
    order: &Value,
) -> Result<u64, sqlx::Error> {
    let query = sqlx::query(AssertSqlSafe(statements.update_bill.clone()));
    let bound = [Value::Text(statements.amount(smallest)), order.clone()];
    bind_all(query, &bound).execute(connection).await.map(|answer| answer.rows_affected())
}

/// Locks the idempotency rows with these keys, as [`SettleStatements::take_over_sql`] says, and reads them.
pub async fn take_over(
    connection: &mut MySqlConnection,
    sql: &Arc<str>,
    statements: &SettleStatements,
    keys: &[Value],
) -> Result<Vec<StoredRow>, sqlx::Error> {
    let rows = bind_all(sqlx::query(AssertSqlSafe(sql.clone())), keys).fetch_all(connection).await?;
    rows.iter().map(|row| stored_row(row, statements)).collect()
}

/// The idempotency rows with these keys, at most [`KEYS_AT_ONCE`].
pub async fn read_rows(
    connection: &mut MySqlConnection,
    statements: &SettleStatements,
    keys: &[Vec<Value>],
) -> Result<Vec<StoredRow>, sqlx::Error> {
    let (text, values) = statements.by_keys(&statements.read_rows, keys);
    let rows = bind_all(sqlx::query(AssertSqlSafe(text)), &values).fetch_all(connection).await?;
    rows.iter().map(|row| stored_row(row, statements)).collect()
}

/// Deletes the idempotency rows with these keys, at most [`KEYS_AT_ONCE`].
pub async fn delete_rows(
    connection: &mut MySqlConnection,
    statements: &SettleStatements,
    keys: &[Vec<Value>],
) -> Result<u64, sqlx::Error> {
    let (text, values) = statements.by_keys(&statements.delete_rows, keys);
    bind_all(sqlx::query(AssertSqlSafe(text)), &values)
        .execute(connection)
        .await
        .map(|done| done.rows_affected())
}

impl SettleStatements {
    /// A statement over a list of keys. A short list repeats its last one, so that it is prepared only once.
    fn by_keys(&self, head: &str, keys: &[Vec<Value>]) -> (String, Vec<Value>) {
        let text = format!("{head} WHERE {}", vec![self.one_key.as_str(); KEYS_AT_ONCE].join(" OR "));
        let last = keys.last().into_iter().cycle();
        let padded = keys.iter().chain(last).take(KEYS_AT_ONCE);
        (text, padded.flatten().cloned().collect())
    }
}

fn stored_row(row: &sqlx::mysql::MySqlRow, statements: &SettleStatements) -> Result<StoredRow, sqlx::Error> {
    let read = |(index, column): (usize, &Column)| read(row, index + 1, column);
    let key = statements.key_kinds.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    Ok(StoredRow { done: row.try_get::<i64, _>(0)? != 0, key: key_text(&key) })
}

/// Hands out every bill, one after the other, without keeping them.
pub async fn read_bills(
    connection: &mut MySqlConnection,
    statements: &SettleStatements,
    mut take: impl FnMut(StoredBill),
) -> Result<(), sqlx::Error> {
    let mut rows = sqlx::query(AssertSqlSafe(statements.read_bills.clone())).fetch(connection);
    while let Some(row) = poll_fn(|context| rows.as_mut().poll_next(context)).await {
        let row = row?;
        take(StoredBill { order: row.try_get(0)?, amount: row.try_get(1)? });
    }
    Ok(())
}

/// Empties the business table. The caller has made sure that it is ours.
pub async fn empty_bills(
    connection: &mut MySqlConnection,
    statements: &SettleStatements,
) -> Result<(), sqlx::Error> {
    let sql = format!("TRUNCATE TABLE {}", name(&statements.bills));
    connection.execute(AssertSqlSafe(sql)).await.map(|_| ())
}

/// A statement that runs for so long within the session's transaction.
pub async fn run_for(connection: &mut MySqlConnection, time: Duration) -> Result<(), sqlx::Error> {
    sqlx::query("DO SLEEP(?)").bind(time.as_secs_f64()).execute(connection).await.map(|_| ())
}

/// How long a row lock is waited for on this session, in seconds.
pub async fn lock_wait_timeout_s(connection: &mut MySqlConnection) -> Result<u64, sqlx::Error> {
    sqlx::query_scalar("SELECT CAST(@@SESSION.innodb_lock_wait_timeout AS UNSIGNED)")
        .fetch_one(connection)
        .await
}

/// Removes what a killed step has left: rows whose number is `first` or higher. Reads the whole table once.
pub async fn remove_leftovers(
    connection: &mut MySqlConnection,
    table: &str,
    number_column: &str,
    first: u64,
) -> Result<u64, sqlx::Error> {
    // What does not match is not kept locked: REPEATABLE READ would lock the whole table, row by row. And one
    // walk over the rows: a DELETE … LIMIT in a loop would read the first part again and again.
    connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED").await?;
    let sql = format!("DELETE FROM {} WHERE {} >= ?", name(table), name(number_column));
    sqlx::query(AssertSqlSafe(sql)).bind(first).execute(connection).await.map(|done| done.rows_affected())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dataset: &str, expect: [&str; 4]) {
        let dataset = Dataset::read(dataset).unwrap();
        let statements = SettleStatements::new(&dataset).unwrap();
        assert_eq!(
            [
                &*statements.insert_done,
                &*statements.insert_bill,
                &*statements.finish,
                &*statements.update_bill
            ],
            expect
        );
    }

    #[test]
    fn the_article_s_tables_get_the_article_s_statements() {
        check(
            "seed",
            [
                "INSERT INTO `t_idempotent` (`biz_key`, `msg_id`, `status`) VALUES (?, ?, 'DONE')",
                "INSERT INTO `t_settle_bill` (`order_id`, `amount`, `status`) VALUES (?, ?, 'SETTLED')",
                "UPDATE `t_idempotent` SET `status` = 'DONE' WHERE `biz_key` = ? AND `msg_id` = ?",
                "UPDATE `t_settle_bill` FORCE INDEX (`k_order`) SET `amount` = `amount` + ? WHERE `order_id` = ? \
                 ORDER BY `id` DESC LIMIT 1",
            ],
        );
    }

    #[test]
    fn the_recommended_tables_get_all_their_columns() {
        check(
            "t_idem",
            [
                "INSERT INTO `t_idem` (`biz_key`, `msg_id`, `event_day`, `token`, `owner`, `lease_until`, `created_at`, \
                 `status`) VALUES (?, ?, ?, ?, ?, ?, ?, 'DONE')",
                "INSERT INTO `t_settle_bill` (`order_id`, `amount`, `msg_id`, `status`, `settled_at`) \
                 VALUES (?, ?, ?, 'SETTLED', NOW(3))",
                "UPDATE `t_idem` SET `status` = 'DONE' WHERE `biz_key` = ? AND `msg_id` = ? AND `event_day` = ?",
                "UPDATE `t_settle_bill` FORCE INDEX (`PRIMARY`) SET `amount` = `amount` + ? WHERE `order_id` = ? \
                 ORDER BY `msg_id` DESC LIMIT 1",
            ],
        );
    }

    #[test]
    fn amounts_are_written_in_the_smallest_coin() {
        let statements = SettleStatements::new(&Dataset::read("seed").unwrap()).unwrap();
        assert_eq!(statements.amount(1), "0.01");
        assert_eq!(statements.amount(-RIVAL_AMOUNT), "-1000000.00");
    }

    #[test]
    fn a_table_without_bills_beside_it_is_refused() {
        let mut dataset = Dataset::read("seed").unwrap();
        dataset.companions.clear();
        let error = SettleStatements::new(&dataset).unwrap_err();
        assert!(error.to_string().contains("t_settle_bill.sql"), "{error}");
        let error = SettleStatements::new(&Dataset::read("t_idem_hash").unwrap()).unwrap_err();
        assert!(matches!(error, WriteSettleError::NoOrder { .. }), "{error}");
    }
}
