//! Streams in parallel, each taking one chunk after another.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::plan::{Chunk, Pieces};
use super::settings::{ChosenWay, Way};
use super::{LoadError, LoadRequest, Progress, STREAMS_DEFAULT, Work, insert, local_infile, plan};
use crate::keys::RowMaker;
use crate::server::Server;
use crate::spec::calendar::date_text;
use crate::table::bulk::BulkText;
use crate::table::session;
use crate::units::Rows;

/// The server's numbers for a row that belongs to no partition, or to another one than named.
const NO_PARTITION: [u16; 2] = [1526, 1748];
/// The server's numbers for a disk that is full: of a table's file, and of any other.
const DISK_FULL: [u16; 2] = [1114, 1021];

/// Fills all pieces from where they are; gives back how many streams worked.
pub(super) async fn fill(work: Work<'_>, next_rows: Vec<u64>, way: &ChosenWay) -> Result<u32, LoadError> {
    let pieces = Arc::new(Pieces::new(work.plan, &next_rows));
    let unfinished = work.plan.pieces.iter().zip(&next_rows).filter(|(piece, next)| **next < piece.rows.end);
    let streams = work.request.streams.unwrap_or(STREAMS_DEFAULT).clamp(1, unfinished.count().max(1) as u32);
    let mut tasks = JoinSet::new();
    for _ in 0..streams {
        let stream = Stream {
            server: work.server.in_schema(&work.server.address().database),
            request: work.request.clone(),
            progress: Arc::clone(work.progress),
            maker: Arc::clone(work.maker),
            plan: work.plan.clone(),
            pieces: Arc::clone(&pieces),
        };
        tasks.spawn(stream.run(way.way));
    }
    let mut first_error = None;
    while let Some(ended) = tasks.join_next().await {
        let error = match ended {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => error,
            Err(error) => LoadError::TaskEnded {
                table: work.request.dataset.table.name.clone(),
                reason: error.to_string(),
            },
        };
        if first_error.is_none() {
            first_error = Some(error);
            // The other streams' open transactions are taken back with their connections.
            tasks.abort_all();
        }
    }
    first_error.map_or(Ok(streams), Err)
}

/// What a loading session sets.
pub(super) fn session_statements(server: &Server) -> impl Iterator<Item = &'static str> {
    // Somebody else's server may have replicas: they must get the rows.
    let no_binary_log = (server.kind() == "owned").then_some(session::NO_BINARY_LOG);
    std::iter::once(session::LOAD).chain(no_binary_log)
}

/// One stream: a connection and what it needs to make rows.
pub(super) struct Stream {
    server: Server,
    request: LoadRequest,
    progress: Arc<Progress>,
    maker: Arc<RowMaker>,
    plan: plan::Plan,
    pieces: Arc<Pieces>,
}

impl Stream {
    async fn run(self, way: Way) -> Result<(), LoadError> {
        match way {
            Way::LoadData => self.run_local_infile().await,
            Way::Insert { max_allowed_packet } => self.run_insert(max_allowed_packet).await,
        }
    }

    async fn run_local_infile(&self) -> Result<(), LoadError> {
        let mut connection = local_infile::connect(&self.server, &self.request.dataset).await?;
        let text = BulkText::new(&self.request.dataset.table, &self.maker);
        while let Some(chunk) = self.next_chunk()? {
            local_infile::load_chunk(self.work(), self, &mut connection, &text, &chunk).await?;
            self.committed(&chunk);
        }
        // All is committed; a goodbye that fails changes nothing.
        let _ = connection.disconnect().await;
        Ok(())
    }

    async fn run_insert(&self, max_allowed_packet: usize) -> Result<(), LoadError> {
        let mut connection = insert::connect(&self.server, &self.request.dataset).await?;
        while let Some(chunk) = self.next_chunk()? {
            insert::load_chunk(self.work(), self, &mut connection, max_allowed_packet, &chunk).await?;
            self.committed(&chunk);
        }
        Ok(())
    }

    fn work(&self) -> Work<'_> {
        Work {
            server: &self.server,
            request: &self.request,
            progress: &self.progress,
            maker: &self.maker,
            plan: &self.plan,
        }
    }

    fn next_chunk(&self) -> Result<Option<Chunk>, LoadError> {
        match self.progress.is_stopped() {
            true => Err(self.stopped()),
            false => Ok(self.pieces.take(&self.maker)),
        }
    }

    fn committed(&self, chunk: &Chunk) {
        self.progress.add_committed(chunk.rows.end - chunk.rows.start);
        self.pieces.done(chunk);
    }

    fn table(&self) -> String {
        self.request.dataset.table.name.clone()
    }

    pub(super) fn stopped(&self) -> LoadError {
        LoadError::Stopped { table: self.table(), rows: Rows(self.progress.rows_committed()) }
    }

    /// The error for a statement that failed; `server` has the server's number and words, if they are its.
    pub(super) fn failed(
        &self,
        chunk: &Chunk,
        server: Option<(u16, String)>,
        source: Box<dyn std::error::Error + Send + Sync>,
    ) -> LoadError {
        match server {
            Some((code, message)) if NO_PARTITION.contains(&code) => {
                self.no_partition(chunk, format!("{code} {message}"))
            }
            Some((code, message)) if DISK_FULL.contains(&code) => LoadError::DiskFull {
                table: self.table(),
                first_row: Rows(chunk.rows.start),
                last_row: Rows(chunk.rows.end - 1),
                message: format!("{code} {message}"),
            },
            _ => LoadError::Stream {
                table: self.table(),
                first_row: Rows(chunk.rows.start),
                last_row: Rows(chunk.rows.end - 1),
                source,
            },
        }
    }

    /// The error for a LOAD DATA that lost or changed rows.
    pub(super) fn not_all_taken(
        &self,
        chunk: &Chunk,
        taken: u64,
        warnings: &[(String, u16, String)],
    ) -> LoadError {
        let no_partition = warnings.iter().find(|(_, code, _)| NO_PARTITION.contains(code));
        if let Some((_, code, message)) = no_partition {
            return self.no_partition(chunk, format!("{code} {message}"));
        }
        let warnings: Vec<_> =
            warnings.iter().map(|(level, code, message)| format!("{level} {code} {message}")).collect();
        LoadError::NotAllTaken {
            table: self.table(),
            first_row: Rows(chunk.rows.start),
            last_row: Rows(chunk.rows.end - 1),
            taken: Rows(taken),
            sent: Rows(chunk.rows.end - chunk.rows.start),
            warnings: if warnings.is_empty() { "it gave no reason".to_owned() } else { warnings.join("; ") },
        }
    }

    fn no_partition(&self, chunk: &Chunk, message: String) -> LoadError {
        LoadError::NoPartition {
            table: self.table(),
            first_row: Rows(chunk.rows.start),
            last_row: Rows(chunk.rows.end - 1),
            day: date_text(self.maker.day_of(chunk.rows.start).day),
            message,
        }
    }
}
