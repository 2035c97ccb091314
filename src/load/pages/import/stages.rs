//! Tables that stand in for the one that is loaded: noted in the ledger before they are made, so that what a
//! killed load leaves is known to be ours, and dropped.
//!
//! | name | is |
//! |---|---|
//! | `idembench_import_…` | the whole: same definition, partitions included; takes the table's name at the end |
//! | `idembench_import_…_7` | piece 7: no partitions; takes a file, then is exchanged with the whole's partition |
//! | `idembench_import_…_old` | the empty table, once its name has been taken: that it exists says so |

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use sqlx::{Executor, MySqlConnection};

use super::{ImportError, reach};
use crate::load::error::sql;
use crate::load::plan::Plan;
use crate::load::{LoadError, LoadRequest, prepare};
use crate::server::Server;
use crate::table::{ledger, schema, session, staging};

/// Bytes of the table's name hashed that stand in the names: a name has 64 characters at most.
const HASH_BYTES: usize = 6;

/// The tables that stand in for one.
#[derive(Debug)]
pub(super) struct Stages {
    table: String,
    whole: String,
}

impl Stages {
    pub(super) fn of(table: &str) -> Stages {
        let hash: String =
            Sha256::digest(table).iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Stages { table: table.to_owned(), whole: format!("idembench_import_{hash}") }
    }

    /// The one that takes the table's place.
    pub(super) fn whole(&self) -> String {
        self.whole.clone()
    }

    /// The one for a piece.
    pub(super) fn piece(&self, number: usize) -> String {
        format!("{}_{number}", self.whole)
    }

    fn old(&self) -> String {
        format!("{}_old", self.whole)
    }

    /// Makes the whole, empty.
    pub(super) async fn make_whole(&self, connection: &mut MySqlConnection) -> Result<(), LoadError> {
        self.make(connection, &self.whole, &self.table).await
    }

    /// Makes the table for a piece, by the example of another piece's if there is one.
    pub(super) async fn make_piece(
        &self,
        connection: &mut MySqlConnection,
        number: usize,
        example: Option<&str>,
    ) -> Result<String, LoadError> {
        let name = self.piece(number);
        self.make(connection, &name, example.unwrap_or(&self.whole)).await?;
        if example.is_none() {
            staging::remove_partitions(connection, &name)
                .await
                .map_err(sql("take the partitions from", &name))?;
        }
        Ok(name)
    }

    async fn make(&self, connection: &mut MySqlConnection, name: &str, like: &str) -> Result<(), LoadError> {
        self.note(connection, name).await?;
        staging::create_like(connection, name, like).await.map_err(sql("create", name))
    }

    /// A table of that name that is there before it is noted is not ours.
    async fn note(&self, connection: &mut MySqlConnection, name: &str) -> Result<(), LoadError> {
        if schema::exists(connection, name).await.map_err(sql("look for", name))? {
            return Err(ImportError::Taken { stage: name.to_owned() }.into());
        }
        ledger::note_stage(connection, name, &self.table).await.map_err(sql("note", name))
    }

    /// Gives the whole the table's name, in one statement, if the table is still empty.
    pub(super) async fn put_in_place(&self, connection: &mut MySqlConnection) -> Result<(), LoadError> {
        let old = self.old();
        self.note(connection, &old).await?;
        let put = staging::put_in_place(connection, &self.table, &self.whole, &old)
            .await
            .map_err(sql("put the new rows into", &self.table))?;
        match put {
            true => Ok(()),
            false => Err(ImportError::Written { table: self.table.clone() }.into()),
        }
    }

    /// Drops all that are noted, with whatever files lie beside theirs.
    pub(super) async fn drop_all(
        &self,
        server: &Server,
        connection: &mut MySqlConnection,
    ) -> Result<(), LoadError> {
        let noted = ledger::stages(connection, &self.table)
            .await
            .map_err(sql("look up the tables that stand in for", &self.table))?;
        let folder = reach::folder_of(server, connection)
            .await
            .map_err(sql("ask for the files that stand in for", &self.table))?;
        for name in noted {
            schema::drop(connection, &name).await.map_err(sql("drop", &name))?;
            folder.as_ref().map_or(Ok(()), |folder| remove_files(folder, &name))?;
            ledger::forget_stage(connection, &name).await.map_err(sql("strike out", &name))?;
        }
        Ok(())
    }
}

/// Puts right what an import of the table left that was cut off: rows that have got their place are noted,
/// and every table that stood in is dropped.
pub(in crate::load) async fn settle(
    server: &Server,
    connection: &mut MySqlConnection,
    request: &LoadRequest,
    plan: &Plan,
) -> Result<(), LoadError> {
    let table = request.dataset.table.name.as_str();
    let (stages, look_up) = (Stages::of(table), "look up the load of");
    let noted = ledger::stages(connection, table).await.map_err(sql(look_up, table))?;
    if noted.is_empty() {
        return Ok(());
    }
    let old = stages.old();
    if noted.contains(&old) && schema::exists(connection, &old).await.map_err(sql("look for", &old))? {
        let entry = ledger::entry(connection, table).await.map_err(sql(look_up, table))?;
        let same = entry.is_some_and(|entry| {
            entry.fingerprint == request.dataset.fingerprint() && entry.state == ledger::State::Loading
        });
        // Other rows than asked for are refused, or replaced, without it.
        if same {
            prepare::note_all_there(connection, &request.dataset, plan).await?;
        }
    }
    for statement in [staging::PATIENCE].into_iter().chain(own_log(server)) {
        connection.execute(statement).await.map_err(sql("set up a session to clean up after", table))?;
    }
    stages.drop_all(server, connection).await
}

fn own_log(server: &Server) -> Option<&'static str> {
    (server.kind() == "owned").then_some(session::NO_BINARY_LOG)
}

/// What a killed load, or a table dropped without its file, leaves in the server's folder.
fn remove_files(folder: &Path, name: &str) -> Result<(), LoadError> {
    for ending in ["ibd", "ibd.new", "cfg", "cfg.new"] {
        let path: PathBuf = folder.join(format!("{name}.{ending}"));
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(ImportError::File { act: "remove", path, source }.into());
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_stand_in_are_clearly_ours_and_short_enough() {
        let long = "t".repeat(64);
        let (stages, other) = (Stages::of(&long), Stages::of("t"));
        assert_ne!(stages.whole(), other.whole());
        for name in [stages.whole(), stages.piece(8191), stages.old()] {
            assert!(name.starts_with("idembench_import_") && name.len() <= 64, "{name}");
            assert_eq!(crate::load::pages::files::encoded(&name), name);
        }
    }
}
