//! Tables loaded as files that are built without the server, and what all ways to bring them in share.
//!
//! - `build` the files from rows as `made`; `files` where the server keeps them
//! - `swap` they are exchanged while a server of ours stands still
//! - `import` a running server takes them, one table for each partition, then all at once

mod age;
mod build;
pub(super) mod files;
pub mod import;
mod made;
pub mod swap;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use self::build::{Job, Workshop};
use super::error::sql;
use super::plan::{Piece, Plan};
use super::{
    BuiltFiles, LoadError, LoadRequest, Loaded, LoadedIndex, Phase, Progress, Verify, Work, prepare, verify,
};
use crate::keys::RowMaker;
use crate::pages::plan::TablePlan;
use crate::pages::refuse::Refusal;
use crate::server::{Server, machine, new_file};
use crate::table::{inspect, ledger, schema};
use crate::units::Rows;

pub use build::BuildFileError;
pub use made::{MadeRows, ROWS_AT_A_TIME};

/// Why a table is not written as pages, whichever way they would come in.
#[derive(Debug, thiserror::Error)]
pub enum PagesError {
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
}

fn list(refusals: &[Refusal]) -> String {
    refusals.iter().map(Refusal::to_string).collect::<Vec<_>>().join("; ")
}

/// What stands against writing a dataset's table as pages, in words; `None` when nothing does.
pub(super) fn refusal(request: &LoadRequest) -> Result<Option<String>, LoadError> {
    match PagesLoad::new(request, &Arc::default()) {
        Ok(_) => Ok(None),
        Err(LoadError::Pages(error)) => Ok(Some(match *error {
            PagesError::Refused { refusals, .. } => list(&refusals),
            other => other.to_string(),
        })),
        Err(error) => Err(error),
    }
}

/// Which rows an earlier load has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    /// All of them, not read back yet.
    Unverified,
    Complete,
}

/// One load of a table as files.
struct PagesLoad<'a> {
    request: &'a LoadRequest,
    progress: &'a Arc<Progress>,
    table: String,
    pages: TablePlan,
    maker: Arc<RowMaker>,
    plan: Plan,
    phases: BTreeMap<String, f64>,
    /// What the verifier saw.
    indexes: Vec<LoadedIndex>,
    /// What was built.
    files: Option<BuiltFiles>,
}

/// Where files are built and what they may be like.
struct Site {
    /// Where sorted runs go.
    scratch: PathBuf,
    /// No page of an empty file may be younger.
    lsn_max: u64,
    /// The phase's name.
    phase: &'static str,
}

impl<'a> PagesLoad<'a> {
    /// Everything that can be refused without a server is refused here.
    fn new(request: &'a LoadRequest, progress: &'a Arc<Progress>) -> Result<PagesLoad<'a>, LoadError> {
        let dataset = &request.dataset;
        let table = dataset.table.name.clone();
        let pages = TablePlan::new(&dataset.table)
            .map_err(|refusals| PagesError::Refused { table: table.clone(), refusals })?;
        let maker = Arc::new(RowMaker::new(dataset)?);
        let plan = Plan::new(dataset, &maker);
        if dataset.table.partitioning.is_some() && plan.pieces.iter().any(|piece| piece.partition.is_none()) {
            return Err(PagesError::NotByDay { table }.into());
        }
        let (phases, indexes, files) = (BTreeMap::new(), Vec::new(), None);
        Ok(PagesLoad { request, progress, table, pages, maker, plan, phases, indexes, files })
    }

    fn loaded(&self, found: Found, method: &str, reason: &str) -> Loaded {
        let dataset = &self.request.dataset;
        let (method, reason) = match found {
            Found::Complete => ("already loaded", "the table has these rows by its ledger"),
            Found::Unverified => (method, "its rows were all there from a load that was cut off"),
            Found::Nothing => (method, reason),
        };
        Loaded {
            dataset: dataset.name.clone(),
            table: self.table.clone(),
            rows: dataset.rows.0,
            bytes: None,
            method: method.to_owned(),
            reason: reason.to_owned(),
            streams: build::files_at_a_time(self.plan.pieces.len()) as u32,
            rows_resumed: if found == Found::Nothing { 0 } else { dataset.rows.0 },
            seconds: 0.0,
            rows_per_second: 0.0,
            phases: BTreeMap::new(),
            verified: "count".to_owned(),
            fingerprint: dataset.fingerprint(),
            fill: dataset.fill.to_string(),
            indexes: Vec::new(),
            files: None,
            peak_memory_bytes: None,
        }
    }

    fn end_phase(&mut self, name: &str, started: Instant) {
        *self.phases.entry(name.to_owned()).or_default() += started.elapsed().as_secs_f64();
    }

    /// The last figures; `rate_phases` are those in which rows came in.
    async fn finish(
        self,
        server: &Server,
        started: Instant,
        mut loaded: Loaded,
        rate_phases: &[&str],
    ) -> Result<Loaded, LoadError> {
        let mut connection = server.connect().await?;
        let bytes = inspect::bytes(&mut connection, &self.table).await.map_err(sql("weigh", &self.table))?;
        loaded.bytes = bytes.map(|bytes| bytes.0);
        loaded.seconds = started.elapsed().as_secs_f64();
        let seconds: f64 = rate_phases.iter().filter_map(|name| self.phases.get(*name)).sum();
        if loaded.rows_resumed == 0 {
            loaded.rows_per_second = loaded.rows as f64 / seconds.max(1e-9);
        }
        loaded.phases = self.phases;
        loaded.indexes = self.indexes;
        loaded.files = self.files;
        loaded.peak_memory_bytes = machine::peak_memory().map(|bytes| bytes.0);
        self.progress.enter(Phase::Done, loaded.rows);
        Ok(loaded)
    }

    /// The table made or found, and what is in it. The connection keeps the table's lock.
    async fn prepare(
        &self,
        server: &Server,
        connection: &mut sqlx::MySqlConnection,
    ) -> Result<Found, LoadError> {
        let prepared = prepare::prepare(server, connection, self.request, &self.plan).await?;
        self.progress.reached("prepared");
        match (prepared.is_complete(), prepared.rows_there()) {
            (true, _) => Ok(Found::Complete),
            (false, rows) if rows == self.request.dataset.rows.0 => Ok(Found::Unverified),
            (false, 0) => Ok(Found::Nothing),
            (false, rows) => Err(PagesError::HasRows { table: self.table.clone(), rows }.into()),
        }
    }

    /// Pieces that have rows, with their numbers.
    fn pieces(&self) -> impl Iterator<Item = (usize, &Piece)> {
        self.plan.pieces.iter().enumerate().filter(|(_, piece)| !piece.rows.is_empty())
    }

    /// The empty file of a table or partition.
    fn file(&self, folder: &Path, table: &str, partition: Option<&str>) -> Result<PathBuf, LoadError> {
        let missing = || PagesError::NoFile {
            table: table.to_owned(),
            partition: partition.unwrap_or("-").to_owned(),
            folder: folder.to_owned(),
        };
        Ok(files::find(folder, table, partition).ok_or_else(missing)?)
    }

    /// Builds a new file beside each empty one, and verifies it.
    async fn build(&mut self, site: Site, jobs: Vec<Job>) -> Result<(), LoadError> {
        let workshop = Arc::new(Workshop {
            plan: self.pages.clone(),
            table: self.request.dataset.table.clone(),
            maker: Arc::clone(&self.maker),
            profiles: age::profiles(&self.request.dataset, &self.pages),
            seed: self.request.dataset.seed,
            scratch: site.scratch,
            lsn_max: site.lsn_max,
            progress: Arc::clone(self.progress),
        });
        let started = Instant::now();
        self.progress.start_fill(self.request.dataset.rows.0, 0);
        let paths: Vec<PathBuf> = jobs.iter().map(|job| new_file(&job.path)).collect();
        let rows: Vec<u64> = jobs.iter().map(|job| job.rows.end - job.rows.start).collect();
        let bytes = self
            .in_background({
                let workshop = Arc::clone(&workshop);
                move || workshop.build(&jobs)
            })
            .await?;
        let mut files = BuiltFiles {
            count: paths.len() as u64,
            bytes,
            written_bytes_per_second: per_second(bytes, started),
            verified_bytes_per_second: None,
        };
        self.files = Some(files);
        self.end_phase(site.phase, started);
        self.progress.reached("built");
        if self.request.verify == Verify::Off {
            return Ok(());
        }
        let started = Instant::now();
        self.progress.enter(Phase::Verifying, self.request.dataset.rows.0);
        self.indexes = self.in_background(move || workshop.verify(&paths, &rows)).await?;
        files.verified_bytes_per_second = Some(per_second(bytes, started));
        self.files = Some(files);
        self.end_phase("verify_files", started);
        self.progress.reached("verified");
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
            Ok(Err(BuildFileError::Stopped)) => Err(self.stopped()),
            Ok(Err(error)) => Err(PagesError::from(error).into()),
            Err(error) => Err(LoadError::TaskEnded { table: self.table.clone(), reason: error.to_string() }),
        }
    }

    fn stopped(&self) -> LoadError {
        LoadError::Stopped { table: self.table.clone(), rows: Rows(0) }
    }

    /// A first query, statistics, the rows read back, the load marked as complete.
    async fn accept(&mut self, server: &Server) -> Result<String, LoadError> {
        let started = Instant::now();
        let mut connection = server.connect().await?;
        let empty =
            schema::is_empty(&mut connection, &self.table).await.map_err(sql("query", &self.table))?;
        if empty && self.request.dataset.rows.0 > 0 {
            let what = "its files are in place and it has no rows".to_owned();
            return Err(LoadError::Differs { table: self.table.clone(), what });
        }
        self.end_phase("first_query", started);
        let started = Instant::now();
        self.progress.enter(Phase::Analyzing, 0);
        schema::restart_auto_increment(&mut connection, &self.request.dataset.table)
            .await
            .map_err(sql("set the counter of", &self.table))?;
        inspect::analyze(&mut connection, &self.table).await.map_err(sql("analyze", &self.table))?;
        self.end_phase("analyze", started);
        self.progress.reached("analyzed");

        let started = Instant::now();
        let (request, progress, maker, plan) = (self.request, self.progress, &self.maker, &self.plan);
        let work = Work { server, request, progress, maker, plan };
        let verified = verify::verify(work, &mut connection).await?;
        self.end_phase("verify", started);
        self.progress.reached("compared");
        ledger::set_state(&mut connection, &self.table, ledger::State::Complete)
            .await
            .map_err(sql("mark as complete the load of", &self.table))?;
        self.progress.reached("complete");
        Ok(match self.request.verify {
            Verify::Off => verified,
            Verify::Quick | Verify::Full => format!("files, {verified}"),
        })
    }
}

fn per_second(bytes: u64, started: Instant) -> f64 {
    bytes as f64 / started.elapsed().as_secs_f64().max(1e-9)
}
