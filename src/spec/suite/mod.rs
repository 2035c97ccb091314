//! A suite: a named list of steps (workload × parameters), from TOML.
//!
//! - `read` a built-in suite or a file; `wire` the file's own shape; `settle` the workloads that settle messages
//! - `overrides` what the command line says instead

mod overrides;
mod read;
mod settle;
#[cfg(test)]
mod tests;
mod wire;

pub use overrides::{OverrideError, Overrides, RateOverride};
pub use read::{BuiltIn, SuiteError, built_in};
pub use settle::{
    BATCH_MAX, ContentionSpec, Design, HoldSpec, Isolation, KeyOrder, Locking, OwnerEnds, OwnerState,
    RebalanceSpec, TAKEOVER_MAX,
};

use crate::units::{PerSecond, Rows, Span};

/// A named list of steps on one dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Suite {
    /// The file's stem.
    pub name: String,
    /// One sentence.
    pub description: String,
    /// The dataset's name or path.
    pub dataset: String,
    /// Rows to load, when the suite says so.
    pub rows: Option<Rows>,
    /// Days to load, when the suite says so.
    pub days: Option<u32>,
    /// The steps, sweeps already multiplied out, in order.
    pub steps: Vec<Step>,
}

/// A workload with its parameters, driven at one rate or in closed loop.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// `claim, full key`; unique together with the load.
    pub name: String,
    /// What is driven.
    pub workload: Workload,
    /// At which rate, over how many connections.
    pub load: Load,
    /// How long the measured part lasts.
    pub duration: Span,
    /// How long warming up may take.
    pub warm_up: WarmUp,
}

/// How operations are released.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Intended instants from a schedule, never skipped.
    Open {
        /// Operations per second.
        rate: PerSecond,
        /// Connections that serve the schedule, at least 1.
        connections: u32,
    },
    /// Each connection sends its next operation when the last one has answered. Only by request.
    Closed {
        /// Connections, at least 1.
        connections: u32,
    },
}

impl Load {
    /// Connections, in either loop.
    pub fn connections(self) -> u32 {
        match self {
            Load::Open { connections, .. } | Load::Closed { connections } => connections,
        }
    }
}

impl std::fmt::Display for Load {
    /// `2,000/s` or `closed loop, 16 connections`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Load::Open { rate, .. } => rate.fmt(f),
            Load::Closed { connections: 1 } => f.write_str("closed loop, 1 connection"),
            Load::Closed { connections } => write!(f, "closed loop, {connections} connections"),
        }
    }
}

/// Warm-up ends when the step is steady, but not before `at_least` and not after `at_most`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// The shortest warm-up.
    pub at_least: Span,
    /// The longest; when it is reached, the run says that it was not steady.
    pub at_most: Span,
}

/// What is driven. Later workloads (retention) become variants here.
#[derive(Debug, Clone, PartialEq)]
pub enum Workload {
    /// The compare-and-set UPDATE.
    Claim(ClaimSpec),
    /// A message's two rows in one transaction or in two, and how long their locks are held.
    Hold(HoldSpec),
    /// The same on hot orders, whose bills rivals update.
    Contention(ContentionSpec),
    /// A batch that changes hands while its old owner still holds its locks.
    Rebalance(RebalanceSpec),
}

impl Workload {
    /// Sessions that each of a step's connections brings with it, itself included.
    pub fn sessions(&self) -> u32 {
        match self {
            Workload::Claim(_) | Workload::Hold(_) | Workload::Contention(_) => 1,
            // The new owner, the old one, and whom the old one waits for.
            Workload::Rebalance(_) => 3,
        }
    }
}

/// The claim workload's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimSpec {
    /// Which statement takes the rows.
    pub statement: ClaimStatement,
    /// Which rows are aimed at.
    pub targets: Targets,
    /// Share of claims aimed at rows that cannot be won (0 to 1).
    pub losing_share: f64,
    /// Share of claims sent a second time, as a redelivery does (0 to 1).
    pub duplicate_share: f64,
    /// How long a won claim lasts; a row may be won again after it.
    pub lease: Span,
}

/// How a claim is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimStatement {
    /// UPDATE by the full primary key, the partition column included.
    FullKey,
    /// UPDATE by the dedupe key alone: every partition is probed.
    NoPartitionKey,
    /// A sweeper's batch: SELECT … FOR UPDATE SKIP LOCKED, then UPDATE, in one transaction.
    SweepSkipLocked {
        /// Rows a batch.
        batch: u32,
    },
    /// A sweeper's batch: keys read without locks, then one compare-and-set UPDATE over the list.
    SweepKeyList {
        /// Rows a batch.
        batch: u32,
    },
}

/// Which rows claims aim at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Targets {
    /// Every pending row alike, over all days.
    Uniform,
    /// Zipf over the pending rows in a scrambled order.
    Zipfian {
        /// The exponent, above 0.
        exponent: f64,
    },
    /// Mostly the newest day, with a tail of redeliveries spread over the older ones.
    NewestDay {
        /// Share of claims on the newest day (0 to 1).
        share: f64,
    },
}
