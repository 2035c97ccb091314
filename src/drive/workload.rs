//! What a workload has to be so that it can be driven.

use std::collections::BTreeMap;
use std::future::Future;

use sqlx::MySqlConnection;

use super::gate::Tick;
use crate::recorder::{NO_EXTRA, Outcome};
use crate::results::{Check, Statement};

/// Something that is driven: it makes workers, says what it sends, and knows what must be true afterwards.
pub trait Workload: Sync {
    /// Its part on one connection.
    type Worker: Worker;

    /// `claim`, …
    fn name(&self) -> &'static str;

    /// Its parameters by name, as written in the suite.
    fn parameters(&self) -> BTreeMap<String, serde_json::Value>;

    /// What [`Done::extra_ns`] times, such as `hold`, if it times anything.
    fn extra_series(&self) -> Option<&'static str> {
        None
    }

    /// The part on connection `index`.
    fn worker(&self, index: u32) -> Self::Worker;

    /// Looks at the server before the step: what the statements are and how they run.
    fn prepare(
        &self,
        connection: &mut MySqlConnection,
    ) -> impl Future<Output = Result<Prepared, PrepareError>>;

    /// Looks at the rows after the step: what must be true, and whether it is.
    fn check(
        &self,
        workers: Vec<Self::Worker>,
        connection: &mut MySqlConnection,
    ) -> impl Future<Output = Vec<Check>>;
}

/// A workload's part on one connection. It runs on a thread of its own, so that its futures need not move.
pub trait Worker: Send {
    /// After connecting, also again: prepares what [`Worker::operation`] sends.
    fn connected(
        &mut self,
        connection: &mut MySqlConnection,
    ) -> impl Future<Output = Result<(), sqlx::Error>>;

    /// One operation. Errors that a database is expected to give are errors here too: whoever drives
    /// tells them apart by code.
    fn operation(
        &mut self,
        connection: &mut MySqlConnection,
        tick: Tick,
    ) -> impl Future<Output = Result<Done, sqlx::Error>>;

    /// After an error that left the connection usable: brings it out of any open transaction. Error 1205
    /// rolls back its statement only, so a workload with transactions must roll back here.
    fn recover(&mut self, connection: &mut MySqlConnection) -> impl Future<Output = Result<(), sqlx::Error>>;

    /// The last operation has no answer: it may have had its effect or not.
    fn in_doubt(&mut self) {}
}

/// How an operation ended, when it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done {
    /// The outcome.
    pub outcome: Outcome,
    /// What the workload timed itself, in nanoseconds; [`NO_EXTRA`] if nothing.
    pub extra_ns: u64,
}

impl From<Outcome> for Done {
    fn from(outcome: Outcome) -> Done {
        Done { outcome, extra_ns: NO_EXTRA }
    }
}

/// What a workload found out before the step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prepared {
    /// What is sent, with the server's plans.
    pub statements: Vec<Statement>,
    /// What to keep in mind, each with its advice.
    pub warnings: Vec<String>,
}

/// Why a workload cannot be driven against this server and table.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The server refused something.
    #[error("failed to {act}: {source}")]
    Server {
        /// What was being done.
        act: String,
        /// The server's own words.
        source: sqlx::Error,
    },
    /// What was found does not fit the workload.
    #[error("{0}")]
    Unfit(String),
}
