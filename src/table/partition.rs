//! The partitions of a table as the server has them, and the statements that change them.
//!
//! They are read from `information_schema.PARTITIONS`, names and bounds only: its rows come from the
//! dictionary, a thousand of them in milliseconds. `INNODB_TABLES` and its like are never asked: they open
//! every partition.

use sqlx::{Executor, MySqlConnection, Row};

use crate::spec::ddl::{bound_sql, quote_name};
use crate::spec::table::{Partition, PartitionMethod};

/// A table's partitions in the server's words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    /// `RANGE`, `RANGE COLUMNS`, `LIST`, …; `None` where the table is not partitioned.
    pub method: Option<String>,
    /// What is partitioned by: `` `event_day` ``, `` to_days(`created_at`) ``.
    pub expression: String,
    /// Whether partitions are partitioned again.
    pub subpartitioned: bool,
    /// Name and bound of each, in order: `("p20260101", "'2026-01-02'")`.
    pub partitions: Vec<(String, String)>,
}

/// A column as far as retention cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnFacts {
    /// Its name.
    pub name: String,
    /// `date`, `datetime`, `timestamp`, `bigint`, …
    pub kind: String,
    /// Its place in the primary key, from 1.
    pub key_place: Option<u32>,
    /// Whether an index begins with it.
    pub leads_index: bool,
}

/// The partitions of a table of the connection's schema; `None` when there is no such table.
pub async fn layout(connection: &mut MySqlConnection, table: &str) -> Result<Option<Layout>, sqlx::Error> {
    let rows = sqlx::query(
        "SELECT CAST(PARTITION_NAME AS CHAR), CAST(PARTITION_METHOD AS CHAR), CAST(PARTITION_EXPRESSION AS CHAR),
                CAST(PARTITION_DESCRIPTION AS CHAR), CAST(SUBPARTITION_NAME IS NOT NULL AS SIGNED)
         FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?
         ORDER BY PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION",
    )
    .bind(table)
    .fetch_all(connection)
    .await?;
    let mut layout = Layout::default();
    for row in &rows {
        let Some(name) = row.try_get::<Option<String>, _>(0)? else { continue };
        layout.method = row.try_get(1)?;
        layout.expression = row.try_get::<Option<String>, _>(2)?.unwrap_or_default();
        layout.subpartitioned |= row.try_get::<i64, _>(4)? != 0;
        let bound = row.try_get::<Option<String>, _>(3)?.unwrap_or_default();
        if layout.partitions.last().is_none_or(|(last, _)| *last != name) {
            layout.partitions.push((name, bound));
        }
    }
    Ok((!rows.is_empty()).then_some(layout))
}

/// The table's columns in order.
pub async fn columns(connection: &mut MySqlConnection, table: &str) -> Result<Vec<ColumnFacts>, sqlx::Error> {
    let rows: Vec<(String, String, Option<u32>, i64)> = sqlx::query_as(
        "SELECT CAST(c.COLUMN_NAME AS CHAR), CAST(c.DATA_TYPE AS CHAR),
                CAST(MAX(IF(s.INDEX_NAME = 'PRIMARY', s.SEQ_IN_INDEX, NULL)) AS UNSIGNED),
                CAST(COALESCE(MAX(s.SEQ_IN_INDEX = 1), 0) AS SIGNED)
         FROM information_schema.COLUMNS c
         LEFT JOIN information_schema.STATISTICS s
           ON s.TABLE_SCHEMA = c.TABLE_SCHEMA AND s.TABLE_NAME = c.TABLE_NAME AND s.COLUMN_NAME = c.COLUMN_NAME
         WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = ?
         GROUP BY c.COLUMN_NAME, c.DATA_TYPE, c.ORDINAL_POSITION ORDER BY c.ORDINAL_POSITION",
    )
    .bind(table)
    .fetch_all(connection)
    .await?;
    let facts = |(name, kind, key_place, leads): (String, String, Option<u32>, i64)| ColumnFacts {
        name,
        kind,
        key_place,
        leads_index: leads != 0,
    };
    Ok(rows.into_iter().map(facts).collect())
}

/// Rows by the optimizer's statistics, by partition name in lower case; empty where the account may not read
/// them. One range of one small table: no partition is opened.
pub async fn estimated_rows(
    connection: &mut MySqlConnection,
    table: &str,
) -> Result<Vec<(String, u64)>, sqlx::Error> {
    let read: Result<Vec<(String, u64)>, _> = sqlx::query_as(
        "SELECT CAST(SUBSTRING_INDEX(table_name, '#', -1) AS CHAR), CAST(n_rows AS UNSIGNED)
         FROM mysql.innodb_table_stats
         WHERE database_name = DATABASE() AND table_name LIKE CONCAT(REPLACE(?, '_', '\\_'), '#%')",
    )
    .bind(table)
    .fetch_all(connection)
    .await;
    match read {
        Err(sqlx::Error::Database(_)) => Ok(Vec::new()),
        other => other,
    }
}

/// `ALTER TABLE … ADD PARTITION`: all of them in one statement.
pub fn add_sql(table: &str, method: PartitionMethod, partitions: &[Partition]) -> String {
    let one = |partition: &Partition| {
        let bound = bound_sql(partition.less_than, method);
        format!("PARTITION {} VALUES LESS THAN {bound}", quote_name(&partition.name))
    };
    let all = partitions.iter().map(one).collect::<Vec<_>>().join(", ");
    format!("ALTER TABLE {} ADD PARTITION ({all})", quote_name(table))
}

/// `ALTER TABLE … DROP PARTITION`.
pub fn drop_sql(table: &str, partition: &str) -> String {
    format!("ALTER TABLE {} DROP PARTITION {}", quote_name(table), quote_name(partition))
}

/// `ALTER TABLE … TRUNCATE PARTITION`.
pub fn truncate_sql(table: &str, partition: &str) -> String {
    format!("ALTER TABLE {} TRUNCATE PARTITION {}", quote_name(table), quote_name(partition))
}

/// `ALTER TABLE … EXCHANGE PARTITION … WITHOUT VALIDATION`: the other table is empty, and what it gets may lie
/// in it whatever its bounds.
pub fn exchange_sql(table: &str, partition: &str, with: &str) -> String {
    format!(
        "ALTER TABLE {} EXCHANGE PARTITION {} WITH TABLE {} WITHOUT VALIDATION",
        quote_name(table),
        quote_name(partition),
        quote_name(with)
    )
}

/// Sends one of the statements above.
pub async fn alter(connection: &mut MySqlConnection, sql: &str) -> Result<(), sqlx::Error> {
    connection.execute(sqlx::AssertSqlSafe(sql.to_owned())).await.map(|_| ())
}

/// How long this session's statements wait for a table's metadata lock. The server's default is a year, and
/// all that time everybody else queues up behind.
pub async fn set_lock_wait(connection: &mut MySqlConnection, seconds: u64) -> Result<(), sqlx::Error> {
    let sql = format!("SET SESSION lock_wait_timeout = {}", seconds.clamp(1, 31_536_000));
    connection.execute(sqlx::AssertSqlSafe(sql)).await.map(|_| ())
}

/// Takes the server-wide lock that keeps two changers of one table's partitions apart. It is given back when
/// the connection ends; the connection that has it is the error.
pub async fn lock(connection: &mut MySqlConnection, table: &str) -> Result<Result<(), u64>, sqlx::Error> {
    const NAME: &str = "CONCAT('idembench days ', LEFT(SHA2(CONCAT(DATABASE(), '.', ?), 256), 40))";
    let sql = format!("SELECT GET_LOCK({NAME}, 3)");
    let got: Option<i64> =
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).bind(table).fetch_one(&mut *connection).await?;
    if got == Some(1) {
        return Ok(Ok(()));
    }
    let sql = format!("SELECT CAST(IS_USED_LOCK({NAME}) AS UNSIGNED)");
    let holder: Option<u64> =
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).bind(table).fetch_one(connection).await?;
    Ok(Err(holder.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::table::Bound;

    #[test]
    fn statements_name_table_and_partition_in_quotes() {
        let days = [
            Partition { name: "p20260109".to_owned(), less_than: Bound::Day(20_463) },
            Partition { name: "p20260110".to_owned(), less_than: Bound::Day(20_464) },
        ];
        assert_eq!(
            add_sql("t", PartitionMethod::RangeColumns, &days),
            "ALTER TABLE `t` ADD PARTITION (PARTITION `p20260109` VALUES LESS THAN ('2026-01-10'), \
             PARTITION `p20260110` VALUES LESS THAN ('2026-01-11'))"
        );
        assert_eq!(drop_sql("a`b", "p1"), "ALTER TABLE `a``b` DROP PARTITION `p1`");
        assert_eq!(truncate_sql("t", "p1"), "ALTER TABLE `t` TRUNCATE PARTITION `p1`");
        assert_eq!(
            exchange_sql("t", "p1", "t_out"),
            "ALTER TABLE `t` EXCHANGE PARTITION `p1` WITH TABLE `t_out` WITHOUT VALIDATION"
        );
    }
}
