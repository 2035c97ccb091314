//! The contention workload: the hold workload on a few hot orders, whose bills rivals update.
//!
//! A share of the operations are a rival's (a refund, a supplement): one transaction with an UPDATE of the
//! newest bill of an order, kept open for a while. Which orders are hot follows Zipf, for both alike; the
//! choice is made anew from each message's number, so that no list of orders is kept, however many there are.

mod rival;

use std::collections::BTreeMap;

use sqlx::MySqlConnection;

use self::rival::Rival;
use super::settle::{Book, Consumer, Rivals, Settling, series};
use super::{BuildError, hold};
use crate::drive::{self, Notes, PrepareError, Prepared, Tick};
use crate::keys::Draws;
use crate::recorder::Outcome;
use crate::results::Check;
use crate::spec::dataset::Dataset;
use crate::spec::suite::{ContentionSpec, Load};
use crate::table::settle::{lock_wait_timeout_s, set_isolation};

/// The contention workload on one dataset.
#[derive(Debug)]
pub struct Contention {
    spec: ContentionSpec,
    settling: Settling,
}

impl Contention {
    /// The workload of a step.
    ///
    /// # Errors
    /// Tables that no message can be settled into, or whose bills no rival finds.
    pub fn new(
        dataset: &Dataset,
        spec: &ContentionSpec,
        step: &str,
        load: Load,
    ) -> Result<Contention, BuildError> {
        let settling = Settling::new(dataset, Some((spec.hot_orders, spec.exponent)), step, load)?;
        settling.statements.check_bill_index()?;
        Ok(Contention { spec: spec.clone(), settling })
    }
}

impl drive::Workload for Contention {
    type Worker = ContentionWorker;

    fn name(&self) -> &'static str {
        "contention"
    }

    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        let mut parameters = hold::parameters(&self.spec.consumers);
        let mut set = |name: &str, value: serde_json::Value| parameters.insert(name.to_owned(), value);
        set("hot_orders", self.spec.hot_orders.into());
        set("exponent", self.spec.exponent.into());
        set("rival_share", self.spec.rival_share.into());
        set("rival_time_ms", (self.spec.rival_time.0.as_secs_f64() * 1e3).into());
        parameters
    }

    fn timed_series(&self) -> &'static [&'static str] {
        series::NAMES
    }

    fn worker(&self, index: u32) -> ContentionWorker {
        ContentionWorker {
            consumer: self.settling.consumer(&self.spec.consumers, index),
            rival: Rival::new(&self.settling, self.spec.rival_time, index),
            // Apart from the draws of the consumer with the same index.
            draws: self.settling.draws(u32::MAX - index),
            spec: self.spec.clone(),
        }
    }

    async fn prepare(&self, connection: &mut MySqlConnection) -> Result<Prepared, PrepareError> {
        let timeout_s = lock_wait_timeout_s(connection).await.map_err(|source| PrepareError::Server {
            act: "ask how long row locks are waited for".to_owned(),
            source,
        })?;
        if self.spec.rival_time.0.as_secs() >= timeout_s {
            return Err(PrepareError::Unfit(format!(
                "rival_time = {} is not shorter than the server's innodb_lock_wait_timeout ({timeout_s} s): everybody \
                 who waits for a rival would end with error 1205 — shorten it, or raise the timeout",
                self.spec.rival_time
            )));
        }
        self.settling.prepare(connection, true).await
    }

    async fn check(&self, workers: Vec<ContentionWorker>, connection: &mut MySqlConnection) -> Vec<Check> {
        let mut rivals = Rivals::default();
        let mut books = Vec::new();
        for worker in workers {
            rivals.added += worker.rival.rivals.added;
            rivals.in_doubt += worker.rival.rivals.in_doubt;
            books.push(worker.consumer.book);
        }
        self.settling.check(&Book::merge(books), rivals, connection).await
    }
}

/// A connection's part: now a consumer, now a rival.
#[derive(Debug)]
pub struct ContentionWorker {
    consumer: Consumer,
    rival: Rival,
    draws: Draws,
    spec: ContentionSpec,
}

impl drive::Worker for ContentionWorker {
    async fn connected(&mut self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        set_isolation(connection, self.spec.consumers.isolation).await
    }

    async fn operation(&mut self, connection: &mut MySqlConnection, _: Tick) -> Result<Outcome, sqlx::Error> {
        match self.draws.fraction() < self.spec.rival_share {
            true => {
                let retries = self.spec.consumers.deadlock_retries;
                self.rival.update(connection, retries, &mut self.consumer.notes).await
            }
            false => self.consumer.settle_poll(connection).await,
        }
    }

    async fn recover(&mut self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        crate::table::sweep::rollback(connection).await
    }

    fn in_doubt(&mut self) {
        self.consumer.close();
        self.rival.close();
    }

    fn notes(&mut self) -> Option<&mut Notes> {
        Some(&mut self.consumer.notes)
    }
}
