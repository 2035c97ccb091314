//! Server counters once an interval, on the step's clock, over a connection of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sqlx::mysql::MySqlConnectOptions;
use sqlx::{ConnectOptions, MySqlConnection};
use tokio::sync::watch;

use super::clock::Clock;
use super::phase::Announcement;
use crate::results::CounterSeries;
use crate::server::counters::{self, COUNTERS};
use crate::server::{CounterSample, cpu_time};

/// Samples that are kept: a step of a day at one a second. Later ones are not taken.
const SAMPLES_MAX: usize = 86_400;
/// How long a reconnect may take before the next attempt.
const CONNECT_PATIENCE: Duration = Duration::from_secs(1);

/// A counter that every statement raises, so that only a restart turns it back.
const STATEMENTS: &str = "questions";

/// What was read at one instant.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    /// When the answer was there.
    pub at_ns: u64,
    /// Operations completed until then.
    pub completed: u64,
    /// The server's counters; `None` where it did not answer.
    pub counters: Option<CounterSample>,
    /// Processor time that this program has used.
    pub client_cpu: Option<Duration>,
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
    pub async fn run(
        mut self,
        connection: Option<MySqlConnection>,
        mut done: watch::Receiver<bool>,
    ) -> Vec<Snapshot> {
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
            let sample = match &mut connection {
                Some(open) => counters::read(open, self.server_pid).await.ok(),
                None => None,
            };
            if sample.is_none() {
                connection = None;
            }
            snapshots.push(self.snapshot(sample));
            self.wait_for_next().await;
        }
    }

    fn snapshot(&self, counters: Option<CounterSample>) -> Snapshot {
        Snapshot {
            at_ns: self.clock.now_ns(),
            completed: self.completed.iter().map(|count| count.load(Ordering::Relaxed)).sum(),
            counters,
            client_cpu: cpu_time(std::process::id()),
        }
    }

    /// Sleeps until the next interval begins, or until measuring ends: the last costs are read then.
    async fn wait_for_next(&mut self) {
        let now_ns = self.clock.now_ns();
        let boundary_ns = (now_ns / self.interval_ns + 1) * self.interval_ns;
        let end_ns = self.announced.borrow().map(|measured| measured.end_ns);
        let next_ns =
            end_ns.filter(|end_ns| *end_ns > now_ns).map_or(boundary_ns, |end_ns| end_ns.min(boundary_ns));
        tokio::time::sleep(self.clock.until(next_ns)).await;
    }
}

/// Whether the server was another one at the end than at the start.
pub(super) fn server_restarted(snapshots: &[Snapshot]) -> bool {
    let statements = snapshots.iter().filter_map(|snapshot| snapshot.counters.as_ref()?.get(STATEMENTS));
    let statements: Vec<f64> = statements.collect();
    statements.windows(2).any(|pair| pair[1] < pair[0])
}

/// The counters as they stand in a result: one value per instant, `null` where the server did not say.
pub(super) fn series(snapshots: &[Snapshot], zero_ns: u64) -> CounterSeries {
    let column = |name: &str| -> Vec<Option<f64>> {
        snapshots.iter().map(|snapshot| snapshot.counters.as_ref()?.get(name)).collect()
    };
    let said = |(_, values): &(String, Vec<Option<f64>>)| values.iter().any(Option::is_some);
    let columns = COUNTERS.iter().map(|counter| (counter.name.to_owned(), column(counter.name)));
    let at_s = snapshots.iter().map(|snapshot| (snapshot.at_ns as f64 - zero_ns as f64) / 1e9).collect();
    CounterSeries { at_s, values: columns.filter(said).collect() }
}
