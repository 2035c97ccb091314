//! The rows read back: counts and checksums by the server against those recomputed from the seed.

use std::sync::Arc;

use sqlx::MySqlConnection;
use tokio::task::JoinSet;

use super::error::sql;
use super::plan::Piece;
use super::{LoadError, Phase, Progress, Verify, Work};
use crate::keys::{Row, RowMaker};
use crate::server::Server;
use crate::table::checksum::{Checksum, Sums};
use crate::table::{inspect, session};
use crate::units::Rows;

/// Partitions that are read at once.
const READERS: usize = 2;
/// How often progress is told and a stop is heard.
const ROWS_BETWEEN_LOOKS: u64 = 65_536;

/// Reads the table back as asked; gives in words what was found right.
pub(super) async fn verify(work: Work<'_>, connection: &mut MySqlConnection) -> Result<String, LoadError> {
    let by_column = match work.request.verify {
        Verify::Off => return Ok("no".to_owned()),
        Verify::Quick => false,
        Verify::Full => true,
    };
    work.progress.enter(Phase::Verifying, work.request.dataset.rows.0);
    compare_pieces(work, by_column).await?;
    if !by_column {
        return Ok("count and row checksums".to_owned());
    }
    check_indexes(work, connection).await?;
    Ok("count, row and column checksums, counts by index, CHECK TABLE".to_owned())
}

async fn compare_pieces(work: Work<'_>, by_column: bool) -> Result<(), LoadError> {
    let checksum = Arc::new(Checksum::new(&work.request.dataset.table));
    let mut waiting = work.plan.pieces.clone();
    let mut readers = JoinSet::new();
    loop {
        while readers.len() < READERS
            && let Some(piece) = waiting.pop()
        {
            let reader = Reader {
                server: work.server.in_schema(&work.server.address().database),
                table: work.request.dataset.table.name.clone(),
                checksum: Arc::clone(&checksum),
                maker: Arc::clone(work.maker),
                progress: Arc::clone(work.progress),
                piece,
            };
            readers.spawn(reader.compare(by_column));
        }
        match readers.join_next().await {
            None => return Ok(()),
            Some(Ok(result)) => result?,
            Some(Err(error)) => {
                let table = work.request.dataset.table.name.clone();
                return Err(LoadError::TaskEnded { table, reason: error.to_string() });
            }
        }
    }
}

/// Compares one piece.
struct Reader {
    server: Server,
    table: String,
    checksum: Arc<Checksum>,
    maker: Arc<RowMaker>,
    progress: Arc<Progress>,
    piece: Piece,
}

impl Reader {
    async fn compare(self, by_column: bool) -> Result<(), LoadError> {
        let mut connection = self.server.connect().await?;
        sqlx::Executor::execute(&mut connection, session::LOAD)
            .await
            .map_err(sql("set up a session to read", &self.table))?;
        let partition = self.piece.partition.as_deref();
        let (server, own) = tokio::join!(
            self.checksum.read(&mut connection, partition, by_column),
            self.recompute(by_column),
        );
        let server = server.map_err(sql("read back", &self.table))?;
        let own = own?;
        if server == own {
            return Ok(());
        }
        // Which columns differ is worth a second reading.
        let (server, own) = match by_column {
            true => (server, own),
            false => {
                let server = self.checksum.read(&mut connection, partition, true).await;
                (server.map_err(sql("read back", &self.table))?, self.recompute(true).await?)
            }
        };
        Err(LoadError::Differs { table: self.table.clone(), what: self.difference(&server, &own) })
    }

    /// The sums that the piece's rows should have, on a thread of their own.
    async fn recompute(&self, by_column: bool) -> Result<Sums, LoadError> {
        let mut summer = self.checksum.summer(by_column);
        let (maker, progress, rows) =
            (Arc::clone(&self.maker), Arc::clone(&self.progress), self.piece.rows.clone());
        let computed = tokio::task::spawn_blocking(move || {
            let mut row = Row::default();
            for number in rows.clone() {
                maker.fill(number, &mut row);
                summer.add(&row);
                let made = number + 1 - rows.start;
                if made.is_multiple_of(ROWS_BETWEEN_LOOKS) {
                    progress.add_rows(ROWS_BETWEEN_LOOKS);
                    if progress.is_stopped() {
                        return None;
                    }
                }
            }
            progress.add_rows((rows.end - rows.start) % ROWS_BETWEEN_LOOKS);
            Some(summer.finish())
        })
        .await;
        match computed {
            Ok(Some(sums)) => Ok(sums),
            Ok(None) => Err(LoadError::Stopped {
                table: self.table.clone(),
                rows: Rows(self.progress.rows_committed()),
            }),
            Err(error) => Err(LoadError::TaskEnded { table: self.table.clone(), reason: error.to_string() }),
        }
    }

    fn difference(&self, server: &Sums, own: &Sums) -> String {
        let place = match &self.piece.partition {
            Some(partition) => format!("partition {partition}"),
            None => "the table".to_owned(),
        };
        if server.rows != own.rows {
            return format!("{place} has {} rows and should have {}", Rows(server.rows), Rows(own.rows));
        }
        let columns: Vec<_> = self
            .checksum
            .column_names()
            .zip(server.columns.iter().zip(&own.columns))
            .filter(|(_, (server, own))| server != own)
            .map(|(name, _)| name)
            .collect();
        match columns.is_empty() {
            false => format!("{place} differs in {} from what was loaded", columns.join(", ")),
            true => format!("{place} has its values in other rows than they were loaded in"),
        }
    }
}

/// Every index has every row, and every tree is in order.
async fn check_indexes(work: Work<'_>, connection: &mut MySqlConnection) -> Result<(), LoadError> {
    let dataset = &work.request.dataset;
    let table = dataset.table.name.as_str();
    let differs = |what: String| LoadError::Differs { table: table.to_owned(), what };
    for index in &dataset.table.indexes {
        let rows = inspect::count_by_index(connection, table, &index.name)
            .await
            .map_err(sql("count by index the rows of", table))?;
        if rows != dataset.rows.0 {
            return Err(differs(format!(
                "index {} has {} rows and should have {}",
                index.name,
                Rows(rows),
                dataset.rows
            )));
        }
    }
    let complaints = inspect::check(connection, table).await.map_err(sql("check", table))?;
    match complaints.is_empty() {
        true => Ok(()),
        false => Err(differs(format!("CHECK TABLE says {}", complaints.join("; ")))),
    }
}
