//! `idembench`: benchmarks and capacity planning for the idempotency tables with which Kafka consumers
//! de-duplicate messages in MySQL/InnoDB.
//!
//! Two wings meet in one hall. Measuring produces a [`results::Run`], reading consumes it:
//!
//! ```text
//!            command ── cli
//!      measuring │ reading
//!  workload      │      report
//!  drive  load   │
//!  recorder keys table server
//!            results
//!             spec
//!            units
//! ```
//!
//! Dependencies point down; `tests/architecture.rs` keeps it so.
#![forbid(unsafe_code)]

pub mod cli;
pub mod command;
pub mod drive;
pub mod keys;
pub mod load;
pub mod pages;
pub mod recorder;
pub mod report;
pub mod results;
pub mod retention;
pub mod server;
pub mod spec;
pub mod table;
pub mod units;
pub mod workload;
