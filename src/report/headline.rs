//! The first lines: one sentence with the result, and whatever forbids to take it at face value. Pure.

use crate::results::INTERRUPTED_BEFORE;
use crate::results::{Run, RunStatus, StepResult};
use crate::units::{Rows, Span as Length, grouped};

use super::document::{Notice, Tone};
use super::facts::{self, OLDEST_WAITING, counted};
use super::shown::{self, Of};

/// So many kinds of steps are named in the headline.
const NAMES_MAX: usize = 3;

/// What, where and with which result, in one sentence.
pub fn headline(run: &Run) -> String {
    format!("{}: {}", subject(run), result(run))
}

/// What was measured, and where: `quickstart on t_idem (10M rows, 7 days), MySQL 9.7.4`.
pub fn subject(run: &Run) -> String {
    format!(
        "{} on {} ({} rows, {}), {}",
        run.suite,
        run.dataset.name,
        Rows(run.dataset.rows).short(),
        facts::days(run),
        facts::server(run)
    )
}

/// The result alone.
pub fn result(run: &Run) -> String {
    let steps = counted(run.steps.len() as u64, "step");
    let measured = measured(run);
    match run.status {
        RunStatus::Failed => {
            let why = run.failure.as_deref().unwrap_or("no reason was written down");
            format!("FAILED: {why}; {measured}")
        }
        RunStatus::Interrupted => format!("INTERRUPTED after {steps}; {measured}"),
        RunStatus::Running => format!("CUT OFF after {steps}, the run was never finished; {measured}"),
        RunStatus::Done => measured,
    }
}

fn measured(run: &Run) -> String {
    let mut names: Vec<&str> = Vec::new();
    for step in &run.steps {
        if !names.contains(&step.name.as_str()) {
            names.push(&step.name);
        }
    }
    if names.is_empty() {
        return "no step was measured".to_owned();
    }
    let mut parts: Vec<String> = names
        .iter()
        .take(NAMES_MAX)
        .map(|name| of_name(run.steps.iter().filter(|s| s.name == *name)))
        .collect();
    if names.len() > NAMES_MAX {
        parts.push(format!("{} more below", counted((names.len() - NAMES_MAX) as u64, "kind of step")));
    }
    parts.join("; ")
}

/// `“claim, full key” holds 2,000/s at response p99 1.4 ms, is overloaded at 4,000/s (3,412/s reached)`.
fn of_name<'r>(steps: impl Iterator<Item = &'r StepResult> + Clone) -> String {
    let rate = |step: &&StepResult| step.rate_per_s.unwrap_or(0.0);
    let standing = |wanted: Standing| steps.clone().filter(move |step| Standing::of(step) == wanted);
    let name = steps.clone().next().map_or("", |step| step.name.as_str());
    let mut parts = Vec::new();
    let fastest = |wanted| standing(wanted).max_by(|a, b| rate(a).total_cmp(&rate(b)));
    match (fastest(Standing::Sound), fastest(Standing::Unsteady)) {
        (Some(best), _) => parts.push(reached(best, "holds")),
        (None, Some(best)) => parts.push(reached(best, "was not steady: reached")),
        (None, None) => {}
    }
    let slowest = |wanted| standing(wanted).min_by(|a, b| rate(a).total_cmp(&rate(b)));
    if let Some(over) = slowest(Standing::Overloaded) {
        let reached = facts::per_second(over.throughput_per_s);
        parts.push(format!("is overloaded at {} ({reached} reached)", facts::load(over)));
    }
    if let Some(cut) = slowest(Standing::CutShort) {
        parts.push(format!("was {} at {}", cut.interruption().unwrap_or_default(), facts::load(cut)));
    }
    if let Some(broken) = slowest(Standing::Broken) {
        parts.push(format!("broke a check at {}", facts::load(broken)));
    }
    if let Some(failed) = slowest(Standing::Failed) {
        parts.push(format!("failed at {}", facts::load(failed)));
    }
    format!("“{name}” {}", parts.join(", "))
}

/// How far a step's figures may be trusted; the worst that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Sound,
    Unsteady,
    Overloaded,
    CutShort,
    Broken,
    Failed,
}

impl Standing {
    fn of(step: &StepResult) -> Standing {
        match step {
            step if step.failure.is_some() => Standing::Failed,
            step if step.checks.iter().any(|check| !check.held) => Standing::Broken,
            step if step.interruption().is_some() => Standing::CutShort,
            step if step.overload.is_some() => Standing::Overloaded,
            step if !step.warm_up.steady => Standing::Unsteady,
            _ => Standing::Sound,
        }
    }
}

fn reached(step: &StepResult, verb: &str) -> String {
    let what = shown::judged(step);
    let p99 = shown::latency(step, what, Of::P99);
    match step.rate_per_s {
        Some(rate) => format!("{verb} {} at {what} p99 {p99}", facts::per_second(rate)),
        None => format!(
            "{} {} in a closed loop over {}, {what} p99 {p99}",
            if verb == "holds" { "reaches" } else { verb },
            facts::per_second(step.throughput_per_s),
            counted(step.connections.into(), "connection")
        ),
    }
}

/// Whatever must not be missed, worst first: failures, failed checks, overload, unsteadiness, bounds, errors.
pub fn notices(run: &Run) -> Vec<Notice> {
    let mut notices = Vec::new();
    for (position, step) in run.steps.iter().enumerate() {
        let of_step = format!("Step {} ({})", position + 1, facts::step(step));
        for (tone, text) in of(step) {
            notices.push(Notice { tone, text: format!("{of_step} {text}") });
        }
    }
    // Stable: within a tone the order of the steps remains.
    notices.sort_by_key(|notice| notice.tone);
    notices
}

fn of(step: &StepResult) -> Vec<(Tone, String)> {
    let mut found = Vec::new();
    if let Some(failure) = &step.failure {
        found.push((Tone::Bad, format!("failed: {failure}")));
    }
    for check in step.checks.iter().filter(|check| !check.held) {
        found.push((Tone::Bad, format!("broke its check \"{}\": {}", check.name, check.detail)));
    }
    found.extend(step.interruption().map(|text| (Tone::Bad, format!("was {text}"))));
    if step.verdict == INTERRUPTED_BEFORE {
        return found;
    }
    found.extend(overload(step).map(|text| (Tone::Bad, text)));
    for (count, what) in [(shown::unsent(step), "unsent"), (shown::unfinished(step), "unanswered")] {
        if count > 0 {
            let operations = counted(count, "operation");
            let text = format!(
                "left {operations} {what}: each counts with its age when draining ended, so that ≥ marks lower bounds"
            );
            found.push((Tone::Bad, text));
        }
    }
    if !step.warm_up.steady {
        let limit = Length(std::time::Duration::from_secs_f64(step.warm_up.seconds.clamp(0.0, 1e9)));
        found.push((
            Tone::Careful,
            format!("never became steady: warming up was ended by its limit, {limit}"),
        ));
    }
    for (what, summary) in step.latency_us.iter().filter(|(_, summary)| summary.overflow > 0) {
        let samples = counted(summary.overflow, "sample");
        let text = format!(
            "has {samples} of {what} above the histogram's range: ≥ marks what they make a lower bound"
        );
        found.push((Tone::Careful, text));
    }
    for error in &step.errors {
        let code = if error.code == 0 { "connection".to_owned() } else { error.code.to_string() };
        let text = format!("met error {code} {}: {}", times(error.count), error.message);
        found.push((Tone::Careful, text));
    }
    let empty = step.latency_us.values().all(|summary| summary.count == 0);
    if empty {
        found.push((Tone::Bad, "has no samples: there is nothing to judge it by".to_owned()));
    }
    found
}

/// `is overloaded: 3,412/s reached of 4,000/s, oldest waiting at the end 4.1 s, …`.
fn overload(step: &StepResult) -> Option<String> {
    let overload = step.overload?;
    Some(format!(
        "is overloaded: {} reached of {}, {OLDEST_WAITING} {}, up to {} due but not sent",
        facts::per_second(overload.reached_per_s),
        facts::load(step),
        facts::seconds(overload.backlog_age_s),
        grouped(overload.backlog_max)
    ))
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count)) }
}
