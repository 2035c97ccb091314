//! `--method import`: the table's files are built without the server, which takes them while it runs.
//!
//! 1. beside the table, empty, one of the same definition is made that will take its place (`stages`), and a
//!    table without partitions for each of its partitions; the server writes out their empty files
//! 2. `build` makes a new file for each of these, from its own empty file and the rows; each is verified
//! 3. the empty files are discarded, the new ones imported, as many at a time as there are processors
//! 4. each partition is exchanged with its table, and the whole takes the table's name in one statement
//! 5. ANALYZE, the rows read back as after every load
//!
//! A SIGKILL of either side at any point leaves the empty table or the whole one, and tables that the ledger
//! knows; the next load of the table drops those, whichever way it takes, and finishes.

mod intake;
mod reach;
pub(in crate::load) mod stages;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use sqlx::{Executor, MySqlConnection};

use self::intake::Intake;
use self::reach::Reach;
pub(in crate::load) use self::reach::why_out_of_reach;
use self::stages::Stages;
use super::build::Job;
use super::{Found, PagesLoad, Site};
use crate::load::error::sql;
use crate::load::{LoadError, LoadRequest, Loaded, Phase, Progress, fill, prepare};
use crate::server::Server;
use crate::table::{session, staging};

/// Why files were not imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// We do not get at the server's files.
    #[error(
        "import files into the {kind} server: {reason} — run idembench on the server's machine, as its user, with its \
         socket (mysql://user@localhost/db?socket=/path), or use --method sql"
    )]
    OutOfReach {
        /// What it is.
        kind: &'static str,
        /// What stands against it.
        reason: String,
    },
    /// The server would not take such files.
    #[error("import files into the {kind} server: {reason}, or use --method sql")]
    Unsuitable {
        /// What it is.
        kind: &'static str,
        /// What stands against it, with what to do.
        reason: String,
    },
    /// The account may not do what an import takes.
    #[error("import files into the {kind} server: {account} may not — {grants}, or use --method sql")]
    Denied {
        /// What it is.
        kind: &'static str,
        /// The account.
        account: String,
        /// Statements that would let it.
        grants: String,
    },
    /// The server took a file and was not content with it.
    #[error(
        "import the file of {stage}: the server warns ({warnings}), and a file whose definition it has not compared is \
         not used — keep others from changing files in its data directory and run the same command, or use --method sql"
    )]
    Warned {
        /// The table that stands in.
        stage: String,
        /// The server's words.
        warnings: String,
    },
    /// A table that is not ours has the name of one that we would make.
    #[error("make the table {stage}: there is one already and idembench did not make it — rename it")]
    Taken {
        /// Its name.
        stage: String,
    },
    /// Somebody has written to the table meanwhile.
    #[error(
        "put the new rows into {table}: it was empty when the load began and is not any more — say --replace {table} \
         to drop it, and keep others from writing to it"
    )]
    Written {
        /// The table.
        table: String,
    },
    /// A file cannot be handled.
    #[error("{act} {path}: {source} — free space or repair the disk, then run the same command")]
    File {
        /// What was done.
        act: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// How it is called in results.
const METHOD: &str = "import: InnoDB pages";
/// No page of a file is too young: the server renews them all.
const ANY_LSN: u64 = u64::MAX;

/// Loads a dataset by building its files and importing them into the running server.
///
/// # Errors
/// [`LoadError`]; the table is then empty, or whole.
pub async fn import(
    server: &Server,
    request: &LoadRequest,
    progress: &Arc<Progress>,
) -> Result<Loaded, LoadError> {
    let started = Instant::now();
    let mut import = Import { server, load: PagesLoad::new(request, progress)? };
    let mut connection = server.connect().await?;
    let imported = import.run(&mut connection).await;
    // The lock goes with the connection: a goodbye makes sure that it is gone when we return.
    let _ = sqlx::Connection::close(connection).await;
    import.load.finish(server, started, imported?, &["build", "import", "exchange"]).await
}

/// One load.
struct Import<'a> {
    server: &'a Server,
    load: PagesLoad<'a>,
}

impl Import<'_> {
    async fn run(&mut self, connection: &mut MySqlConnection) -> Result<Loaded, LoadError> {
        let started = Instant::now();
        self.load.progress.enter(Phase::Preparing, self.load.request.dataset.rows.0);
        let reach = Reach::find(self.server, connection).await?;
        prepare::enter(self.server, connection, self.load.request, &self.load.plan).await?;
        let found = self.load.prepare(self.server, connection).await?;
        self.load.end_phase("prepare", started);
        let reason = "the server's files are in our reach and the table can be written as pages";
        let mut loaded = self.load.loaded(found, METHOD, reason);
        if found == Found::Nothing {
            let stages = Stages::of(&self.load.table);
            if let Err(error) = self.bring_in(connection, &reach, &stages).await {
                // On a server that is gone the next load does it.
                let _ = stages.drop_all(self.server, connection).await;
                return Err(error);
            }
        }
        if found != Found::Complete {
            loaded.verified = self.load.accept(self.server).await?;
        }
        Ok(loaded)
    }

    async fn bring_in(
        &mut self,
        connection: &mut MySqlConnection,
        reach: &Reach,
        stages: &Stages,
    ) -> Result<(), LoadError> {
        let table = self.load.table.clone();
        for statement in session_statements(self.server, reach) {
            connection.execute(statement).await.map_err(sql("set up a session to import", &table))?;
        }
        let started = Instant::now();
        let jobs = self.make(connection, reach, stages).await?;
        self.load.end_phase("create", started);
        self.load.progress.reached("created");

        let intakes: Vec<Intake> = jobs.iter().map(Intake::of).collect();
        let site = Site { scratch: reach.folder.clone(), lsn_max: ANY_LSN, phase: "build" };
        self.load.build(site, jobs).await?;

        let started = Instant::now();
        self.load.progress.enter(Phase::Importing, self.load.request.dataset.rows.0);
        intake::import_all(self.server, reach, &table, self.load.progress, intakes).await?;
        self.load.end_phase("import", started);

        let started = Instant::now();
        self.exchange(connection, stages).await?;
        self.load.end_phase("exchange", started);
        stages.drop_all(self.server, connection).await?;
        self.load.progress.reached("dropped");
        Ok(())
    }

    /// Makes the tables that stand in, their empty files written out.
    async fn make(
        &self,
        connection: &mut MySqlConnection,
        reach: &Reach,
        stages: &Stages,
    ) -> Result<Vec<Job>, LoadError> {
        let table = &self.load.table;
        stages.make_whole(connection).await?;
        let mut tables = Vec::new();
        for (number, piece) in self.load.pieces() {
            let name = match &piece.partition {
                None => stages.whole(),
                Some(_) => stages.make_piece(connection, number, tables.first().map(String::as_str)).await?,
            };
            tables.push(name);
        }
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        let act = "write out the empty tables for";
        staging::flush_for_export(connection, &tables).await.map_err(sql(act, table))?;
        let jobs = self.load.pieces().zip(&tables).map(|((_, piece), name)| {
            let path = self.load.file(&reach.folder, name, None)?;
            Ok(Job { path, rows: piece.rows.clone() })
        });
        // The descriptions vanish with the lock.
        let jobs = jobs.collect::<Result<Vec<_>, LoadError>>().and_then(|jobs| {
            jobs.iter().try_for_each(|job| Intake::of(job).keep_description())?;
            Ok(jobs)
        });
        staging::unlock(connection).await.map_err(sql(act, table))?;
        jobs
    }

    /// Partitions exchanged with the imported tables, then the whole with the table.
    async fn exchange(&self, connection: &mut MySqlConnection, stages: &Stages) -> Result<(), LoadError> {
        let (table, progress) = (&self.load.table, self.load.progress);
        for (number, piece) in self.load.pieces() {
            let Some(partition) = &piece.partition else { continue };
            if progress.is_stopped() {
                return Err(self.load.stopped());
            }
            staging::exchange(connection, &stages.whole(), partition, &stages.piece(number))
                .await
                .map_err(sql("exchange a partition of", table))?;
            progress.reached("exchanged-one");
        }
        progress.reached("exchanged");
        stages.put_in_place(connection).await?;
        progress.reached("renamed");
        prepare::note_all_there(connection, &self.load.request.dataset, &self.load.plan).await?;
        progress.reached("noted");
        Ok(())
    }
}

/// What a session sets before it makes or takes tables that only this server has.
fn session_statements(server: &Server, reach: &Reach) -> Vec<&'static str> {
    // A replica has no such files: DISCARD and IMPORT in its log would stop it.
    let no_binary_log = (reach.binary_log && server.kind() != "owned").then_some(session::NO_BINARY_LOG);
    fill::session_statements(server).chain(no_binary_log).chain([staging::PATIENCE]).collect()
}
