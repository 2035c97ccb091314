//! A chunk by LOAD DATA LOCAL, its text made while it is sent.
//!
//! sqlx answers no LOCAL INFILE request, so this one way goes through `mysql_async`.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_core::Stream as FutureStream;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};

use super::fill::{self, Stream};
use super::plan::Chunk;
use super::{LoadError, Progress, Work};
use crate::keys::{Row, RowMaker};
use crate::server::Server;
use crate::spec::dataset::Dataset;
use crate::table::bulk::BulkText;
use crate::table::{ledger, session};
use crate::units::Rows;

/// Text made and sent at once: a packet.
const PACKET_BYTES: usize = 256 << 10;

/// Opens a session for LOAD DATA LOCAL.
pub(super) async fn connect(server: &Server, dataset: &Dataset) -> Result<Conn, LoadError> {
    let address = server.address();
    let options = OptsBuilder::default()
        .ip_or_hostname(address.host.clone())
        .tcp_port(address.port)
        .socket(address.socket.as_ref().map(|path| path.display().to_string()))
        .user(Some(address.user.clone()))
        .pass(address.password.as_ref().map(|password| password.expose().to_owned()))
        .db_name(Some(address.database.clone()))
        // Otherwise the driver asks a TCP server for its socket and moves there by itself.
        .prefer_socket(false)
        .setup(fill::session_statements(server).map(str::to_owned).collect::<Vec<_>>());
    Conn::new(options).await.map_err(|source| LoadError::Stream {
        table: dataset.table.name.clone(),
        first_row: Rows(0),
        last_row: Rows(0),
        source: Box::new(source),
    })
}

/// Loads one chunk in one transaction.
pub(super) async fn load_chunk(
    work: Work<'_>,
    stream: &Stream,
    connection: &mut Conn,
    text: &BulkText,
    chunk: &Chunk,
) -> Result<(), LoadError> {
    let table = &work.request.dataset.table;
    let fail = |error: mysql_async::Error| stream.failed(chunk, code_of(&error), Box::new(error));
    let mut row = Row::default();
    work.maker.fill(chunk.rows.start, &mut row);
    let load_data = text.load_data_sql(chunk.partition.as_deref(), &row);
    connection.query_drop(session::BEGIN).await.map_err(fail)?;
    let rows = RowText::new(work, text, chunk);
    connection.set_infile_handler(async move { Ok(Box::pin(rows) as mysql_async::InfileData) });
    let sent = connection.query_drop(load_data).await;
    if work.progress.is_stopped() {
        return Err(stream.stopped());
    }
    sent.map_err(fail)?;
    let (taken, warnings) = (connection.affected_rows(), connection.get_warnings());
    // LOCAL implies IGNORE: what other statements refuse comes as a warning here.
    if taken != chunk.rows.end - chunk.rows.start || warnings > 0 {
        let warnings: Vec<(String, u16, String)> = connection.query(session::WARNINGS).await.map_err(fail)?;
        connection.query_drop(session::ROLLBACK).await.map_err(fail)?;
        return Err(stream.not_all_taken(chunk, taken, &warnings));
    }
    let advance = ledger::advance_sql(&table.name, chunk.piece as u32, chunk.rows.start, chunk.rows.end);
    connection.query_drop(advance).await.map_err(fail)?;
    if connection.affected_rows() != 1 {
        return Err(LoadError::CheckpointMoved { table: table.name.clone() });
    }
    connection.query_drop(session::COMMIT).await.map_err(fail)
}

/// The server's error number, when the error is the server's.
fn code_of(error: &mysql_async::Error) -> Option<(u16, String)> {
    match error {
        mysql_async::Error::Server(error) => Some((error.code, error.message.clone())),
        _ => None,
    }
}

/// A chunk's rows as packets of text, each made when the driver asks for it: memory stays bounded by one
/// packet a stream.
struct RowText {
    maker: Arc<RowMaker>,
    progress: Arc<Progress>,
    text: BulkText,
    row: Row,
    next_row: u64,
    end_row: u64,
    buffer: Vec<u8>,
    packet: BytesMut,
}

impl RowText {
    fn new(work: Work<'_>, text: &BulkText, chunk: &Chunk) -> RowText {
        RowText {
            maker: Arc::clone(work.maker),
            progress: Arc::clone(work.progress),
            text: text.clone(),
            row: Row::default(),
            next_row: chunk.rows.start,
            end_row: chunk.rows.end,
            buffer: Vec::with_capacity(PACKET_BYTES + 4_096),
            packet: BytesMut::with_capacity(2 * PACKET_BYTES),
        }
    }
}

impl FutureStream for RowText {
    type Item = io::Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let this = self.get_mut();
        if this.progress.is_stopped() {
            return Poll::Ready(Some(Err(io::Error::other("stopped"))));
        }
        if this.next_row == this.end_row {
            return Poll::Ready(None);
        }
        let first = this.next_row;
        this.buffer.clear();
        while this.next_row < this.end_row && this.buffer.len() < PACKET_BYTES {
            this.maker.fill(this.next_row, &mut this.row);
            this.text.write(&this.row, &mut this.buffer);
            this.next_row += 1;
        }
        this.progress.add_rows(this.next_row - first);
        this.packet.extend_from_slice(&this.buffer);
        Poll::Ready(Some(Ok(this.packet.split().freeze())))
    }
}
