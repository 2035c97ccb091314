//! Logarithmic latency buckets: twelve to the decade, from 10 us up, without an end.
//!
//! They carry the latency spectrum (time × latency) in `run.json`. Twelve to the decade (a ratio of 1.21)
//! is what an eye tells apart on a plot, puts every decade on a bucket's edge, and keeps a second of a step
//! at 20 to 30 numbers. Percentiles never come from here: the histograms have three digits.

/// Buckets in a decade.
const PER_DECADE: f64 = 12.0;
/// The first bucket ends here; below it the client's own scheduling is what one would see.
const FIRST_UPPER_US: u64 = 10;

/// The inclusive upper edge of the bucket that `value_us` falls into, in microseconds.
pub fn upper_us(value_us: u64) -> u64 {
    if value_us <= FIRST_UPPER_US {
        return FIRST_UPPER_US;
    }
    let edge = |index: f64| 10f64.powf(index / PER_DECADE).round() as u64;
    let index = ((value_us as f64).log10() * PER_DECADE).round();
    // Rounding may land on either side of the edge, so look at both.
    match edge(index) {
        upper if value_us <= upper && value_us > edge(index - 1.0) => upper,
        upper if value_us > upper => edge(index + 1.0),
        _ => edge(index - 1.0),
    }
}

/// The inclusive upper edge of the bucket before the one that ends at `upper_us`; 0 before the first.
pub fn lower_us(upper_us: u64) -> u64 {
    if upper_us <= FIRST_UPPER_US {
        return 0;
    }
    let index = ((upper_us as f64).log10() * PER_DECADE).round();
    10f64.powf((index - 1.0) / PER_DECADE).round() as u64
}

/// Counts `(value_us, count)` into buckets: `(upper_us, count)`, ascending, empty buckets left out.
pub fn sparse(values: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    for (value_us, count) in values {
        *counts.entry(upper_us(value_us)).or_insert(0) += count;
    }
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges_fall_on_the_decades() {
        for (value, upper, lower) in [
            (0, 10, 0),
            (10, 10, 0),
            (11, 12, 10),
            (100, 100, 83),
            (101, 121, 100),
            (1_000_000, 1_000_000, 825_404),
        ] {
            assert_eq!(upper_us(value), upper, "{value}");
            assert_eq!(lower_us(upper), lower, "{upper}");
        }
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(value in 1u64..100_000_000_000) {
            let upper = upper_us(value);
            prop_assert!(value <= upper);
            prop_assert!(value > lower_us(upper));
            prop_assert_eq!(upper_us(upper), upper);
        }
    }

    #[test]
    fn no_count_is_lost() {
        assert_eq!(sparse([(5, 2), (9, 1), (310, 4), (311, 0)]), [(10, 3), (316, 4)]);
    }
}
