//! CREATE TABLE as text, read into a [`Table`] and written back.
//!
//! `sqlparser` cuts the text into tokens with their lines; the statement itself is read here, because
//! partitions, versioned comments (`/*!50100 PARTITION BY …`), key prefixes and character sets are what
//! matters to us and what a general SQL tree leaves out.
//!
//! - `source` tokens with places
//! - `statement`, `column`, `partition` the grammar, top down
//! - `rules` what the server would refuse
//! - [`audit`] what it would accept and its users would regret

pub mod audit;
mod column;
mod error;
mod partition;
mod rules;
mod source;
mod statement;
#[cfg(test)]
mod tests;

pub use error::{DdlError, PARTITIONS_MAX};
pub use partition::quote_name;

use super::table::Table;

const NO_FOREIGN_KEYS: &str =
    "MySQL has none on partitioned tables, and a load could not fill both sides in order; leave it out";

/// Reads the text's first CREATE TABLE and checks it.
///
/// # Errors
/// What cannot be read, what the loaders do not write, and what MySQL would refuse: the first of these.
pub fn parse_table(sql: &str) -> Result<Table, DdlError> {
    let mut read = read_tables(sql)?;
    if read.is_empty() {
        return Err(DdlError::NoTable);
    }
    let table = read.remove(0)?;
    match rules::faults(&table).into_iter().next() {
        Some(fault) => Err(fault),
        None => Ok(table),
    }
}

/// Every CREATE TABLE of a text (a dump, say); other statements are passed over.
fn read_tables(sql: &str) -> Result<Vec<Result<Table, DdlError>>, DdlError> {
    let text = source::open_versioned_comments(sql);
    let mut source = source::Source::new(&text)?;
    let mut tables = Vec::new();
    while source.peek().is_some() {
        let is_table = source.words(&["CREATE", "TABLE"]);
        if is_table {
            source.step_back(2);
            tables.push(statement::read_table(&mut source));
        }
        source.skip_statement();
    }
    Ok(tables)
}
