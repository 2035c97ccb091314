//! What a load changes on the server, why, and how it is put back.
//!
//! Session settings go with their connection. A global one is noted in the ledger before it is changed and
//! restored from there: at the end, after an error or a stop, and by the next load after a SIGKILL.

use sqlx::{AssertSqlSafe, Executor, MySqlConnection};

use super::error::sql;
use super::{LoadError, Method};
use crate::server::Server;
use crate::spec::server::TlsMode;
use crate::table::ledger;

/// How rows get in, and why.
pub(super) struct ChosenWay {
    pub(super) way: Way,
    pub(super) reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    LoadData,
    Insert { max_allowed_packet: usize },
}

impl ChosenWay {
    pub(super) fn name(&self) -> &'static str {
        match self.way {
            Way::LoadData => "sql: LOAD DATA LOCAL",
            Way::Insert { .. } => "sql: multi-row INSERT",
        }
    }
}

/// Decides between LOAD DATA LOCAL and INSERT; lets LOCAL in where we may.
pub(super) async fn choose_way(
    connection: &mut MySqlConnection,
    server: &Server,
    method: Method,
) -> Result<ChosenWay, LoadError> {
    let refusal = match method {
        Method::Insert => Some("asked for".to_owned()),
        Method::Auto | Method::LoadData => why_no_local_infile(connection, server).await?,
    };
    match refusal {
        None => Ok(ChosenWay { way: Way::LoadData, reason: "the server takes LOAD DATA LOCAL".to_owned() }),
        Some(reason) if method == Method::LoadData => {
            Err(LoadError::NoLocalInfile { table: server.address().database.clone(), reason })
        }
        Some(reason) => {
            let max_allowed_packet: u64 = sqlx::query_scalar(crate::table::session::MAX_ALLOWED_PACKET)
                .fetch_one(connection)
                .await
                .map_err(sql("ask for max_allowed_packet for", "the load"))?;
            let max_allowed_packet = usize::try_from(max_allowed_packet).unwrap_or(usize::MAX);
            Ok(ChosenWay { way: Way::Insert { max_allowed_packet }, reason })
        }
    }
}

/// Why LOAD DATA LOCAL is not to be had, or `None` once it is.
async fn why_no_local_infile(
    connection: &mut MySqlConnection,
    server: &Server,
) -> Result<Option<String>, LoadError> {
    let address = server.address();
    let wants_tls = !matches!(address.tls.mode, TlsMode::Disabled | TlsMode::Preferred);
    if wants_tls && address.socket.is_none() {
        return Ok(Some("the client that streams LOAD DATA has no TLS, and the URL asks for it".to_owned()));
    }
    let allowed: i64 = sqlx::query_scalar(crate::table::session::LOCAL_INFILE)
        .fetch_one(&mut *connection)
        .await
        .map_err(sql("ask for local_infile for", "the load"))?;
    if allowed == 1 {
        return Ok(None);
    }
    ledger::note_setting(connection, "local_infile", "0").await.map_err(sql("note", "local_infile"))?;
    match connection.execute(AssertSqlSafe(crate::table::session::set_global("local_infile", "1"))).await {
        Ok(_) => Ok(None),
        Err(sqlx::Error::Database(refusal)) => {
            ledger::forget_setting(connection, "local_infile")
                .await
                .map_err(sql("strike out", "local_infile"))?;
            Ok(Some(format!("local_infile is off and may not be switched on ({refusal})")))
        }
        Err(error) => Err(sql("set", "local_infile")(error)),
    }
}

/// Puts every noted setting back. Without one, nothing is done.
pub(super) async fn restore(connection: &mut MySqlConnection) -> Result<(), LoadError> {
    let noted = ledger::noted_settings(connection).await.map_err(sql("read", "the settings to restore"))?;
    for (name, value) in noted {
        connection
            .execute(AssertSqlSafe(crate::table::session::set_global(&name, &value)))
            .await
            .map_err(sql("restore the global setting of", &name))?;
        ledger::forget_setting(connection, &name).await.map_err(sql("strike out", &name))?;
    }
    Ok(())
}
