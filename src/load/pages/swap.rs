//! `--method swap`: the table's files are built without the server and exchanged while it stands still.
//!
//! 1. the server makes the table, empty, and is stopped cleanly with everything purged
//! 2. a new file for each partition is built from its own empty file and the rows; each is verified
//! 3. the files are exchanged (crash-safe: [`crate::server::Exchange`]), the server starts
//! 4. ANALYZE, the rows read back as after every load; then the old files go
//!
//! A SIGKILL at any point leaves the old table or the new one; the same command finishes the load.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use sqlx::MySqlConnection;

use super::build::Job;
use super::{Found, PagesLoad, Site};
use crate::load::plan::Plan;
use crate::load::{LoadError, LoadRequest, Loaded, Phase, Progress, prepare};
use crate::server::{Exchange, ExchangeError, HaltError, Halted, Home, OpenError, Server};
use crate::spec::server::OwnedSpec;

/// Why a table's files were not exchanged.
#[derive(Debug, thiserror::Error)]
pub enum SwapError {
    /// The server is not ours to stop.
    #[error(
        "halt the server: it is {kind}, or was started by `idembench server up` and others may be using it — run `idembench server down` first, or use --method import or sql"
    )]
    NotOurs {
        /// What it is.
        kind: &'static str,
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
    /// The server cannot be halted.
    #[error(transparent)]
    Halt(#[from] HaltError),
    /// The files cannot be exchanged.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// The server does not come back.
    #[error(
        "start the server with the new files of {table}, which are whole and in their place: {source}; see that it \
         starts, then the same command goes on from there"
    )]
    Restart {
        /// The table.
        table: String,
        /// What became of the start.
        source: Box<OpenError>,
    },
}

/// How it is called in results.
const METHOD: &str = "swap: InnoDB pages";

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
    let mut swap = Swap(PagesLoad::new(request, progress)?);
    let (server, found) = swap.prepare(server).await?;
    let reason = "the server is ours to stop and the table can be written as pages";
    let mut loaded = swap.0.loaded(found, METHOD, reason);
    let server = match found {
        Found::Nothing => swap.exchange(server, spec, home).await?,
        Found::Unverified | Found::Complete => server,
    };
    if found != Found::Complete {
        loaded.verified = swap.0.accept(&server).await?;
        if let Some(exchange) = server.exchange().map_err(SwapError::from)? {
            server.end_exchange(exchange).map_err(SwapError::from)?;
        }
    }
    let loaded = swap.0.finish(&server, started, loaded, &["fill"]).await?;
    Ok((server, loaded))
}

/// Files of this very load that a swap has put into their place, when it did not come to say so: the ledger
/// learns of them, whichever way the load goes on.
pub(in crate::load) async fn take_over(
    server: &Server,
    connection: &mut MySqlConnection,
    request: &LoadRequest,
    plan: &Plan,
) -> Result<Option<Exchange>, LoadError> {
    let table = request.dataset.table.name.as_str();
    let Some(exchange) = server.exchange().map_err(SwapError::from)? else { return Ok(None) };
    if exchange.table != table {
        return Ok(None);
    }
    if request.replace.as_deref() == Some(table) {
        server.end_exchange(exchange).map_err(SwapError::from)?;
        return Ok(None);
    }
    if exchange.fingerprint != request.dataset.fingerprint() {
        return Ok(None);
    }
    prepare::note_all_there(connection, &request.dataset, plan).await?;
    Ok(Some(exchange))
}

/// One load.
struct Swap<'a>(PagesLoad<'a>);

impl Swap<'_> {
    /// The table made or found, and what is in it.
    async fn prepare(&mut self, server: Server) -> Result<(Server, Found), LoadError> {
        let started = Instant::now();
        self.0.progress.enter(Phase::Preparing, self.0.request.dataset.rows.0);
        if !server.is_ours_to_halt() {
            return Err(SwapError::NotOurs { kind: server.kind() }.into());
        }
        let mut connection = server.connect().await?;
        prepare::enter(&server, &mut connection, self.0.request, &self.0.plan).await?;
        self.note_exchanged(&server, &mut connection).await?;
        let found = self.0.prepare(&server, &mut connection).await?;
        self.0.end_phase("prepare", started);
        Ok((server, found))
    }

    /// Files that an earlier load has exchanged hold all rows: the ledger learns of it.
    async fn note_exchanged(
        &self,
        server: &Server,
        connection: &mut MySqlConnection,
    ) -> Result<(), LoadError> {
        let (request, table) = (self.0.request, &self.0.table);
        let Some(exchange) = server.exchange().map_err(SwapError::from)? else { return Ok(()) };
        let replaced = request.replace.as_deref() == Some(exchange.table.as_str());
        if exchange.table != *table && !replaced {
            return Err(SwapError::OtherExchange { table: table.clone(), other: exchange.table }.into());
        }
        if replaced || exchange.fingerprint != request.dataset.fingerprint() {
            return Ok(server.end_exchange(exchange).map_err(SwapError::from)?);
        }
        prepare::note_all_there(connection, &request.dataset, &self.0.plan).await
    }

    /// Stops the server, builds, exchanges, starts it.
    async fn exchange(&mut self, server: Server, spec: &OwnedSpec, home: &Home) -> Result<Server, LoadError> {
        let database = server.address().database.clone();
        let started = Instant::now();
        let halted = server.halt(spec, home).await.map_err(SwapError::from)?;
        self.0.end_phase("stop", started);
        self.0.progress.reached("stopped");

        let folder = halted.data_directory().join(super::files::encoded(&database));
        let jobs = self.jobs(&folder)?;
        let paths: Vec<PathBuf> = jobs.iter().map(|job| job.path.clone()).collect();
        let exchange = halted
            .begin_exchange(&self.0.table, &self.0.request.dataset.fingerprint(), &paths)
            .map_err(SwapError::from)?;
        if let Err(error) = self.build(&halted, &exchange, jobs).await {
            // What cannot be removed now is removed before the next start.
            let _ = halted.abandon(exchange);
            return Err(error);
        }
        let started = Instant::now();
        halted.exchange(exchange).map_err(SwapError::from)?;
        self.0.progress.reached("exchanged");
        let server = Server::resume(halted)
            .await
            .map_err(|source| SwapError::Restart { table: self.0.table.clone(), source: Box::new(source) })?;
        self.0.end_phase("start", started);
        self.0.progress.reached("started");
        let mut connection = server.connect().await?;
        prepare::note_all_there(&mut connection, &self.0.request.dataset, &self.0.plan).await?;
        self.0.progress.reached("noted");
        Ok(server)
    }

    /// A file for each piece that has rows.
    fn jobs(&self, folder: &Path) -> Result<Vec<Job>, LoadError> {
        let job = |(_, piece): (usize, &crate::load::plan::Piece)| {
            let path = self.0.file(folder, &self.0.table, piece.partition.as_deref())?;
            Ok(Job { path, rows: piece.rows.clone() })
        };
        self.0.pieces().map(job).collect()
    }

    async fn build(&mut self, halted: &Halted, exchange: &Exchange, jobs: Vec<Job>) -> Result<(), LoadError> {
        let site = Site { scratch: halted.scratch(), lsn_max: exchange.clean_lsn(), phase: "fill" };
        self.0.build(site, jobs).await
    }
}
