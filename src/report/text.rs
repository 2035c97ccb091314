//! Lines for a terminal: a step, a run, a list of runs. Pure; who prints them adds colour and bars.

use crate::results::INTERRUPTED_BEFORE;
use crate::results::{Run, RunStatus, StepResult};
use crate::spec::suite::{Load, Step};
use crate::units::{Rows, one_line};

use super::facts::{self, OLDEST_WAITING, counted};
use super::headline;
use super::shown::{self, Of};

/// What a step came to: `p50 0.31 ms  p99 1.9 ms  max 11 ms`, or why that would be misleading.
pub fn step_result(step: &StepResult) -> String {
    let mut parts = Vec::new();
    let interruption = step.interruption();
    let measured = step.verdict != INTERRUPTED_BEFORE;
    if let Some(failure) = &step.failure {
        return format!("FAILED: {}", one_line(failure));
    }
    if let Some(overload) = step.overload {
        let reached = facts::per_second(overload.reached_per_s);
        let age = facts::seconds(overload.backlog_age_s);
        parts.push(format!("overloaded: {reached} reached, {OLDEST_WAITING} {age}"));
    } else if measured {
        let what = shown::judged(step);
        if step.rate_per_s.is_none() {
            parts.push(format!("{} reached", facts::per_second(step.throughput_per_s)));
        }
        let latencies =
            [Of::P50, Of::P99, Of::Max].map(|of| format!("{} {}", of.name(), shown::latency(step, what, of)));
        // A closed loop has no response time; its service time must not pass for one.
        let of_service = if what == "service" { "service " } else { "" };
        parts.push(format!("{of_service}{}", latencies.join("  ")));
    }
    parts.extend(probes(step));
    parts.extend(facts::pool_in_short(step));
    for check in step.checks.iter().filter(|check| !check.held) {
        parts.push(format!("CHECK FAILED: {} ({})", one_line(&check.name), one_line(&check.detail)));
    }
    parts.extend(interruption);
    if measured && !step.warm_up.steady {
        parts.push("not steady".to_owned());
    }
    parts.join("  ")
}

/// `7 partitions probed per claim`, where it is more than one.
fn probes(step: &StepResult) -> Option<String> {
    let probed = step.statements.iter().max_by_key(|statement| statement.partitions.len())?;
    let partitions = probed.partitions.len();
    (partitions > 1).then(|| format!("{partitions} partitions probed per {}", one_line(&probed.name)))
}

/// One line for a step; names are padded to `name_width` so that lines stand in columns.
pub fn step_line(step: &StepResult, name_width: usize) -> String {
    let name = one_line(&step.name);
    let measured = facts::seconds(step.measured_s.round());
    format!("{name:<name_width$}  {:>11}  {measured:>5}  {}", facts::load(step), step_result(step))
}

/// One line for a step that is yet to run: `claim, full key  1,000/s over 16 connections  30 s`.
pub fn planned_step(step: &Step) -> String {
    let driven = match step.load {
        Load::Open { rate, .. } => rate.to_string(),
        Load::Closed { .. } => "closed loop".to_owned(),
    };
    let connections = counted(step.load.connections().into(), "connection");
    format!("{}  {driven} over {connections}  {}", one_line(&step.name), step.duration)
}

/// Width of the longest of these step names.
pub fn name_width<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| one_line(name).chars().count()).max().unwrap_or(0)
}

/// The run on a screen: its sentence, what must not be missed, a line a step.
pub fn summary(run: &Run) -> String {
    let mut lines = vec![one_line(&headline::headline(run))];
    lines.extend(headline::notices(run).iter().map(|notice| format!("  ! {}", one_line(&notice.text))));
    let width = name_width(run.steps.iter().map(|step| step.name.as_str()));
    lines.extend(run.steps.iter().map(|step| format!("  {}", step_line(step, width))));
    lines.join("\n")
}

/// One line of `list`: run, state, rows, server, steps, result.
pub fn list_line(run: &Run) -> String {
    let state = match run.status {
        RunStatus::Done => "done",
        RunStatus::Failed => "FAILED",
        RunStatus::Interrupted => "stopped",
        RunStatus::Running => "cut off",
    };
    format!(
        "{}  {state:<7}  {} {} rows  {}  {}",
        one_line(&run.run_id),
        one_line(&run.dataset.name),
        Rows(run.dataset.rows).short(),
        one_line(&facts::server(run)),
        one_line(&headline::result(run))
    )
}
