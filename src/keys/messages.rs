//! Messages that a workload settles: the rows they bring, from their number alone.
//!
//! A message is *about* a loaded row: it brings the same columns, except that its sequence numbers lie behind
//! all loaded ones. So its key is new, and lies anywhere in the tree as a real one's would. The
//! same step's message of the same number is always the same.

use rand::distr::Distribution;
use rand_distr::Zipf;

use super::error::MakeError;
use super::key_of::KeyOf;
use super::mix::{Permutation, Stream, key_for, scale};
use super::row::Value;
use crate::spec::dataset::{Dataset, Recipe};
use crate::spec::table::ColumnKind;

/// What choices of orders are keyed by; fixed for ever.
const PURPOSE_ORDER: u64 = 9;
const PURPOSE_HOT: u64 = 10;
const PURPOSE_DRAWS: u64 = 11;

/// Messages of one step at most: their numbers stand in the bills' amounts.
pub const MESSAGES_MAX: u64 = 100_000_000;

/// Why messages cannot be made.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum MessagesError {
    /// Rows cannot be made.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// Nothing tells the messages' rows from the loaded ones.
    #[error(
        "the key of {table} has no message number: a workload that settles messages needs a column in it that \
         counts up (make = \"sequence\"), behind whose last value its own rows lie — use a dataset such as seed or t_idem"
    )]
    NoNumber {
        /// The table.
        table: String,
    },
    /// The numbers behind the loaded ones do not fit.
    #[error(
        "column {column} of {table} is too small: behind its loaded rows there is no room for a step's messages"
    )]
    NoRoom {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// More hot orders than rows.
    #[error("hot_orders = {orders} is more than the {rows} loaded rows: orders are taken from them")]
    Orders {
        /// As given.
        orders: u64,
        /// Loaded rows.
        rows: u64,
    },
    /// No distribution has this exponent.
    #[error("exponent = {exponent} is not 0 or above")]
    Exponent {
        /// As given.
        exponent: f64,
    },
}

/// Makes the idempotency row of any message of a step.
#[derive(Debug, Clone)]
pub struct Messages {
    key_of: KeyOf,
    /// Places among the made columns that hold a sequence number, with the number of message 0.
    numbers: Vec<(usize, u64)>,
    /// The place of the number in the key.
    number: usize,
    orders: Orders,
    seed: u64,
}

/// Which loaded row a message is about.
#[derive(Debug, Clone)]
enum Orders {
    /// Any.
    All { rows: u64 },
    /// One of a few, scattered over the table, by Zipf.
    Hot { zipf: Option<Zipf<f64>>, orders: u64, scramble: Permutation },
}

impl Messages {
    /// Messages about any row of the dataset, or about `hot` orders by Zipf with an exponent; their rows have
    /// `columns` of the table, in that order. Equal seeds make equal messages.
    ///
    /// # Errors
    /// Tables without a message number in `key`, parameters out of their range.
    pub fn new(
        dataset: &Dataset,
        columns: &[usize],
        key: &[usize],
        hot: Option<(u64, f64)>,
        seed: u64,
    ) -> Result<Messages, MessagesError> {
        let table = &dataset.table;
        let mut numbers = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            if let Some(Recipe::Sequence { start }) = &dataset.recipes[*column] {
                let first = start.saturating_add(dataset.rows.0);
                if !has_room(&table.columns[*column].kind, first) {
                    let column = table.columns[*column].name.clone();
                    return Err(MessagesError::NoRoom { table: table.name.clone(), column });
                }
                numbers.push((place, first));
            }
        }
        let is_number = |column: &usize| matches!(dataset.recipes[*column], Some(Recipe::Sequence { .. }));
        let number = key.iter().copied().find(is_number);
        let number = number.ok_or_else(|| MessagesError::NoNumber { table: table.name.clone() })?;
        let rows = dataset.rows.0;
        let orders = match hot {
            None => Orders::All { rows },
            Some((orders, _)) if orders > rows => return Err(MessagesError::Orders { orders, rows }),
            Some((_, exponent)) if !(exponent.is_finite() && exponent >= 0.0) => {
                return Err(MessagesError::Exponent { exponent });
            }
            Some((orders, exponent)) => Orders::Hot {
                // Zipf with exponent 0 is even; the crate's own sampler wants it above.
                zipf: Zipf::new(orders as f64, exponent).ok().filter(|_| exponent > 0.0),
                orders,
                scramble: Permutation::new(rows, key_for(dataset.seed, PURPOSE_HOT, 0)),
            },
        };
        let key_of = KeyOf::of_columns(dataset, columns)?;
        Ok(Messages { key_of, numbers, number, orders, seed: key_for(seed, PURPOSE_ORDER, 0) })
    }

    /// The column that tells the messages' rows from the loaded ones, and its value in message 0's row: every
    /// loaded row's lies below.
    pub fn number_column(&self) -> (usize, u64) {
        let columns: Vec<usize> = self.key_of.columns().collect();
        let found = self.numbers.iter().find(|(place, _)| columns[*place] == self.number);
        (self.number, found.map_or(0, |(_, first)| *first))
    }

    /// Replaces `values` by the row of a message.
    pub fn fill(&mut self, message: u64, values: &mut Vec<Value>) {
        self.fill_about(self.row_of(message), message, values);
    }

    /// Replaces `values` by the row that a message would bring, were it about this loaded row.
    pub fn fill_about(&mut self, row: u64, message: u64, values: &mut Vec<Value>) {
        self.key_of.fill(row, values);
        for (place, first) in &self.numbers {
            let number = first.saturating_add(message);
            values[*place] = match values[*place] {
                Value::Int(_) => Value::Int(number as i64),
                _ => Value::UInt(number),
            };
        }
    }

    /// The loaded row that a message is about.
    pub fn row_of(&self, message: u64) -> u64 {
        let mut stream = Stream::new(self.seed.wrapping_add(super::mix::mix64(message)));
        match &self.orders {
            Orders::All { rows } => stream.below(*rows),
            Orders::Hot { zipf, orders, scramble } => {
                let place = match zipf {
                    // Ranks run from 1 to the count.
                    Some(zipf) => (zipf.sample(&mut stream) as u64).clamp(1, *orders) - 1,
                    None => stream.below(*orders),
                };
                scramble.apply(place)
            }
        }
    }

    /// The loaded row of the order of that rank, 0 being the hottest; any row where no orders are hot.
    pub fn row_of_rank(&self, rank: u64) -> u64 {
        match &self.orders {
            Orders::All { rows } => scale(super::mix::mix64(rank), *rows),
            Orders::Hot { orders, scramble, .. } => scramble.apply(rank % orders),
        }
    }
}

/// Numbers for a worker's own choices; equal seeds draw equally.
#[derive(Debug, Clone)]
pub struct Draws(Stream);

impl Draws {
    /// The draws of a seed.
    pub fn new(seed: u64) -> Draws {
        Draws(Stream::new(key_for(seed, PURPOSE_DRAWS, 0)))
    }

    /// A number from 0 to 1, exclusive.
    pub fn fraction(&mut self) -> f64 {
        self.0.fraction()
    }

    /// A number below `below`.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0.below(below)
    }
}

fn has_room(kind: &ColumnKind, first: u64) -> bool {
    let last = u128::from(first) + u128::from(MESSAGES_MAX);
    match kind {
        ColumnKind::Integer { bytes, unsigned } => {
            let bits = u32::from(*bytes) * 8 - u32::from(!unsigned);
            last < 1u128 << bits
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use crate::units::Rows;

    fn messages(name: &str, hot: Option<(u64, f64)>) -> Messages {
        let dataset = Dataset::read(name).unwrap();
        let dataset = dataset.scaled(Some(Rows(1_000)), Some(1), None, None).unwrap();
        let key: Vec<usize> = dataset.table.primary_key.iter().map(|part| part.column).collect();
        Messages::new(&dataset, &key, &key, hot, 7).unwrap()
    }

    #[test]
    fn a_message_has_a_key_of_its_own_behind_the_loaded_ones() {
        for name in ["seed", "t_idem"] {
            let mut messages = messages(name, None);
            let (mut keys, mut values) = (HashSet::new(), Vec::new());
            for message in 0..500 {
                messages.fill(message, &mut values);
                let number = match values[1] {
                    Value::Int(number) => number as u64,
                    Value::UInt(number) => number,
                    ref other => panic!("{other:?} is no number"),
                };
                assert_eq!(number, 1 + 1_000 + message);
                assert!(keys.insert(values.clone()));
            }
            let mut again = Vec::new();
            messages.fill(499, &mut again);
            assert_eq!(again, values);
        }
    }

    #[test]
    fn hot_orders_are_few_and_the_first_is_the_hottest() {
        let messages = messages("seed", Some((5, 0.99)));
        let mut counts: HashMap<u64, u64> = HashMap::new();
        (0..2_000).for_each(|message| *counts.entry(messages.row_of(message)).or_default() += 1);
        assert_eq!(counts.len(), 5);
        let hottest = counts.iter().max_by_key(|(_, count)| **count).map(|(row, _)| *row);
        assert_eq!(hottest, Some(messages.row_of_rank(0)));
    }

    #[test]
    fn tables_without_a_number_and_too_many_orders_are_refused() {
        let dataset = Dataset::read("t_idem_hash").unwrap();
        let key: Vec<usize> = dataset.table.primary_key.iter().map(|part| part.column).collect();
        let error = Messages::new(&dataset, &key, &key, None, 7).unwrap_err();
        assert!(error.to_string().contains("sequence"), "{error}");
        let dataset = Dataset::read("seed").unwrap().scaled(Some(Rows(10)), None, None, None).unwrap();
        let error = Messages::new(&dataset, &[0, 1], &[0, 1], Some((11, 1.0)), 7).unwrap_err();
        assert_eq!(error, MessagesError::Orders { orders: 11, rows: 10 });
    }
}
