//! What is driven. [`run`] is the only place that tells workloads apart.

pub mod claim;
pub mod contention;
pub mod hold;
pub mod rebalance;
mod settle;

use crate::drive::{self, Options, Target};
use crate::keys::{MessagesError, PickError};
use crate::results::StepResult;
use crate::spec::dataset::Dataset;
use crate::spec::suite::{Step, Workload};
use crate::table::claim::WriteClaimError;
use crate::table::settle::WriteSettleError;

/// Why a step's workload does not fit its dataset.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No claim can be written for its table.
    #[error(transparent)]
    Write(#[from] WriteClaimError),
    /// No rows can be aimed at.
    #[error(transparent)]
    Pick(#[from] PickError),
    /// No message can be settled into its tables.
    #[error(transparent)]
    Settle(#[from] WriteSettleError),
    /// No messages can be made for it.
    #[error(transparent)]
    Messages(#[from] MessagesError),
    /// A parameter is out of its range.
    #[error("{parameter} = {value} is not {expected}")]
    Parameter {
        /// Its name.
        parameter: &'static str,
        /// As given.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
}

/// Runs a step of a suite against a dataset's loaded table.
///
/// # Errors
/// Only what can be known without the server; all that happens on it stands in the result.
pub async fn run(
    step: &Step,
    dataset: &Dataset,
    target: &Target,
    options: &Options,
) -> Result<StepResult, BuildError> {
    match &step.workload {
        Workload::Claim(spec) => {
            let workload = claim::Claim::new(dataset, spec, &step.name, step.load)?;
            let mut result = drive::run(&workload, step, target, options).await;
            workload.note_pool(&mut result);
            Ok(result)
        }
        Workload::Hold(spec) => {
            let workload = hold::Hold::new(dataset, spec, &step.name, step.load)?;
            Ok(drive::run(&workload, step, target, options).await)
        }
        Workload::Contention(spec) => {
            let workload = contention::Contention::new(dataset, spec, &step.name, step.load)?;
            Ok(drive::run(&workload, step, target, options).await)
        }
        Workload::Rebalance(spec) => {
            let workload = rebalance::Rebalance::new(dataset, spec, step, target)?;
            Ok(drive::run(&workload, step, target, options).await)
        }
    }
}

/// Whether a step's workload fits its dataset, as far as that can be known without a server: asked for every
/// step before anything is loaded.
///
/// # Errors
/// As [`run`].
pub fn check(step: &Step, dataset: &Dataset) -> Result<(), BuildError> {
    let (name, load) = (&step.name, step.load);
    match &step.workload {
        Workload::Claim(spec) => claim::Claim::new(dataset, spec, name, load).map(|_| ()),
        Workload::Hold(spec) => hold::Hold::new(dataset, spec, name, load).map(|_| ()),
        Workload::Contention(spec) => contention::Contention::new(dataset, spec, name, load).map(|_| ()),
        Workload::Rebalance(_) => rebalance::check(dataset, step),
    }
}
