//! A step's parts become its result. Pure: nothing is measured here.

use std::collections::BTreeMap;

use super::conduct::Conducted;
use super::costs;
use super::phase::Announcement;
use super::sampler::{self, Snapshot};
use super::workload::{Prepared, Workload};
use crate::recorder::{ErrorMessages, Outcome, OutcomeCounts, Recorded};
use crate::results::histogram;
use crate::results::{Check, CounterSeries, ErrorCount, Overload, StepResult, WarmUpResult};
use crate::spec::suite::{Load, Step};

/// Share of the intended operations by which completions may fall short before the rate counts as missed.
const SHORTFALL_MAX: f64 = 0.02;

/// All that is known about a step, as it comes in.
pub(super) struct Parts {
    name: String,
    workload: &'static str,
    parameters: BTreeMap<String, serde_json::Value>,
    extra_series: Option<&'static str>,
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
            extra_series: workload.extra_series(),
            load: step.load,
            prepared: Prepared::default(),
            conducted: None,
            snapshots: Vec::new(),
            messages: ErrorMessages::default(),
            checks: Vec::new(),
            failure: None,
        }
    }

    /// The same, failed.
    pub fn fail(mut self, failure: String) -> Parts {
        self.failure = Some(failure);
        self
    }

    /// The result.
    pub fn assemble(self) -> StepResult {
        let mut result = self.empty();
        let Some(conducted) = self.conducted else {
            result.verdict = "failed".to_owned();
            return result;
        };
        let Conducted { recorded, measured, backlog_max, backlog_at_end, interrupted, warnings } = conducted;
        result.warnings.extend(warnings);
        result.failure =
            self.failure.or_else(|| failure(&self.checks, &recorded.outcomes, &self.snapshots, &result.errors));
        if let Some(measured) = measured {
            result.measured_s = (measured.end_ns - measured.start_ns) as f64 / 1e9;
            result.throughput_per_s = recorded.completed as f64 / result.measured_s.max(1e-9);
            result.per_operation = costs::per_operation(&self.snapshots, measured);
            result.overload = overload(self.load, measured, &recorded).map(|reached_per_s| Overload {
                reached_per_s,
                backlog_max,
                backlog_age_s: backlog_at_end.age_ns as f64 / 1e9,
                unsent: recorded.outcomes.of(Outcome::Unsent),
            });
        }
        let zero_ns = measured.map_or(0, |measured| measured.start_ns);
        result.counters = sampler::series(&self.snapshots, zero_ns);
        result.errors = errors(&recorded, &self.messages);
        result.verdict = verdict(&result, measured, interrupted).to_owned();
        result.warm_up = warm_up(&recorded, measured);
        result.outcomes = recorded.outcomes.by_name();
        for (name, series) in &recorded.series {
            let name = if *name == "extra" { self.extra_series.unwrap_or(name) } else { name };
            result.latency_us.insert(name.to_owned(), series.summary());
            result.histograms.insert(name.to_owned(), histogram::encode(series.histogram()));
        }
        result.intervals = recorded.intervals;
        result
    }
}
