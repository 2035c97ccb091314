//! Before the step: how the server runs what will be sent.

use sqlx::MySqlConnection;

use super::{Claim, Statements};
use crate::drive::{PrepareError, Prepared};
use crate::keys::Value;
use crate::results::Statement;
use crate::table::claim::ClaimStatement;
use crate::table::explain::{Pins, explain};
use crate::table::row_counts::try_row_counts;
use crate::table::sweep::{self, SweepStatements};

/// Locked rows per row taken from which on a sweep is worth a warning.
const LOCKS_PER_ROW_MAX: u64 = 2;

pub(super) async fn prepare(
    claim: &Claim,
    connection: &mut MySqlConnection,
) -> Result<Prepared, PrepareError> {
    try_row_counts(connection).await.map_err(|error| PrepareError::Unfit(error.to_string()))?;
    let row = claim.picker.clone().next_pending();
    let values = claim.key_of.clone().values(row);
    let failed = |source| PrepareError::Server {
        act: format!("explain the claim on {}", claim.dataset.table.name),
        source,
    };
    match &claim.statements {
        Statements::One(statement) => {
            let statement = explain_one(claim, connection, statement, values).await.map_err(failed)?;
            Ok(Prepared { statements: vec![statement], warnings: Vec::new() })
        }
        Statements::Batch(statements) => {
            explain_batch(claim, connection, statements, values).await.map_err(failed)
        }
    }
}

async fn explain_one(
    claim: &Claim,
    connection: &mut MySqlConnection,
    statement: &ClaimStatement,
    key: Vec<Value>,
) -> Result<Statement, sqlx::Error> {
    let table = &claim.dataset.table;
    let pins = pins(claim, &statement.key);
    let values = with_owner(claim, key);
    explain(connection, "claim", &statement.sql, &values, table, pins).await
}

/// Explains both statements of a sweep, with rows that one sweep really finds, in a transaction that is
/// rolled back; and counts what such a sweep locks.
async fn explain_batch(
    claim: &Claim,
    connection: &mut MySqlConnection,
    statements: &SweepStatements,
    start: Vec<Value>,
) -> Result<Prepared, sqlx::Error> {
    let table = &claim.dataset.table;
    let pins_select = pins(claim, &statements.start);
    let mut prepared = Prepared::default();
    let select = explain(connection, "sweep, find", &statements.select, &start, table, pins_select).await?;
    prepared.statements.push(select);
    sweep::begin(connection).await?;
    let found = sweep::select(connection, statements, &start).await?;
    let locked = sweep::rows_locked(connection).await?;
    sweep::rollback(connection).await?;
    if !found.is_empty() {
        let values = with_owner(claim, statements.list(&found));
        // The list's rows lie in the partition that the selection was bound to.
        let pins_update = pins(claim, &statements.key);
        let mut update =
            explain(connection, "sweep, take", &statements.update, &values, table, pins_update).await?;
        update.sql = statements.update_in_short.clone();
        prepared.statements.push(update);
    }
    prepared.warnings.extend(locks_warning(found.len() as u64, locked, statements.compares_tokens));
    Ok(prepared)
}

/// A sweep that locks far more rows than it takes keeps others from them until it commits.
fn locks_warning(taken: u64, locked: Option<u64>, compares_tokens: bool) -> Option<String> {
    let locked = locked.filter(|locked| !compares_tokens && *locked > taken.max(1) * LOCKS_PER_ROW_MAX)?;
    Some(format!(
        "a sweep of {taken} rows locked {locked} until it committed: what it reads and does not take stays locked \
         under REPEATABLE READ — give the status an index, use READ COMMITTED, or find keys without locks and \
         compare and set (sweep_key_list)"
    ))
}

fn with_owner(claim: &Claim, values: Vec<Value>) -> Vec<Value> {
    [Value::UInt(u64::from(claim.owner_tag))].into_iter().chain(values).collect()
}

fn pins(claim: &Claim, bound: &[usize]) -> Pins {
    match &claim.dataset.table.partitioning {
        Some(partitioning) if !bound.contains(&partitioning.column) => Pins::Nothing,
        _ => Pins::OnePartition,
    }
}
