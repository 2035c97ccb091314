//! Tables counted and weighed.

use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::spec::ddl::quote_name;
use crate::units::Bytes;

/// Rows of the whole table, or of one partition, counted.
pub async fn count(
    connection: &mut MySqlConnection,
    table: &str,
    partition: Option<&str>,
) -> Result<u64, sqlx::Error> {
    let partition = partition.map_or_else(String::new, |name| format!(" PARTITION ({})", quote_name(name)));
    let sql = format!("SELECT COUNT(*) FROM {}{partition}", quote_name(table));
    let rows: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await?;
    Ok(rows.unsigned_abs())
}

/// Rows of the whole table, counted through one secondary index.
pub async fn count_by_index(
    connection: &mut MySqlConnection,
    table: &str,
    index: &str,
) -> Result<u64, sqlx::Error> {
    let (table, index) = (quote_name(table), quote_name(index));
    let sql = format!("SELECT COUNT(*) FROM {table} FORCE INDEX ({index})");
    let rows: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await?;
    Ok(rows.unsigned_abs())
}

/// Bytes of the table's files: by tablespace where the account may see those, else by the dictionary's
/// statistics (run [`analyze`] first). `None` when the server says nothing.
pub async fn bytes(connection: &mut MySqlConnection, table: &str) -> Result<Option<Bytes>, sqlx::Error> {
    // The dictionary writes a partition's name as schema/table#p#partition.
    const FILES: &str = "SELECT CAST(SUM(FILE_SIZE) AS UNSIGNED) FROM information_schema.INNODB_TABLESPACES \
         WHERE NAME = CONCAT(DATABASE(), '/', ?) OR NAME LIKE CONCAT(DATABASE(), '/', ?, '#p#%')";
    const STATISTICS: &str = "SELECT CAST(DATA_LENGTH + INDEX_LENGTH AS UNSIGNED) FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?";
    let escaped = table.replace('_', "\\_").replace('%', "\\%");
    let files: Result<Option<u64>, _> =
        sqlx::query_scalar(FILES).bind(table).bind(escaped).fetch_one(&mut *connection).await;
    match files {
        Ok(Some(bytes)) => Ok(Some(Bytes(bytes))),
        // Without the PROCESS privilege (1227), or with a name that the file system writes otherwise.
        Ok(None) | Err(sqlx::Error::Database(_)) => {
            let bytes: Option<Option<u64>> =
                sqlx::query_scalar(STATISTICS).bind(table).fetch_optional(connection).await?;
            Ok(bytes.flatten().map(Bytes))
        }
        Err(error) => Err(error),
    }
}

/// Brings a table's files up to date and keeps everybody from changing them until [`unlock_tables`].
pub async fn flush_for_export(
    connection: &mut MySqlConnection,
    schema: &str,
    table: &str,
) -> Result<(), sqlx::Error> {
    let sql = format!("FLUSH TABLES {}.{} FOR EXPORT", quote_name(schema), quote_name(table));
    connection.execute(AssertSqlSafe(sql)).await.map(|_| ())
}

/// Gives back what [`flush_for_export`] has locked.
pub async fn unlock_tables(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    connection.execute("UNLOCK TABLES").await.map(|_| ())
}

/// Makes the optimizer's statistics anew; gives back what the server complains of.
pub async fn analyze(connection: &mut MySqlConnection, table: &str) -> Result<Vec<String>, sqlx::Error> {
    maintenance(connection, &format!("ANALYZE TABLE {}", quote_name(table))).await
}

/// Walks all of the table's trees; gives back what the server complains of.
pub async fn check(connection: &mut MySqlConnection, table: &str) -> Result<Vec<String>, sqlx::Error> {
    maintenance(connection, &format!("CHECK TABLE {}", quote_name(table))).await
}

/// Runs a maintenance statement and keeps the lines that are not `status OK`.
async fn maintenance(connection: &mut MySqlConnection, sql: &str) -> Result<Vec<String>, sqlx::Error> {
    let rows = connection.fetch_all(AssertSqlSafe(sql.to_owned())).await?;
    let mut complaints = Vec::new();
    for row in rows {
        let (kind, text): (String, String) = (row.try_get("Msg_type")?, row.try_get("Msg_text")?);
        if !(kind == "status" && text == "OK") && kind != "note" {
            complaints.push(format!("{kind}: {text}"));
        }
    }
    Ok(complaints)
}

/// The CREATE TABLE as the server prints it.
pub async fn show_create(connection: &mut MySqlConnection, table: &str) -> Result<String, sqlx::Error> {
    let sql = format!("SHOW CREATE TABLE {}", quote_name(table));
    connection.fetch_one(AssertSqlSafe(sql)).await?.try_get(1)
}
