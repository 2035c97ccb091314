//! A chunk by multi-row INSERTs, for servers that take no LOAD DATA LOCAL.

use sqlx::{AssertSqlSafe, Executor, MySqlConnection};

use super::error::sql;
use super::fill::{self, Stream};
use super::plan::Chunk;
use super::{LoadError, Work};
use crate::keys::Row;
use crate::server::Server;
use crate::spec::dataset::Dataset;
use crate::table::insert::InsertText;
use crate::table::{ledger, session};

/// Opens a session for INSERTs.
pub(super) async fn connect(server: &Server, dataset: &Dataset) -> Result<MySqlConnection, LoadError> {
    let mut connection = server.connect().await?;
    for statement in fill::session_statements(server) {
        connection.execute(statement).await.map_err(sql("set up a session to load", &dataset.table.name))?;
    }
    Ok(connection)
}

/// Loads one chunk in one transaction.
pub(super) async fn load_chunk(
    work: Work<'_>,
    stream: &Stream,
    connection: &mut MySqlConnection,
    max_allowed_packet: usize,
    chunk: &Chunk,
) -> Result<(), LoadError> {
    let fail = |error: sqlx::Error| stream.failed(chunk, code_of(&error), Box::new(error));
    connection.execute(session::BEGIN).await.map_err(fail)?;
    let table = &work.request.dataset.table;
    let mut text = InsertText::new(table, chunk.partition.as_deref(), max_allowed_packet);
    let mut row = Row::default();
    for number in chunk.rows.clone() {
        work.maker.fill(number, &mut row);
        if let Some(full) = text.add(&row) {
            send(work, stream, connection, chunk, full).await?;
        }
    }
    if let Some(rest) = text.take() {
        send(work, stream, connection, chunk, rest).await?;
    }
    let advance = ledger::advance_sql(&table.name, chunk.piece as u32, chunk.rows.start, chunk.rows.end);
    let moved = connection.execute(AssertSqlSafe(advance)).await.map_err(fail)?.rows_affected();
    if moved != 1 {
        return Err(LoadError::CheckpointMoved { table: table.name.clone() });
    }
    connection.execute(session::COMMIT).await.map_err(fail)?;
    Ok(())
}

async fn send(
    work: Work<'_>,
    stream: &Stream,
    connection: &mut MySqlConnection,
    chunk: &Chunk,
    (statement, rows): (String, u64),
) -> Result<(), LoadError> {
    if work.progress.is_stopped() {
        return Err(stream.stopped());
    }
    connection
        .execute(AssertSqlSafe(statement))
        .await
        .map_err(|error| stream.failed(chunk, code_of(&error), Box::new(error)))?;
    work.progress.add_rows(rows);
    Ok(())
}

/// The server's error number, when the error is the server's.
fn code_of(error: &sqlx::Error) -> Option<(u16, String)> {
    let error = error.as_database_error()?.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>()?;
    Some((error.number(), error.message().to_owned()))
}
