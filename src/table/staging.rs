//! Tables that stand in for another while its rows come in as files: made, emptied of their files, given new
//! ones, and put into the place of the one that is loaded.

use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::spec::ddl::quote_name;

/// What a server must be like to take files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Whether new tables get files of their own.
    pub file_per_table: bool,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Where it says that its files are.
    pub data_directory: String,
    /// Whether it keeps a binary log.
    pub binary_log: bool,
    /// Servers that read that log.
    pub replicas: u64,
    /// Whether it is a member of a replication group.
    pub group_member: bool,
}

/// Asks the server.
pub async fn facts(connection: &mut MySqlConnection) -> Result<Facts, sqlx::Error> {
    const FACTS: &str = "SELECT CAST(@@GLOBAL.innodb_file_per_table AS SIGNED), \
         CAST(@@GLOBAL.innodb_page_size AS UNSIGNED), CAST(@@GLOBAL.datadir AS CHAR), \
         CAST(@@GLOBAL.log_bin AS SIGNED)";
    // Without the PROCESS privilege an account sees its own sessions only: a replica is then not seen.
    const REPLICAS: &str = "SELECT CAST(COUNT(*) AS UNSIGNED) FROM performance_schema.threads WHERE PROCESSLIST_COMMAND LIKE 'Binlog Dump%'";
    // The plugin may be there and the server in no group; for who may not ask, the plugin alone is enough.
    const MEMBERS: &str = "SELECT CAST(COUNT(*) AS UNSIGNED) FROM performance_schema.replication_group_members \
         WHERE MEMBER_STATE <> 'OFFLINE'";
    const PLUGIN: &str = "SELECT CAST(COUNT(*) AS UNSIGNED) FROM information_schema.PLUGINS \
         WHERE PLUGIN_NAME = 'group_replication' AND PLUGIN_STATUS = 'ACTIVE'";
    let (file_per_table, page_bytes, data_directory, binary_log): (i64, u64, String, i64) =
        sqlx::query_as(FACTS).fetch_one(&mut *connection).await?;
    let replicas: Result<u64, sqlx::Error> = sqlx::query_scalar(REPLICAS).fetch_one(&mut *connection).await;
    let members: u64 = match sqlx::query_scalar(MEMBERS).fetch_one(&mut *connection).await {
        Ok(members) => members,
        Err(sqlx::Error::Database(_)) => sqlx::query_scalar(PLUGIN).fetch_one(connection).await?,
        Err(error) => return Err(error),
    };
    Ok(Facts {
        file_per_table: file_per_table != 0,
        page_bytes,
        data_directory,
        binary_log: binary_log != 0,
        replicas: replicas.unwrap_or(0),
        group_member: members > 0,
    })
}

/// How long a statement waits for others that use its table: a killed load's last statement may still run.
pub const PATIENCE: &str = "SET SESSION lock_wait_timeout = 600";

/// Makes an empty table with another one's definition.
pub async fn create_like(connection: &mut MySqlConnection, new: &str, like: &str) -> Result<(), sqlx::Error> {
    run(connection, format!("CREATE TABLE {} LIKE {}", quote_name(new), quote_name(like))).await
}

/// Makes an empty partitioned table one without partitions.
pub async fn remove_partitions(connection: &mut MySqlConnection, table: &str) -> Result<(), sqlx::Error> {
    run(connection, format!("ALTER TABLE {} REMOVE PARTITIONING", quote_name(table))).await
}

/// Writes all pages of these tables to their files, a description beside each, and keeps everybody from
/// changing them until [`unlock`].
pub async fn flush_for_export(
    connection: &mut MySqlConnection,
    tables: &[String],
) -> Result<(), sqlx::Error> {
    let tables: Vec<String> = tables.iter().map(|table| quote_name(table)).collect();
    run(connection, format!("FLUSH TABLES {} FOR EXPORT", tables.join(", "))).await
}

/// Ends [`flush_for_export`].
pub async fn unlock(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    run(connection, "UNLOCK TABLES".to_owned()).await
}

/// Throws a table's file away.
pub async fn discard(connection: &mut MySqlConnection, table: &str) -> Result<(), sqlx::Error> {
    run(connection, format!("ALTER TABLE {} DISCARD TABLESPACE", quote_name(table))).await
}

/// Takes the file that lies in the place of the discarded one; gives back what the server warns of.
pub async fn import(connection: &mut MySqlConnection, table: &str) -> Result<Vec<String>, sqlx::Error> {
    run(connection, format!("ALTER TABLE {} IMPORT TABLESPACE", quote_name(table))).await?;
    // As text: the server prepares no SHOW WARNINGS with a LIMIT.
    let warnings = connection.fetch_all(super::session::WARNINGS).await?;
    let said = |row: &sqlx::mysql::MySqlRow| {
        Ok(format!("{}: {}", row.try_get::<u32, _>("Code")?, row.try_get::<String, _>("Message")?))
    };
    warnings.iter().map(said).collect()
}

/// Exchanges a partition with a table; the caller knows that its rows belong there.
pub async fn exchange(
    connection: &mut MySqlConnection,
    table: &str,
    partition: &str,
    with: &str,
) -> Result<(), sqlx::Error> {
    let (table, partition, with) = (quote_name(table), quote_name(partition), quote_name(with));
    run(
        connection,
        format!("ALTER TABLE {table} EXCHANGE PARTITION {partition} WITH TABLE {with} WITHOUT VALIDATION"),
    )
    .await
}

/// Gives `new` the name of `table`, whose rows, if any, are found under the name `old` then; at every
/// instant the name stands for one of them. `false`, and nothing done, when `table` is not empty.
pub async fn put_in_place(
    connection: &mut MySqlConnection,
    table: &str,
    new: &str,
    old: &str,
) -> Result<bool, sqlx::Error> {
    let (name, new, old) = (quote_name(table), quote_name(new), quote_name(old));
    run(connection, format!("LOCK TABLES {name} WRITE, {new} WRITE")).await?;
    let put = match super::schema::is_empty(connection, table).await {
        Ok(true) => {
            run(connection, format!("RENAME TABLE {name} TO {old}, {new} TO {name}")).await.map(|()| true)
        }
        other => other,
    };
    unlock(connection).await?;
    put
}

/// The session's number, by which another may stop its statement.
pub async fn session_number(connection: &mut MySqlConnection) -> Result<u64, sqlx::Error> {
    sqlx::query_scalar("SELECT CONNECTION_ID()").fetch_one(connection).await
}

/// Stops the statement that a session of ours is running.
pub async fn stop_statement(connection: &mut MySqlConnection, session: u64) -> Result<(), sqlx::Error> {
    run(connection, format!("KILL QUERY {session}")).await
}

async fn run(connection: &mut MySqlConnection, sql: String) -> Result<(), sqlx::Error> {
    connection.execute(AssertSqlSafe(sql)).await.map(|_| ())
}
