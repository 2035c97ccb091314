//! Every value from (seed, row number): pure, no I/O, constant time and memory a row.
//!
//! - [`RowMaker`] a dataset compiled into one maker per column; fills a reused [`Row`]
//! - [`KeyOf`] the primary key of a row, as values to bind
//! - [`Messages`] rows that a workload adds, behind the loaded ones
//! - [`Picker`] row numbers for a workload: uniform, zipfian, newest day hot
//! - `mix` hashes and permutations, `days` which row lies on which day, `status` which rows are PENDING,
//!   `key` keys that look random and come sorted, `unique` keys that would collide

mod batch;
mod column;
mod days;
mod error;
mod key;
mod key_of;
mod literal;
mod maker;
mod messages;
mod mix;
mod pick;
mod row;
mod status;
#[cfg(test)]
mod tests;
mod unique;

pub use batch::{Cells, RowBatch};
pub use days::{Day, Days};
pub use error::MakeError;
pub use key_of::KeyOf;
pub use maker::RowMaker;
pub use messages::{Draws, MESSAGES_MAX, Messages, MessagesError};
pub use pick::{PickError, Picker, Pool};
pub use row::{Cell, Row, Value};
