//! Server counters once an interval, on the step's clock, over a connection of their own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::mysql::MySqlConnectOptions;
use sqlx::{ConnectOptions, MySqlConnection};
use tokio::sync::watch;

use super::clock::Clock;
use super::phase::Announcement;
use crate::results::CounterSeries;
use crate::server::{counters, cpu_time};

/// Samples that are kept: a step of a day at one a second. Later ones are not taken.
const SAMPLES_MAX: usize = 86_400;
/// How long a reconnect may take before the next attempt.
const CONNECT_PATIENCE: Duration = Duration::from_secs(1);

/// The status variable that only a restart turns back.
const UPTIME: &str = "Uptime";

/// What was read at one instant.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    /// When the answer was there.
    pub at_ns: u64,
    /// Operations completed until then.
    pub completed: u64,
    /// The server's counters; empty where it did not answer.
    pub values: BTreeMap<String, f64>,
    /// Processor time that this program has used.
    pub client_cpu: Option<Duration>,
    /// Processor time that the server has used, where it is on this machine.
    pub server_cpu: Option<Duration>,
}

/// All that sampling needs.
pub(super) struct Sampler {
    pub clock: Clock,
    pub interval_ns: u64,
    pub options: MySqlConnectOptions,
    pub server_pid: Option<u32>,
    /// One counter of completed operations per connection.
    pub completed: Vec<Arc<AtomicU64>>,
    pub announced: watch::Receiver<Option<Announcement>>,
}

impl Sampler {
    /// Samples until `done` says that the step is over. A server that does not answer makes samples late
    /// or empty, and never keeps the step from ending.
    pub async fn run(mut self, connection: Option<MySqlConnection>, mut done: watch::Receiver<bool>) -> Vec<Snapshot> {
        let mut snapshots = Vec::new();
        tokio::select! {
            () = self.sample(connection, &mut snapshots) => {}
            _ = done.wait_for(|done| *done) => {}
        }
        snapshots
    }

    async fn sample(&mut self, mut connection: Option<MySqlConnection>, snapshots: &mut Vec<Snapshot>) {
        while snapshots.len() < SAMPLES_MAX {
            if connection.is_none() {
                let connecting = tokio::time::timeout(CONNECT_PATIENCE, self.options.connect()).await;
                connection = connecting.ok().and_then(Result::ok);
            }
            let values = match &mut connection {
                Some(open) => counters::read(open).await,
                None => Ok(BTreeMap::new()),
            };
            if values.is_err() {
                connection = None;
            }
            snapshots.push(self.snapshot(values.unwrap_or_default()));
            self.wait_for_next().await;
        }
    }

    fn snapshot(&self, values: BTreeMap<String, f64>) -> Snapshot {
        Snapshot {
            at_ns: self.clock.now_ns(),
            completed: self.completed.iter().map(|count| count.load(Ordering::Relaxed)).sum(),
            values,
            client_cpu: cpu_time(std::process::id()),
            server_cpu: self.server_pid.and_then(cpu_time),
        }
    }

    /// Sleeps until the next interval begins, or until measuring ends: the last costs are read then.
    async fn wait_for_next(&mut self) {
        let now_ns = self.clock.now_ns();
        let boundary_ns = (now_ns / self.interval_ns + 1) * self.interval_ns;
        let end_ns = self.announced.borrow().map(|measured| measured.end_ns);
        let next_ns = end_ns.filter(|end_ns| *end_ns > now_ns).map_or(boundary_ns, |end_ns| end_ns.min(boundary_ns));
        tokio::time::sleep(self.clock.until(next_ns)).await;
    }
}

/// Whether the server was another one at the end than at the start.
pub(super) fn server_restarted(snapshots: &[Snapshot]) -> bool {
    let uptimes: Vec<f64> = snapshots.iter().filter_map(|snapshot| snapshot.values.get(UPTIME).copied()).collect();
    uptimes.windows(2).any(|pair| pair[1] < pair[0])
}

/// The counters as they stand in a result: one value per instant, `null` where the server did not say.
pub(super) fn series(snapshots: &[Snapshot], zero_ns: u64) -> CounterSeries {
    let mut values: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for name in snapshots.iter().flat_map(|snapshot| snapshot.values.keys()) {
        if !values.contains_key(name) {
            let column = snapshots.iter().map(|snapshot| snapshot.values.get(name).copied()).collect();
            values.insert(name.clone(), column);
        }
    }
    let at_s = snapshots.iter().map(|snapshot| (snapshot.at_ns as f64 - zero_ns as f64) / 1e9).collect();
    CounterSeries { at_s, values }
}
