//! The daily roll of a table that keeps its days in partitions: add tomorrow's, drop the oldest.
//!
//! - `layout` the server's partitions as days; [`zone`] in which time zone they are counted
//! - [`plan()`] partitions in, steps out; `refusal` what it does not do, and the way out. Pure
//! - [`look()`] what is there now; [`apply`] the steps, one by one
//! - [`patience`] a statement that needs the table's metadata lock, without making everybody queue up
//!
//! Nothing is remembered between calls: DDL is atomic, so that whatever was killed when, the table's partitions
//! say what has been done.

pub mod apply;
mod layout;
mod look;
pub mod patience;
mod plan;
mod refusal;
pub mod zone;

pub use look::{LookError, look};
pub use plan::{Chosen, Facts, Plan, Step, Wish, plan};
pub use refusal::Refusal;
