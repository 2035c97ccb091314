//! One histogram of durations with what a histogram cannot hold.

use hdrhistogram::Histogram;

use crate::results::{LatencySummary, histogram};

/// The longest duration that is told apart: one hour. Longer ones are counted as overflow and stand in
/// the histogram at the bound.
pub const BOUND_US: u64 = 3_600_000_000;

/// Nanoseconds in whole microseconds, rounded half up.
pub fn micros(ns: u64) -> u64 {
    ns / 1_000 + u64::from(ns % 1_000 >= 500)
}

/// Durations in microseconds with three digits, and the exact ends that a histogram rounds.
#[derive(Debug, Clone)]
pub struct Series {
    histogram: Histogram<u64>,
    min_us: u64,
    max_us: u64,
    overflow: u64,
}

impl Default for Series {
    fn default() -> Self {
        // Three digits is within what the crate allows (0 to 5), so that an empty one can always be made.
        #[allow(clippy::unwrap_used)]
        let histogram = Histogram::new(3).unwrap();
        Series { histogram, min_us: u64::MAX, max_us: 0, overflow: 0 }
    }
}

impl Series {
    /// Counts a duration.
    pub fn record_ns(&mut self, ns: u64) {
        self.record_many_us(micros(ns), 1);
    }

    /// Counts the same duration several times.
    pub fn record_many_us(&mut self, us: u64, times: u64) {
        if times == 0 {
            return;
        }
        let bounded = us.min(BOUND_US);
        self.overflow += if us > BOUND_US { times } else { 0 };
        self.min_us = self.min_us.min(bounded);
        self.max_us = self.max_us.max(bounded);
        // It resizes itself up to the bound, so that recording cannot fail.
        let recorded = self.histogram.record_n(bounded, times);
        debug_assert!(recorded.is_ok());
    }

    /// Adds all of another series.
    pub fn add(&mut self, other: &Series) {
        // Both resize themselves, so that adding cannot fail.
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok());
        self.min_us = self.min_us.min(other.min_us);
        self.max_us = self.max_us.max(other.max_us);
        self.overflow += other.overflow;
    }

    /// Forgets all durations and keeps the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        (self.min_us, self.max_us, self.overflow) = (u64::MAX, 0, 0);
    }

    /// Durations counted.
    pub fn len(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.histogram.is_empty()
    }

    /// The histogram in microseconds.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// Median in microseconds; 0 when empty.
    pub fn p50_us(&self) -> u64 {
        self.histogram.value_at_quantile(0.5).min(self.max_us)
    }

    /// The series in brief: percentiles to three digits, both ends exact.
    pub fn summary(&self) -> LatencySummary {
        if self.is_empty() {
            return LatencySummary::default();
        }
        let rounded = histogram::summary(&self.histogram);
        // A percentile is the upper end of its bucket, which may lie above the longest sample.
        let exact = |us: u64| us.clamp(self.min_us, self.max_us);
        LatencySummary {
            min: self.min_us,
            p50: exact(rounded.p50),
            p90: exact(rounded.p90),
            p99: exact(rounded.p99),
            p999: exact(rounded.p999),
            max: self.max_us,
            overflow: self.overflow,
            ..rounded
        }
    }

    /// `(value in microseconds, count)` of every bucket that is not empty, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.histogram
            .iter_recorded()
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_since_last_iteration()))
    }
}

/// A series at rest: its histogram as text, its exact ends beside it.
#[derive(Debug, Clone, Default)]
pub(super) struct Packed(Option<Box<PackedSeries>>);

#[derive(Debug, Clone)]
struct PackedSeries {
    histogram: String,
    min_us: u64,
    max_us: u64,
    overflow: u64,
}

impl Packed {
    /// Adds a series.
    pub fn add(&mut self, series: &Series) {
        if series.is_empty() {
            return;
        }
        let sum = self.with(Some(series));
        let histogram = histogram::encode(&sum.histogram);
        let Series { min_us, max_us, overflow, .. } = sum;
        self.0 = Some(Box::new(PackedSeries { histogram, min_us, max_us, overflow }));
    }

    /// The series, with another one added.
    pub fn with(&self, other: Option<&Series>) -> Series {
        let mut sum = match &self.0 {
            Some(packed) => packed.unpack(),
            None => Series::default(),
        };
        if let Some(other) = other {
            sum.add(other);
        }
        sum
    }
}

impl PackedSeries {
    fn unpack(&self) -> Series {
        let mut series = Series::default();
        // The text was written by `add` above, so that reading it cannot fail.
        let read = histogram::decode(&self.histogram);
        debug_assert!(read.is_ok());
        if let Ok(histogram) = read {
            let added = series.histogram.add(&histogram);
            debug_assert!(added.is_ok());
        }
        (series.min_us, series.max_us, series.overflow) = (self.min_us, self.max_us, self.overflow);
        series
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn series_of(ns: &[u64]) -> Series {
        let mut series = Series::default();
        ns.iter().for_each(|ns| series.record_ns(*ns));
        series
    }

    #[test]
    fn microseconds_are_rounded_half_up() {
        for (ns, us) in
            [(0, 0), (499, 0), (500, 1), (1_499, 1), (1_500, 2), (u64::MAX, 18_446_744_073_709_552)]
        {
            assert_eq!(micros(ns), us);
        }
    }

    #[test]
    fn sleeps_of_a_minute_an_hour_and_nothing_are_all_there() {
        const S: u64 = 1_000_000_000;
        let summary = series_of(&[0, 65 * S, 101 * S, 3_700 * S]).summary();
        assert_eq!((summary.count, summary.min, summary.max), (4, 0, BOUND_US));
        assert_eq!(summary.overflow, 1, "3,700 s is above the bound of an hour");
        assert_eq!(series_of(&[0, 65 * S, 101 * S]).summary().max, 101_000_000);
    }

    #[test]
    fn a_cleared_series_is_an_empty_one() {
        let mut series = series_of(&[1, u64::MAX]);
        series.clear();
        assert_eq!(series.summary(), LatencySummary::default());
    }

    /// The value that the percentile stands for in a sorted list: the smallest with at least the share
    /// `quantile` of all values at or below it.
    fn nearest_rank(sorted_us: &[u64], quantile: f64) -> u64 {
        let rank = (quantile * sorted_us.len() as f64).ceil() as usize;
        sorted_us[rank.clamp(1, sorted_us.len()) - 1]
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_list_to_three_digits(
            ns in prop::collection::vec(
                prop_oneof![0..2_000u64, 0..50_000_000u64, 0..5_000_000_000_000u64], 1..400),
        ) {
            let summary = series_of(&ns).summary();
            let mut sorted: Vec<u64> = ns.iter().map(|ns| micros(*ns).min(BOUND_US)).collect();
            sorted.sort_unstable();
            for (quantile, found) in
                [(0.5, summary.p50), (0.9, summary.p90), (0.99, summary.p99), (0.999, summary.p999)]
            {
                let exact = nearest_rank(&sorted, quantile);
                prop_assert!(found >= exact, "{found} < {exact}");
                prop_assert!(found - exact <= exact / 1_000, "{found} for {exact}");
            }
            prop_assert_eq!(summary.min, sorted[0]);
            prop_assert_eq!(summary.max, sorted[sorted.len() - 1]);
            prop_assert_eq!(summary.count, ns.len() as u64);
        }

        #[test]
        fn parts_add_up_to_the_whole(ns in prop::collection::vec(0..5_000_000_000_000u64, 0..100), cut in 0usize..100) {
            let (left, right) = ns.split_at(cut.min(ns.len()));
            let mut sum = series_of(left);
            sum.add(&series_of(right));
            prop_assert_eq!(sum.summary(), series_of(&ns).summary());
            let mut packed = Packed::default();
            packed.add(&series_of(left));
            packed.add(&series_of(right));
            prop_assert_eq!(packed.with(None).summary(), series_of(&ns).summary());
        }
    }
}
