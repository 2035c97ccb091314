//! Figures as they may be shown: a bound is marked as a bound, and a percentile that few samples carry is
//! put in brackets. Pure.

use crate::results::{LatencySummary, StepResult};

use super::facts;

/// A percentile is shown bare only if at least so many samples lie beyond it.
pub const SAMPLES_BEYOND: f64 = 10.0;

/// Which of a summary's figures is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Median.
    P50,
    /// 90th percentile.
    P90,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    P999,
    /// The longest.
    Max,
}

impl Of {
    /// Its name in headings.
    pub fn name(self) -> &'static str {
        match self {
            Of::P50 => "p50",
            Of::P90 => "p90",
            Of::P99 => "p99",
            Of::P999 => "p99.9",
            Of::Max => "max",
        }
    }

    /// The figure of a summary, in microseconds.
    pub fn value_us(self, summary: &LatencySummary) -> u64 {
        match self {
            Of::P50 => summary.p50,
            Of::P90 => summary.p90,
            Of::P99 => summary.p99,
            Of::P999 => summary.p999,
            Of::Max => summary.max,
        }
    }

    /// Share of samples beyond it; the maximum is one sample and says so by its name.
    fn beyond(self) -> Option<f64> {
        match self {
            Of::P50 => Some(0.5),
            Of::P90 => Some(0.1),
            Of::P99 => Some(0.01),
            Of::P999 => Some(0.001),
            Of::Max => None,
        }
    }
}

/// One figure of what was timed in a step: `1.9 ms`, `≥ 4.1 s` for a lower bound, `(11 ms)` where fewer than
/// [`SAMPLES_BEYOND`] samples lie beyond it, `–` where nothing was timed.
///
/// Operations that were never sent stand in `response` and `wait` with their age, unfinished ones in `response`
/// and `service`: less than what they would have taken. They may lie anywhere below their true place, so every
/// percentile is a bound then.
pub fn latency(step: &StepResult, what: &str, of: Of) -> String {
    let Some(summary) = step.latency_us.get(what).filter(|summary| summary.count > 0) else {
        return "–".to_owned();
    };
    let cut_short = match what {
        "response" => unsent(step) + unfinished(step),
        "wait" => unsent(step),
        _ => unfinished(step),
    };
    let share_over = summary.overflow as f64 / summary.count as f64;
    let lifted = summary.overflow > 0 && of.beyond().is_none_or(|beyond| share_over >= beyond);
    let bound = if lifted || cut_short > 0 { "≥ " } else { "" };
    let text = format!("{bound}{}", facts::latency(of.value_us(summary)));
    let few = of.beyond().is_some_and(|beyond| summary.count as f64 * beyond < SAMPLES_BEYOND);
    if few { format!("({text})") } else { text }
}

/// Operations that were due but never sent.
pub fn unsent(step: &StepResult) -> u64 {
    let counted = step.outcomes.get("unsent").copied().unwrap_or(0);
    step.overload.map_or(counted, |overload| overload.unsent.max(counted))
}

/// Operations that were sent and not answered when the step ended.
pub fn unfinished(step: &StepResult) -> u64 {
    step.outcomes.get("unfinished").copied().unwrap_or(0)
}

/// What a step's latency is judged by: `response`, or `service` in a closed loop, which has no response.
pub fn judged(step: &StepResult) -> &'static str {
    let has = |what: &str| step.latency_us.get(what).is_some_and(|summary| summary.count > 0);
    if !has("response") && has("service") { "service" } else { "response" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(summary: LatencySummary, unsent: u64, expect: [&str; 3]) {
        let mut step = crate::report::tests::bare_step();
        step.latency_us.insert("response".to_owned(), summary);
        if unsent > 0 {
            step.overload = Some(crate::results::Overload {
                reached_per_s: 1.0,
                backlog_max: unsent,
                backlog_age_s: 1.0,
                unsent,
            });
        }
        assert_eq!([Of::P50, Of::P99, Of::Max].map(|of| latency(&step, "response", of)), expect);
    }

    #[test]
    fn bounds_and_thin_percentiles_are_marked() {
        let summary = LatencySummary {
            count: 5_000,
            p50: 310,
            p99: 1_900,
            p999: 3_000,
            max: 11_000,
            ..Default::default()
        };
        check(summary, 0, ["0.31 ms", "1.9 ms", "11 ms"]);
        check(summary, 3, ["≥ 0.31 ms", "≥ 1.9 ms", "≥ 11 ms"]);
        check(LatencySummary { count: 900, ..summary }, 0, ["0.31 ms", "(1.9 ms)", "11 ms"]);
        check(LatencySummary { overflow: 1, ..summary }, 0, ["0.31 ms", "1.9 ms", "≥ 11 ms"]);
        check(LatencySummary { overflow: 60, ..summary }, 0, ["0.31 ms", "≥ 1.9 ms", "≥ 11 ms"]);
        check(LatencySummary::default(), 0, ["–", "–", "–"]);
    }
}
