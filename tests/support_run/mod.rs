//! Runs as real ones look, made by simulation: an open-loop schedule served first come, first served by so
//! many connections with lognormal service times. Deterministic by seed, so that golden files stay put.
//!
//! Response times are those of the simulated queue, nothing is made up afterwards: an overloaded step
//! grows its backlog, a stalled server leaves the triangle of late operations that a real one does.
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(dead_code, reason = "each test that includes this file uses a part of it")]

use std::collections::{BTreeMap, BinaryHeap};

use hdrhistogram::Histogram;
use idembench::results::{
    Check, CounterSeries, DatasetDescription, ErrorCount, Interval, LatencySummary, Machine, Overload, Pool,
    Run, RunStatus, ServerDescription, Statement, StepResult, Tool, WarmUpResult, buckets, histogram,
    version,
};

mod shapes;
pub use shapes::*;

/// What a step is like.
#[derive(Debug, Clone)]
pub struct Plan {
    pub name: &'static str,
    pub rate_per_s: f64,
    pub connections: u32,
    pub service_median_us: f64,
    /// Of the logarithm of the service time.
    pub sigma: f64,
    pub warm_up_s: u32,
    pub measure_s: u32,
    pub drain_max_s: f64,
    /// The server stands still: from when, how long, in seconds of the measured part.
    pub stall_s: Option<(f64, f64)>,
    /// Partitions that one claim probes.
    pub probes: usize,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            name: "claim, full key",
            rate_per_s: 1000.0,
            connections: 16,
            service_median_us: 310.0,
            sigma: 0.55,
            warm_up_s: 6,
            measure_s: 30,
            drain_max_s: 3.0,
            stall_s: None,
            probes: 1,
        }
    }
}

/// SplitMix64: enough for shapes, and never changed by an update of a crate.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..1, zero excluded.
    pub fn share(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 1.0) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.share().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }

    fn service_us(&mut self, plan: &Plan) -> f64 {
        let body = plan.service_median_us * (plan.sigma * self.normal()).exp();
        // One in 300 meets an fsync of somebody else.
        if self.share() < 1.0 / 300.0 { body + 2_000.0 + 9_000.0 * self.share() } else { body }
    }
}

/// One operation; instants in microseconds since the start of warm-up.
struct Operation {
    intended: u64,
    sent: u64,
    replied: u64,
}

/// Instants in whole microseconds, so that the heap of connections can order them.
fn simulate(plan: &Plan, dice: &mut Dice) -> (Vec<Operation>, u64) {
    let total_s = f64::from(plan.warm_up_s + plan.measure_s);
    let count = (plan.rate_per_s * total_s) as u64;
    let stall = plan.stall_s.map(|(at, length)| {
        let from = (f64::from(plan.warm_up_s) + at) * 1e6;
        (from as u64, (from + length * 1e6) as u64)
    });
    let give_up = ((total_s + plan.drain_max_s) * 1e6) as u64;
    let mut free: BinaryHeap<std::cmp::Reverse<u64>> =
        (0..plan.connections).map(|_| std::cmp::Reverse(0)).collect();
    let mut operations = Vec::with_capacity(count as usize);
    let mut unsent = 0;
    for number in 0..count {
        let intended = (number as f64 * 1e6 / plan.rate_per_s) as u64;
        let std::cmp::Reverse(ready) = free.pop().expect("there are connections");
        let sent = ready.max(intended);
        if sent >= give_up {
            unsent += 1;
            free.push(std::cmp::Reverse(ready));
            operations.push(Operation { intended, sent: u64::MAX, replied: give_up });
            continue;
        }
        let mut replied = sent + dice.service_us(plan) as u64;
        if let Some((from, until)) = stall.filter(|(from, until)| replied > *from && sent < *until) {
            replied += until - from.max(sent);
        }
        free.push(std::cmp::Reverse(replied));
        operations.push(Operation { intended, sent, replied });
    }
    (operations, unsent)
}

/// A step as its plan makes it.
pub fn step(plan: &Plan, seed: u64) -> StepResult {
    let mut dice = Dice::new(seed);
    let (operations, unsent) = simulate(plan, &mut dice);
    let warm_up_us = u64::from(plan.warm_up_s) * 1_000_000;
    let mut histograms: BTreeMap<&str, Histogram<u64>> = ["response", "service", "wait"]
        .into_iter()
        .map(|name| (name, Histogram::new(3).expect("three digits")))
        .collect();
    for operation in operations.iter().filter(|operation| operation.intended >= warm_up_us) {
        let mut record = |name: &str, us: u64| {
            histograms.get_mut(name).expect("made above").record(us).expect("it resizes");
        };
        record("response", operation.replied - operation.intended);
        if operation.sent != u64::MAX {
            record("service", operation.replied - operation.sent);
            record("wait", operation.sent - operation.intended);
        }
    }
    let measured: u64 = histograms["service"].len();
    let lost = measured / 21;
    let duplicate = measured / 97;
    let intervals = intervals(plan, &operations);
    let overload = overload(plan, &intervals, unsent);
    let reached = overload.map_or(plan.rate_per_s, |overload: Overload| overload.reached_per_s);
    let mut outcomes: BTreeMap<String, u64> = [
        ("ok".to_owned(), measured - lost - duplicate),
        ("lost".to_owned(), lost),
        ("duplicate".to_owned(), duplicate),
    ]
    .into();
    if unsent > 0 {
        outcomes.insert("unsent".to_owned(), unsent);
    }
    StepResult {
        name: plan.name.to_owned(),
        workload: "claim".to_owned(),
        parameters: parameters(plan),
        rate_per_s: Some(plan.rate_per_s),
        connections: plan.connections,
        pool: Some(Pool { rows: 3_000_000, even_rows: 3e6, leased_rows: reached * 30.0 }),
        throughput_per_s: reached,
        measured_s: f64::from(plan.measure_s),
        warm_up: WarmUpResult {
            seconds: f64::from(plan.warm_up_s),
            operations: (plan.rate_per_s * f64::from(plan.warm_up_s)) as u64,
            steady: true,
        },
        outcomes,
        errors: Vec::new(),
        latency_us: histograms.iter().map(|(name, h)| ((*name).to_owned(), histogram::summary(h))).collect(),
        histograms: histograms.iter().map(|(name, h)| ((*name).to_owned(), histogram::encode(h))).collect(),
        counters: counters(plan, &intervals, &mut dice),
        intervals,
        per_operation: per_operation(plan),
        statements: vec![statement(plan)],
        verdict: if overload.is_some() { "overloaded" } else { "steady" }.to_owned(),
        overload,
        checks: vec![Check {
            name: "tokens rose by the claims won".to_owned(),
            held: true,
            detail: format!("{} of {}", measured - lost - duplicate, measured - lost - duplicate),
        }],
        warnings: Vec::new(),
        failure: None,
    }
}

fn overload(plan: &Plan, intervals: &[Interval], unsent: u64) -> Option<Overload> {
    let last = intervals.iter().rfind(|interval| interval.phase == "measure")?;
    let measured = intervals.iter().filter(|interval| interval.phase == "measure");
    let completed: u64 = measured.map(|interval| interval.completed).sum();
    (last.backlog_age_s > 0.5).then(|| Overload {
        reached_per_s: completed as f64 / f64::from(plan.measure_s),
        backlog_max: intervals.iter().map(|interval| interval.backlog).max().unwrap_or(0),
        backlog_age_s: last.backlog_age_s,
        unsent,
    })
}

fn intervals(plan: &Plan, operations: &[Operation]) -> Vec<Interval> {
    let measured_end = plan.warm_up_s + plan.measure_s;
    let last_reply = operations.iter().map(|operation| operation.replied).max().unwrap_or(0);
    let end = measured_end.max(last_reply.div_ceil(1_000_000) as u32);
    (0..end)
        .map(|second| {
            let (from, until) = (u64::from(second) * 1_000_000, u64::from(second + 1) * 1_000_000);
            let within = |us: u64| (from..until).contains(&us);
            let (mut response, mut service) = (Histogram::new(3).unwrap(), Histogram::new(3).unwrap());
            let (mut completed, mut backlog, mut oldest) = (0, 0, until);
            for operation in operations {
                if within(operation.intended) {
                    response.record(operation.replied - operation.intended).unwrap();
                }
                if operation.sent != u64::MAX && within(operation.replied) {
                    service.record(operation.replied - operation.sent).unwrap();
                    completed += 1;
                }
                if operation.intended < until && operation.sent >= until {
                    backlog += 1;
                    oldest = oldest.min(operation.intended);
                }
            }
            let phase = match second {
                s if s < plan.warm_up_s => "warm_up",
                s if s < measured_end => "measure",
                _ => "drain",
            };
            Interval {
                start_s: f64::from(second) - f64::from(plan.warm_up_s),
                length_s: 1.0,
                phase: phase.to_owned(),
                intended: response.len(),
                completed,
                outcomes: [("ok".to_owned(), completed)].into(),
                response_us: histogram::summary(&response),
                response_buckets: buckets::sparse(
                    response.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())),
                ),
                service_us: histogram::summary(&service),
                backlog,
                backlog_age_s: (until - oldest) as f64 / 1e6,
            }
        })
        .collect()
}
