//! When warming up is over.
//!
//! A step is steady when, over the last [`WINDOW`] intervals, neither throughput nor the median service
//! time has a trend: the Theil-Sen slope (the median of the slopes between all pairs of intervals) times
//! the window's length is at most [`TREND_MAX`] of the median. The median of slopes is not moved by one or
//! two odd seconds (a checkpoint, a neighbour), which a least-squares line is. In open loop the backlog must
//! not grow either: a queue that builds up has no steady state.
//!
//! This finds the end of a cold start. It does not find slow changes (a redo log that fills up over minutes):
//! for those a longer `at_least` is the answer, and the counters over time show them.

/// Intervals that are looked at.
pub const WINDOW: usize = 5;
/// The largest change over the window, as a share of the median, that counts as none.
pub const TREND_MAX: f64 = 0.1;
/// Changes of the median service time up to this are none, whatever their share: on idle tables a tenth of
/// the median is less than the scheduling noise of the client.
const TREND_NOISE_US: f64 = 20.0;

/// What is known about one interval of warming up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pulse {
    /// Operations completed.
    pub completed: u64,
    /// Median service time.
    pub service_p50_us: u64,
    /// Operations due and not sent at its end.
    pub backlog: u64,
}

/// Whether the last intervals show no trend.
pub fn is_steady(pulses: &[Pulse]) -> bool {
    let Some(window) = pulses.len().checked_sub(WINDOW).map(|first| &pulses[first..]) else {
        return false;
    };
    if window.iter().any(|pulse| pulse.completed == 0) {
        return false;
    }
    let throughput: Vec<f64> = window.iter().map(|pulse| pulse.completed as f64).collect();
    let service: Vec<f64> = window.iter().map(|pulse| pulse.service_p50_us as f64).collect();
    let queue_grows = window[WINDOW - 1].backlog > window[0].backlog.max(window[WINDOW - 1].completed / 100);
    // One operation more or less in an interval is no trend either.
    !queue_grows
        && trend(&throughput) <= allowed(&throughput, 1.0)
        && trend(&service) <= allowed(&service, TREND_NOISE_US)
}

fn allowed(values: &[f64], noise: f64) -> f64 {
    (median(values.to_vec()) * TREND_MAX).max(noise)
}

/// The change over the window that the Theil-Sen slope stands for, without its sign.
fn trend(values: &[f64]) -> f64 {
    let mut slopes = Vec::new();
    for (left, &earlier) in values.iter().enumerate() {
        for (right, &later) in values.iter().enumerate().skip(left + 1) {
            slopes.push((later - earlier) / (right - left) as f64);
        }
    }
    median(slopes).abs() * values.len().saturating_sub(1) as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(throughput: &[u64], service_us: &[u64], steady: bool) {
        let pulses: Vec<Pulse> = throughput
            .iter()
            .zip(service_us)
            .map(|(&completed, &service_p50_us)| Pulse { completed, service_p50_us, backlog: 0 })
            .collect();
        assert_eq!(is_steady(&pulses), steady, "{throughput:?} {service_us:?}");
    }

    #[test]
    fn a_level_line_is_steady_and_a_slope_is_not() {
        check(&[1000; 5], &[300; 5], true);
        check(&[1000; 4], &[300; 4], false);
        check(&[1000, 990, 1010, 1000, 995], &[310, 290, 300, 305, 295], true);
        check(&[1000; 5], &[900, 700, 550, 430, 340], false);
        check(&[500, 700, 850, 950, 1020], &[300; 5], false);
    }

    #[test]
    fn one_odd_second_does_not_hide_a_level_line() {
        check(&[1000, 1000, 200, 1000, 1000], &[300, 300, 4_000, 300, 300], true);
    }

    #[test]
    fn only_the_last_seconds_count() {
        check(&[10, 100, 1000, 1000, 1000, 1000, 1000], &[9_000, 5_000, 300, 300, 300, 300, 300], true);
    }

    #[test]
    fn a_server_that_answers_nothing_is_not_steady() {
        check(&[0; 5], &[0; 5], false);
    }

    #[test]
    fn a_growing_queue_is_not_steady() {
        let pulses = |backlogs: [u64; 5]| {
            backlogs.map(|backlog| Pulse { completed: 1000, service_p50_us: 300, backlog })
        };
        assert!(!is_steady(&pulses([0, 200, 400, 600, 800])));
        assert!(is_steady(&pulses([3, 0, 5, 1, 4])));
    }
}
