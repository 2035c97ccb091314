//! Which rows a workload aims at: row numbers, the same ones for the same seed.

use rand::distr::Distribution;
use rand_distr::Zipf;

use super::error::MakeError;
use super::maker::RowMaker;
use super::mix::{Permutation, Stream, key_for};
use crate::spec::dataset::Dataset;
use crate::spec::suite::Targets;

/// What pickers are keyed by; fixed for ever.
const PURPOSE_PICKS: u64 = 7;
const PURPOSE_SCRAMBLE: u64 = 8;

/// Why no rows can be picked.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum PickError {
    /// Rows cannot be made.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The dataset says nothing about claims.
    #[error(
        "dataset {dataset} has no claim columns: name status, token, owner and lease_until under [claim] in its dataset.toml"
    )]
    NoClaimColumns {
        /// The dataset.
        dataset: String,
    },
    /// No row is PENDING.
    #[error("dataset {dataset} makes no row pending, so no claim can win: give the status a choice with it")]
    NothingPending {
        /// The dataset.
        dataset: String,
    },
    /// A parameter out of its range.
    #[error("{parameter} = {value} is not {expected}")]
    Parameter {
        /// Its name.
        parameter: &'static str,
        /// As given.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
}

/// The rows that claims aim at and can win.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pool {
    /// Rows that are made PENDING and that the targets can name.
    pub rows: u64,
    /// So many rows, all picked alike, would be picked twice as often as these are: `rows` where targets are
    /// uniform, fewer the more unevenly they aim.
    pub even_rows: f64,
}

/// An endless supply of row numbers: of rows that a claim can win, and of rows that it cannot.
#[derive(Debug, Clone)]
pub struct Picker {
    maker: RowMaker,
    stream: Stream,
    winners: Choice,
    losers: Option<Choice>,
}

/// How a number below the count of pending (or other) rows is drawn.
#[derive(Debug, Clone)]
enum Choice {
    Uniform {
        count: u64,
    },
    Zipfian {
        exponent: f64,
        zipf: Zipf<f64>,
        scramble: Permutation,
    },
    /// `0..older` lie on older days, the rest on the newest.
    NewestDay {
        share: f64,
        older: u64,
        count: u64,
    },
}

impl Picker {
    /// A picker over the dataset's rows; equal seeds pick equally.
    ///
    /// # Errors
    /// Rows that cannot be made, datasets without claims, parameters out of range.
    pub fn new(dataset: &Dataset, targets: Targets, seed: u64) -> Result<Picker, PickError> {
        if dataset.claim.is_none() {
            return Err(PickError::NoClaimColumns { dataset: dataset.name.clone() });
        }
        let maker = RowMaker::of_columns(dataset, &[])?;
        if maker.pending_rows() == 0 {
            return Err(PickError::NothingPending { dataset: dataset.name.clone() });
        }
        let scramble = key_for(dataset.seed, PURPOSE_SCRAMBLE, 0);
        let newest = maker.days().count() - 1;
        let winners =
            Choice::new(targets, maker.pending_rows(), maker.rows_before_day(true, newest), scramble)?;
        let losers = match maker.other_rows() {
            0 => None,
            count => Some(Choice::new(targets, count, maker.rows_before_day(false, newest), scramble)?),
        };
        Ok(Picker { maker, stream: Stream::new(key_for(seed, PURPOSE_PICKS, 0)), winners, losers })
    }

    /// The rows that [`Picker::next_pending`] picks from.
    pub fn pool(&self) -> Pool {
        self.winners.pool()
    }

    /// A row that is made PENDING with a lease that has run out.
    pub fn next_pending(&mut self) -> u64 {
        let number = self.winners.draw(&mut self.stream);
        // Drawn below the count of pending rows, of which there is at least one.
        self.maker.pending_row(number).unwrap_or(0)
    }

    /// A row that is not made PENDING; `None` when there is none.
    pub fn next_loser(&mut self) -> Option<u64> {
        let number = self.losers.as_ref()?.draw(&mut self.stream);
        self.maker.other_row(number)
    }

    /// A number from 0 to 1, exclusive, from the same stream: for shares and the like.
    pub fn next_fraction(&mut self) -> f64 {
        self.stream.fraction()
    }
}

impl Choice {
    fn new(targets: Targets, count: u64, older: u64, scramble: u64) -> Result<Choice, PickError> {
        match targets {
            Targets::Uniform => Ok(Choice::Uniform { count }),
            Targets::Zipfian { exponent } => {
                let zipf = Zipf::new(count as f64, exponent).ok().filter(|_| exponent > 0.0).ok_or(
                    PickError::Parameter { parameter: "exponent", value: exponent, expected: "above 0" },
                )?;
                Ok(Choice::Zipfian { exponent, zipf, scramble: Permutation::new(count, scramble) })
            }
            Targets::NewestDay { share } if (0.0..=1.0).contains(&share) => {
                Ok(Choice::NewestDay { share, older, count })
            }
            Targets::NewestDay { share } => {
                Err(PickError::Parameter { parameter: "share", value: share, expected: "from 0 to 1" })
            }
        }
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Choice::Uniform { count } => stream.below(*count),
            Choice::Zipfian { zipf, scramble, .. } => {
                // Ranks run from 1 to the count.
                let rank = (zipf.sample(stream) as u64).clamp(1, scramble.count());
                scramble.apply(rank - 1)
            }
            Choice::NewestDay { share, older, count } => {
                let newest = count - older;
                match newest > 0 && (*older == 0 || stream.fraction() < *share) {
                    true => older + stream.below(newest),
                    false => stream.below(*older),
                }
            }
        }
    }

    /// Two picks are the same row with probability Σ p²: as often as of 1 / Σ p² rows that are picked alike.
    fn pool(&self) -> Pool {
        match self {
            Choice::Uniform { count } => Pool { rows: *count, even_rows: *count as f64 },
            Choice::Zipfian { exponent, scramble, .. } => {
                let count = scramble.count();
                let even_rows = power_sum(count, *exponent).powi(2) / power_sum(count, 2.0 * exponent);
                Pool { rows: count, even_rows }
            }
            Choice::NewestDay { share, older, count } => {
                let share = match (count - older, older) {
                    (0, _) => 0.0,
                    (_, 0) => 1.0,
                    _ => *share,
                };
                let parts = [(share, count - older), (1.0 - share, *older)];
                let aimed_at = || parts.iter().filter(|(share, _)| *share > 0.0);
                let twice: f64 = aimed_at().map(|(share, rows)| share * share / *rows as f64).sum();
                Pool { rows: aimed_at().map(|(_, rows)| rows).sum(), even_rows: 1.0 / twice }
            }
        }
    }
}

/// Σ k^-exponent for k from 1 to `count`: the first terms one by one, the rest by the trapezoidal rule, which is
/// exact there to nine digits.
fn power_sum(count: u64, exponent: f64) -> f64 {
    const ONE_BY_ONE: u64 = 10_000;
    let term = |k: f64| k.powf(-exponent);
    let first: f64 = (1..=count.min(ONE_BY_ONE)).map(|k| term(k as f64)).sum();
    if count <= ONE_BY_ONE {
        return first;
    }
    let (from, to) = (ONE_BY_ONE as f64, count as f64);
    let area = match (1.0 - exponent).abs() < 1e-9 {
        true => (to / from).ln(),
        false => (to.powf(1.0 - exponent) - from.powf(1.0 - exponent)) / (1.0 - exponent),
    };
    first + area + (term(to) - term(from)) / 2.0
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::units::Rows;

    /// The pool is what picks show: so many rows, and two picks meet as often as it says.
    fn check(rows: u64, targets: Targets) {
        let dataset = Dataset::read("t_idem").unwrap().scaled(Some(Rows(rows)), Some(3), None, None).unwrap();
        let mut picker = Picker::new(&dataset, targets, 1).unwrap();
        let pool = picker.pool();
        let mut times: HashMap<u64, u64> = HashMap::new();
        const PICKS: u64 = 400_000;
        for _ in 0..PICKS {
            *times.entry(picker.next_pending()).or_default() += 1;
        }
        assert_eq!(times.len() as u64, pool.rows, "{targets:?}");
        let meetings: f64 = times.values().map(|times| (times * (times - 1)) as f64).sum();
        let even_rows = (PICKS * (PICKS - 1)) as f64 / meetings;
        assert!((even_rows / pool.even_rows - 1.0).abs() < 0.02, "{targets:?}: {even_rows} {pool:?}");
    }

    #[test]
    fn the_pool_is_the_rows_that_are_picked_and_how_often_two_picks_meet() {
        check(1_000, Targets::Uniform);
        check(500, Targets::Zipfian { exponent: 0.99 });
        check(500, Targets::Zipfian { exponent: 0.5 });
        check(900, Targets::NewestDay { share: 0.95 });
        check(900, Targets::NewestDay { share: 1.0 });
        check(900, Targets::NewestDay { share: 0.0 });
    }

    #[test]
    fn long_sums_are_as_exact_as_short_ones() {
        for exponent in [0.5, 0.99, 1.0, 1.98, 3.0] {
            let exact: f64 = (1..=1_000_000u64).rev().map(|k| (k as f64).powf(-exponent)).sum();
            let sum = power_sum(1_000_000, exponent);
            assert!((sum / exact - 1.0).abs() < 1e-9, "{exponent}: {sum} {exact}");
        }
    }
}
