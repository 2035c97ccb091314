//! What one operation cost: differences of counters over the measured part, by completed operation.

use std::collections::BTreeMap;

use super::phase::Announcement;
use super::sampler::Snapshot;

/// Costs and the counters that they are differences of.
const COUNTED: &[(&str, &str)] = &[
    ("pages_read", "pages_read"),
    ("page_requests", "buffer_pool_read_requests"),
    ("pages_written", "pages_written"),
    ("redo_bytes", "redo_lsn"),
    ("fsyncs", "data_fsyncs"),
    ("row_lock_waits", "row_lock_waits"),
    ("rows_read", "rows_read"),
    ("rows_updated", "rows_updated"),
    ("server_cpu_us", "server_cpu_us"),
];

/// The costs by name. Between the snapshot nearest to the start of measuring and the one nearest to its
/// end: both differences, of counters and of operations, are over the very same time.
pub(super) fn per_operation(snapshots: &[Snapshot], measured: Announcement) -> BTreeMap<String, f64> {
    let answered = || snapshots.iter().filter_map(|snapshot| Some((snapshot, snapshot.counters.as_ref()?)));
    let nearest = |ns: u64| answered().min_by_key(|(snapshot, _)| snapshot.at_ns.abs_diff(ns));
    let (Some((first, before)), Some((last, after))) = (nearest(measured.start_ns), nearest(measured.end_ns))
    else {
        return BTreeMap::new();
    };
    let operations = last.completed.saturating_sub(first.completed);
    if operations == 0 {
        return BTreeMap::new();
    }
    let client_cpu = last.client_cpu.zip(first.client_cpu);
    let client_cpu_us = client_cpu.map(|(last, first)| last.saturating_sub(first).as_secs_f64() * 1e6);
    let counted = COUNTED.iter().map(|(name, counter)| (*name, after.since(before, counter)));
    counted
        .chain([("client_cpu_us", client_cpu_us)])
        .filter_map(|(name, grown)| Some((name.to_owned(), grown? / operations as f64)))
        .collect()
}
