//! The experiment as data: what is measured, on which rows, on which server.
//!
//! Files and flags are read here once, into types in which a wrong state cannot be written. Nothing in
//! this module talks to a server; reading a file is the only input it does.
//!
//! - [`table`] what a CREATE TABLE says (columns, keys, partitions)
//! - [`dataset`] a table and how its rows are made
//! - [`suite`] a named list of steps: workload, parameters, load
//! - [`server`] which server is meant: owned, contained or attached

pub mod dataset;
pub mod server;
pub mod suite;
pub mod table;
