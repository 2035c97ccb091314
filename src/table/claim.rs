//! The claim: the compare-and-set UPDATE that takes a PENDING row.
//!
//! ```sql
//! UPDATE `t_idem` SET `token` = LAST_INSERT_ID(`token` + 1), `owner` = ?,
//!   `lease_until` = NOW(3) + INTERVAL 1000000 MICROSECOND
//! WHERE `biz_key` = ? AND `msg_id` = ? AND `event_day` = ?
//!   AND `status` = 'PENDING' AND `lease_until` < NOW(3)
//! ```
//!
//! A claim always changes its row (the token rises), so that "rows matched" and "rows changed" agree.
//! `LAST_INSERT_ID(token + 1)` is `token + 1`, and brings the new token back with the answer at no further
//! cost: a claimer that does not know its fencing number cannot fence with it, and whoever checks the rows
//! afterwards knows which win raised the token to what.

use std::sync::Arc;

use sqlx::{AssertSqlSafe, MySqlConnection};

use super::write::{bind_all, literal, name};
use crate::keys::Value;
use crate::spec::dataset::{ClaimColumns, Dataset, Recipe};
use crate::spec::table::{ColumnKind, Table};
use crate::units::Span;

/// Why no claim can be written for a dataset.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum WriteClaimError {
    /// It names no columns.
    #[error(
        "dataset {dataset} has no claim columns — name status, token, owner and lease_until under [claim] in its dataset.toml"
    )]
    NoColumns {
        /// Which dataset.
        dataset: String,
    },
    /// Its table has no key to claim by.
    #[error("table {table} has neither a primary nor a unique key — a claim must name one row: give it one")]
    NoKey {
        /// Which table.
        table: String,
    },
    /// Its lease is no time.
    #[error("column {column} of {table} is no DATETIME or TIMESTAMP — a lease is compared with NOW()")]
    LeaseIsNoTime {
        /// Which table.
        table: String,
        /// Which column.
        column: String,
    },
    /// The partition column is all that the key has.
    #[error("the key of {table} is its partition column alone — there is no claim without it")]
    NothingWithoutPartition {
        /// Which table.
        table: String,
    },
}

/// A claim by key: its text, and what is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimStatement {
    /// The text; the owner is bound first, then the key.
    pub sql: Arc<str>,
    /// The key's columns in the order in which they are bound, as indexes into [`Table::columns`].
    pub key: Vec<usize>,
}

/// What the server answered to a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimAnswer {
    /// Rows that it took: 1 if it won, 0 if it lost; more would mean that the key is not unique.
    pub rows: u64,
    /// The row's new token, if it won.
    pub token: u64,
}

impl ClaimStatement {
    /// By every column of the dedupe key, the partition column included.
    pub fn full_key(dataset: &Dataset, lease: Span) -> Result<ClaimStatement, WriteClaimError> {
        ClaimStatement::by(dataset, lease, dedupe_key(dataset)?)
    }

    /// By the dedupe key without the partition column: the server probes every partition. The same as
    /// [`ClaimStatement::full_key`] where the table is not partitioned.
    pub fn without_partition_column(
        dataset: &Dataset,
        lease: Span,
    ) -> Result<ClaimStatement, WriteClaimError> {
        let mut key = dedupe_key(dataset)?;
        if let Some(partitioning) = &dataset.table.partitioning {
            key.retain(|column| *column != partitioning.column);
        }
        if key.is_empty() {
            return Err(WriteClaimError::NothingWithoutPartition { table: dataset.table.name.clone() });
        }
        ClaimStatement::by(dataset, lease, key)
    }

    fn by(dataset: &Dataset, lease: Span, key: Vec<usize>) -> Result<ClaimStatement, WriteClaimError> {
        let table = &dataset.table;
        let parts = Parts::new(dataset, lease)?;
        let key_condition = equals(table, &key);
        let sql = format!(
            "UPDATE {} SET {} = LAST_INSERT_ID({} + 1), {} WHERE {key_condition} AND {}",
            name(&table.name),
            parts.token,
            parts.token,
            parts.take_over,
            parts.claimable,
        );
        Ok(ClaimStatement { sql: sql.into(), key })
    }
}

/// Sends a claim on a row.
pub async fn claim(
    connection: &mut MySqlConnection,
    statement: &ClaimStatement,
    owner: u32,
    key: &[Value],
) -> Result<ClaimAnswer, sqlx::Error> {
    let query = sqlx::query(AssertSqlSafe(statement.sql.clone())).bind(owner);
    let answer = bind_all(query, key).execute(connection).await?;
    Ok(ClaimAnswer { rows: answer.rows_affected(), token: answer.last_insert_id() })
}

/// The key that a message carries: the primary key, or the first unique index where the primary key starts
/// with a number that was made up for the row and that no message knows.
pub fn dedupe_key(dataset: &Dataset) -> Result<Vec<usize>, WriteClaimError> {
    let table = &dataset.table;
    let primary: Vec<usize> = table.primary_key.iter().map(|part| part.column).collect();
    let made_up =
        |column: &usize| matches!(dataset.recipes.get(*column), Some(Some(Recipe::Sequence { .. })));
    let unique = || {
        let others = table.indexes.iter().filter(|index| index.unique);
        let mut keys = others.map(|index| index.parts.iter().map(|part| part.column).collect::<Vec<_>>());
        keys.find(|key| primary.first().is_none_or(|first| !key.contains(first)))
    };
    let key = match primary.first() {
        Some(first) if !made_up(first) => Some(primary.clone()),
        Some(_) => unique().or_else(|| Some(primary.clone())),
        None => unique(),
    };
    key.ok_or_else(|| WriteClaimError::NoKey { table: table.name.clone() })
}

/// What all claims of a dataset have in common.
pub(super) struct Parts {
    /// The token column.
    pub token: String,
    /// `owner = ?, lease_until = …`.
    pub take_over: String,
    /// `status = 'PENDING' AND lease_until < NOW(3)`.
    pub claimable: String,
}

impl Parts {
    pub fn new(dataset: &Dataset, lease: Span) -> Result<Parts, WriteClaimError> {
        let columns = claim_columns(dataset)?;
        let column = |index: usize| name(&dataset.table.columns[index].name);
        let now = now(&dataset.table, columns)?;
        let lease_until = column(columns.lease_until);
        let lease_us = lease.0.as_micros();
        Ok(Parts {
            token: column(columns.token),
            take_over: format!(
                "{} = ?, {lease_until} = {now} + INTERVAL {lease_us} MICROSECOND",
                column(columns.owner)
            ),
            claimable: format!(
                "{} = {} AND {lease_until} < {now}",
                column(columns.status),
                literal(&columns.pending)
            ),
        })
    }
}

pub(super) fn claim_columns(dataset: &Dataset) -> Result<&ClaimColumns, WriteClaimError> {
    dataset.claim.as_ref().ok_or_else(|| WriteClaimError::NoColumns { dataset: dataset.name.clone() })
}

/// `a = ? AND b = ?`.
pub(super) fn equals(table: &Table, columns: &[usize]) -> String {
    let one = |column: &usize| format!("{} = ?", name(&table.columns[*column].name));
    columns.iter().map(one).collect::<Vec<_>>().join(" AND ")
}

/// The current time with as many digits as the lease has: more would be rounded when stored, and a lease
/// could seem to end before it began.
fn now(table: &Table, columns: &ClaimColumns) -> Result<String, WriteClaimError> {
    let column = &table.columns[columns.lease_until];
    match column.kind {
        ColumnKind::DateTime { fraction: 0 } | ColumnKind::Timestamp { fraction: 0 } => {
            Ok("NOW()".to_owned())
        }
        ColumnKind::DateTime { fraction } | ColumnKind::Timestamp { fraction } => {
            Ok(format!("NOW({fraction})"))
        }
        _ => Err(WriteClaimError::LeaseIsNoTime { table: table.name.clone(), column: column.name.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dataset: &str, full: &str, without: &str) {
        let dataset = Dataset::read(dataset).expect(dataset);
        let lease = Span::seconds(1);
        let tail = |text: &str| text.split_once(" WHERE ").map(|(_, tail)| tail.to_owned());
        let full_key = ClaimStatement::full_key(&dataset, lease).expect("claims");
        assert_eq!(tail(&full_key.sql).as_deref(), Some(full));
        let without_column = ClaimStatement::without_partition_column(&dataset, lease).expect("claims");
        assert_eq!(tail(&without_column.sql).as_deref(), Some(without));
        assert_eq!(full_key.key.len() - 1, without_column.key.len());
    }

    #[test]
    fn a_claim_names_the_row_by_what_a_message_carries() {
        let pending = "`status` = 'PENDING' AND `lease_until` < NOW(3)";
        let ours = "`biz_key` = ? AND `msg_id` = ?";
        for dataset in ["t_idem", "t_idem_surrogate", "t_idem_status_index"] {
            check(
                dataset,
                &format!("{ours} AND `event_day` = ? AND {pending}"),
                &format!("{ours} AND {pending}"),
            );
        }
        check(
            "t_idem_hash",
            &format!("`dedupe_key` = ? AND `event_day` = ? AND {pending}"),
            &format!("`dedupe_key` = ? AND {pending}"),
        );
    }

    #[test]
    fn a_claim_raises_the_token_and_takes_the_lease() {
        let dataset = Dataset::read("t_idem").expect("built in");
        let statement = ClaimStatement::full_key(&dataset, Span::seconds(2)).expect("claims");
        assert_eq!(
            statement.sql.split_once(" WHERE ").map(|(head, _)| head),
            Some(
                "UPDATE `t_idem` SET `token` = LAST_INSERT_ID(`token` + 1), `owner` = ?, \
                 `lease_until` = NOW(3) + INTERVAL 2000000 MICROSECOND"
            )
        );
    }

    #[test]
    fn a_table_without_claim_columns_is_refused_with_the_way_out() {
        let dataset = Dataset::read("seed").expect("built in");
        let error = ClaimStatement::full_key(&dataset, Span::seconds(1)).expect_err("no token");
        assert!(error.to_string().contains("[claim]"), "{error}");
    }
}
