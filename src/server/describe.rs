//! What a run says about its server: version and the settings that decide the numbers.

use std::collections::BTreeMap;

use sqlx::{MySqlConnection, Row};

use super::version::ServerVersion;
use super::{ConnectError, Server};
use crate::results::ServerDescription;

/// Global variables that decide the numbers. One that a release lacks is "n/a".
const SETTINGS: &[&str] = &[
    "autocommit",
    "binlog_format",
    "binlog_order_commits",
    "binlog_row_image",
    "binlog_transaction_compression",
    "character_set_server",
    "collation_server",
    "gtid_mode",
    "innodb_adaptive_hash_index",
    "innodb_autoinc_lock_mode",
    "innodb_buffer_pool_chunk_size",
    "innodb_buffer_pool_instances",
    "innodb_buffer_pool_load_at_startup",
    "innodb_buffer_pool_size",
    "innodb_change_buffering",
    "innodb_deadlock_detect",
    "innodb_default_row_format",
    "innodb_doublewrite",
    "innodb_file_per_table",
    "innodb_fill_factor",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_flush_neighbors",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_lock_wait_timeout",
    "innodb_log_buffer_size",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_log_writer_threads",
    "innodb_lru_scan_depth",
    "innodb_max_dirty_pages_pct",
    "innodb_numa_interleave",
    "innodb_open_files",
    "innodb_page_cleaners",
    "innodb_page_size",
    "innodb_purge_threads",
    "innodb_read_io_threads",
    "innodb_redo_log_capacity",
    "innodb_rollback_on_timeout",
    "innodb_stats_persistent_sample_pages",
    "innodb_thread_concurrency",
    "innodb_undo_log_truncate",
    "innodb_use_fdatasync",
    "innodb_use_native_aio",
    "innodb_write_io_threads",
    "lock_wait_timeout",
    "log_bin",
    "lower_case_table_names",
    "max_allowed_packet",
    "max_connections",
    "open_files_limit",
    "performance_schema",
    "skip_name_resolve",
    "sql_mode",
    "sync_binlog",
    "system_time_zone",
    "table_definition_cache",
    "table_open_cache",
    "thread_cache_size",
    "thread_handling",
    "time_zone",
    "transaction_isolation",
    "version_compile_machine",
    "version_compile_os",
    "version_with_update",
];

/// A status variable that a run's settings hold beside the others; since 8.0.21.
const REDO_ENABLED: &str = "innodb_redo_log_enabled";

/// Why a server is not measured.
#[derive(Debug, thiserror::Error)]
pub enum DescribeError {
    /// It does not say what it is.
    #[error(
        "describe the server: it calls its version `{version}`, and a server without a name is not measured"
    )]
    Unnamed {
        /// What it says.
        version: String,
    },
    /// Nothing that it does is durable.
    #[error(
        "describe the server: Innodb_redo_log_enabled is OFF, so its numbers mean nothing, and after a crash the \
         instance must be re-initialised — ALTER INSTANCE ENABLE INNODB REDO_LOG"
    )]
    RedoIsOff,
    /// It does not answer.
    #[error("describe the server: {0}")]
    Connect(#[from] ConnectError),
    /// It refused.
    #[error("describe the server: {0}")]
    Sql(#[from] sqlx::Error),
}

impl Server {
    /// Version and settings, read now, of a server that may be measured: refuses one that has no version or
    /// whose redo log is off.
    pub async fn describe(&self) -> Result<ServerDescription, DescribeError> {
        let found = self.look().await?;
        if found.settings.get(REDO_ENABLED).is_some_and(|enabled| enabled.eq_ignore_ascii_case("OFF")) {
            return Err(DescribeError::RedoIsOff);
        }
        if found.version.parse::<ServerVersion>().is_err() {
            return Err(DescribeError::Unnamed { version: found.version });
        }
        Ok(found)
    }

    /// The same of any server, for `doctor`.
    pub async fn look(&self) -> Result<ServerDescription, DescribeError> {
        let mut connection = self.connect().await?;
        let variables = show(&mut connection, "SHOW GLOBAL VARIABLES").await?;
        let redo = show(&mut connection, "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'").await?;
        super::address::close(connection).await;
        let mut settings = chosen(&variables);
        let enabled = redo.get(REDO_ENABLED).cloned().unwrap_or_else(|| "n/a".to_owned());
        settings.insert(REDO_ENABLED.to_owned(), enabled);
        settings.insert("connection".to_owned(), self.address.channel());
        let text = |name: &str| variables.get(name).cloned().unwrap_or_default();
        Ok(ServerDescription {
            version: text("version"),
            version_comment: text("version_comment"),
            kind: self.kind.to_owned(),
            settings,
        })
    }
}

fn chosen(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let value = |name: &&str| variables.get(*name).cloned().unwrap_or_else(|| "n/a".to_owned());
    SETTINGS.iter().map(|name| ((*name).to_owned(), value(name))).collect()
}

/// The rows of a SHOW of names and values, the names in lower case.
pub(super) async fn show(
    connection: &mut MySqlConnection,
    statement: &'static str,
) -> Result<BTreeMap<String, String>, sqlx::Error> {
    let rows = sqlx::raw_sql(statement).fetch_all(connection).await?;
    rows.iter().map(|row| Ok((row.try_get::<String, _>(0)?.to_ascii_lowercase(), row.try_get(1)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_release_lacks_is_not_available() {
        let variables = BTreeMap::from([("log_bin".to_owned(), "OFF".to_owned())]);
        let settings = chosen(&variables);
        assert_eq!(settings["log_bin"], "OFF");
        assert_eq!(settings["innodb_redo_log_capacity"], "n/a");
    }

    #[test]
    fn the_settings_are_in_order_and_named_once() {
        assert!(SETTINGS.is_sorted_by(|a, b| a < b));
    }
}
