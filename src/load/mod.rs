//! Filling a dataset's table: resumable, checked, and on the fastest way that the server allows.
//!
//! - `choose` which way a table takes when the user names none
//! - `plan` the table cut into pieces (a partition each) and chunks (a transaction each); pure
//! - `prepare` the table made, resumed or found complete; `other_rows` what to say where it holds others
//! - `fill` streams that take chunks, each by LOAD DATA (`local_infile`) or INSERT (`insert`)
//! - `settings` what is changed on the server meanwhile, and restored
//! - `verify` the rows read back
//! - `sample` the age of a real table
//! - `pages` the table's files built without the server, then swapped or imported

mod choose;
mod error;
mod fill;
mod insert;
mod local_infile;
mod other_rows;
pub mod pages;
mod plan;
mod prepare;
mod progress;
mod sample;
mod settings;
mod space;
mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use sqlx::MySqlConnection;

use crate::keys::RowMaker;
use crate::pages::verify::OrderSummary;
use crate::server::{Server, machine};
use crate::spec::dataset::{Dataset, Fill, KeyOrder};
use crate::table::{inspect, ledger};

pub use choose::{By, Choice, choose};
pub use error::LoadError;
pub use pages::PagesError;
pub use pages::import::{ImportError, import};
pub use pages::swap::{SwapError, swap};
pub use progress::{POINTS, Phase, Progress};
pub use sample::{AgeError, sample_file, sample_table};

/// How rows get in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Method {
    /// The fastest way that the server allows.
    #[default]
    Auto,
    /// LOAD DATA LOCAL from a stream; fails where the server does not allow it.
    LoadData,
    /// Multi-row INSERT.
    Insert,
}

/// How much is read back at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// Count and row checksum of every partition.
    #[default]
    Quick,
    /// The same, column by column, counts through every index, and CHECK TABLE.
    Full,
    /// Nothing.
    Off,
}

/// What to load and how.
#[derive(Debug, Clone)]
pub struct LoadRequest {
    /// The rows.
    pub dataset: Dataset,
    /// How they get in.
    pub method: Method,
    /// How much is read back.
    pub verify: Verify,
    /// Ordered streams in parallel; `None`: as many as are fastest here.
    pub streams: Option<u32>,
    /// A table that may be dropped first, named by the user.
    pub replace: Option<String>,
}

/// A loaded table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Loaded {
    /// The dataset's name.
    pub dataset: String,
    /// The table.
    pub table: String,
    /// Rows in it.
    pub rows: u64,
    /// Bytes of its files, when the server says.
    pub bytes: Option<u64>,
    /// `sql: LOAD DATA LOCAL`, `sql: multi-row INSERT`, `swap: InnoDB pages`, `import: InnoDB pages` or
    /// `already loaded`.
    pub method: String,
    /// Why that way was taken.
    pub reason: String,
    /// Streams in parallel.
    pub streams: u32,
    /// Rows that were there already when this load began.
    pub rows_resumed: u64,
    /// All phases together.
    pub seconds: f64,
    /// Rows that this load added, over the seconds of the phase `fill`; of `build`, `import` and `exchange`
    /// together when files were imported.
    pub rows_per_second: f64,
    /// Seconds by phase: `prepare`, `fill`, `analyze`, `verify`; a swap has `stop`, `verify_files`, `start` and
    /// `first_query` too, an import `first_query`, and `create`, `build`, `verify_files`, `import` and `exchange`
    /// instead of `fill`.
    pub phases: BTreeMap<String, f64>,
    /// What was checked and found right, in words; `no` when verification was off.
    pub verified: String,
    /// The dataset's fingerprint.
    pub fingerprint: String,
    /// What its pages look like.
    pub fill: String,
    /// Its indexes, where this load has verified their files.
    pub indexes: Vec<LoadedIndex>,
    /// The files, where this load has built them.
    pub files: Option<BuiltFiles>,
    /// The most memory that this program has had so far, where the system says.
    pub peak_memory_bytes: Option<u64>,
}

/// Files that a load has built.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BuiltFiles {
    /// How many.
    pub count: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Their bytes over the seconds in which rows were made and written, fsync included.
    pub written_bytes_per_second: f64,
    /// Their bytes over the seconds in which the verifier read them; `None` when it was off.
    pub verified_bytes_per_second: Option<f64>,
}

/// An index as the verifier saw it, all files together.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LoadedIndex {
    /// `PRIMARY` or its name.
    pub name: String,
    /// Levels, 1 when the root is a leaf.
    pub levels: u16,
    /// Pages above the leaves.
    pub inner_pages: u64,
    /// How full its leaves are and in which order they lie.
    pub leaves: OrderSummary,
}

/// Streams when the caller names none. Measured on 2 cores with MySQL 9.7 (see `scripts/bench-load-sql`).
const STREAMS_DEFAULT: u32 = 3;

/// Loads a dataset, resumes its load, or finds it loaded.
///
/// Everything that was changed on the server for the load is restored before this returns, also when it
/// fails or [`Progress::stop`] was called; after a SIGKILL the next call restores it.
///
/// # Errors
/// [`LoadError`]; rows that are in the table then stay there, and a later call goes on behind them.
pub async fn load(
    server: &Server,
    request: &LoadRequest,
    progress: &Arc<Progress>,
) -> Result<Loaded, LoadError> {
    let maker = Arc::new(RowMaker::new(&request.dataset)?);
    let mut connection = server.connect().await?;
    let loaded = load_over(&mut connection, server, request, progress, &maker).await;
    // The lock goes with the connection: a goodbye makes sure that it is gone when we return.
    let _ = sqlx::Connection::close(connection).await;
    loaded
}

async fn load_over(
    connection: &mut MySqlConnection,
    server: &Server,
    request: &LoadRequest,
    progress: &Arc<Progress>,
    maker: &Arc<RowMaker>,
) -> Result<Loaded, LoadError> {
    let dataset = &request.dataset;
    let table = dataset.table.name.as_str();
    let started = Instant::now();
    progress.enter(Phase::Preparing, dataset.rows.0);
    let plan = plan::Plan::new(dataset, maker);
    prepare::enter(server, connection, request, &plan).await?;
    let exchange = pages::swap::take_over(server, connection, request, &plan).await?;
    if exchange.is_none() {
        refuse_fresh_pages(connection, dataset).await?;
    }
    let prepared = prepare::prepare(server, connection, request, &plan).await?;
    let mut phases = BTreeMap::from([("prepare".to_owned(), started.elapsed().as_secs_f64())]);
    let mut loaded = Loaded {
        dataset: dataset.name.clone(),
        table: table.to_owned(),
        rows: dataset.rows.0,
        bytes: None,
        method: "already loaded".to_owned(),
        reason: "the table has these rows by its ledger".to_owned(),
        streams: 0,
        rows_resumed: prepared.rows_there(),
        seconds: 0.0,
        rows_per_second: 0.0,
        phases: BTreeMap::new(),
        verified: "count".to_owned(),
        fingerprint: dataset.fingerprint(),
        fill: dataset.fill.to_string(),
        indexes: Vec::new(),
        files: None,
        peak_memory_bytes: None,
    };
    if !prepared.is_complete() {
        let way = settings::choose_way(connection, server, request.method).await?;
        let filled = fill_and_verify(
            Work { server, request, progress, maker, plan: &plan },
            connection,
            prepared,
            &way,
            &mut phases,
        )
        .await;
        let restored = settings::restore(connection).await;
        // Why the load failed says more than that nothing could be restored on a server that is gone.
        let (streams, rows_per_second, verified) = filled?;
        restored?;
        loaded.method = way.name().to_owned();
        loaded.reason = way.reason;
        (loaded.streams, loaded.rows_per_second, loaded.verified) = (streams, rows_per_second, verified);
        ledger::set_state(connection, table, ledger::State::Complete)
            .await
            .map_err(error::sql("mark as complete the load of", table))?;
    }
    if let Some(exchange) = exchange {
        server.end_exchange(exchange).map_err(SwapError::from)?;
    }
    loaded.bytes =
        inspect::bytes(connection, table).await.map_err(error::sql("weigh", table))?.map(|bytes| bytes.0);
    loaded.seconds = started.elapsed().as_secs_f64();
    loaded.phases = phases;
    loaded.peak_memory_bytes = machine::peak_memory().map(|bytes| bytes.0);
    progress.enter(Phase::Done, dataset.rows.0);
    Ok(loaded)
}

/// SQL leaves pages full and in order unless rows come in random order; who asks for aged ones must not get
/// those. A table that has its rows already is as its ledger says.
async fn refuse_fresh_pages(connection: &mut MySqlConnection, dataset: &Dataset) -> Result<(), LoadError> {
    let ages = dataset.fill == Fill::Aged && dataset.key_order == KeyOrder::Random;
    if dataset.fill == Fill::Fresh || ages {
        return Ok(());
    }
    let table = dataset.table.name.as_str();
    let entry = ledger::entry(connection, table).await.map_err(error::sql("look up the load of", table))?;
    match entry.is_some_and(|entry| entry.state == ledger::State::Complete) {
        true => Ok(()),
        false => Err(LoadError::FreshPages { table: table.to_owned() }),
    }
}

/// What all steps of one load share.
#[derive(Clone, Copy)]
struct Work<'a> {
    server: &'a Server,
    request: &'a LoadRequest,
    progress: &'a Arc<Progress>,
    maker: &'a Arc<RowMaker>,
    plan: &'a plan::Plan,
}

/// Streams, rows per second, what was verified.
async fn fill_and_verify(
    work: Work<'_>,
    connection: &mut MySqlConnection,
    prepared: prepare::Prepared,
    way: &settings::ChosenWay,
    phases: &mut BTreeMap<String, f64>,
) -> Result<(u32, f64, String), LoadError> {
    let table = work.request.dataset.table.name.as_str();
    let rows_to_add = work.request.dataset.rows.0 - prepared.rows_there();
    let started = Instant::now();
    work.progress.start_fill(work.request.dataset.rows.0, prepared.rows_there());
    let streams = fill::fill(work, prepared.next_rows, way).await?;
    let fill_seconds = started.elapsed().as_secs_f64();
    phases.insert("fill".to_owned(), fill_seconds);

    let started = Instant::now();
    work.progress.enter(Phase::Analyzing, 0);
    inspect::analyze(connection, table).await.map_err(error::sql("analyze", table))?;
    phases.insert("analyze".to_owned(), started.elapsed().as_secs_f64());

    let started = Instant::now();
    let verified = verify::verify(work, connection).await?;
    phases.insert("verify".to_owned(), started.elapsed().as_secs_f64());
    Ok((streams, rows_to_add as f64 / fill_seconds.max(1e-9), verified))
}
