//! A plan's steps, one by one.

use std::time::Duration;

use sqlx::MySqlConnection;

use super::patience::{self, Done, Patience, PatienceError, Waited};
use super::plan::{Plan, Step};

/// What happens while steps are done, for whoever keeps the log.
#[derive(Debug)]
pub enum Event<'e> {
    /// A step is about to be done.
    Begun(&'e Step),
    /// An attempt came to nothing.
    Waited(&'e Step, &'e Waited),
    /// A step is done.
    Done(&'e Step, Done),
}

/// Why a plan was not done to its end.
#[derive(Debug, thiserror::Error)]
#[error("{what} of {table}: {source}; {done} of {all} steps are done, the same command goes on from there")]
pub struct ApplyError {
    /// The step.
    pub what: String,
    /// The table.
    pub table: String,
    /// Steps before it.
    pub done: usize,
    /// Steps in all.
    pub all: usize,
    /// Why.
    pub source: PatienceError,
}

/// Does the steps in order, with a rest between two. Each is a statement that happens as a whole or not at all.
pub async fn apply(
    connection: &mut MySqlConnection,
    plan: &Plan,
    patience: Patience,
    rest_between: Duration,
    is_stopped: &(dyn Fn() -> bool + Sync),
    tell: &mut (dyn FnMut(Event<'_>) + Send),
) -> Result<(), ApplyError> {
    for (done, step) in plan.steps.iter().enumerate() {
        let failed = |source| ApplyError {
            what: step.what.clone(),
            table: plan.table.clone(),
            done,
            all: plan.steps.len(),
            source,
        };
        if done > 0 {
            patience::rest(rest_between, is_stopped).await;
        }
        tell(Event::Begun(step));
        let mut waited = |waited: &Waited| tell(Event::Waited(step, waited));
        let sent =
            patience::send(connection, &plan.table, &step.sql, patience, is_stopped, &mut waited).await;
        tell(Event::Done(step, sent.map_err(failed)?));
    }
    Ok(())
}
