//! What a workload has to be so that it can be driven.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use sqlx::MySqlConnection;

use super::gate::Tick;
use crate::recorder::Outcome;
use crate::results::{Check, Statement};

/// Something that is driven: it makes workers, says what it sends, and knows what must be true afterwards.
pub trait Workload: Sync {
    /// Its part on one connection.
    type Worker: Worker;

    /// `claim`, …
    fn name(&self) -> &'static str;

    /// Its parameters by name, as written in the suite.
    fn parameters(&self) -> BTreeMap<String, serde_json::Value>;

    /// What its workers time within operations, such as `hold` and `commit`: a series' number in
    /// [`Notes::time`] is its place here.
    fn timed_series(&self) -> &'static [&'static str] {
        &[]
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
    ) -> impl Future<Output = Result<Outcome, sqlx::Error>>;

    /// After an error that left the connection usable: brings it out of any open transaction. Error 1205
    /// rolls back its statement only, so a workload with transactions must roll back here.
    fn recover(&mut self, connection: &mut MySqlConnection) -> impl Future<Output = Result<(), sqlx::Error>>;

    /// The last operation has no answer: it may have had its effect or not.
    fn in_doubt(&mut self) {}

    /// Whether operations do further things while they wait for an answer: reads of the connection must then
    /// not block the thread.
    fn shares_its_thread(&self) -> bool {
        false
    }

    /// What happened within the last operation, if the workload notes such things: asked after each.
    fn notes(&mut self) -> Option<&mut Notes> {
        None
    }
}

/// What happened within an operation, beside its outcome.
#[derive(Debug, Default)]
pub struct Notes {
    timed: Vec<(u8, u64)>,
    met: Vec<sqlx::Error>,
}

impl Notes {
    /// Notes how long something took; `series` is its place in [`Workload::timed_series`].
    pub fn time(&mut self, series: u8, took: Duration) {
        // 584 years fit.
        self.timed.push((series, took.as_nanos() as u64));
    }

    /// Notes an error that was dealt with, so that the operation went on: it is counted by its code.
    pub fn met(&mut self, error: sqlx::Error) {
        self.met.push(error);
    }

    /// Hands out what was noted and forgets it; the memory stays.
    pub(super) fn take(&mut self, mut told: impl FnMut(Note)) {
        self.timed.drain(..).for_each(|(series, ns)| told(Note::Timed { series, ns }));
        self.met.drain(..).for_each(|error| told(Note::Met(error)));
    }
}

/// One thing that was noted.
pub(super) enum Note {
    Timed { series: u8, ns: u64 },
    Met(sqlx::Error),
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
