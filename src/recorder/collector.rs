//! The one place where samples are added up.

use std::collections::BTreeMap;
use std::time::Duration;

use super::interval::{IntervalRecord, OpenSeries};
use super::log::{IntervalLog, WriteLogError};
use super::{Entry, Outcome, OutcomeCounts, Phase, Sample, Series, Timeline, micros};
use crate::results::Interval;

/// Adds samples up: in all for the measured part, and per interval from warm-up to drain.
#[derive(Debug)]
pub struct Collector {
    /// Phases and intervals. Whoever decides on a phase writes it here, ahead of time.
    pub timeline: Timeline,
    /// In closed loop an operation is intended when it is sent: it has a service time only.
    closed_loop: bool,
    intervals: Vec<IntervalRecord>,
    /// Intervals below this one were closed.
    closed: usize,
    measured: Measured,
    warm_up_operations: u64,
    /// Histograms that are not in use, kept for their memory.
    spare: Vec<OpenSeries>,
}

/// Everything about the operations that were intended in the measured part.
#[derive(Debug, Default)]
struct Measured {
    response: Series,
    wait: Series,
    service: Series,
    /// By the number of the workload's series.
    timed: Vec<Series>,
    outcomes: OutcomeCounts,
    errors: BTreeMap<u16, u64>,
    /// Completed while measuring, whenever they were intended.
    completed: u64,
}

/// What a collector has when all is over.
#[derive(Debug)]
pub struct Recorded {
    /// `response`, `wait` and `service` (in closed loop only the last).
    pub series: Vec<(&'static str, Series)>,
    /// What the workload timed within operations, by the number of its series; as many as were used.
    pub timed: Vec<Series>,
    /// Outcomes of the operations intended in the measured part; they add up to those intended.
    pub outcomes: OutcomeCounts,
    /// How often each error code came, also those that the workload dealt with; 0 stands for a failure without one.
    pub errors: BTreeMap<u16, u64>,
    /// Operations that completed while measuring.
    pub completed: u64,
    /// Operations that were intended before it.
    pub warm_up_operations: u64,
    /// One entry an interval.
    pub intervals: Vec<Interval>,
}

/// Intervals that are left open behind the current one before they are packed: most operations of an
/// interval have answered by then, and those that have not open it again.
const OPEN_BEHIND: usize = 2;

impl Collector {
    /// A collector without samples.
    pub fn new(timeline: Timeline, closed_loop: bool) -> Collector {
        Collector {
            timeline,
            closed_loop,
            intervals: Vec::new(),
            closed: 0,
            measured: Measured::default(),
            warm_up_operations: 0,
            spare: Vec::new(),
        }
    }

    /// Adds what came through a ring.
    pub fn take(&mut self, entry: Entry) {
        let measures = |intended_ns| self.timeline.phase_at(intended_ns) != Phase::WarmUp;
        match entry {
            Entry::Operation(sample) => self.take_operation(sample),
            Entry::Timed { intended_ns, ns, series } if measures(intended_ns) => {
                self.measured.time(usize::from(series), ns);
            }
            Entry::Met { intended_ns, code } if measures(intended_ns) => {
                *self.measured.errors.entry(code).or_insert(0) += 1;
            }
            Entry::Timed { .. } | Entry::Met { .. } => {}
        }
    }

    fn take_operation(&mut self, sample: Sample) {
        if sample.outcome == Outcome::Unsent {
            return self.take_unsent(sample.intended_ns, sample.done_ns, 1);
        }
        let service_ns = sample.done_ns.saturating_sub(sample.sent_ns);
        let completed = sample.outcome != Outcome::Unfinished;
        let done_in = self.interval_mut(sample.done_ns);
        done_in.0.completed += u64::from(completed);
        done_in.0.outcomes.count(sample.outcome);
        done_in.0.open(done_in.1).service.record_ns(service_ns);
        if completed && self.timeline.phase_at(sample.done_ns) == Phase::Measure {
            self.measured.completed += 1;
        }
        self.take_by_intention(sample);
        match self.timeline.phase_at(sample.intended_ns) {
            Phase::WarmUp => self.warm_up_operations += 1,
            Phase::Measure | Phase::Drain => self.measured.take(sample, service_ns),
        }
    }

    fn take_by_intention(&mut self, sample: Sample) {
        let closed_loop = self.closed_loop;
        let (interval, spare) = self.interval_mut(sample.intended_ns);
        interval.intended += 1;
        if !closed_loop {
            let open = interval.open(spare);
            open.response.record_ns(sample.done_ns.saturating_sub(sample.intended_ns));
            open.wait.record_ns(sample.sent_ns.saturating_sub(sample.intended_ns));
        }
    }

    /// Adds operations that were due at `intended_ns` and that nobody had sent at `until_ns`.
    pub fn take_unsent(&mut self, intended_ns: u64, until_ns: u64, times: u64) {
        let age_us = micros(until_ns.saturating_sub(intended_ns));
        let (interval, spare) = self.interval_mut(intended_ns);
        interval.intended += times;
        interval.outcomes.count_many(Outcome::Unsent, times);
        let open = interval.open(spare);
        open.response.record_many_us(age_us, times);
        open.wait.record_many_us(age_us, times);
        self.measured.response.record_many_us(age_us, times);
        self.measured.wait.record_many_us(age_us, times);
        self.measured.outcomes.count_many(Outcome::Unsent, times);
    }

    /// Closes the intervals that ended at or before `now_ns` with the backlog as it is now, and returns
    /// their numbers. Late answers still find their interval afterwards.
    pub fn close_until(&mut self, now_ns: u64, backlog: u64, backlog_age_ns: u64) -> std::ops::Range<usize> {
        let first = self.closed;
        while self.timeline.bounds_ns(self.closed).1 <= now_ns {
            self.grow_to(self.closed);
            let interval = &mut self.intervals[self.closed];
            (interval.backlog, interval.backlog_age_ns) = (backlog, backlog_age_ns);
            self.closed += 1;
        }
        first..self.closed
    }

    /// Packs all intervals that ended a while ago and writes what is new in them to the log. With `all`,
    /// the youngest ones too.
    pub fn seal(&mut self, mut log: Option<&mut IntervalLog>, all: bool) -> Result<(), WriteLogError> {
        let end = if all { self.intervals.len() } else { self.closed.saturating_sub(OPEN_BEHIND) };
        for number in 0..end {
            let Some(mut open) = self.intervals[number].seal() else { continue };
            if let Some(log) = log.as_deref_mut() {
                self.write(log, number, &open)?;
            }
            for series in [&mut open.response, &mut open.wait, &mut open.service] {
                series.clear();
            }
            self.spare.push(*open);
        }
        log.map_or(Ok(()), IntervalLog::flush)
    }

    fn write(&self, log: &mut IntervalLog, number: usize, open: &OpenSeries) -> Result<(), WriteLogError> {
        let (start_ns, end_ns) = self.timeline.bounds_ns(number);
        let prefix = match self.timeline.phase_at(start_ns) {
            Phase::WarmUp => "warm_up-",
            Phase::Measure | Phase::Drain => "",
        };
        let (start, length) = (Duration::from_nanos(start_ns), Duration::from_nanos(end_ns - start_ns));
        for (name, series) in [("response", &open.response), ("wait", &open.wait), ("service", &open.service)]
        {
            log.append(&format!("{prefix}{name}"), start, length, series)?;
        }
        Ok(())
    }

    /// Completed operations and median service time of an interval: what steadiness is judged by.
    pub fn pulse(&self, number: usize) -> (u64, u64) {
        self.intervals.get(number).map_or((0, 0), |interval| (interval.completed, interval.service_p50_us()))
    }

    /// An interval as far as it is known; `intended` says how many operations the schedule has in it, and
    /// `None` stands for those that were recorded.
    pub fn describe(&self, number: usize, intended: Option<u64>) -> Interval {
        match self.intervals.get(number) {
            Some(interval) => {
                interval.describe(number, &self.timeline, intended.unwrap_or(interval.intended))
            }
            None => IntervalRecord::default().describe(number, &self.timeline, intended.unwrap_or(0)),
        }
    }

    /// Ends recording. `intended` says for the bounds of an interval what the schedule has in it.
    pub fn finish(self, intended: impl Fn(u64, u64) -> Option<u64>) -> Recorded {
        let describe = |number| {
            let (start_ns, end_ns) = self.timeline.bounds_ns(number);
            self.describe(number, intended(start_ns, end_ns))
        };
        let intervals = (0..self.intervals.len()).map(describe).collect();
        let Measured { response, wait, service, timed, outcomes, errors, completed } = self.measured;
        let mut series = vec![("service", service)];
        if !self.closed_loop {
            series.splice(0..0, [("response", response), ("wait", wait)]);
        }
        let warm_up_operations = self.warm_up_operations;
        Recorded { series, timed, outcomes, errors, completed, warm_up_operations, intervals }
    }

    fn interval_mut(&mut self, ns: u64) -> (&mut IntervalRecord, &mut Vec<OpenSeries>) {
        let number = self.timeline.interval_at(ns);
        self.grow_to(number);
        (&mut self.intervals[number], &mut self.spare)
    }

    fn grow_to(&mut self, number: usize) {
        if number >= self.intervals.len() {
            self.intervals.resize_with(number + 1, IntervalRecord::default);
        }
    }
}

impl Measured {
    fn take(&mut self, sample: Sample, service_ns: u64) {
        self.response.record_ns(sample.done_ns.saturating_sub(sample.intended_ns));
        self.wait.record_ns(sample.sent_ns.saturating_sub(sample.intended_ns));
        self.service.record_ns(service_ns);
        self.outcomes.count(sample.outcome);
        if sample.failed {
            *self.errors.entry(sample.error_code).or_insert(0) += 1;
        }
    }

    fn time(&mut self, series: usize, ns: u64) {
        if series >= self.timed.len() {
            self.timed.resize_with(series + 1, Series::default);
        }
        self.timed[series].record_ns(ns);
    }
}
