//! `run --resume`: a run that was cut off goes on at its first step that is not complete.
//!
//! Steps that ran to their end stay as they are, also those whose rows were wrong: a finding is not driven away.
//! What a step that was cut off had measured is set aside in the run's directory, not thrown away.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::results::{Run, RunStatus, StepResult, store};
use crate::spec::suite::{Load, Step, Suite};

/// A step is measured for as long as the suite says, give or take this.
const DURATION_TOLERANCE_S: f64 = 1.0;

/// A run that was cut off.
pub struct CutOff {
    /// Its directory.
    pub directory: PathBuf,
    run: Run,
}

/// Reads a run that is to go on: by its directory, or by its name in the folder of runs.
///
/// What is known without a server is refused here: a run that is done, or one of another suite.
pub fn read(given: &Path, out: &Path, suite: &Suite) -> anyhow::Result<CutOff> {
    let by_name = out.join(given);
    let directory = if given.is_dir() { given.to_owned() } else { by_name };
    let run = store::read(&directory).with_context(|| format!("resume {}", given.display()))?;
    let refused = |why: String| anyhow::anyhow!("resume {}: {why}", run.run_id);
    if run.status == RunStatus::Done {
        return Err(refused("all its steps have run — leave --resume out to begin another run".to_owned()));
    }
    if run.suite != suite.name {
        return Err(refused(format!("it is a run of the suite {}, not of {}", run.suite, suite.name)));
    }
    for result in &run.steps {
        fits(result, suite).map_err(refused)?;
    }
    Ok(CutOff { directory, run })
}

/// A step that was measured is still in the suite, and as it was.
fn fits(result: &StepResult, suite: &Suite) -> Result<(), String> {
    let again = "give the suite and the flags that the run began with";
    let Some(step) = suite.steps.iter().find(|step| is_of(result, step)) else {
        return Err(format!("its step `{}` is not among the suite's at this load — {again}", result.name));
    };
    let (measured_s, wanted_s) = (result.measured_s, step.duration.0.as_secs_f64());
    if is_complete(result) && (measured_s - wanted_s).abs() > DURATION_TOLERANCE_S {
        return Err(format!(
            "its step `{}` was measured for {measured_s:.1} s, and {} are wanted now — {again}",
            result.name, step.duration
        ));
    }
    Ok(())
}

/// A suite's steps differ in name or load.
fn is_of(result: &StepResult, step: &Step) -> bool {
    let rate = match step.load {
        Load::Open { rate, .. } => Some(rate.get()),
        Load::Closed { .. } => None,
    };
    result.name == step.name && result.rate_per_s == rate && result.connections == step.load.connections()
}

/// It ran to its end. One that failed otherwise than by its checks did not: its server was gone, for example.
fn is_complete(result: &StepResult) -> bool {
    let is_wrong = result.checks.iter().any(|check| !check.held);
    result.interruption().is_none() && (result.failure.is_none() || is_wrong)
}

/// Whether a run has this step.
pub fn is_measured(run: &Run, step: &Step) -> bool {
    run.steps.iter().any(|result| is_of(result, step))
}

impl CutOff {
    /// The run as it goes on: its complete steps, in the suite's order. `now` is a run that would begin here and
    /// now; on another server or other rows its figures could not stand beside the first ones.
    pub fn go_on(&self, now: &Run, suite: &Suite) -> anyhow::Result<Run> {
        let before = &self.run;
        if let Some(difference) = difference(before, now) {
            bail!("resume {}: {difference} — begin another run", before.run_id);
        }
        let position = |result: &StepResult| suite.steps.iter().position(|step| is_of(result, step));
        let (mut steps, dropped): (Vec<StepResult>, Vec<StepResult>) =
            before.steps.iter().cloned().partition(is_complete);
        steps.sort_by_key(position);
        let aside = store::set_aside(&self.directory, &stems(suite, &steps))?;
        let mut run = Run { steps, status: RunStatus::Running, failure: None, ..before.clone() };
        let again: Vec<String> = dropped.iter().map(|step| format!("`{}`", step.name)).collect();
        run.warnings.push(format!(
            "the run was cut off and resumed at {} with {} of {} steps complete{}: caches were warmed anew in between, so \
             compare steps of both parts with care; what was there before stands in {aside}",
            now.started_at,
            run.steps.len(),
            suite.steps.len(),
            if again.is_empty() { String::new() } else { format!(", {} driven again", again.join(", ")) }
        ));
        if run.tool != now.tool {
            run.warnings.push(format!(
                "the later part was measured by idembench {} ({}), the first by {} ({}): a difference between them may be \
                 the program's",
                now.tool.version, now.tool.git_revision, run.tool.version, run.tool.git_revision
            ));
        }
        Ok(run)
    }
}

/// Positions and names of the steps that are still to come.
fn stems<'s>(suite: &'s Suite, complete: &[StepResult]) -> Vec<(usize, &'s str)> {
    let to_come = |step: &Step| !complete.iter().any(|result| is_of(result, step));
    let steps = suite.steps.iter().enumerate().filter(|(_, step)| to_come(step));
    steps.map(|(position, step)| (position, step.name.as_str())).collect()
}

/// What is not as it was, if it matters.
fn difference(before: &Run, now: &Run) -> Option<String> {
    if before.dataset.fingerprint != now.dataset.fingerprint {
        return Some(format!("it was measured on other rows than {} has now", now.dataset.name));
    }
    if before.server.version != now.server.version || before.server.kind != now.server.kind {
        let of = |run: &Run| format!("{} {}", run.server.kind, run.server.version);
        return Some(format!("it was measured on another server ({}, now {})", of(before), of(now)));
    }
    let changed =
        now.server.settings.iter().find(|(name, now)| before.server.settings.get(*name) != Some(now));
    if let Some((name, now)) = changed {
        let was = before.server.settings.get(name).map_or("not known", String::as_str);
        return Some(format!("the server's {name} was {was} and is {now}"));
    }
    let of = |run: &Run| (run.machine.cpu.clone(), run.machine.cpus, run.machine.memory_bytes);
    (of(before) != of(now)).then(|| "it was measured on another machine".to_owned())
}
