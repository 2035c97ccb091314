//! The reading wing's report.
pub mod costs;
pub mod facts;
pub mod plot;
