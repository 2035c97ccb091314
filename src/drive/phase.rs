//! Warm-up, measure, drain: when each ends. Pure: it is told what time it is.

use super::steady::{Pulse, is_steady};

/// How long the phases of a step may last, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PhasePlan {
    /// Length of an interval; phases start on its multiples.
    pub interval_ns: u64,
    /// The shortest warm-up.
    pub warm_up_at_least_ns: u64,
    /// The longest.
    pub warm_up_at_most_ns: u64,
    /// The measured part.
    pub measure_ns: u64,
    /// How long draining may take.
    pub drain_at_most_ns: u64,
}

/// The measured part, announced before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announcement {
    /// When it starts.
    pub start_ns: u64,
    /// When it ends.
    pub end_ns: u64,
    /// Whether warming up ends because the step is steady, not because its time is up.
    pub steady: bool,
}

impl PhasePlan {
    /// The announcement at the very start, when there is to be no warm-up.
    pub fn without_warm_up(&self) -> Option<Announcement> {
        (self.warm_up_at_most_ns == 0).then(|| self.measure_from(0, false))
    }

    fn measure_from(&self, start_ns: u64, steady: bool) -> Announcement {
        Announcement { start_ns, end_ns: start_ns.saturating_add(self.measure_ns), steady }
    }
}

impl Announcement {
    /// How long measuring lasts.
    pub fn length_s(&self) -> f64 {
        self.end_ns.saturating_sub(self.start_ns) as f64 / 1e9
    }
}

/// Decides when warming up is over.
#[derive(Debug)]
pub(super) struct WarmUpJudge {
    plan: PhasePlan,
    pulses: Vec<Pulse>,
}

impl WarmUpJudge {
    /// A judge who has seen nothing.
    pub fn new(plan: PhasePlan) -> WarmUpJudge {
        WarmUpJudge { plan, pulses: Vec::new() }
    }

    /// An interval ended at `end_ns` and it is `now_ns`: whether measuring starts at the next boundary.
    ///
    /// The boundary lies ahead, so that every worker knows of it before it comes. So a warm-up is a whole
    /// number of intervals: at least the shortest one rounded up, at most the longest one rounded up.
    pub fn interval_ended(&mut self, end_ns: u64, now_ns: u64, pulse: Pulse) -> Option<Announcement> {
        self.pulses.push(pulse);
        let boundary_ns = (now_ns.max(end_ns) / self.plan.interval_ns + 1) * self.plan.interval_ns;
        if boundary_ns < self.plan.warm_up_at_least_ns {
            return None;
        }
        let steady = is_steady(&self.pulses);
        let time_is_up = boundary_ns >= self.plan.warm_up_at_most_ns;
        (steady || time_is_up).then(|| self.plan.measure_from(boundary_ns, steady))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// When measuring starts, and whether it is steady, if every second brings such a median.
    fn check(at_least_s: u64, at_most_s: u64, medians_us: &[u64], expected: Option<(u64, bool)>) {
        let plan = PhasePlan {
            interval_ns: S,
            warm_up_at_least_ns: at_least_s * S,
            warm_up_at_most_ns: at_most_s * S,
            measure_ns: 10 * S,
            drain_at_most_ns: S,
        };
        let mut judge = WarmUpJudge::new(plan);
        let mut announced = plan.without_warm_up();
        for (second, &service_p50_us) in (1..).zip(medians_us) {
            let pulse = Pulse { completed: 1000, service_p50_us, backlog: 0 };
            announced = announced.or_else(|| judge.interval_ended(second * S, second * S + S / 50, pulse));
        }
        let found = announced.map(|found| (found.start_ns / S, found.steady));
        assert_eq!(found, expected, "{at_least_s} {at_most_s} {medians_us:?}");
        assert!(announced.is_none_or(|found| found.end_ns - found.start_ns == 10 * S));
    }

    #[test]
    fn warming_up_ends_when_the_step_is_steady_within_its_bounds() {
        check(3, 20, &[300; 10], Some((6, true)));
        check(9, 20, &[300; 10], Some((9, true)));
        check(3, 20, &[9000, 5000, 2000, 700, 310, 300, 300, 300, 300, 300], Some((10, true)));
    }

    #[test]
    fn warming_up_ends_when_its_time_is_up() {
        check(1, 4, &[9000, 5000, 3000, 2000], Some((4, false)));
        check(0, 1, &[300], Some((2, false)));
        check(0, 0, &[], Some((0, false)));
    }

    #[test]
    fn nothing_is_decided_before_there_is_a_reason() {
        check(3, 20, &[9000, 5000, 3000, 2000, 1500, 1000], None);
    }
}
