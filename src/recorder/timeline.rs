//! Which interval and which phase an instant belongs to.

/// What a step was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Before the measured part; cut off, in sight.
    WarmUp,
    /// The measured part.
    Measure,
    /// After it, until the backlog is gone or its time is up.
    Drain,
}

impl Phase {
    /// The name in `run.json`.
    pub fn name(self) -> &'static str {
        match self {
            Phase::WarmUp => "warm_up",
            Phase::Measure => "measure",
            Phase::Drain => "drain",
        }
    }
}

/// Intervals and phases on the step's clock. Measuring starts on a boundary between intervals; when it
/// ends, the interval is cut short and draining starts a new row of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeline {
    /// Length of an interval.
    pub interval_ns: u64,
    /// When measuring starts; `None` while it is not decided.
    pub measure_start_ns: Option<u64>,
    /// When measuring ends; `None` while it is not decided.
    pub measure_end_ns: Option<u64>,
}

impl Timeline {
    /// A timeline on which nothing is decided yet.
    pub fn new(interval_ns: u64) -> Timeline {
        Timeline { interval_ns: interval_ns.max(1), measure_start_ns: None, measure_end_ns: None }
    }

    /// The interval that an instant falls into.
    pub fn interval_at(&self, ns: u64) -> usize {
        let interval = match self.measure_end_ns {
            Some(end) if ns >= end => end.div_ceil(self.interval_ns) + (ns - end) / self.interval_ns,
            _ => ns / self.interval_ns,
        };
        interval as usize
    }

    /// Start and end of an interval.
    pub fn bounds_ns(&self, interval: usize) -> (u64, u64) {
        let interval = interval as u64;
        let (start, length) = (interval * self.interval_ns, self.interval_ns);
        match self.measure_end_ns {
            Some(end) if start >= end => {
                let start = end + (interval - end.div_ceil(length)) * length;
                (start, start + length)
            }
            Some(end) => (start, end.min(start + length)),
            None => (start, start + length),
        }
    }

    /// The phase at an instant.
    pub fn phase_at(&self, ns: u64) -> Phase {
        if self.measure_end_ns.is_some_and(|end| ns >= end) {
            Phase::Drain
        } else if self.measure_start_ns.is_some_and(|start| ns >= start) {
            Phase::Measure
        } else {
            Phase::WarmUp
        }
    }

    /// The first boundary between intervals that lies after an instant.
    pub fn next_boundary_ns(&self, ns: u64) -> u64 {
        (ns / self.interval_ns + 1) * self.interval_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn measuring_cuts_its_last_interval_and_draining_starts_anew() {
        let timeline = Timeline { interval_ns: 10, measure_start_ns: Some(20), measure_end_ns: Some(45) };
        for (ns, interval, phase) in [
            (0, 0, Phase::WarmUp),
            (19, 1, Phase::WarmUp),
            (20, 2, Phase::Measure),
            (44, 4, Phase::Measure),
            (45, 5, Phase::Drain),
            (54, 5, Phase::Drain),
            (55, 6, Phase::Drain),
        ] {
            assert_eq!((timeline.interval_at(ns), timeline.phase_at(ns)), (interval, phase), "{ns}");
        }
        assert_eq!(timeline.bounds_ns(4), (40, 45));
        assert_eq!(timeline.bounds_ns(5), (45, 55));
    }

    proptest! {
        #[test]
        fn an_instant_lies_within_its_interval(ns in 0u64..1_000_000, interval_ns in 1u64..1_000, end in 0u64..1_000_000) {
            for measure_end_ns in [None, Some(end)] {
                let timeline = Timeline { measure_end_ns, ..Timeline::new(interval_ns) };
                let (start, stop) = timeline.bounds_ns(timeline.interval_at(ns));
                prop_assert!(start <= ns && ns < stop, "{start} {ns} {stop}");
            }
        }
    }
}
