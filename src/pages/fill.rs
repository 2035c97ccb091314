//! How full leaves are and where they lie: what sets a table that has lived apart from one that was just
//! loaded. Pure.
//!
//! Keys that come in random order split full pages in half. Pages grow with the table, which doubles while
//! a half page becomes a full one: the density of the fill `x` is 1/x² between one half and one, its mean ln 2
//! (A. C. Yao, "On random 2-3 trees", 1978, for pages that hold many records).
//!
//! InnoDB takes two neighbouring inserts in a row for a rising sequence, and then splits a page at the place
//! of insertion instead of its middle. On a clustered leaf it looks for that at every insert into the last
//! sixteenth of a page, which it would keep free in a rising sequence. Random inserts are neighbours by chance
//! at two of a page's places, so a share `q` = 1 - exp(-2 · 1024 / 16252) = 11.8 % of splits is uneven
//! whatever a record's length. Then the density is q between zero and one half, and q + (1 - q)/x² above it;
//! its mean is q/2 + (1 - q) ln 2 = 67.0 %. Elsewhere the place must fit when the page is full, which
//! happens once in hundreds of splits.

use super::format::{CLUSTERED_RESERVE, EXTENT_PAGES, PAGE_CAPACITY};
use crate::spec::dataset::IndexAge;

/// How the leaves of an index are to lie.
#[derive(Debug, Clone, PartialEq)]
pub enum FillProfile {
    /// Filled one after another, in order.
    Fresh,
    /// Filled as drawn from a distribution, in shuffled order.
    Aged(AgedProfile),
}

/// A distribution of fills, and an order.
#[derive(Debug, Clone, PartialEq)]
pub struct AgedProfile {
    /// Shares of a page's room at evenly spaced places of the distribution.
    quantiles: Vec<f64>,
    consecutive: f64,
    same_extent: f64,
    extents_used: f64,
}

/// Points of the built-in distribution: between them it is nearly straight.
const PLACES: usize = 129;
/// Leaves of random inserts whose successor is the next page, and that lie in its extent. Measured on MySQL
/// 9.7.4 (`scripts/bench-aged`): the page behind a leaf has long been taken when the leaf is split.
const RANDOM_CONSECUTIVE: f64 = 0.0003;
const RANDOM_SAME_EXTENT: f64 = 0.0025;
/// A growing segment keeps an eighth of its pages free (innodb_segment_reserve_factor).
const RANDOM_EXTENTS_USED: f64 = 0.875;

impl FillProfile {
    /// As random inserts leave a clustered or secondary index.
    pub fn random_inserts(clustered: bool) -> FillProfile {
        let uneven = match clustered {
            true => -(-2.0 * CLUSTERED_RESERVE as f64 / PAGE_CAPACITY as f64).exp_m1(),
            false => 0.0,
        };
        let places = (0..PLACES).map(|place| place as f64 / (PLACES - 1) as f64);
        FillProfile::Aged(AgedProfile {
            quantiles: places.map(|place| random_quantile(place, uneven)).collect(),
            consecutive: RANDOM_CONSECUTIVE,
            same_extent: RANDOM_SAME_EXTENT,
            extents_used: RANDOM_EXTENTS_USED,
        })
    }

    /// As an index was found.
    pub fn like(age: &IndexAge) -> FillProfile {
        let share = |ten_thousandths: u16| (f64::from(ten_thousandths) / 10_000.0).clamp(0.0, 1.0);
        FillProfile::Aged(AgedProfile {
            quantiles: age.fill.iter().map(|fill| share(*fill)).collect(),
            consecutive: share(age.consecutive),
            same_extent: share(age.same_extent),
            extents_used: share(age.extents_used),
        })
    }
}

/// The inverse of the distribution q x + (1 - q) max(0, 2 - 1/x).
fn random_quantile(place: f64, uneven: f64) -> f64 {
    if place <= uneven / 2.0 {
        return if uneven > 0.0 { place / uneven } else { 0.5 };
    }
    // q x² + (2 (1 - q) - p) x - (1 - q) = 0.
    let (even, linear) = (1.0 - uneven, 2.0 * (1.0 - uneven) - place);
    if uneven == 0.0 {
        return even / linear;
    }
    ((linear * linear + 4.0 * uneven * even).sqrt() - linear) / (2.0 * uneven)
}

impl AgedProfile {
    /// The mean fill.
    pub fn mean_fill(&self) -> f64 {
        let pairs = self.quantiles.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
        pairs.sum::<f64>() / (self.quantiles.len() - 1).max(1) as f64
    }

    /// Share of leaves whose successor is the next page.
    pub fn consecutive(&self) -> f64 {
        self.consecutive
    }

    /// Share of leaves whose successor lies in the same extent.
    pub fn same_extent(&self) -> f64 {
        self.same_extent
    }

    /// Share of extents of which a single page is used, while all of the others are full. The server opens a
    /// new extent for the next split as long as fewer pages are free than it keeps in reserve.
    pub fn reserve_extents(&self) -> f64 {
        let pages = f64::from(EXTENT_PAGES);
        ((1.0 - self.extents_used) * pages / (pages - 1.0)).clamp(0.0, 0.9)
    }

    fn quantile(&self, at: f64) -> f64 {
        let steps = self.quantiles.len().saturating_sub(1);
        let place = at * steps as f64;
        let below = (place as usize).min(steps.saturating_sub(1));
        match self.quantiles.get(below..below + 2) {
            Some(pair) => pair[0] + (pair[1] - pair[0]) * (place - below as f64),
            None => 1.0,
        }
    }
}

/// How many bytes of each page may be used, page after page.
#[derive(Debug, Clone)]
pub struct FillTargets {
    profile: FillProfile,
    /// Of a page in order.
    capacity: usize,
    draws: Draws,
    /// Bytes that the pages so far have used less than they should have.
    owed: f64,
}

impl FillTargets {
    /// For the pages of a level; `capacity` is a fresh page's.
    pub fn new(profile: &FillProfile, capacity: usize, draws: Draws) -> FillTargets {
        FillTargets { profile: profile.clone(), capacity, draws, owed: 0.0 }
    }

    /// Bytes for the records and directory slots of the page number `page`.
    pub fn of_page(&mut self, page: u64) -> usize {
        match &self.profile {
            FillProfile::Fresh => self.capacity,
            FillProfile::Aged(aged) => {
                let drawn = aged.quantile(self.draws.fraction(page)) * PAGE_CAPACITY as f64;
                self.owed += drawn;
                (self.owed.max(0.0) as usize).min(PAGE_CAPACITY)
            }
        }
    }

    /// A page was closed with so many bytes. What whole records leave over goes to the next page, so that
    /// the mean is the distribution's however long records are.
    pub fn used(&mut self, bytes: usize) {
        let bound = PAGE_CAPACITY as f64 / 2.0;
        self.owed = (self.owed - bytes as f64).clamp(-bound, bound);
    }
}

/// Pseudo-random numbers by counting: which number belongs to which page never depends on the others.
#[derive(Debug, Clone, Copy)]
pub struct Draws(u64);

impl Draws {
    /// For one purpose.
    pub fn new(seed: u64, index: usize, purpose: u64) -> Draws {
        Draws(mix(mix(mix(seed).wrapping_add(index as u64)).wrapping_add(purpose)))
    }

    /// The number that belongs to `at`.
    pub fn number(self, at: u64) -> u64 {
        mix(self.0 ^ mix(at))
    }

    /// The same from 0 to 1, exclusive.
    pub fn fraction(self, at: u64) -> f64 {
        (self.number(at) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The same below `below`, which is small.
    pub fn below(self, at: u64, below: usize) -> usize {
        ((u128::from(self.number(at)) * below as u128) >> 64) as usize
    }
}

/// SplitMix64: a step of the golden ratio, then Stafford's finaliser 13.
fn mix(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_inserts(clustered: bool) -> AgedProfile {
        match FillProfile::random_inserts(clustered) {
            FillProfile::Aged(profile) => profile,
            FillProfile::Fresh => panic!("aged"),
        }
    }

    /// The share of 100,000 leaves below each fill is as the distribution has it.
    fn check(clustered: bool, mean: f64, distribution: impl Fn(f64) -> f64) {
        let profile = random_inserts(clustered);
        assert!((profile.mean_fill() - mean).abs() < 1e-3, "{}", profile.mean_fill());
        let draws = Draws::new(42, 0, 1);
        let fills: Vec<f64> = (0..100_000).map(|page| profile.quantile(draws.fraction(page))).collect();
        for fill in [0.1, 0.3, 0.499, 0.55, 0.625, 0.8, 0.95, 1.0] {
            let below = fills.iter().filter(|drawn| **drawn <= fill).count() as f64 / 1e5;
            assert!((below - distribution(fill)).abs() < 0.005, "{fill}: {below} {}", distribution(fill));
        }
    }

    #[test]
    fn random_inserts_leave_pages_as_theory_has_it() {
        let even = |fill: f64| (2.0 - 1.0 / fill).max(0.0);
        check(false, std::f64::consts::LN_2, even);
        check(true, 0.6703, |fill| 0.1184 * fill + 0.8816 * even(fill));
    }

    #[test]
    fn what_whole_records_leave_over_goes_to_the_next_page() {
        for record in [60, 1000, 5000] {
            let draws = Draws::new(1, 0, 1);
            let mut targets = FillTargets::new(&FillProfile::random_inserts(false), PAGE_CAPACITY, draws);
            let used: usize = (0..20_000)
                .map(|page| {
                    let bytes = (targets.of_page(page) / record).max(1) * record;
                    targets.used(bytes);
                    bytes
                })
                .sum();
            let mean = used as f64 / 20_000.0 / PAGE_CAPACITY as f64;
            assert!((mean - std::f64::consts::LN_2).abs() < 0.01, "{record}: {mean}");
        }
    }
}
