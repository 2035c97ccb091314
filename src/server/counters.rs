//! The server's own counters: one cheap snapshot, to be taken once a second on a connection of its own.
//!
//! Two statements, SHOW GLOBAL STATUS and the enabled rows of INNODB_METRICS; none of them takes a lock that
//! a claim waits for. `performance_schema.data_locks` is never asked: before 8.0.40 reading it stops the lock
//! system of the whole server, and the benchmark would measure itself.
//!
//! A counter that a release, a missing privilege or a disabled module withholds is `None`.

use std::collections::BTreeMap;

use sqlx::{MySqlConnection, Row};

use super::describe::show;

/// Where a counter comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A status variable, by its name in lower case.
    Status(&'static str),
    /// A row of INNODB_METRICS.
    Metric(&'static str),
    /// One status variable less another.
    StatusDifference(&'static str, &'static str),
    /// The server's CPU time, from the kernel.
    Cpu,
}

/// How a counter is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// It only grows: differences of samples mean something.
    Total,
    /// It is what it is at one instant.
    Level,
}

/// A counter that a sample holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Its name in results, with its unit where it is not a count.
    pub name: &'static str,
    /// How it is read.
    pub sense: Sense,
    /// Where it comes from, best source first.
    sources: &'static [Source],
}

const fn total(name: &'static str, sources: &'static [Source]) -> Counter {
    Counter { name, sense: Sense::Total, sources }
}

const fn level(name: &'static str, sources: &'static [Source]) -> Counter {
    Counter { name, sense: Sense::Level, sources }
}

use Source::{Cpu, Metric, Status, StatusDifference};

/// Every counter, in the order of [`CounterSample::values`]. Names are stable.
pub const COUNTERS: &[Counter] = &[
    // Buffer pool, in pages.
    total("buffer_pool_read_requests", &[Status("innodb_buffer_pool_read_requests")]),
    total("buffer_pool_wait_free", &[Status("innodb_buffer_pool_wait_free")]),
    total("pages_read", &[Status("innodb_pages_read")]),
    total("pages_written", &[Status("innodb_pages_written")]),
    total("pages_created", &[Status("innodb_pages_created")]),
    total("pages_read_leaf", &[Metric("buffer_page_read_index_leaf")]),
    total("pages_read_non_leaf", &[Metric("buffer_page_read_index_non_leaf")]),
    level("pages_dirty", &[Status("innodb_buffer_pool_pages_dirty")]),
    level("pages_data", &[Status("innodb_buffer_pool_pages_data")]),
    level("pages_free", &[Status("innodb_buffer_pool_pages_free")]),
    level("pages_total", &[Status("innodb_buffer_pool_pages_total")]),
    total("doublewrite_pages", &[Status("innodb_dblwr_pages_written")]),
    total("page_splits", &[Metric("index_page_splits")]),
    total("page_merges", &[Metric("index_page_merge_successful")]),
    // Redo log. The LSN counts the log's bytes with their block headers; `redo_written_bytes` also counts
    // blocks that were written again.
    total("redo_lsn", &[Status("innodb_redo_log_current_lsn"), Metric("log_lsn_current")]),
    total("redo_written_bytes", &[Status("innodb_os_log_written")]),
    level(
        "checkpoint_age_bytes",
        &[
            StatusDifference("innodb_redo_log_current_lsn", "innodb_redo_log_checkpoint_lsn"),
            Metric("log_lsn_checkpoint_age"),
        ],
    ),
    total("redo_waits", &[Status("innodb_log_waits")]),
    // fsync calls and bytes.
    total("log_fsyncs", &[Status("innodb_os_log_fsyncs")]),
    total("data_fsyncs", &[Status("innodb_data_fsyncs")]),
    total("data_read_bytes", &[Status("innodb_data_read")]),
    total("data_written_bytes", &[Status("innodb_data_written")]),
    // Locks.
    total("row_lock_waits", &[Status("innodb_row_lock_waits")]),
    total("row_lock_time_ms", &[Status("innodb_row_lock_time")]),
    level("row_lock_current_waits", &[Status("innodb_row_lock_current_waits")]),
    total("deadlocks", &[Metric("lock_deadlocks")]),
    total("lock_timeouts", &[Metric("lock_timeouts")]),
    // Rows and transactions.
    total("rows_read", &[Status("innodb_rows_read"), Metric("dml_reads")]),
    total("rows_inserted", &[Status("innodb_rows_inserted"), Metric("dml_inserts")]),
    total("rows_updated", &[Status("innodb_rows_updated"), Metric("dml_updates")]),
    total("rows_deleted", &[Status("innodb_rows_deleted"), Metric("dml_deletes")]),
    total("commits_read_write", &[Metric("trx_rw_commits")]),
    total("rollbacks", &[Metric("trx_rollbacks")]),
    // Purge. The list's length counts undo logs (about transactions), not rows.
    level("history_list_length", &[Metric("trx_rseg_history_len")]),
    total("purged_delete_marks", &[Metric("purge_del_mark_records")]),
    total("purged_undo_pages", &[Metric("purge_undo_log_pages")]),
    // Everything else.
    total("questions", &[Status("questions")]),
    total("bytes_received", &[Status("bytes_received")]),
    total("bytes_sent", &[Status("bytes_sent")]),
    level("threads_connected", &[Status("threads_connected")]),
    level("threads_running", &[Status("threads_running")]),
    level("open_tablespace_files", &[Status("innodb_num_open_files")]),
    total("table_cache_misses", &[Status("table_open_cache_misses")]),
    total("server_cpu_us", &[Cpu]),
];

/// One snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct CounterSample {
    /// Parallel to [`COUNTERS`].
    pub values: Vec<Option<f64>>,
}

impl CounterSample {
    /// A counter's value by its name.
    pub fn get(&self, name: &str) -> Option<f64> {
        let index = COUNTERS.iter().position(|counter| counter.name == name)?;
        self.values[index]
    }

    /// How far a counter has grown since an earlier sample. `None` when either lacks it, or when the server
    /// was restarted in between and counts from zero again.
    pub fn since(&self, earlier: &CounterSample, name: &str) -> Option<f64> {
        let grown = self.get(name)? - earlier.get(name)?;
        (grown >= 0.0).then_some(grown)
    }
}

/// Takes a snapshot. `pid` is the server's process, when it is on this machine.
pub async fn read(connection: &mut MySqlConnection, pid: Option<u32>) -> Result<CounterSample, sqlx::Error> {
    let status = show(connection, "SHOW GLOBAL STATUS").await?;
    // Without the PROCESS privilege there are no metrics: those counters are missing, no more.
    let metrics = match metrics(connection).await {
        Err(sqlx::Error::Database(_)) => BTreeMap::new(),
        other => other?,
    };
    let cpu = pid.and_then(super::cpu_time).map(|time| time.as_micros() as f64);
    Ok(sample(&status, &metrics, cpu))
}

async fn metrics(connection: &mut MySqlConnection) -> Result<BTreeMap<String, f64>, sqlx::Error> {
    let rows = sqlx::raw_sql(
        "SELECT NAME, CAST(COUNT AS DOUBLE) FROM information_schema.INNODB_METRICS WHERE STATUS = 'enabled'",
    )
    .fetch_all(connection)
    .await?;
    rows.iter().map(|row| Ok((row.try_get::<String, _>(0)?, row.try_get(1)?))).collect()
}

fn sample(
    status: &BTreeMap<String, String>,
    metrics: &BTreeMap<String, f64>,
    cpu: Option<f64>,
) -> CounterSample {
    let number = |name: &str| status.get(name)?.parse::<f64>().ok();
    let value = |source: &Source| match *source {
        Status(name) => number(name),
        Metric(name) => metrics.get(name).copied(),
        // The two are read one after the other: a checkpoint in between must not make a negative age.
        StatusDifference(name, less) => Some((number(name)? - number(less)?).max(0.0)),
        Cpu => cpu,
    };
    CounterSample { values: COUNTERS.iter().map(|counter| counter.sources.iter().find_map(value)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = COUNTERS.iter().map(|counter| counter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COUNTERS.len());
    }

    #[test]
    fn what_the_server_does_not_say_is_missing_and_the_second_source_helps_out() {
        let status = BTreeMap::from([
            ("innodb_pages_read".to_owned(), "12".to_owned()),
            ("innodb_rows_read".to_owned(), "not a number".to_owned()),
        ]);
        let metrics =
            BTreeMap::from([("dml_reads".to_owned(), 5.0), ("log_lsn_checkpoint_age".to_owned(), 7.0)]);
        let sample = sample(&status, &metrics, None);
        assert_eq!(sample.get("pages_read"), Some(12.0));
        assert_eq!(sample.get("rows_read"), Some(5.0));
        assert_eq!(sample.get("checkpoint_age_bytes"), Some(7.0));
        assert_eq!(sample.get("pages_written"), None);
        assert_eq!(sample.get("no such counter"), None);
    }

    #[test]
    fn growth_over_a_restart_is_not_a_number() {
        let of = |pages: f64| {
            let status = BTreeMap::from([("innodb_pages_read".to_owned(), pages.to_string())]);
            sample(&status, &BTreeMap::new(), None)
        };
        assert_eq!(of(12.0).since(&of(2.0), "pages_read"), Some(10.0));
        assert_eq!(of(2.0).since(&of(12.0), "pages_read"), None);
        assert_eq!(of(2.0).since(&of(1.0), "pages_written"), None);
    }
}
