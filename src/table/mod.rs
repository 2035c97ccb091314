//! All SQL of the tables that are measured, and the text of their rows.
//!
//! - [`schema`] made and dropped; [`inspect`] counted and weighed
//! - [`bulk`] rows as LOAD DATA text, [`insert`] as multi-row INSERTs; `text` and `literal` single values
//! - [`checksum`] what the server should say about rows that are made from a seed
//! - [`session`] what the sessions of a load set
//! - [`staging`] tables that stand in for another while its files are taken in
//! - [`privileges`] what an account must be allowed to for that
//! - [`partition`] the partitions of a table as the server has them, and the statements that change them
//! - [`ledger`] how far a load has come, kept beside the rows
//! - [`claim`] the compare-and-set UPDATE; [`sweep`] batches of it
//! - [`settle`] a message's two rows, in one transaction or in two; `bills` the table of the second
//! - [`explain`] how the server runs a statement, with advice
//! - [`holders`] who holds which rows, to check a step's claims against
//! - [`row_counts`] what the driver's "affected rows" mean, found out by trying

mod bills;
pub mod bulk;
pub mod checksum;
pub mod claim;
pub mod explain;
pub mod holders;
pub mod insert;
pub mod inspect;
pub mod ledger;
mod literal;
pub mod partition;
pub mod privileges;
pub mod row_counts;
pub mod schema;
pub mod session;
pub mod settle;
pub mod staging;
pub mod sweep;
mod text;
mod write;

pub use write::plain_text;
