//! The conductor: empties the workers' rings, closes intervals, decides on phases, ends the step.
//!
//! It has a thread of its own and never touches the server, so that it goes on whatever the server does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::Duration;

use tokio::sync::watch;

use super::clock::Clock;
use super::gate::{Backlog, Gate};
use super::phase::{Announcement, PhasePlan, WarmUpJudge};
use super::steady::Pulse;
use super::{Progress, Stop};
use crate::recorder::{Collector, Inbox, IntervalLog, Recorded, Timeline};

/// How often the rings are emptied. At 100,000 operations a second over 16 connections a ring takes 125
/// samples in that time.
const ROUND: Duration = Duration::from_millis(20);
/// Draining after a signal: a person waits.
const DRAIN_INTERRUPTED_NS: u64 = 2_000_000_000;

/// How far ahead an early end is announced: longer than any worker takes between asking and sending.
const LAST_NOTICE_NS: u64 = 50_000_000;

/// All that a conductor needs.
pub(super) struct Conductor {
    pub clock: Clock,
    pub gate: Arc<Gate>,
    pub plan: PhasePlan,
    pub closed_loop: bool,
    pub inboxes: Vec<Inbox>,
    /// The workers' threads, to be woken.
    pub threads: Vec<Thread>,
    /// A worker has given up for good.
    pub gave_up: Arc<AtomicBool>,
    pub abort: watch::Sender<bool>,
    /// Tells the sampler what is measured.
    pub announced: watch::Sender<Option<Announcement>>,
    pub log: Option<IntervalLog>,
    pub stop: Stop,
    pub progress: Arc<dyn Fn(&Progress) + Send + Sync>,
    /// What is to be kept in mind already.
    pub warnings: Vec<String>,
}

/// What the conductor knows at the end.
pub(super) struct Conducted {
    pub recorded: Recorded,
    /// `None` if the step ended before measuring began; its end is where measuring really ended.
    pub measured: Option<Announcement>,
    /// Largest backlog while measuring.
    pub backlog_max: u64,
    /// The backlog when measuring ended.
    pub backlog_at_end: Backlog,
    pub interrupted: bool,
    pub warnings: Vec<String>,
}

impl Conducted {
    /// What is known about a step that did not run.
    pub fn nothing() -> Conducted {
        let collector = Collector::new(Timeline::new(1), false);
        Conducted {
            recorded: collector.finish(|_, _| None),
            measured: None,
            backlog_max: 0,
            backlog_at_end: Backlog::default(),
            interrupted: false,
            warnings: Vec::new(),
        }
    }
}

/// What changes while the step runs.
struct State {
    collector: Collector,
    judge: WarmUpJudge,
    measured: Option<Announcement>,
    backlog_max: u64,
    backlog_at_end: Option<Backlog>,
    drain_ns: u64,
    interrupted: bool,
    /// When workers were told to give up what is under way.
    aborted_ns: Option<u64>,
    warnings: Vec<String>,
}

impl Conductor {
    /// Runs until every worker is gone.
    pub fn run(mut self) -> Conducted {
        let mut state = State {
            collector: Collector::new(Timeline::new(self.plan.interval_ns), self.closed_loop),
            judge: WarmUpJudge::new(self.plan),
            measured: None,
            backlog_max: 0,
            backlog_at_end: None,
            drain_ns: self.plan.drain_at_most_ns,
            interrupted: false,
            aborted_ns: None,
            warnings: std::mem::take(&mut self.warnings),
        };
        if let Some(announcement) = self.plan.without_warm_up() {
            self.announce(&mut state, announcement);
        }
        while !self.inboxes.iter().all(Inbox::is_finished) {
            std::thread::park_timeout(ROUND);
            self.round(&mut state);
        }
        self.finish(state)
    }

    fn round(&mut self, state: &mut State) {
        // The time before the rings: what completed before it is then in them or already taken.
        let now_ns = self.clock.now_ns();
        for inbox in &mut self.inboxes {
            inbox.drain(|sample| state.collector.take(sample));
        }
        let backlog = self.gate.backlog(now_ns);
        self.close_intervals(state, now_ns, backlog);
        if let Some(measured) = state.measured.filter(|measured| now_ns >= measured.start_ns) {
            if now_ns < measured.end_ns {
                state.backlog_max = state.backlog_max.max(backlog.count);
            } else if state.backlog_at_end.is_none() {
                state.backlog_at_end = Some(backlog);
                state.backlog_max = state.backlog_max.max(backlog.count);
            }
        }
        self.end_early(state, now_ns);
        let drained_ns = state.measured.map(|measured| measured.end_ns.saturating_add(state.drain_ns));
        if state.aborted_ns.is_none() && drained_ns.is_some_and(|drained_ns| now_ns >= drained_ns) {
            self.abort(state, now_ns);
        }
    }

    fn close_intervals(&mut self, state: &mut State, now_ns: u64, backlog: Backlog) {
        let closed = state.collector.close_until(now_ns, backlog.count, backlog.age_ns);
        if closed.is_empty() {
            return;
        }
        for number in closed {
            let (start_ns, end_ns) = state.collector.timeline.bounds_ns(number);
            let (completed, service_p50_us) = state.collector.pulse(number);
            let pulse = Pulse { completed, service_p50_us, backlog: backlog.count };
            if state.measured.is_none()
                && let Some(announcement) = state.judge.interval_ended(end_ns, now_ns, pulse)
            {
                self.announce(state, announcement);
            }
            let intended = self.gate.intended_between(start_ns, end_ns);
            let interval = state.collector.describe(number, intended);
            (self.progress)(&Progress { interval, measure_s: self.plan.measure_ns as f64 / 1e9 });
        }
        self.seal(state, false);
    }

    fn announce(&self, state: &mut State, announcement: Announcement) {
        state.collector.timeline.measure_start_ns = Some(announcement.start_ns);
        state.collector.timeline.measure_end_ns = Some(announcement.end_ns);
        state.measured = Some(announcement);
        self.gate.announce(announcement.start_ns, announcement.end_ns);
        self.announced.send_replace(Some(announcement));
        self.wake_workers();
    }

    /// Ends the step before its time: after a signal with a short drain, after a worker gave up with none.
    fn end_early(&self, state: &mut State, now_ns: u64) {
        let given_up = self.gave_up.load(Ordering::SeqCst);
        let signalled = self.stop.is_requested() && !state.interrupted;
        if state.aborted_ns.is_some() || !(given_up || signalled) {
            return;
        }
        state.interrupted |= signalled;
        state.drain_ns = if given_up { 0 } else { state.drain_ns.min(DRAIN_INTERRUPTED_NS) };
        match &mut state.measured {
            Some(measured) if now_ns >= measured.start_ns => {
                // A little ahead, so that nothing intended behind the end has been sent already.
                let end_ns = self.clock.now_ns() + LAST_NOTICE_NS;
                if end_ns < measured.end_ns {
                    measured.end_ns = end_ns;
                    state.collector.timeline.measure_end_ns = Some(end_ns);
                    self.gate.cut_short(end_ns);
                    self.announced.send_replace(Some(*measured));
                    self.wake_workers();
                }
            }
            _ => self.abort(state, now_ns),
        }
    }

    fn abort(&self, state: &mut State, now_ns: u64) {
        state.aborted_ns = Some(now_ns);
        self.gate.stop();
        self.abort.send_replace(true);
        self.wake_workers();
    }

    fn seal(&mut self, state: &mut State, all: bool) {
        if let Err(error) = state.collector.seal(self.log.as_mut(), all) {
            // Measuring goes on: the run's own histograms do not need the log.
            state.warnings.push(format!("{error} — this step has no interval log; its histograms are whole"));
            if let Some(Err(left)) = self.log.take().map(IntervalLog::discard) {
                state.warnings.push(left.to_string());
            }
        }
    }

    fn wake_workers(&self) {
        self.threads.iter().for_each(Thread::unpark);
    }

    fn finish(mut self, mut state: State) -> Conducted {
        let now_ns = self.clock.now_ns();
        let until_ns = state.aborted_ns.unwrap_or(now_ns);
        state.measured = state.measured.filter(|measured| now_ns >= measured.start_ns);
        if state.measured.is_none() {
            // Announced, but not reached: everything was warming up.
            state.collector.timeline.measure_start_ns = None;
            state.collector.timeline.measure_end_ns = None;
        } else {
            for (intended_ns, times) in self.gate.untaken() {
                state.collector.take_unsent(intended_ns, until_ns, times);
            }
        }
        state.collector.close_until(now_ns, 0, 0);
        self.seal(&mut state, true);
        let gate = &self.gate;
        let recorded = state.collector.finish(|from_ns, until_ns| gate.intended_between(from_ns, until_ns));
        Conducted {
            recorded,
            measured: state.measured,
            backlog_max: state.backlog_max,
            backlog_at_end: state.backlog_at_end.unwrap_or_default(),
            interrupted: state.interrupted,
            warnings: state.warnings,
        }
    }
}
