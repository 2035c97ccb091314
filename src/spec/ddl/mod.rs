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
pub use partition::{bound_sql, quote_name};

use sqlparser::tokenizer::Token;

use super::table::Table;

const NO_FOREIGN_KEYS: &str =
    "MySQL has none on partitioned tables, and a load could not fill both sides in order; leave it out";

/// Reads the text's CREATE TABLE and checks it.
///
/// # Errors
/// What cannot be read, what the loaders do not write, what MySQL would refuse, and statements beside it: the
/// first of these.
pub fn parse_table(sql: &str) -> Result<Table, DdlError> {
    let table = read_only_table(sql)??;
    match rules::faults(&table).into_iter().next() {
        Some(fault) => Err(fault),
        None => Ok(table),
    }
}

/// The one CREATE TABLE of a text. What a dump writes around it (settings, and a DROP TABLE IF EXISTS before it)
/// is passed over; any other statement is an error, for nothing would come of it.
///
/// The inner error is one of the table, the outer one of the text.
fn read_only_table(sql: &str) -> Result<Result<Table, DdlError>, DdlError> {
    let text = source::open_versioned_comments(sql);
    let mut source = source::Source::new(&text)?;
    let (mut table, mut further) = (None, None);
    while source.peek().is_some() {
        let (line, statement) = (source.line(), source.head());
        let before = table.is_none();
        if before && source.words(&["CREATE", "TABLE"]) {
            source.step_back(2);
            table = Some(statement::read_table(&mut source));
        } else if source.peek() != Some(&Token::SemiColon)
            && !source.word("SET")
            && !(before && source.words(&["DROP", "TABLE", "IF", "EXISTS"]))
        {
            further.get_or_insert(DdlError::FurtherStatement { line, statement });
        }
        source.skip_statement();
    }
    match (table, further) {
        (None, _) => Err(DdlError::NoTable),
        (Some(Ok(_)), Some(further)) => Err(further),
        (Some(table), _) => Ok(table),
    }
}
