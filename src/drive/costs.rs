//! What one operation cost: differences of counters over the measured part, by completed operation.

use std::collections::BTreeMap;

use super::phase::Announcement;
use super::sampler::Snapshot;

/// The costs by name. Between the snapshot nearest to the start of measuring and the one nearest to its
/// end: both differences, of counters and of operations, are over the very same time.
pub(super) fn per_operation(snapshots: &[Snapshot], measured: Announcement) -> BTreeMap<String, f64> {
    let nearest = |ns: u64| {
        let answered = snapshots.iter().filter(|snapshot| !snapshot.values.is_empty());
        answered.min_by_key(|snapshot| snapshot.at_ns.abs_diff(ns))
    };
    let (Some(first), Some(last)) = (nearest(measured.start_ns), nearest(measured.end_ns)) else {
        return BTreeMap::new();
    };
    let operations = last.completed.saturating_sub(first.completed);
    if operations == 0 {
        return BTreeMap::new();
    }
    let mut costs = BTreeMap::new();
    let mut add = |name: &str, difference: Option<f64>| {
        if let Some(difference) = difference.filter(|difference| *difference >= 0.0) {
            costs.insert(name.to_owned(), difference / operations as f64);
        }
    };
    for (name, counter) in COUNTED {
        let value = |snapshot: &Snapshot| snapshot.values.get(*counter).copied();
        add(name, value(last).zip(value(first)).map(|(last, first)| last - first));
    }
    let micros = |pair: (std::time::Duration, std::time::Duration)| pair.0.as_secs_f64() * 1e6 - pair.1.as_secs_f64() * 1e6;
    add("client_cpu_us", last.client_cpu.zip(first.client_cpu).map(micros));
    add("server_cpu_us", last.server_cpu.zip(first.server_cpu).map(micros));
    costs
}

/// Costs and the status variables that they are differences of.
const COUNTED: &[(&str, &str)] = &[
    ("pages_read", "Innodb_pages_read"),
    ("page_requests", "Innodb_buffer_pool_read_requests"),
    ("pages_written", "Innodb_pages_written"),
    ("redo_bytes", "Innodb_redo_log_current_lsn"),
    ("fsyncs", "Innodb_data_fsyncs"),
    ("row_lock_waits", "Innodb_row_lock_waits"),
];
