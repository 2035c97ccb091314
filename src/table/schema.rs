//! Tables made and dropped.

use sqlx::{AssertSqlSafe, Executor, MySqlConnection};

use crate::spec::ddl::quote_name;
use crate::spec::table::Table;

/// Whether the connection's schema has a table or view of that name.
pub async fn exists(connection: &mut MySqlConnection, table: &str) -> Result<bool, sqlx::Error> {
    let found: i64 = sqlx::query_scalar(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?",
    )
    .bind(table)
    .fetch_one(connection)
    .await?;
    Ok(found > 0)
}

/// Makes the table as its CREATE TABLE says, partitions included.
pub async fn create(connection: &mut MySqlConnection, table: &Table) -> Result<(), sqlx::Error> {
    connection.execute(AssertSqlSafe(table.create_sql())).await.map(|_| ())
}

/// Drops the table. The caller has made sure that it is ours, or that the user named it.
pub async fn drop(connection: &mut MySqlConnection, table: &str) -> Result<(), sqlx::Error> {
    connection.execute(AssertSqlSafe(format!("DROP TABLE IF EXISTS {}", quote_name(table)))).await.map(|_| ())
}

/// Whether the table has no row.
pub async fn is_empty(connection: &mut MySqlConnection, table: &str) -> Result<bool, sqlx::Error> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM {} LIMIT 1)", quote_name(table));
    let has_rows: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await?;
    Ok(has_rows == 0)
}

/// Sets the AUTO_INCREMENT counter, if the table has one, behind its largest value: rows that came in as
/// files have not moved it.
pub async fn restart_auto_increment(
    connection: &mut MySqlConnection,
    table: &Table,
) -> Result<(), sqlx::Error> {
    let column: Option<String> = sqlx::query_scalar(
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND EXTRA LIKE '%auto_increment%'",
    )
    .bind(&table.name)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(column) = column else { return Ok(()) };
    let name = quote_name(&table.name);
    let sql = format!("SELECT CAST(COALESCE(MAX({}), 0) + 1 AS UNSIGNED) FROM {name}", quote_name(&column));
    let next: u64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut *connection).await?;
    connection.execute(AssertSqlSafe(format!("ALTER TABLE {name} AUTO_INCREMENT = {next}"))).await.map(|_| ())
}
