//! The rebalance workload: a batch changes hands while its old owner still holds its locks.
//!
//! - `owner` the old one, brought into the state in which it is stopped
//! - `takeover` the new one, which locks the batch, finds out what became of it and settles the rest
//!
//! An operation is one takeover. The old owner has sessions of its own, opened on the new one's thread; bringing
//! it into its state counts as service, but not as takeover.

mod owner;
mod takeover;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::MySqlConnection;
use sqlx::mysql::MySqlConnectOptions;

use self::owner::Owner;
use self::takeover::Takeover;
use super::BuildError;
use super::settle::{Book, Fate, Rivals, Settling, series};
use crate::drive::{self, Notes, PrepareError, Prepared, Target, Tick};
use crate::keys::{Messages, Value};
use crate::recorder::Outcome;
use crate::results::Check;
use crate::spec::dataset::Dataset;
use crate::spec::suite::{RebalanceSpec, Step};
use crate::table::settle::{lock_wait_timeout_s, set_isolation};

/// The rebalance workload on one dataset.
#[derive(Debug)]
pub struct Rebalance {
    spec: RebalanceSpec,
    settling: Settling,
    options: MySqlConnectOptions,
}

/// Whether the step fits its dataset, as far as that is known without a server.
pub(super) fn check(dataset: &Dataset, step: &Step) -> Result<(), BuildError> {
    Settling::new(dataset, None, &step.name, step.load).map(|_| ())
}

impl Rebalance {
    /// The workload of a step, whose old owners connect to the target too.
    ///
    /// # Errors
    /// Tables that no message can be settled into.
    pub fn new(
        dataset: &Dataset,
        spec: &RebalanceSpec,
        step: &Step,
        target: &Target,
    ) -> Result<Rebalance, BuildError> {
        let settling = Settling::new(dataset, None, &step.name, step.load)?;
        Ok(Rebalance { spec: spec.clone(), settling, options: target.options.clone() })
    }
}

impl drive::Workload for Rebalance {
    type Worker = RebalanceWorker;

    fn name(&self) -> &'static str {
        "rebalance"
    }

    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        let parameters: [(&str, serde_json::Value); 7] = [
            ("design", self.spec.design.name().into()),
            ("batch", self.spec.batch.into()),
            ("isolation", self.spec.isolation.name().into()),
            ("owner_state", self.spec.owner_state.name().into()),
            ("owner_ends", self.spec.owner_ends.name().into()),
            ("owner_time_ms", (self.spec.owner_time.0.as_secs_f64() * 1e3).into()),
            ("locking", self.spec.locking.name().into()),
        ];
        parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn timed_series(&self) -> &'static [&'static str] {
        series::NAMES
    }

    fn worker(&self, _: u32) -> RebalanceWorker {
        let statements = Arc::clone(&self.settling.statements);
        RebalanceWorker {
            owner: Owner::new(self.options.clone(), Arc::clone(&statements), self.spec.clone()),
            takeover: Takeover::new(statements, &self.spec),
            issued: Arc::clone(&self.settling.issued),
            messages: self.settling.messages.clone(),
            spec: self.spec.clone(),
            under_way: Vec::new(),
            notes: Notes::default(),
            book: Book::default(),
        }
    }

    async fn prepare(&self, connection: &mut MySqlConnection) -> Result<Prepared, PrepareError> {
        let timeout_s = lock_wait_timeout_s(connection).await.map_err(|source| PrepareError::Server {
            act: "ask how long row locks are waited for".to_owned(),
            source,
        })?;
        if self.spec.owner_time.0.as_secs() >= timeout_s {
            return Err(PrepareError::Unfit(format!(
                "owner_time = {} is not shorter than the server's innodb_lock_wait_timeout ({timeout_s} s): every \
                 takeover would end with error 1205 — shorten it, or raise the timeout",
                self.spec.owner_time
            )));
        }
        self.settling.prepare(connection, false).await
    }

    async fn check(&self, workers: Vec<RebalanceWorker>, connection: &mut MySqlConnection) -> Vec<Check> {
        // With the workers the old owners' sessions go, and what they lock.
        let book = Book::merge(workers.into_iter().map(|worker| worker.book));
        self.settling.check(&book, Rivals::default(), connection).await
    }
}

/// A message of the batch that changes hands.
#[derive(Debug, Clone)]
struct Message {
    number: u64,
    /// Its idempotency row.
    values: Vec<Value>,
}

/// A connection's part: a new owner with its old one.
#[derive(Debug)]
pub struct RebalanceWorker {
    owner: Owner,
    takeover: Takeover,
    issued: Arc<AtomicU64>,
    messages: Messages,
    spec: RebalanceSpec,
    /// The batch, and behind it the message that only keeps the old owner waiting.
    under_way: Vec<Message>,
    notes: Notes,
    book: Book,
}

impl RebalanceWorker {
    fn issue(&mut self) {
        // One more, for the old owner to wait for.
        let count = u64::from(self.spec.batch) + 1;
        let start = self.issued.fetch_add(count, Ordering::Relaxed);
        self.under_way.clear();
        for number in start..start + count {
            let mut values = Vec::new();
            self.messages.fill(number, &mut values);
            self.under_way.push(Message { number, values });
        }
    }

    /// Writes down what became of the batch; without a good end it may be anything.
    fn close(&mut self, settled: bool) {
        let last = self.under_way.len().saturating_sub(1);
        for (place, message) in self.under_way.drain(..).enumerate() {
            match (place == last, settled) {
                (true, _) => self.book.ended(message.number, Fate::Missing),
                (false, true) => self.book.settled(),
                (false, false) => self.book.ended(message.number, Fate::Doubtful),
            }
        }
    }

    async fn change_hands(&mut self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        let (waited_for, batch) = self.under_way.split_last().ok_or(sqlx::Error::WorkerCrashed)?;
        let stopped = self.owner.stop(batch, waited_for).await?;
        let (ended, taken) =
            tokio::join!(stopped.end(), self.takeover.take(connection, batch, &mut self.notes));
        // The takeover's failure says more than that of an owner that was stopped anyway.
        taken?;
        self.owner.put_back(ended?);
        Ok(())
    }
}

impl drive::Worker for RebalanceWorker {
    async fn connected(&mut self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        set_isolation(connection, self.spec.isolation).await
    }

    async fn operation(&mut self, connection: &mut MySqlConnection, _: Tick) -> Result<Outcome, sqlx::Error> {
        self.issue();
        let result = self.change_hands(connection).await;
        self.close(result.is_ok());
        result.map(|()| Outcome::Ok)
    }

    /// The old owner has its sessions beside the new one's.
    fn shares_its_thread(&self) -> bool {
        true
    }

    async fn recover(&mut self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        crate::table::sweep::rollback(connection).await
    }

    fn in_doubt(&mut self) {
        self.close(false);
    }

    fn notes(&mut self) -> Option<&mut Notes> {
        Some(&mut self.notes)
    }
}
