//! InnoDB tablespace files without a server: rows in, the finished `.ibd` file of one partition out.
//!
//! The server makes an empty table; each partition's own empty file is the *donor* of everything that
//! the server's dictionary knows (space id, index ids, roots, flags). A new file is built beside it from
//! that and the rows. Whoever swaps the files (`load`) has to see to it that no server is looking.
//!
//! - [`refuse`] what cannot be written safely, with the reason
//! - [`plan`] a table compiled into what the record writer needs; [`encode`] a value's bytes
//! - [`record`] records of the clustered index, secondary index entries, node pointers
//! - [`page`] one index page; [`index`] a tree from its leaves up; [`space`] extents and segments
//! - [`fill`] how full leaves are and how they are shuffled, of a table that has lived; [`leaves`] their places
//! - [`donor`] what is taken from the empty file
//! - [`sort`] entries into key order within a memory bound
//! - [`sample`] how the leaves of a real table lie
//! - `file` one partition's file, all of the above together; `write` the disk
//! - [`verify`] reads a finished file and trusts nothing; it shares no code with the writer
//!
//! Everything but `write`, [`sample`] and the spilling of [`sort`] is pure. The format facts were established on
//! MySQL 9.7.4 and 8.0 by experiment; `docs/FORMAT.md` says which versions have been tried.

pub mod buffer;
pub mod donor;
pub mod encode;
pub mod file;
pub mod fill;
pub mod format;
pub mod index;
pub mod leaves;
pub mod page;
pub mod plan;
pub mod record;
pub mod refuse;
pub mod sample;
pub mod sort;
pub mod space;
pub mod verify;
pub mod write;

pub use encode::Value;
