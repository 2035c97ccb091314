//! The claim workload: consumers, or sweepers, that take PENDING rows of an idempotency table.
//!
//! - `one` a consumer's claim of the row that its message names
//! - `batch` a sweeper's claim of whatever is due
//! - `pool` the rows that can be won, and whether they are enough
//! - `wins` what was won, in bounded memory; `check` that the rows say the same
//!
//! Whether a claim won is read off the row count that the server answers. What that count means is tried on
//! every connection; a claim always changes its row, so that both meanings agree.

mod batch;
mod check;
mod one;
mod pool;
mod prepare;
mod wins;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Instant;

use sqlx::MySqlConnection;

use crate::drive::{self, Notes, PrepareError, Prepared, Tick};
use crate::keys::{KeyOf, PickError, Picker};
use crate::recorder::Outcome;
use crate::results::{Check, StepResult};
use crate::spec::dataset::Dataset;
use crate::spec::suite::{ClaimSpec, ClaimStatement as Kind, Load, Targets};
use crate::table::claim::ClaimStatement;
use crate::table::holders::ReadHolders;
use crate::table::sweep::{BATCH_MAX, SweepStatements};
use crate::workload::BuildError;

use batch::Batch;
use one::One;

/// Connections that owners can be told apart for: 12 bits of the owner's 31.
const CONNECTIONS_MAX: u32 = 4_000;
/// The place of `hold` among the series that are timed.
const HOLD: u8 = 0;
/// Wins that all connections together write down before they leave rows out: 40 MB.
const WINS_MAX: usize = 1_000_000;
/// The same for sweepers, whose rows are written down with their keys.
const SWEPT_MAX: usize = 200_000;

/// The claim workload on one dataset.
#[derive(Debug)]
pub struct Claim {
    spec: ClaimSpec,
    dataset: Dataset,
    statements: Statements,
    /// Reads rows back by the same key.
    holders: ReadHolders,
    key_of: KeyOf,
    picker: Picker,
    seed: u64,
    /// The owners of this step: this in the upper bits, the connection's number in the lower twelve.
    owner_tag: u32,
    connections: u32,
    /// The zero of all wins' instants.
    origin: Instant,
}

/// What is sent.
#[derive(Debug)]
enum Statements {
    One(ClaimStatement),
    Batch(Box<SweepStatements>),
}

/// A connection's part.
#[derive(Debug)]
pub enum ClaimWorker {
    /// Claims named rows.
    One(Box<One>),
    /// Sweeps.
    Batch(Box<Batch>),
}

impl Claim {
    /// The workload of a step. Its name and load only make its choice of rows its own.
    pub fn new(dataset: &Dataset, spec: &ClaimSpec, step: &str, load: Load) -> Result<Claim, BuildError> {
        check_parameters(spec, load)?;
        let statements = match spec.statement {
            Kind::FullKey => Statements::One(ClaimStatement::full_key(dataset, spec.lease)?),
            Kind::NoPartitionKey => {
                Statements::One(ClaimStatement::without_partition_column(dataset, spec.lease)?)
            }
            Kind::SweepSkipLocked { batch } => {
                Statements::Batch(SweepStatements::skip_locked(dataset, spec.lease, batch)?.into())
            }
            Kind::SweepKeyList { batch } => {
                Statements::Batch(SweepStatements::key_list(dataset, spec.lease, batch)?.into())
            }
        };
        let key = match &statements {
            Statements::One(statement) => &statement.key,
            Statements::Batch(statements) => &statements.start,
        };
        let read_by = match &statements {
            Statements::One(statement) => &statement.key,
            Statements::Batch(statements) => &statements.key,
        };
        let key_of = KeyOf::of_columns(dataset, key).map_err(PickError::Make)?;
        let holders = ReadHolders::by(dataset, read_by)?;
        let seed = hash((dataset.seed, step, format!("{load:?}")));
        let picker = Picker::new(dataset, spec.targets, seed)?;
        Ok(Claim {
            spec: spec.clone(),
            dataset: dataset.clone(),
            statements,
            holders,
            key_of,
            picker,
            seed,
            owner_tag: rand::random_range(1..1 << 19) << 12,
            connections: load.connections(),
            origin: Instant::now(),
        })
    }

    /// The text of the statement that takes rows, as it is sent.
    pub fn sql(&self) -> &str {
        match &self.statements {
            Statements::One(statement) => &statement.sql,
            Statements::Batch(statements) => &statements.update,
        }
    }

    /// Adds what is known of the rows that the step's claims could win.
    pub fn note_pool(&self, result: &mut StepResult) {
        pool::note(result, self.picker.pool(), &self.spec);
    }

    fn picker_of(&self, index: u32) -> Result<Picker, PickError> {
        Picker::new(&self.dataset, self.spec.targets, hash((self.seed, index)))
    }
}

fn check_parameters(spec: &ClaimSpec, load: Load) -> Result<(), BuildError> {
    for (parameter, share) in [("losing_share", spec.losing_share), ("duplicate_share", spec.duplicate_share)]
    {
        if !(0.0..=1.0).contains(&share) {
            return Err(wrong(parameter, share, "from 0 to 1"));
        }
    }
    if load.connections() > CONNECTIONS_MAX || load.connections() == 0 {
        return Err(wrong("connections", load.connections(), "from 1 to 4,000"));
    }
    match spec.statement {
        Kind::SweepSkipLocked { batch } | Kind::SweepKeyList { batch } if batch == 0 || batch > BATCH_MAX => {
            Err(wrong("batch", batch, "from 1 to 10,000"))
        }
        _ => Ok(()),
    }
}

fn wrong(parameter: &'static str, value: impl ToString, expected: &'static str) -> BuildError {
    BuildError::Parameter { parameter, value: value.to_string(), expected }
}

fn hash(of: impl std::hash::Hash) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(of)
}

impl drive::Workload for Claim {
    type Worker = ClaimWorker;

    fn name(&self) -> &'static str {
        "claim"
    }

    fn parameters(&self) -> BTreeMap<String, serde_json::Value> {
        let mut parameters = BTreeMap::new();
        let mut set = |name: &str, value: serde_json::Value| parameters.insert(name.to_owned(), value);
        let (statement, batch) = match self.spec.statement {
            Kind::FullKey => ("full_key", None),
            Kind::NoPartitionKey => ("no_partition_key", None),
            Kind::SweepSkipLocked { batch } => ("sweep_skip_locked", Some(batch)),
            Kind::SweepKeyList { batch } => ("sweep_key_list", Some(batch)),
        };
        set("statement", statement.into());
        if let Some(batch) = batch {
            set("batch", batch.into());
        }
        match self.spec.targets {
            Targets::Uniform => set("targets", "uniform".into()),
            Targets::Zipfian { exponent } => {
                set("exponent", exponent.into());
                set("targets", "zipfian".into())
            }
            Targets::NewestDay { share } => {
                set("newest_share", share.into());
                set("targets", "newest_day".into())
            }
        };
        set("losing_share", self.spec.losing_share.into());
        set("duplicate_share", self.spec.duplicate_share.into());
        set("lease_ms", (self.spec.lease.0.as_secs_f64() * 1e3).into());
        parameters
    }

    fn timed_series(&self) -> &'static [&'static str] {
        &["hold"]
    }

    fn worker(&self, index: u32) -> ClaimWorker {
        // Made once already in `new`, with another seed: nothing can be wrong with it.
        let picker = self.picker_of(index).unwrap_or_else(|_| self.picker.clone());
        let owner = self.owner_tag | (index + 1);
        match &self.statements {
            Statements::One(statement) => {
                let wins_max = WINS_MAX / self.connections as usize;
                let key_of = self.key_of.clone();
                let named =
                    One::new(statement.clone(), key_of, picker, owner, &self.spec, wins_max, self.origin);
                ClaimWorker::One(named.into())
            }
            Statements::Batch(statements) => {
                let wins_max = SWEPT_MAX / self.connections as usize;
                let key_of = self.key_of.clone();
                let sweeps = Batch::new((**statements).clone(), key_of, picker, owner, wins_max, self.origin);
                ClaimWorker::Batch(sweeps.into())
            }
        }
    }

    async fn prepare(&self, connection: &mut MySqlConnection) -> Result<Prepared, PrepareError> {
        prepare::prepare(self, connection).await
    }

    async fn check(&self, workers: Vec<ClaimWorker>, connection: &mut MySqlConnection) -> Vec<Check> {
        check::check(self, workers, connection).await
    }
}

impl drive::Worker for ClaimWorker {
    async fn connected(&mut self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        use crate::table::row_counts::{TryRowCountsError, try_row_counts};
        match try_row_counts(connection).await {
            Ok(_) => Ok(()),
            Err(TryRowCountsError::Server(error)) => Err(error),
            Err(error) => Err(sqlx::Error::Protocol(error.to_string())),
        }
    }

    async fn operation(&mut self, connection: &mut MySqlConnection, _: Tick) -> Result<Outcome, sqlx::Error> {
        match self {
            ClaimWorker::One(one) => one.claim(connection).await,
            ClaimWorker::Batch(batch) => batch.sweep(connection).await,
        }
    }

    async fn recover(&mut self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        match self {
            // In autocommit a failed statement leaves nothing open.
            ClaimWorker::One(one) => one.rolled_back(),
            ClaimWorker::Batch(batch) => {
                crate::table::sweep::rollback(connection).await?;
                batch.rolled_back();
            }
        }
        Ok(())
    }

    fn in_doubt(&mut self) {
        match self {
            ClaimWorker::One(one) => one.in_doubt(),
            ClaimWorker::Batch(batch) => batch.in_doubt(),
        }
    }

    fn notes(&mut self) -> Option<&mut Notes> {
        match self {
            ClaimWorker::One(_) => None,
            ClaimWorker::Batch(batch) => Some(&mut batch.notes),
        }
    }
}
