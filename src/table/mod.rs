//! All SQL about the tables that are measured.
//!
//! - [`claim`] the compare-and-set UPDATE; [`sweep`] batches of it
//! - [`explain`] how the server runs a statement, with advice
//! - [`holders`] who holds which rows, to check a step's claims against
//! - [`row_counts`] what the driver's "affected rows" mean, found out by trying

pub mod claim;
pub mod explain;
pub mod holders;
pub mod row_counts;
pub mod sweep;
mod write;

pub use write::plain_text;
