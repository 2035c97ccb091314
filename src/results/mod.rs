//! What a run leaves behind: the types of `run.json` and how it is saved and found.
//!
//! The measuring wing produces a [`Run`], the reading wing consumes it; they share nothing else.

pub mod buckets;
pub mod histogram;
mod run;
pub mod store;
pub mod version;

pub use run::*;
