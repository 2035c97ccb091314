//! What keeps us off tables that are not ours.
//!
//! A schema is ours when it was empty and we put our marker table into it; a table is ours when the registry
//! beside the marker has its name. Before the first write [`claim_schema`] is called; before every DROP,
//! DELETE, TRUNCATE or file swap [`registry::contains`] is asked, unless the user named the table in a flag.

use sqlx::{Executor, MySqlConnection};

/// The marker's `created_by`.
const CREATED_BY: &str = "idembench";
/// As many names as a message can carry.
const NAMES_MAX: usize = 5;

/// The marker table's name.
pub const MARKER: &str = "idembench_marker";
/// The registry table's name.
pub const REGISTRY: &str = "idembench_tables";

const MARKER_TABLE: &str = "CREATE TABLE IF NOT EXISTS idembench_marker (
    created_by VARCHAR(32) NOT NULL PRIMARY KEY COMMENT 'idembench may write to this schema',
    version VARCHAR(32) NOT NULL,
    created_at DATETIME NOT NULL
) ENGINE=InnoDB";

const REGISTRY_TABLE: &str = "CREATE TABLE IF NOT EXISTS idembench_tables (
    table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
    created_at DATETIME NOT NULL
) ENGINE=InnoDB COMMENT='tables that idembench made and may drop'";

/// Why a schema is not written to.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// Others have tables there.
    #[error(
        "write to the schema `{schema}`: it holds tables that idembench did not make ({tables}) — make an empty \
         schema (CREATE DATABASE idembench) and name that one in the server's URL"
    )]
    NotOurs {
        /// The schema.
        schema: String,
        /// Some of its tables.
        tables: String,
    },
    /// No schema was chosen.
    #[error("write to the server: no schema is chosen — name one in the server's URL, as in …/idembench")]
    NoSchema,
    /// The server refused.
    #[error("{act}: {source}")]
    Sql {
        /// What was done.
        act: &'static str,
        /// The server's words.
        source: sqlx::Error,
    },
}

fn sql(act: &'static str) -> impl Fn(sqlx::Error) -> GuardError {
    move |source| GuardError::Sql { act, source }
}

/// Makes the connection's schema ours, or finds that it is; else refuses. May be called any number of times.
pub async fn claim_schema(connection: &mut MySqlConnection) -> Result<(), GuardError> {
    let schema: Option<String> = sqlx::query_scalar("SELECT DATABASE()")
        .fetch_one(&mut *connection)
        .await
        .map_err(sql("ask for the schema's name"))?;
    let schema = schema.ok_or(GuardError::NoSchema)?;
    let tables = tables_of(connection).await.map_err(sql("list the schema's tables"))?;
    let is_there = |name: &str| tables.iter().any(|table| table == name);
    if is_there(MARKER) && is_there(REGISTRY) && is_marked(connection).await? {
        return Ok(());
    }
    let others: Vec<_> = tables.iter().filter(|table| *table != MARKER && *table != REGISTRY).collect();
    if !others.is_empty() {
        return Err(GuardError::NotOurs { schema, tables: named(&others) });
    }
    mark(connection).await.map_err(sql("write the marker table idembench_marker"))
}

/// Tables and views of the connection's schema.
async fn tables_of(connection: &mut MySqlConnection) -> Result<Vec<String>, sqlx::Error> {
    // CAST: information_schema's names come as VARBINARY to some drivers.
    sqlx::query_scalar(
        "SELECT CAST(TABLE_NAME AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1",
    )
    .fetch_all(connection)
    .await
}

async fn is_marked(connection: &mut MySqlConnection) -> Result<bool, GuardError> {
    let rows: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM idembench_marker WHERE created_by = ?")
        .bind(CREATED_BY)
        .fetch_one(connection)
        .await
        .map_err(sql("read the marker table idembench_marker"))?;
    Ok(rows > 0)
}

/// The marker's row comes last: what was killed before it is done again.
async fn mark(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    connection.execute(REGISTRY_TABLE).await?;
    connection.execute(MARKER_TABLE).await?;
    sqlx::query("INSERT IGNORE INTO idembench_marker (created_by, version, created_at) VALUES (?, ?, UTC_TIMESTAMP())")
        .bind(CREATED_BY)
        .bind(env!("CARGO_PKG_VERSION"))
        .execute(connection)
        .await
        .map(|_| ())
}

fn named(tables: &[&String]) -> String {
    let shown: Vec<_> = tables.iter().take(NAMES_MAX).map(|name| name.as_str()).collect();
    match tables.len().saturating_sub(NAMES_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Which tables of the schema are ours. [`claim_schema`] comes first.
pub mod registry {
    use sqlx::MySqlConnection;

    use super::{GuardError, sql};

    /// The SQLSTATE of a table that is not there.
    const NO_SUCH_TABLE: &str = "42S02";

    /// Notes a table as ours. Call it when its CREATE TABLE has succeeded, never before: a name noted for a
    /// table that does not exist would make a later one of somebody else's ours.
    pub async fn record(connection: &mut MySqlConnection, table: &str) -> Result<(), GuardError> {
        sqlx::query(
            "INSERT IGNORE INTO idembench_tables (table_name, created_at) VALUES (?, UTC_TIMESTAMP())",
        )
        .bind(table)
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(sql("note a table in idembench_tables"))
    }

    /// Whether a table was noted as ours.
    pub async fn contains(connection: &mut MySqlConnection, table: &str) -> Result<bool, GuardError> {
        let rows: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM idembench_tables WHERE table_name = ?")
            .bind(table)
            .fetch_one(connection)
            .await
            .map_err(sql("look up a table in idembench_tables"))?;
        Ok(rows > 0)
    }

    /// Whether a table is ours, in a schema that may be somebody else's: without a registry nothing is.
    pub async fn is_ours(connection: &mut MySqlConnection, table: &str) -> Result<bool, GuardError> {
        match contains(connection, table).await {
            Err(GuardError::Sql { source: sqlx::Error::Database(error), .. })
                if error.code().is_some_and(|state| state == NO_SUCH_TABLE) =>
            {
                Ok(false)
            }
            other => other,
        }
    }

    /// Strikes a table out. Call it before its DROP TABLE: what is killed in between is then nobody's, not
    /// wrongly ours.
    pub async fn forget(connection: &mut MySqlConnection, table: &str) -> Result<(), GuardError> {
        sqlx::query("DELETE FROM idembench_tables WHERE table_name = ?")
            .bind(table)
            .execute(connection)
            .await
            .map(|_| ())
            .map_err(sql("strike a table out of idembench_tables"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_some_tables_and_counts_the_rest() {
        let tables: Vec<String> = (1..=7).map(|number| format!("t{number}")).collect();
        let tables: Vec<&String> = tables.iter().collect();
        assert_eq!(named(&tables[..2]), "t1, t2");
        assert_eq!(named(&tables), "t1, t2, t3, t4, t5 and 2 more");
    }
}
