//! The experiment as data: what is measured, on which rows, on which server.
//!
//! Files and flags are read here once, into types in which a wrong state cannot be written. Nothing in
//! this module talks to a server; reading a file is the only input it does.
//!
//! - [`table`] what a CREATE TABLE says (columns, keys, partitions)
//! - [`ddl`] reads a CREATE TABLE, and judges it
//! - [`dataset`] a table and how its rows are made
//! - [`footprint`] how many bytes its rows will take
//! - [`suite`] a named list of steps: workload, parameters, load
//! - [`calendar`] days and what people write for them
//! - [`server`] which server is meant: owned, contained or attached

pub mod calendar;
pub mod dataset;
pub mod ddl;
pub mod footprint;
pub mod server;
pub mod suite;
pub mod table;
