//! The hold workload: messages settled in one transaction or in two, and how long their locks are held.
//!
//! An operation is a poll: [`HoldSpec::batch`] messages, each about any order. Nobody stands in anybody's way
//! but by redeliveries: what is measured is what the designs cost by themselves.

use std::collections::BTreeMap;

use sqlx::MySqlConnection;

use super::settle::{Book, Consumer, Settling, series};
use super::{BuildError, settle};
use crate::drive::{self, Notes, PrepareError, Prepared, Tick};
use crate::recorder::Outcome;
use crate::results::Check;
use crate::spec::dataset::Dataset;
use crate::spec::suite::{HoldSpec, Load};

/// The hold workload on one dataset.
#[derive(Debug)]
pub struct Hold {
    spec: HoldSpec,
    settling: Settling,
}

impl Hold {
    /// The workload of a step.
    ///
    /// # Errors
    /// Tables that no message can be settled into.
    pub fn new(dataset: &Dataset, spec: &HoldSpec, step: &str, load: Load) -> Result<Hold, BuildError> {
        Ok(Hold { spec: spec.clone(), settling: Settling::new(dataset, None, step, load)? })
    }
}

/// A spec's parameters as they stand in a result.
pub(super) fn parameters(spec: &HoldSpec) -> BTreeMap<String, serde_json::Value> {
    let ms = |span: crate::units::Span| span.0.as_secs_f64() * 1e3;
    let parameters: [(&str, serde_json::Value); 8] = [
        ("design", spec.design.name().into()),
        ("batch", spec.batch.into()),
        ("rows_per_transaction", spec.rows_per_transaction.into()),
        ("handler_time_ms", ms(spec.handler_time).into()),
        ("isolation", spec.isolation.name().into()),
        ("key_order", spec.key_order.name().into()),
        ("duplicate_share", spec.duplicate_share.into()),
        ("deadlock_retries", spec.deadlock_retries.into()),
    ];
    parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl drive::Workload for Hold {
    type Worker = HoldWorker;

    fn name(&self) -> &'static str {
        "hold"
    }

    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        parameters(&self.spec)
    }

    fn timed_series(&self) -> &'static [&'static str] {
        series::NAMES
    }

    fn worker(&self, index: u32) -> HoldWorker {
        HoldWorker { consumer: self.settling.consumer(&self.spec, index), spec: self.spec.clone() }
    }

    async fn prepare(&self, connection: &mut MySqlConnection) -> Result<Prepared, PrepareError> {
        self.settling.prepare(connection, false).await
    }

    async fn check(&self, workers: Vec<HoldWorker>, connection: &mut MySqlConnection) -> Vec<Check> {
        let book = Book::merge(workers.into_iter().map(|worker| worker.consumer.book));
        self.settling.check(&book, settle::Rivals::default(), connection).await
    }
}

/// A connection's part.
#[derive(Debug)]
pub struct HoldWorker {
    consumer: Consumer,
    spec: HoldSpec,
}

impl drive::Worker for HoldWorker {
    async fn connected(&mut self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        crate::table::settle::set_isolation(connection, self.spec.isolation).await
    }

    async fn operation(&mut self, connection: &mut MySqlConnection, _: Tick) -> Result<Outcome, sqlx::Error> {
        self.consumer.settle_poll(connection).await
    }

    async fn recover(&mut self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        crate::table::sweep::rollback(connection).await
    }

    fn in_doubt(&mut self) {
        self.consumer.close();
    }

    fn notes(&mut self) -> Option<&mut Notes> {
        Some(&mut self.consumer.notes)
    }
}
