//! A step's parts become its result. Pure: nothing is measured here.

use std::collections::BTreeMap;

use super::conduct::Conducted;
use super::costs;
use super::phase::Announcement;
use super::sampler::{self, Snapshot};
use super::workload::{Prepared, Workload};
use crate::recorder::{ErrorMessages, Outcome, Recorded};
use crate::results::{Check, ErrorCount, LatencySummary, Overload, StepResult, WarmUpResult, histogram};
use crate::results::{INTERRUPTED, INTERRUPTED_BEFORE};
use crate::spec::suite::{Load, Step};

/// Share of the intended operations by which completions may fall short before the rate counts as missed.
const SHORTFALL_MAX: f64 = 0.02;

/// All that is known about a step, as it comes in.
pub(super) struct Parts {
    name: String,
    workload: &'static str,
    parameters: BTreeMap<String, serde_json::Value>,
    timed_series: &'static [&'static str],
    load: Load,
    pub prepared: Prepared,
    pub conducted: Option<Conducted>,
    pub snapshots: Vec<Snapshot>,
    pub messages: ErrorMessages,
    pub checks: Vec<Check>,
    pub failure: Option<String>,
}

impl Parts {
    /// The parts of a step of which nothing has run.
    pub fn new<W: Workload>(workload: &W, step: &Step) -> Parts {
        Parts {
            name: step.name.clone(),
            workload: workload.name(),
            parameters: workload.parameters(),
            timed_series: workload.timed_series(),
            load: step.load,
            prepared: Prepared::default(),
            conducted: None,
            snapshots: Vec::new(),
            messages: ErrorMessages::default(),
            checks: Vec::new(),
            failure: None,
        }
    }

    /// The result of a step that did not come to run.
    pub fn never_ran(mut self, failure: String) -> StepResult {
        self.failure = Some(failure);
        self.assemble()
    }

    /// The result.
    pub fn assemble(mut self) -> StepResult {
        let conducted = self.conducted.take().unwrap_or_else(Conducted::nothing);
        let Conducted { recorded, measured, backlog_at_end, .. } = conducted;
        let errors = errors(&recorded, &self.messages);
        let failure = self.failure.clone().or_else(|| self.failure_found(&recorded, &errors));
        let measured_s = measured.map_or(0.0, |measured| measured.length_s());
        let reached_per_s = recorded.completed as f64 / measured_s.max(1e-9);
        let overload = (measured.is_some() && self.fell_short(measured_s, &recorded)).then(|| Overload {
            reached_per_s,
            backlog_max: conducted.backlog_max,
            backlog_age_s: backlog_at_end.age_ns as f64 / 1e9,
            unsent: recorded.outcomes.of(Outcome::Unsent),
        });
        let (latency_us, histograms) = self.series(&recorded);
        let mut warnings = self.prepared.warnings;
        warnings.extend(conducted.warnings);
        StepResult {
            name: self.name,
            workload: self.workload.to_owned(),
            parameters: self.parameters,
            rate_per_s: match self.load {
                Load::Open { rate, .. } => Some(rate.get()),
                Load::Closed { .. } => None,
            },
            connections: self.load.connections(),
            // The workload knows, if there is one.
            pool: None,
            throughput_per_s: if measured.is_some() { reached_per_s } else { 0.0 },
            measured_s,
            warm_up: warm_up(&recorded, measured),
            outcomes: recorded.outcomes.by_name(),
            errors,
            latency_us,
            histograms,
            intervals: recorded.intervals,
            counters: sampler::series(&self.snapshots, measured.map_or(0, |measured| measured.start_ns)),
            per_operation: measured
                .map_or_else(BTreeMap::new, |measured| costs::per_operation(&self.snapshots, measured)),
            statements: self.prepared.statements,
            verdict: verdict(failure.is_some(), conducted.interrupted, overload.is_some(), measured)
                .to_owned(),
            overload,
            checks: self.checks,
            warnings,
            failure,
        }
    }

    /// What makes the step fail although every worker came to its end.
    fn failure_found(&self, recorded: &Recorded, errors: &[ErrorCount]) -> Option<String> {
        if sampler::server_restarted(&self.snapshots) {
            return Some(
                "the server restarted during the step: its numbers are not those of one server".into(),
            );
        }
        if let Some(check) = self.checks.iter().find(|check| !check.held) {
            return Some(format!("a check did not hold: {} ({})", check.name, check.detail));
        }
        let outcomes = &recorded.outcomes;
        let only_errors = outcomes.of(Outcome::Error) > 0
            && [Outcome::Ok, Outcome::Lost, Outcome::Duplicate].iter().all(|good| outcomes.of(*good) == 0);
        let most_frequent = errors.iter().max_by_key(|error| error.count)?;
        only_errors.then(|| {
            format!("no operation succeeded; error {}: {}", most_frequent.code, most_frequent.message)
        })
    }

    /// Whether clearly fewer operations completed while measuring than were intended; those that are under
    /// way when it ends do not count as missing.
    fn fell_short(&self, measured_s: f64, recorded: &Recorded) -> bool {
        let Load::Open { rate, connections } = self.load else { return false };
        let intended = rate.get() * measured_s;
        let missing = intended - recorded.completed as f64 - f64::from(connections);
        missing > intended * SHORTFALL_MAX || recorded.outcomes.of(Outcome::Unsent) > 0
    }

    fn series(&self, recorded: &Recorded) -> (BTreeMap<String, LatencySummary>, BTreeMap<String, String>) {
        let mut summaries = BTreeMap::new();
        let mut texts = BTreeMap::new();
        let timed = self.timed_series.iter().copied().zip(&recorded.timed);
        let timed = timed.filter(|(_, series)| !series.is_empty());
        for (name, series) in recorded.series.iter().map(|(name, series)| (*name, series)).chain(timed) {
            summaries.insert(name.to_owned(), series.summary());
            texts.insert(name.to_owned(), histogram::encode(series.histogram()));
        }
        (summaries, texts)
    }
}

fn errors(recorded: &Recorded, messages: &ErrorMessages) -> Vec<ErrorCount> {
    let count = |(&code, &count): (&u16, &u64)| ErrorCount { code, count, message: messages.of(code) };
    recorded.errors.iter().map(count).collect()
}

fn warm_up(recorded: &Recorded, measured: Option<Announcement>) -> WarmUpResult {
    WarmUpResult {
        seconds: measured.map_or(0.0, |measured| measured.start_ns as f64 / 1e9),
        operations: recorded.warm_up_operations,
        steady: measured.is_some_and(|measured| measured.steady),
    }
}

fn verdict(
    failed: bool,
    interrupted: bool,
    overloaded: bool,
    measured: Option<Announcement>,
) -> &'static str {
    match measured {
        _ if failed => "failed",
        None if interrupted => INTERRUPTED_BEFORE,
        _ if interrupted => INTERRUPTED,
        _ if overloaded => "overloaded",
        Some(Announcement { steady: true, .. }) => "steady",
        _ => "not_steady",
    }
}
