//! The table made, resumed or found complete.

use sqlx::MySqlConnection;

use super::error::sql;
use super::pages::import::stages;
use super::plan::Plan;
use super::{LoadError, LoadRequest, other_rows, settings, space};
use crate::server::{Server, claim_schema, registry};
use crate::spec::dataset::{Dataset, Fill};
use crate::table::ledger::{self, Entry, State};
use crate::table::{inspect, schema, settle};

/// Where each piece goes on.
pub(super) struct Prepared {
    pub(super) next_rows: Vec<u64>,
    rows_there: u64,
    complete: bool,
}

impl Prepared {
    /// Rows that are in the table already.
    pub(super) fn rows_there(&self) -> u64 {
        self.rows_there
    }

    /// Whether nothing is to be done.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }
}

/// The schema made ours, what killed loads have left put right, and other loads of the table kept out for as
/// long as the connection lives.
pub(super) async fn enter(
    server: &Server,
    connection: &mut MySqlConnection,
    request: &LoadRequest,
    plan: &Plan,
) -> Result<(), LoadError> {
    let table = request.dataset.table.name.as_str();
    claim_schema(connection).await?;
    ledger::create(connection).await.map_err(sql("make the load's ledger", table))?;
    settings::restore(connection).await?;
    if !ledger::lock(connection, table).await.map_err(sql("lock the load of", table))? {
        return Err(LoadError::Busy { table: table.to_owned() });
    }
    stages::settle(server, connection, request, plan).await?;
    remove_step_rows(connection, table).await
}

/// Takes away what a killed step has left in the table, which would not fit its ledger.
async fn remove_step_rows(connection: &mut MySqlConnection, table: &str) -> Result<(), LoadError> {
    let left = ledger::step_rows(connection, table).await.map_err(sql("look for a step's rows in", table))?;
    let Some((column, first)) = left else { return Ok(()) };
    let exists = schema::exists(connection, table).await.map_err(sql("look for", table))?;
    if exists && is_ours(connection, table).await? {
        settle::remove_leftovers(connection, table, &column, first)
            .await
            .map_err(sql("remove what a killed step has left in", table))?;
    }
    ledger::forget_step_rows(connection, table).await.map_err(sql("strike out a step's rows in", table))
}

/// Notes that all rows of the table are there, not read back yet.
pub(super) async fn note_all_there(
    connection: &mut MySqlConnection,
    dataset: &Dataset,
    plan: &Plan,
) -> Result<(), LoadError> {
    let entry = Entry {
        fingerprint: dataset.fingerprint(),
        dataset: dataset.name.clone(),
        rows: dataset.rows.0,
        state: State::Loading,
    };
    let ends: Vec<u64> = plan.pieces.iter().map(|piece| piece.rows.end).collect();
    let table = dataset.table.name.as_str();
    ledger::begin(connection, table, &entry, &ends).await.map_err(sql("note the load of", table))?;
    note_fill(connection, dataset).await
}

/// Makes the table, or finds out how far an earlier load of the same rows has come.
pub(super) async fn prepare(
    server: &Server,
    connection: &mut MySqlConnection,
    request: &LoadRequest,
    plan: &Plan,
) -> Result<Prepared, LoadError> {
    let dataset = &request.dataset;
    let table = dataset.table.name.as_str();
    if request.replace.as_deref() == Some(table) {
        drop_table(connection, table).await?;
    }
    let exists = schema::exists(connection, table).await.map_err(sql("look for", table))?;
    let entry = ledger::entry(connection, table).await.map_err(sql("look up the load of", table))?;
    match (exists, entry) {
        (true, Some(entry)) => resume(server, connection, dataset, plan, entry).await,
        (true, None) if is_ours(connection, table).await? => Err(LoadError::Damaged {
            table: table.to_owned(),
            what: "no ledger says which rows it has".to_owned(),
        }),
        (true, None) => Err(LoadError::NotOurs { table: table.to_owned() }),
        (false, _) => {
            space::check(server, dataset, dataset.rows.0)?;
            make_tables(connection, dataset, plan).await?;
            Ok(Prepared { next_rows: plan.first_rows(), rows_there: 0, complete: false })
        }
    }
}

async fn is_ours(connection: &mut MySqlConnection, table: &str) -> Result<bool, LoadError> {
    Ok(registry::contains(connection, table).await?)
}

/// The user has named the table in a flag.
async fn drop_table(connection: &mut MySqlConnection, table: &str) -> Result<(), LoadError> {
    registry::forget(connection, table).await?;
    schema::drop(connection, table).await.map_err(sql("drop", table))?;
    ledger::forget(connection, table).await.map_err(sql("strike out the load of", table))
}

/// The ledger's entry comes first, so that a table whose making was cut off is known to be ours.
async fn make_tables(
    connection: &mut MySqlConnection,
    dataset: &Dataset,
    plan: &Plan,
) -> Result<(), LoadError> {
    let table = dataset.table.name.as_str();
    let entry = Entry {
        fingerprint: dataset.fingerprint(),
        dataset: dataset.name.clone(),
        rows: dataset.rows.0,
        state: State::Creating,
    };
    ledger::begin(connection, table, &entry, &plan.first_rows())
        .await
        .map_err(sql("note the load of", table))?;
    note_fill(connection, dataset).await?;
    if let Err(error) = schema::create(connection, &dataset.table).await {
        // The server refused the table: nothing half-made stays behind.
        ledger::forget(connection, table).await.map_err(sql("strike out the load of", table))?;
        return Err(sql("create", table)(error));
    }
    adopt(connection, dataset).await
}

/// Later runs say of what pages they ran on.
pub(super) async fn note_fill(connection: &mut MySqlConnection, dataset: &Dataset) -> Result<(), LoadError> {
    let table = dataset.table.name.as_str();
    if dataset.fill == Fill::Fresh {
        return Ok(());
    }
    // Numbers and texts have a form in JSON.
    let fill = serde_json::to_string(&dataset.fill).unwrap_or_default();
    ledger::note_fill(connection, table, &fill).await.map_err(sql("note the pages of", table))
}

/// Notes the new table as ours and makes what stands beside it.
async fn adopt(connection: &mut MySqlConnection, dataset: &Dataset) -> Result<(), LoadError> {
    let table = dataset.table.name.as_str();
    registry::record(connection, table).await?;
    for companion in &dataset.companions {
        let name = companion.name.as_str();
        if !schema::exists(connection, name).await.map_err(sql("look for", name))? {
            schema::create(connection, companion).await.map_err(sql("create", name))?;
            registry::record(connection, name).await?;
        }
    }
    ledger::set_state(connection, table, State::Loading).await.map_err(sql("note the load of", table))
}

async fn resume(
    server: &Server,
    connection: &mut MySqlConnection,
    dataset: &Dataset,
    plan: &Plan,
    entry: Entry,
) -> Result<Prepared, LoadError> {
    let table = dataset.table.name.as_str();
    let fingerprint = dataset.fingerprint();
    if entry.state == State::Creating {
        // Cut off between CREATE TABLE and the registry. Nobody has written to it: it must be empty.
        if !schema::is_empty(connection, table).await.map_err(sql("look into", table))? {
            return Err(LoadError::NotOurs { table: table.to_owned() });
        }
        adopt(connection, dataset).await?;
    } else if !is_ours(connection, table).await? {
        return Err(LoadError::NotOurs { table: table.to_owned() });
    }
    if entry.fingerprint != fingerprint {
        let there = format!("{} of {}", crate::units::Rows(entry.rows), entry.dataset);
        return Err(LoadError::OtherRows {
            table: table.to_owned(),
            there: match entry.state {
                State::Complete => there,
                State::Creating | State::Loading => format!("a load of {there}, not finished"),
            },
            way_out: other_rows::way_out(connection, dataset, &entry).await?,
            fingerprint_there: entry.fingerprint,
            fingerprint,
        });
    }
    let next_rows = checkpoints(connection, table, plan).await?;
    let rows_there: u64 =
        plan.pieces.iter().zip(&next_rows).map(|(piece, next)| next - piece.rows.start).sum();
    check_count(connection, table, rows_there).await?;
    if entry.state != State::Complete {
        space::check(server, dataset, dataset.rows.0 - rows_there)?;
    }
    Ok(Prepared { next_rows, rows_there, complete: entry.state == State::Complete })
}

/// The next row of each piece, if the ledger has one within each.
async fn checkpoints(
    connection: &mut MySqlConnection,
    table: &str,
    plan: &Plan,
) -> Result<Vec<u64>, LoadError> {
    let noted = ledger::next_rows(connection, table).await.map_err(sql("read the checkpoints of", table))?;
    let fits = noted.len() == plan.pieces.len()
        && noted.iter().enumerate().zip(&plan.pieces).all(|((index, (piece, next_row)), planned)| {
            *piece as usize == index && (planned.rows.start..=planned.rows.end).contains(next_row)
        });
    match fits {
        true => Ok(noted.into_iter().map(|(_, next_row)| next_row).collect()),
        false => Err(LoadError::Damaged {
            table: table.to_owned(),
            what: "its checkpoints do not fit its partitions".to_owned(),
        }),
    }
}

/// Rows and checkpoints are committed together, so the count must agree whatever was killed when.
async fn check_count(connection: &mut MySqlConnection, table: &str, expected: u64) -> Result<(), LoadError> {
    let counted = inspect::count(connection, table, None).await.map_err(sql("count the rows of", table))?;
    match counted == expected {
        true => Ok(()),
        false => Err(LoadError::Damaged {
            table: table.to_owned(),
            what: format!(
                "it has {} rows and its ledger says {}",
                crate::units::Rows(counted),
                crate::units::Rows(expected)
            ),
        }),
    }
}
