//! What is there: read without opening a partition, so that a thousand of them take no second.

use std::time::{SystemTime, UNIX_EPOCH};

use sqlx::MySqlConnection;

use super::plan::Facts;
use super::zone::Zone;
use crate::server::{Server, ServerVersion, clock};
use crate::table::partition;

/// Why a table cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// It is not there.
    #[error("there is no table {table} in the schema {schema}: name it as SHOW TABLES does")]
    NoTable {
        /// The table.
        table: String,
        /// The connection's schema.
        schema: String,
    },
    /// The server refused.
    #[error("failed to {act} {table}: {source}")]
    Sql {
        /// What was being done.
        act: &'static str,
        /// To which table.
        table: String,
        /// The server's words.
        source: sqlx::Error,
    },
    /// The server cannot be described.
    #[error(transparent)]
    Describe(#[from] crate::server::DescribeError),
}

/// Since then a dropped table's pages leave the buffer pool by and by instead of in one scan.
const LAZY_FREE_SINCE: ServerVersion = ServerVersion::new(8, 0, 23);

/// Reads what a plan is made from.
pub async fn look(
    server: &Server,
    connection: &mut MySqlConnection,
    table: &str,
) -> Result<Facts, LookError> {
    let sql = |act: &'static str| move |source| LookError::Sql { act, table: table.to_owned(), source };
    let layout = partition::layout(connection, table).await.map_err(sql("read the partitions of"))?;
    let layout = layout.ok_or_else(|| LookError::NoTable {
        table: table.to_owned(),
        schema: server.address().database.clone(),
    })?;
    let clock = clock::read(connection).await.map_err(sql("read the server's clock for"))?;
    // A clock before 1970 disagrees with the server's, which is then said.
    let here = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let settings = server.describe().await?.settings;
    let partitions = layout.partitions.len();
    Ok(Facts {
        table: table.to_owned(),
        columns: partition::columns(connection, table).await.map_err(sql("read the columns of"))?,
        estimated_rows: partition::estimated_rows(connection, table)
            .await
            .map_err(sql("read the statistics of"))?,
        layout,
        server_now_s: clock.now_s,
        here_now_s: here,
        server_zone: Zone { minutes_east: clock.minutes_east },
        notes: notes(server.version(), partitions, |name| settings.get(name).map(String::as_str)),
    })
}

/// What makes dropping a partition dearer than it need be on this server.
fn notes<'s>(
    version: ServerVersion,
    partitions: usize,
    setting: impl Fn(&str) -> Option<&'s str>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if setting("innodb_adaptive_hash_index") == Some("ON") {
        notes.push(
            "the adaptive hash index is on: each drop takes the entries of all remaining partitions out of it while the \
             table is locked — SET GLOBAL innodb_adaptive_hash_index = OFF first"
                .to_owned(),
        );
    }
    if version < LAZY_FREE_SINCE {
        notes.push(format!(
            "MySQL {version} looks through the whole buffer pool at each drop (8.0.23 and later do not): expect a second \
             for each 32 GiB"
        ));
    }
    let cache = setting("table_definition_cache").and_then(|text| text.parse::<usize>().ok());
    if let Some(cache) = cache.filter(|cache| *cache < 2 * partitions) {
        notes.push(format!(
            "table_definition_cache is {cache} and the table has {partitions} partitions: after each statement here they \
             are opened anew — raise it above twice their number"
        ));
    }
    notes
}
