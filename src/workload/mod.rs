//! What is driven. [`run`] is the only place that tells workloads apart.

pub mod claim;

use crate::drive::{self, Options, Target};
use crate::keys::PickError;
use crate::results::StepResult;
use crate::spec::dataset::Dataset;
use crate::spec::suite::{Step, Workload};
use crate::table::claim::WriteClaimError;

/// Why a step's workload does not fit its dataset.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No claim can be written for its table.
    #[error(transparent)]
    Write(#[from] WriteClaimError),
    /// No rows can be aimed at.
    #[error(transparent)]
    Pick(#[from] PickError),
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
    }
}
