//! `--method swap`: the table's files are built without the server and exchanged while it stands still.
//!
//! 1. the server makes the table, empty, and is stopped cleanly with everything purged
//! 2. `build` makes a new file for each partition, from its own empty file and the rows; each is verified
//! 3. the files are exchanged (crash-safe: [`crate::server::Exchange`]), the server starts
//! 4. ANALYZE, the rows read back as after every load; then the old files go
//!
//! A SIGKILL at any point leaves the old table or the new one; the same command finishes the load.

mod age;
mod build;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use sqlx::MySqlConnection;

use self::build::{Job, Workshop};
use super::error::sql;
use super::plan::Plan;
use super::{
    LoadError, LoadRequest, Loaded, LoadedIndex, Phase, Progress, Verify, Work, prepare, settings, verify,
};
use crate::keys::RowMaker;
use crate::pages::plan::TablePlan;
use crate::pages::refuse::Refusal;
use crate::server::{
    Exchange, ExchangeError, HaltError, Halted, Home, OpenError, Server, claim_schema, new_file,
};
use crate::spec::server::OwnedSpec;
use crate::table::{inspect, ledger, schema};

pub use build::BuildFileError;

/// Why a table's files were not exchanged.
#[derive(Debug, thiserror::Error)]
pub enum SwapError {
    /// The table cannot be written as pages.
    #[error("write {table} as pages: {}", list(refusals))]
    Refused {
        /// The table.
        table: String,
        /// Everything that stands against it.
        refusals: Vec<Refusal>,
    },
    /// Rows do not go to partitions by their day.
    #[error(
        "write {table} as pages: its rows do not go to partitions by day, so only the server knows where each belongs (use --method sql)"
    )]
    NotByDay {
        /// The table.
        table: String,
    },
    /// The server is not ours to stop.
    #[error(
        "halt the server: it is {kind}, or was started by `idembench server up` and others may be using it — run `idembench server down` first, or use --method sql"
    )]
    NotOurs {
        /// What it is.
        kind: &'static str,
    },
    /// Another way has put rows in already.
    #[error(
        "load {table}: {rows} rows are in it already — go on with --method sql, or say --replace {table}"
    )]
    HasRows {
        /// The table.
        table: String,
        /// How many.
        rows: u64,
    },
    /// Another table's files were exchanged and not accepted.
    #[error(
        "load {table}: the load of {other} by swap was cut off — run it again first, or say --replace {other} with it"
    )]
    OtherExchange {
        /// The table.
        table: String,
        /// The other one.
        other: String,
    },
    /// The table's file is not where it belongs.
    #[error(
        "find the file of {table}, partition {partition}, in {folder}: it is not there (use --method sql)"
    )]
    NoFile {
        /// The table.
        table: String,
        /// The partition, or `-`.
        partition: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// A file cannot be built.
    #[error(transparent)]
    Build(#[from] BuildFileError),
    /// The server cannot be halted.
    #[error(transparent)]
    Halt(#[from] HaltError),
    /// The files cannot be exchanged.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// The server does not come back.
    #[error("start the server again")]
    Open(#[from] OpenError),
}

fn list(refusals: &[Refusal]) -> String {
    refusals.iter().map(Refusal::to_string).collect::<Vec<_>>().join("; ")
}

/// Loads a dataset by building its files. Gives the server back, started anew.
///
/// # Errors
/// [`LoadError`]; the server is then stopped or as it was, the table empty or whole.
pub async fn swap(
    server: Server,
    spec: &OwnedSpec,
    home: &Home,
    request: &LoadRequest,
    progress: &Arc<Progress>,
) -> Result<(Server, Loaded), LoadError> {
    let started = Instant::now();
    let mut swap = Swap::new(request, progress)?;
    let (server, rows_there) = swap.prepare(server).await?;
    let mut loaded = swap.loaded(rows_there);
    let (server, built) = match rows_there {
        Rows::All => (server, false),
        Rows::Exchanged => (server, true),
        Rows::None => (swap.exchange(server, spec, home).await?, true),
    };
    if built {
        loaded.verified = swap.accept(&server).await?;
    }
    let mut connection = server.connect().await?;
    let bytes = inspect::bytes(&mut connection, &swap.table).await.map_err(sql("weigh", &swap.table))?;
    loaded.bytes = bytes.map(|bytes| bytes.0);
    loaded.seconds = started.elapsed().as_secs_f64();
    if let (Rows::None, Some(fill)) = (rows_there, swap.phases.get("fill")) {
        loaded.rows_per_second = loaded.rows as f64 / fill.max(1e-9);
    }
    loaded.phases = swap.phases;
    loaded.indexes = swap.indexes;
    progress.enter(Phase::Done, loaded.rows);
    Ok((server, loaded))
}

/// Which rows an earlier load has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    None,
    /// In files that have been exchanged and not been read back yet.
    Exchanged,
    All,
}

/// One load.
struct Swap<'a> {
    request: &'a LoadRequest,
    progress: &'a Arc<Progress>,
    table: String,
    pages: TablePlan,
    maker: Arc<RowMaker>,
    plan: Plan,
    phases: BTreeMap<String, f64>,
    /// What the verifier saw.
    indexes: Vec<LoadedIndex>,
}

impl<'a> Swap<'a> {
    /// Everything that can be refused without a server is refused here.
    fn new(request: &'a LoadRequest, progress: &'a Arc<Progress>) -> Result<Swap<'a>, LoadError> {
        let dataset = &request.dataset;
        let table = dataset.table.name.clone();
        let pages = TablePlan::new(&dataset.table)
            .map_err(|refusals| SwapError::Refused { table: table.clone(), refusals })?;
        let maker = Arc::new(RowMaker::new(dataset)?);
        let plan = Plan::new(dataset, &maker);
        if dataset.table.partitioning.is_some() && plan.pieces.iter().any(|piece| piece.partition.is_none()) {
            return Err(SwapError::NotByDay { table }.into());
        }
        Ok(Swap {
            request,
            progress,
            table,
            pages,
            maker,
            plan,
            phases: BTreeMap::new(),
            indexes: Vec::new(),
        })
    }

    fn loaded(&self, rows: Rows) -> Loaded {
        let dataset = &self.request.dataset;
        let (method, reason) = match rows {
            Rows::All => ("already loaded", "the table has these rows by its ledger"),
            Rows::Exchanged => {
                ("swap: InnoDB pages", "its files had been exchanged by a load that was cut off")
            }
            Rows::None => {
                ("swap: InnoDB pages", "the server is ours to stop and the table can be written as pages")
            }
        };
        let there = if rows == Rows::None { 0 } else { dataset.rows.0 };
        Loaded {
            dataset: dataset.name.clone(),
            table: self.table.clone(),
            rows: dataset.rows.0,
            bytes: None,
            method: method.to_owned(),
            reason: reason.to_owned(),
            streams: build::at_a_time(self.plan.pieces.len()) as u32,
            rows_resumed: there,
            seconds: 0.0,
            rows_per_second: 0.0,
            phases: BTreeMap::new(),
            verified: "count".to_owned(),
            fingerprint: dataset.fingerprint(),
            fill: dataset.fill.to_string(),
            indexes: Vec::new(),
        }
    }

    fn end_phase(&mut self, name: &str, started: Instant) {
        *self.phases.entry(name.to_owned()).or_default() += started.elapsed().as_secs_f64();
    }

    /// The table made or found, and what is in it.
    async fn prepare(&mut self, server: Server) -> Result<(Server, Rows), LoadError> {
        let started = Instant::now();
        self.progress.enter(Phase::Preparing, self.request.dataset.rows.0);
        if !server.is_ours_to_halt() {
            return Err(SwapError::NotOurs { kind: server.kind() }.into());
        }
        let mut connection = server.connect().await?;
        claim_schema(&mut connection).await?;
        ledger::create(&mut connection).await.map_err(sql("make the load's ledger", &self.table))?;
        settings::restore(&mut connection).await?;
        if !ledger::lock(&mut connection, &self.table).await.map_err(sql("lock the load of", &self.table))? {
            return Err(LoadError::Busy { table: self.table.clone() });
        }
        let exchanged = self.note_exchanged(&server, &mut connection).await?;
        let prepared = prepare::prepare(&server, &mut connection, self.request, &self.plan).await?;
        let rows = match (prepared.is_complete(), exchanged, prepared.rows_there()) {
            (true, ..) => Rows::All,
            (false, true, rows) if rows == self.request.dataset.rows.0 => Rows::Exchanged,
            (false, _, 0) => Rows::None,
            (false, _, rows) => return Err(SwapError::HasRows { table: self.table.clone(), rows }.into()),
        };
        self.end_phase("prepare", started);
        Ok((server, rows))
    }

    /// Files that an earlier load has exchanged hold all rows: the ledger learns of it.
    async fn note_exchanged(
        &self,
        server: &Server,
        connection: &mut MySqlConnection,
    ) -> Result<bool, LoadError> {
        let Some(exchange) = server.exchange().map_err(SwapError::from)? else { return Ok(false) };
        let replaced = self.request.replace.as_deref() == Some(exchange.table.as_str());
        if exchange.table != self.table && !replaced {
            return Err(SwapError::OtherExchange { table: self.table.clone(), other: exchange.table }.into());
        }
        if replaced || exchange.fingerprint != self.request.dataset.fingerprint() {
            server.end_exchange(exchange).map_err(SwapError::from)?;
            return Ok(false);
        }
        self.note_rows(connection).await?;
        Ok(true)
    }

    /// Checkpoints at their pieces' ends.
    async fn note_rows(&self, connection: &mut MySqlConnection) -> Result<(), LoadError> {
        let dataset = &self.request.dataset;
        let entry = ledger::Entry {
            fingerprint: dataset.fingerprint(),
            dataset: dataset.name.clone(),
            rows: dataset.rows.0,
            state: ledger::State::Loading,
        };
        let ends: Vec<u64> = self.plan.pieces.iter().map(|piece| piece.rows.end).collect();
        ledger::begin(connection, &self.table, &entry, &ends)
            .await
            .map_err(sql("note the load of", &self.table))?;
        prepare::note_fill(connection, dataset).await
    }

    /// Stops the server, builds, exchanges, starts it.
    async fn exchange(&mut self, server: Server, spec: &OwnedSpec, home: &Home) -> Result<Server, LoadError> {
        let database = server.address().database.clone();
        let started = Instant::now();
        let halted = server.halt(spec, home).await.map_err(SwapError::from)?;
        self.end_phase("stop", started);

        let folder = halted.data_directory().join(database);
        let jobs = self.jobs(&folder)?;
        let paths: Vec<PathBuf> = jobs.iter().map(|job| job.path.clone()).collect();
        let exchange = halted
            .begin_exchange(&self.table, &self.request.dataset.fingerprint(), &paths)
            .map_err(SwapError::from)?;
        if let Err(error) = self.build(&halted, &exchange, jobs).await {
            // What cannot be removed now is removed before the next start.
            let _ = halted.abandon(exchange);
            return Err(error);
        }
        let started = Instant::now();
        halted.exchange(exchange).map_err(SwapError::from)?;
        let server = Server::resume(halted).await.map_err(SwapError::from)?;
        self.end_phase("start", started);
        let mut connection = server.connect().await?;
        self.note_rows(&mut connection).await?;
        Ok(server)
    }

    /// A file for each piece that has rows.
    fn jobs(&self, folder: &Path) -> Result<Vec<Job>, LoadError> {
        let pieces = self.plan.pieces.iter().filter(|piece| !piece.rows.is_empty());
        let job = |piece: &super::plan::Piece| {
            let path = find_file(folder, &self.table, piece.partition.as_deref());
            let missing = || SwapError::NoFile {
                table: self.table.clone(),
                partition: piece.partition.clone().unwrap_or_else(|| "-".to_owned()),
                folder: folder.to_owned(),
            };
            Ok(Job { path: path.ok_or_else(missing)?, rows: piece.rows.clone() })
        };
        pieces.map(job).collect()
    }

    async fn build(&mut self, halted: &Halted, exchange: &Exchange, jobs: Vec<Job>) -> Result<(), LoadError> {
        let workshop = Arc::new(Workshop {
            plan: self.pages.clone(),
            table: self.request.dataset.table.clone(),
            profiles: age::profiles(&self.request.dataset, &self.pages),
            seed: self.request.dataset.seed,
            maker: Arc::clone(&self.maker),
            scratch: halted.scratch(),
            clean_lsn: exchange.clean_lsn(),
            progress: Arc::clone(self.progress),
        });
        let started = Instant::now();
        self.progress.start_fill(self.request.dataset.rows.0, 0);
        let paths: Vec<PathBuf> = jobs.iter().map(|job| new_file(&job.path)).collect();
        let rows: Vec<u64> = jobs.iter().map(|job| job.rows.end - job.rows.start).collect();
        self.in_background({
            let workshop = Arc::clone(&workshop);
            move || workshop.build(&jobs)
        })
        .await?;
        self.end_phase("fill", started);
        if self.request.verify == Verify::Off {
            return Ok(());
        }
        let started = Instant::now();
        self.progress.enter(Phase::Verifying, self.request.dataset.rows.0);
        self.indexes = self.in_background(move || workshop.verify(&paths, &rows)).await?;
        self.end_phase("verify_files", started);
        Ok(())
    }

    /// Runs what keeps processors and disks busy without blocking the rest.
    async fn in_background<F, T>(&self, work: F) -> Result<T, LoadError>
    where
        F: FnOnce() -> Result<T, BuildFileError> + Send + 'static,
        T: Send + 'static,
    {
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(made)) => Ok(made),
            Ok(Err(BuildFileError::Stopped)) => {
                Err(LoadError::Stopped { table: self.table.clone(), rows: crate::units::Rows(0) })
            }
            Ok(Err(error)) => Err(SwapError::from(error).into()),
            Err(error) => Err(LoadError::TaskEnded { table: self.table.clone(), reason: error.to_string() }),
        }
    }

    /// Statistics, the rows read back, the old files removed.
    async fn accept(&mut self, server: &Server) -> Result<String, LoadError> {
        let started = Instant::now();
        let mut connection = server.connect().await?;
        self.progress.enter(Phase::Analyzing, 0);
        schema::restart_auto_increment(&mut connection, &self.request.dataset.table)
            .await
            .map_err(sql("set the counter of", &self.table))?;
        inspect::analyze(&mut connection, &self.table).await.map_err(sql("analyze", &self.table))?;
        self.end_phase("analyze", started);

        let started = Instant::now();
        let (request, progress, maker, plan) = (self.request, self.progress, &self.maker, &self.plan);
        let work = Work { server, request, progress, maker, plan };
        let verified = verify::verify(work, &mut connection).await?;
        self.end_phase("verify", started);
        ledger::set_state(&mut connection, &self.table, ledger::State::Complete)
            .await
            .map_err(sql("mark as complete the load of", &self.table))?;
        if let Some(exchange) = server.exchange().map_err(SwapError::from)? {
            server.end_exchange(exchange).map_err(SwapError::from)?;
        }
        Ok(match self.request.verify {
            Verify::Off => verified,
            Verify::Quick | Verify::Full => format!("files, {verified}"),
        })
    }
}

/// The file of a table or partition. The server writes partition names in lower case, and characters other
/// than digits, letters and `_` as `@` and four hexadecimal digits.
fn find_file(folder: &Path, table: &str, partition: Option<&str>) -> Option<PathBuf> {
    let wanted = match partition {
        Some(partition) => format!("{}#p#{}.ibd", file_name(table), file_name(&partition.to_lowercase())),
        None => format!("{}.ibd", file_name(table)),
    };
    let exact = folder.join(&wanted);
    if exact.is_file() {
        return Some(exact);
    }
    let entries = std::fs::read_dir(folder).ok()?;
    let mut alike =
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().eq_ignore_ascii_case(&wanted));
    let found = alike.next().map(|entry| entry.path());
    // Two that differ only in case: which one is meant cannot be known.
    found.filter(|_| alike.next().is_none())
}

/// A table or partition name as the server writes it in a path.
pub(super) fn file_name(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => text.push(character),
            other => text.push_str(&format!("@{:04x}", u32::from(other))),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_under_the_names_that_the_server_gives_them() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["t#p#p1.ibd", "t@002da.ibd", "T#P#P2.ibd"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let check = |table: &str, partition: Option<&str>, expect: Option<&str>| {
            let found = find_file(folder.path(), table, partition);
            assert_eq!(found, expect.map(|name| folder.path().join(name)));
        };
        check("t", Some("P1"), Some("t#p#p1.ibd"));
        check("t-a", None, Some("t@002da.ibd"));
        check("t", Some("p2"), Some("T#P#P2.ibd"));
        check("t", None, None);
    }
}
