//! What the workloads that settle messages share.
//!
//! - `consumer` settles a poll's messages, in one transaction or in two
//! - `book` what became of the messages that were not simply settled
//! - `check` that the tables say the same; and takes the step's rows away again
//!
//! A step's rows lie behind the loaded ones (see [`Messages`]), so that they can be told apart, and the table is
//! afterwards what its ledger says.

mod book;
mod check;
mod consumer;

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sqlx::MySqlConnection;

pub use book::{Book, Fate};
pub(super) use check::Rivals;
pub use consumer::Consumer;
pub(super) use consumer::code;

use crate::drive::{PrepareError, Prepared};
use crate::keys::{Draws, Messages};
use crate::server::registry;
use crate::spec::dataset::Dataset;
use crate::spec::suite::{HoldSpec, Load};
use crate::table::explain::{Pins, explain};
use crate::table::ledger;
use crate::table::settle::{self, SettleStatements};
use crate::workload::BuildError;

/// The places of what consumers time, in [`series::NAMES`].
pub(super) mod series {
    /// What all workloads that settle messages time, then each one's own.
    pub const NAMES: &[&str] = &[
        "hold",
        "commit",
        "hold_tx1",
        "commit_tx1",
        "hold_tx2",
        "commit_tx2",
        "window",
        "hold_rolled_back",
        "hold_rival",
        "update_rival",
        "takeover_lock",
        "takeover",
    ];
    pub const HOLD: u8 = 0;
    pub const COMMIT: u8 = 1;
    pub const HOLD_TX1: u8 = 2;
    pub const COMMIT_TX1: u8 = 3;
    pub const HOLD_TX2: u8 = 4;
    pub const COMMIT_TX2: u8 = 5;
    pub const WINDOW: u8 = 6;
    pub const HOLD_ROLLED_BACK: u8 = 7;
    pub const HOLD_RIVAL: u8 = 8;
    pub const UPDATE_RIVAL: u8 = 9;
    pub const TAKEOVER_LOCK: u8 = 10;
    pub const TAKEOVER: u8 = 11;
}

/// One step's messages, and the tables that they go to.
#[derive(Debug)]
pub struct Settling {
    pub(super) dataset: Dataset,
    pub(super) statements: Arc<SettleStatements>,
    pub(super) messages: Messages,
    pub(super) issued: Arc<AtomicU64>,
    pub(super) connections: u32,
    seed: u64,
}

impl Settling {
    /// For a step: its name and load only make its messages its own.
    pub(super) fn new(
        dataset: &Dataset,
        hot: Option<(u64, f64)>,
        step: &str,
        load: Load,
    ) -> Result<Settling, BuildError> {
        let statements = SettleStatements::new(dataset)?;
        let seed = hash((dataset.seed, step, format!("{load:?}")));
        let messages = Messages::new(dataset, &statements.columns, &statements.key_columns, hot, seed)?;
        Ok(Settling {
            dataset: dataset.clone(),
            statements: Arc::new(statements),
            messages,
            issued: Arc::new(AtomicU64::new(0)),
            connections: load.connections(),
            seed,
        })
    }

    pub(super) fn consumer(&self, spec: &HoldSpec, index: u32) -> Consumer {
        Consumer::new(
            Arc::clone(&self.statements),
            self.messages.clone(),
            spec.clone(),
            self.draws(index),
            Arc::clone(&self.issued),
            self.connections,
        )
    }

    pub(super) fn draws(&self, index: u32) -> Draws {
        Draws::new(hash((self.seed, index)))
    }

    /// Makes sure that both tables are ours, that no earlier step's rows are in them, and notes that this step
    /// adds some; then asks how the statements that look for rows are run.
    pub(super) async fn prepare(
        &self,
        connection: &mut MySqlConnection,
        rivals: bool,
    ) -> Result<Prepared, PrepareError> {
        for table in [&self.statements.table, &self.statements.bills] {
            self.refuse_strangers(connection, table).await?;
        }
        let (number, first) = self.messages.number_column();
        let number = &self.dataset.table.columns[number].name;
        let table = &self.statements.table;
        ledger::note_step_rows(connection, table, number, first)
            .await
            .map_err(server(format!("note the step's rows of {table}")))?;
        settle::empty_bills(connection, &self.statements)
            .await
            .map_err(server(format!("empty {}", self.statements.bills)))?;
        let explained = self.explained(connection, rivals).await;
        explained.map_err(server(format!("explain the statements on {table}")))
    }

    async fn refuse_strangers(
        &self,
        connection: &mut MySqlConnection,
        table: &str,
    ) -> Result<(), PrepareError> {
        match registry::contains(connection, table).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(PrepareError::Unfit(format!(
                "settle messages into {table}: idembench did not make it, and a step empties what it fills — rename it, \
                 and load {} anew",
                self.dataset.name
            ))),
            Err(error) => Err(PrepareError::Unfit(error.to_string())),
        }
    }

    async fn explained(
        &self,
        connection: &mut MySqlConnection,
        rivals: bool,
    ) -> Result<Prepared, sqlx::Error> {
        let statements = &self.statements;
        let table = &self.dataset.table;
        let mut values = Vec::new();
        self.messages.clone().fill(0, &mut values);
        let key: Vec<_> = statements.key_of(&values).cloned().collect();
        let mut prepared = Prepared::default();
        prepared
            .statements
            .push(explain(connection, "finish", &statements.finish, &key, table, Pins::OnePartition).await?);
        let bills = self.dataset.companions.iter().find(|companion| companion.name == statements.bills);
        if let Some(bills) = bills.filter(|_| rivals) {
            let bound = [crate::keys::Value::Text(statements.amount(1)), values[statements.order].clone()];
            let sql = &statements.update_bill;
            let rival = explain(connection, "rival", sql, &bound, bills, Pins::OnePartition).await?;
            prepared.statements.push(rival);
        }
        Ok(prepared)
    }
}

fn server(act: String) -> impl FnOnce(sqlx::Error) -> PrepareError {
    move |source| PrepareError::Server { act, source }
}

pub(super) fn hash(of: impl std::hash::Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(of)
}
