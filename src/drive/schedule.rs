//! When operations are intended to start. Pure arithmetic: no clock, no state.

use crate::units::PerSecond;

/// A constant rate from zero on: operation `k` is intended at `k / rate`, rounded down to a nanosecond.
///
/// Every instant is computed from its number, so that no rounding adds up: after a billion operations the
/// schedule is as exact as at the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Operations in a million seconds, so that rates with fractions are whole numbers.
    per_megasecond: u128,
}

/// Nanoseconds in a million seconds.
const NS_PER_MEGASECOND: u128 = 1_000_000_000_000_000;

impl Schedule {
    /// The schedule of a rate; rates are kept to a millionth of an operation per second.
    pub fn new(rate: PerSecond) -> Schedule {
        Schedule { per_megasecond: ((rate.get() * 1e6).round() as u128).max(1) }
    }

    /// When operation `k` is intended, in nanoseconds.
    pub fn intended_ns(&self, k: u64) -> u64 {
        (u128::from(k) * NS_PER_MEGASECOND / self.per_megasecond) as u64
    }

    /// How many operations are intended before `ns`.
    pub fn count_before(&self, ns: u64) -> u64 {
        (u128::from(ns) * self.per_megasecond).div_ceil(NS_PER_MEGASECOND) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(rate: f64) -> Schedule {
        Schedule::new(PerSecond::new(rate).expect("a rate"))
    }

    #[test]
    fn a_rate_of_three_per_second_does_not_drift() {
        let schedule = at(3.0);
        let first: Vec<u64> = (0..5).map(|k| schedule.intended_ns(k)).collect();
        assert_eq!(first, [0, 333_333_333, 666_666_666, 1_000_000_000, 1_333_333_333]);
        assert_eq!(schedule.intended_ns(3_000_000_000), 1_000_000_000_000_000_000);
        assert_eq!(schedule.count_before(0), 0);
        assert_eq!(schedule.count_before(1), 1);
        assert_eq!(schedule.count_before(1_000_000_000), 3);
        assert_eq!(schedule.count_before(1_000_000_001), 4);
    }

    proptest! {
        #[test]
        fn counting_and_computing_agree(rate in 0.001f64..1e8, k in 0u64..1_000_000_000_000) {
            let schedule = at(rate);
            let ns = schedule.intended_ns(k);
            prop_assert!(schedule.count_before(ns) <= k);
            prop_assert!(schedule.count_before(ns + 1) > k);
            prop_assert!(schedule.intended_ns(k + 1) >= ns);
        }

        #[test]
        fn an_hour_holds_rate_times_3600_operations(rate in 0.01f64..1e6) {
            let count = at(rate).count_before(3_600_000_000_000) as f64;
            prop_assert!((count - rate * 3600.0).abs() <= 1.0 + rate * 3600.0 * 1e-4);
        }
    }
}
