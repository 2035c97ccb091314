//! The SQL of the tables that are measured, and the text of their rows.
//!
//! - [`schema`] made and dropped; [`inspect`] counted and weighed
//! - [`bulk`] rows as LOAD DATA text, [`insert`] as multi-row INSERTs; `text` and `literal` single values
//! - [`checksum`] what the server should say about rows that are made from a seed
//! - [`session`] what the sessions of a load set
//! - [`ledger`] how far a load has come, kept beside the rows

pub mod bulk;
pub mod checksum;
pub mod insert;
pub mod inspect;
pub mod ledger;
mod literal;
pub mod schema;
pub mod session;
mod text;
