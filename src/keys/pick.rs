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
                Ok(Choice::Zipfian { zipf, scramble: Permutation::new(count, scramble) })
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
            Choice::Zipfian { zipf, scramble } => {
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
}
