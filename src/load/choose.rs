//! Which way a table takes when the user names none.

use super::error::sql;
use super::pages::{self, import};
use super::plan::Plan;
use super::{LoadError, LoadRequest, SwapError};
use crate::keys::RowMaker;
use crate::server::Server;
use crate::table::{ledger, schema};
use crate::units::{Rows, grouped};

/// A way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// [`super::load`].
    Sql,
    /// [`super::import()`].
    Import,
    /// [`super::swap()`].
    Swap,
}

/// A way, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The way.
    pub by: By,
    /// Why, in words that can stand behind its name and a colon.
    pub reason: String,
}

/// From so many rows on, making, importing and exchanging tables (a second or two, whatever the size) is
/// less than what SQL loses: 150 to 370 thousand rows/s against a million and more.
const IMPORT_ROWS_MIN: u64 = 1_000_000;
/// From so many rows on, two restarts of the server (some 20 s) are less than what an import loses, at some
/// 800 thousand rows/s, against files that need no import.
const SWAP_ROWS_MIN: u64 = 20_000_000;

/// Chooses by what the table allows, what the server allows, and what pays.
///
/// # Errors
/// The server does not answer.
pub async fn choose(server: &Server, request: &LoadRequest) -> Result<Choice, LoadError> {
    let table = request.dataset.table.name.as_str();
    let begun = server.exchange().map_err(SwapError::from)?;
    let fresh = request.replace.as_deref() == Some(table);
    if begun.as_ref().is_some_and(|exchange| exchange.table == table) && !fresh {
        // All rows are there: what is left can be done over a running server too.
        let by = if server.is_ours_to_halt() { By::Swap } else { By::Sql };
        return Ok(Choice::by(by, "a load that was cut off had exchanged its files"));
    }
    if let Some(reason) = why_sql(server, request, fresh).await? {
        return Ok(Choice::by(By::Sql, reason));
    }
    let rows = request.dataset.rows;
    if server.is_ours_to_halt() && rows.0 >= SWAP_ROWS_MIN && begun.is_none() {
        let reason = format!("{} rows repay two restarts of a server that is ours to stop", grouped(rows.0));
        return Ok(Choice::by(By::Swap, reason));
    }
    let reason = match server.is_ours_to_halt() {
        true => format!("{} rows do not repay two restarts of the server", grouped(rows.0)),
        false => "the server goes on running and its files are in our reach".to_owned(),
    };
    Ok(Choice::by(By::Import, reason))
}

impl Choice {
    fn by(by: By, reason: impl Into<String>) -> Choice {
        Choice { by, reason: reason.into() }
    }
}

/// What stands against files; cheap questions first, so that small tables wait for none.
async fn why_sql(server: &Server, request: &LoadRequest, fresh: bool) -> Result<Option<String>, LoadError> {
    let rows = request.dataset.rows;
    if rows.0 < IMPORT_ROWS_MIN {
        return Ok(Some(format!("{} rows are too few to build files for", grouped(rows.0))));
    }
    if request.streams.is_some() {
        return Ok(Some("--streams says how".to_owned()));
    }
    if let Some(refusal) = pages::refusal(request)? {
        return Ok(Some(without_way_out(&refusal)));
    }
    let mut connection = server.connect().await?;
    if !fresh && let Some(reason) = rows_there(&mut connection, request).await? {
        return Ok(Some(reason));
    }
    import::why_out_of_reach(server, &mut connection).await
}

/// Rows that an earlier load has put in go on by SQL.
async fn rows_there(
    connection: &mut sqlx::MySqlConnection,
    request: &LoadRequest,
) -> Result<Option<String>, LoadError> {
    let table = request.dataset.table.name.as_str();
    let act = "look up the load of";
    if !schema::exists(connection, ledger::LEDGER_TABLES[0]).await.map_err(sql(act, table))? {
        return Ok(None);
    }
    match ledger::entry(connection, table).await.map_err(sql(act, table))? {
        None => return Ok(None),
        Some(entry) if entry.state == ledger::State::Complete => {
            return Ok(Some("the table is loaded".to_owned()));
        }
        Some(_) => {}
    }
    let maker = RowMaker::new(&request.dataset)?;
    let first_rows = Plan::new(&request.dataset, &maker).first_rows();
    let noted = ledger::next_rows(connection, table).await.map_err(sql(act, table))?;
    let there: u64 =
        noted.iter().zip(&first_rows).map(|((_, next), first)| next.saturating_sub(*first)).sum();
    Ok((there > 0).then(|| format!("{} rows are there from a load that was cut off", Rows(there))))
}

/// A refusal says what else to do: here it is being done.
fn without_way_out(refusal: &str) -> String {
    refusal.replace(" (use --method sql)", "").replace(", or use --method sql)", ")")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_for_sql_does_not_advise_sql() {
        for (refusal, expect) in [
            (
                "column g is generated (use --method sql); b is c (use --method sql)",
                "column g is generated; b is c",
            ),
            ("k sorts by x (make it binary, or use --method sql)", "k sorts by x (make it binary)"),
        ] {
            assert_eq!(without_way_out(refusal), expect);
        }
    }
}
