//! How far a load has come, kept on the server beside the rows: what is committed with a chunk's rows
//! cannot disagree with them.

use sqlx::{Executor, MySqlConnection};

/// The ledger's tables, made when missing.
const TABLES: [&str; 6] = [
    "CREATE TABLE IF NOT EXISTS idembench_load (
        table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        fingerprint CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        dataset VARCHAR(255) NOT NULL,
        table_rows BIGINT UNSIGNED NOT NULL,
        state ENUM('creating','loading','complete') NOT NULL,
        started_at DATETIME NOT NULL,
        finished_at DATETIME NULL
    ) ENGINE=InnoDB COMMENT='loads: which rows a table has or gets'",
    "CREATE TABLE IF NOT EXISTS idembench_load_piece (
        table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        piece INT UNSIGNED NOT NULL,
        next_row BIGINT UNSIGNED NOT NULL COMMENT 'rows of the piece before this one are in the table',
        PRIMARY KEY (table_name, piece)
    ) ENGINE=InnoDB COMMENT='checkpoints: written in the transaction of the rows'",
    "CREATE TABLE IF NOT EXISTS idembench_load_fill (
        table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        fill TEXT CHARACTER SET utf8mb4 NOT NULL COMMENT 'JSON'
    ) ENGINE=InnoDB COMMENT='what the pages of a table look like; fresh where nothing is noted'",
    "CREATE TABLE IF NOT EXISTS idembench_setting (
        name VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
        value_before VARCHAR(255) NOT NULL,
        changed_at DATETIME NOT NULL
    ) ENGINE=InnoDB COMMENT='global settings that a load has changed and will restore'",
    "CREATE TABLE IF NOT EXISTS idembench_stage (
        stage_table VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        made_at DATETIME NOT NULL
    ) ENGINE=InnoDB COMMENT='tables that a load by import has made, or is about to make, and will drop'",
    "CREATE TABLE IF NOT EXISTS idembench_step_rows (
        table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        number_column VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        first_number BIGINT UNSIGNED NOT NULL COMMENT 'rows from this number on are a step''s own',
        noted_at DATETIME NOT NULL
    ) ENGINE=InnoDB COMMENT='tables to which a step adds rows that it will take away again'",
];

/// The names of the ledger's tables.
pub const LEDGER_TABLES: [&str; 6] = [
    "idembench_load",
    "idembench_load_piece",
    "idembench_load_fill",
    "idembench_setting",
    "idembench_stage",
    "idembench_step_rows",
];

/// The SQLSTATE of a table that is not there.
const NO_SUCH_TABLE: &str = "42S02";

/// A load as the ledger has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The dataset's fingerprint.
    pub fingerprint: String,
    /// The dataset's name.
    pub dataset: String,
    /// Rows in all.
    pub rows: u64,
    /// How far it has come.
    pub state: State,
}

/// How far a load has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The table is about to be made: it may or may not exist, and has no rows.
    Creating,
    /// Rows are going in; the checkpoints say which are there.
    Loading,
    /// All rows are in and verified as asked.
    Complete,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Creating => "creating",
            State::Loading => "loading",
            State::Complete => "complete",
        }
    }
}

/// Makes the ledger's tables.
pub async fn create(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    for table in TABLES {
        connection.execute(table).await?;
    }
    Ok(())
}

/// The entry of a table, if it has one.
pub async fn entry(connection: &mut MySqlConnection, table: &str) -> Result<Option<Entry>, sqlx::Error> {
    let row: Option<(String, String, u64, String)> = sqlx::query_as(
        "SELECT fingerprint, dataset, table_rows, CAST(state AS CHAR) FROM idembench_load WHERE table_name = ?",
    )
    .bind(table)
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|(fingerprint, dataset, rows, state)| {
        let state = match state.as_str() {
            "complete" => State::Complete,
            "loading" => State::Loading,
            _ => State::Creating,
        };
        Entry { fingerprint, dataset, rows, state }
    }))
}

/// Begins a table's entry, its checkpoints at their pieces' first rows; an older entry is replaced.
pub async fn begin(
    connection: &mut MySqlConnection,
    table: &str,
    entry: &Entry,
    first_rows: &[u64],
) -> Result<(), sqlx::Error> {
    use sqlx::Connection;
    let mut transaction = connection.begin().await?;
    forget_in(&mut transaction, table).await?;
    sqlx::query(
        "INSERT INTO idembench_load (table_name, fingerprint, dataset, table_rows, state, started_at)
         VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP())",
    )
    .bind(table)
    .bind(&entry.fingerprint)
    .bind(&entry.dataset)
    .bind(entry.rows)
    .bind(entry.state.name())
    .execute(&mut *transaction)
    .await?;
    for (piece, first_row) in first_rows.iter().enumerate() {
        sqlx::query("INSERT INTO idembench_load_piece (table_name, piece, next_row) VALUES (?, ?, ?)")
            .bind(table)
            .bind(piece as u32)
            .bind(first_row)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

/// Notes what a table's pages look like, as JSON.
pub async fn note_fill(connection: &mut MySqlConnection, table: &str, fill: &str) -> Result<(), sqlx::Error> {
    sqlx::query("REPLACE INTO idembench_load_fill (table_name, fill) VALUES (?, ?)")
        .bind(table)
        .bind(fill)
        .execute(connection)
        .await
        .map(|_| ())
}

/// What was noted of a table's pages. Ledgers of older releases have no such notes.
pub async fn fill(connection: &mut MySqlConnection, table: &str) -> Result<Option<String>, sqlx::Error> {
    let noted = sqlx::query_scalar("SELECT fill FROM idembench_load_fill WHERE table_name = ?")
        .bind(table)
        .fetch_optional(connection)
        .await;
    match noted {
        Err(sqlx::Error::Database(error)) if error.code().is_some_and(|code| code == NO_SUCH_TABLE) => {
            Ok(None)
        }
        noted => noted,
    }
}

/// Sets a table's state.
pub async fn set_state(
    connection: &mut MySqlConnection,
    table: &str,
    state: State,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE idembench_load SET state = ?, finished_at = IF(? = 'complete', UTC_TIMESTAMP(), NULL) WHERE table_name = ?",
    )
    .bind(state.name())
    .bind(state.name())
    .bind(table)
    .execute(connection)
    .await
    .map(|_| ())
}

/// Strikes a table out.
pub async fn forget(connection: &mut MySqlConnection, table: &str) -> Result<(), sqlx::Error> {
    use sqlx::Connection;
    let mut transaction = connection.begin().await?;
    forget_in(&mut transaction, table).await?;
    transaction.commit().await
}

async fn forget_in(connection: &mut MySqlConnection, table: &str) -> Result<(), sqlx::Error> {
    for sql in [
        "DELETE FROM idembench_load_piece WHERE table_name = ?",
        "DELETE FROM idembench_load_fill WHERE table_name = ?",
        "DELETE FROM idembench_step_rows WHERE table_name = ?",
        "DELETE FROM idembench_load WHERE table_name = ?",
    ] {
        sqlx::query(sql).bind(table).execute(&mut *connection).await?;
    }
    Ok(())
}

/// The next row of each piece, by the piece's number.
///
/// FOR UPDATE waits for the transactions of a load that was just killed: its last COMMIT may still be on its
/// way, and what it commits must be seen here.
pub async fn next_rows(
    connection: &mut MySqlConnection,
    table: &str,
) -> Result<Vec<(u32, u64)>, sqlx::Error> {
    sqlx::query_as(
        "SELECT piece, next_row FROM idembench_load_piece WHERE table_name = ? ORDER BY piece FOR UPDATE",
    )
    .bind(table)
    .fetch_all(connection)
    .await
}

/// Moves a checkpoint from one row to another, as text for either client; it must change exactly one row,
/// or somebody else has moved it.
pub fn advance_sql(table: &str, piece: u32, from: u64, to: u64) -> String {
    // The name is a table's of ours: quoted as a string, both its possible quotes doubled.
    let table = table.replace('\\', "\\\\").replace('\'', "''");
    format!(
        "UPDATE idembench_load_piece SET next_row = {to} \
         WHERE table_name = '{table}' AND piece = {piece} AND next_row = {from}"
    )
}

/// Takes the server-wide lock that keeps two loads of one table apart; `false` when somebody keeps it for
/// some seconds (a load that was just killed keeps it until the server has noticed). It is given back when
/// the connection ends.
pub async fn lock(connection: &mut MySqlConnection, table: &str) -> Result<bool, sqlx::Error> {
    // Lock names are server-wide and at most 64 characters long.
    let got: Option<i64> = sqlx::query_scalar(
        "SELECT GET_LOCK(CONCAT('idembench ', LEFT(SHA2(CONCAT(DATABASE(), '.', ?), 256), 40)), 5)",
    )
    .bind(table)
    .fetch_one(connection)
    .await?;
    Ok(got == Some(1))
}

/// Notes a global setting's value before it is changed; a value noted earlier stays.
pub async fn note_setting(
    connection: &mut MySqlConnection,
    name: &str,
    value: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT IGNORE INTO idembench_setting (name, value_before, changed_at) VALUES (?, ?, UTC_TIMESTAMP())",
    )
    .bind(name)
    .bind(value)
    .execute(connection)
    .await
    .map(|_| ())
}

/// Settings that are changed, with their values before.
pub async fn noted_settings(connection: &mut MySqlConnection) -> Result<Vec<(String, String)>, sqlx::Error> {
    sqlx::query_as("SELECT name, value_before FROM idembench_setting ORDER BY name")
        .fetch_all(connection)
        .await
}

/// Strikes a setting out, once it is restored.
pub async fn forget_setting(connection: &mut MySqlConnection, name: &str) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM idembench_setting WHERE name = ?")
        .bind(name)
        .execute(connection)
        .await
        .map(|_| ())
}

/// Notes a table that stands in for another while that one is loaded: before it is made, so that what a
/// killed load leaves is known to be ours.
pub async fn note_stage(
    connection: &mut MySqlConnection,
    stage_table: &str,
    table: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO idembench_stage (stage_table, table_name, made_at) VALUES (?, ?, UTC_TIMESTAMP())",
    )
    .bind(stage_table)
    .bind(table)
    .execute(connection)
    .await
    .map(|_| ())
}

/// The tables that stand in for one, whether made already or not.
pub async fn stages(connection: &mut MySqlConnection, table: &str) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar("SELECT stage_table FROM idembench_stage WHERE table_name = ? ORDER BY stage_table")
        .bind(table)
        .fetch_all(connection)
        .await
}

/// Strikes a stand-in out, once it is dropped.
pub async fn forget_stage(connection: &mut MySqlConnection, stage_table: &str) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM idembench_stage WHERE stage_table = ?")
        .bind(stage_table)
        .execute(connection)
        .await
        .map(|_| ())
}

/// Notes that a step adds rows to a table: those whose number is `first` or higher. Before the first of them,
/// so that what a killed step leaves is known.
pub async fn note_step_rows(
    connection: &mut MySqlConnection,
    table: &str,
    number_column: &str,
    first: u64,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "REPLACE INTO idembench_step_rows (table_name, number_column, first_number, noted_at)
         VALUES (?, ?, ?, UTC_TIMESTAMP())",
    )
    .bind(table)
    .bind(number_column)
    .bind(first)
    .execute(connection)
    .await
    .map(|_| ())
}

/// The column and the first number of the rows that a step has added to a table and not taken away.
pub async fn step_rows(
    connection: &mut MySqlConnection,
    table: &str,
) -> Result<Option<(String, u64)>, sqlx::Error> {
    sqlx::query_as("SELECT number_column, first_number FROM idembench_step_rows WHERE table_name = ?")
        .bind(table)
        .fetch_optional(connection)
        .await
}

/// Strikes a step's rows out, once they are gone.
pub async fn forget_step_rows(connection: &mut MySqlConnection, table: &str) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM idembench_step_rows WHERE table_name = ?")
        .bind(table)
        .execute(connection)
        .await
        .map(|_| ())
}
