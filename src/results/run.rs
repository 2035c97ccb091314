//! The types of `run.json`. Field names are the file's; units stand in the names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::version::SchemaVersion;

/// One call of `idembench run`: every step, with all that is needed to judge its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Always first, so that a reader may stop here.
    pub schema_version: SchemaVersion,
    /// The directory's name, such as `2026-12-01-quickstart-4f2a`.
    pub run_id: String,
    /// The suite's name.
    pub suite: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// RFC 3339, UTC; of the last save while the run goes on.
    pub finished_at: String,
    /// How the run ended.
    pub status: RunStatus,
    /// Why it failed, when it did: one line.
    pub failure: Option<String>,
    /// What measured.
    pub tool: Tool,
    /// What was measured.
    pub server: ServerDescription,
    /// Where.
    pub machine: Machine,
    /// On which rows.
    pub dataset: DatasetDescription,
    /// What to keep in mind when reading the numbers, each with its advice.
    pub warnings: Vec<String>,
    /// The steps in the order in which they ran.
    pub steps: Vec<StepResult>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Saved between steps; a file left like this was cut off.
    Running,
    /// All steps ran.
    Done,
    /// A step or the server failed; what was measured until then is kept.
    Failed,
    /// Stopped by a signal.
    Interrupted,
}

/// The program and the driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// `idembench` version.
    pub version: String,
    /// The revision of the checkout that the command ran in, or `unknown`.
    pub git_revision: String,
    /// The database driver, its version and the flags that decide how row counts are read.
    pub driver: String,
    /// Affected rows mean rows matched (`found`) or rows changed (`changed`), by the start-up self-test.
    pub row_counts: String,
}

/// The server: an unnamed one is not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerDescription {
    /// `VERSION()`.
    pub version: String,
    /// `@@version_comment`.
    pub version_comment: String,
    /// `owned`, `contained` or `attached`.
    pub kind: String,
    /// Global variables that decide the numbers, by name; "n/a" where the server lacks one.
    pub settings: BTreeMap<String, String>,
}

/// The machine that ran the client and, unless attached, the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processor name.
    pub cpu: String,
    /// Logical processors.
    pub cpus: u32,
    /// Main memory.
    pub memory_bytes: u64,
    /// Operating system and kernel.
    pub system: String,
    /// File system of the data directory, when it is on this machine.
    pub file_system: Option<String>,
    /// Measured sequential write speed of the data directory's disk, MiB/s.
    pub disk_write_mib_per_s: Option<f64>,
    /// Measured small append + fsync rate of the data directory's disk.
    pub disk_fsync_per_s: Option<f64>,
    /// Measured random 16 KiB reads per second.
    pub disk_read_16k_per_s: Option<f64>,
}

/// The rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetDescription {
    /// The dataset's name.
    pub name: String,
    /// Rows loaded.
    pub rows: u64,
    /// Days that hold rows.
    pub days: u32,
    /// Fingerprint over definition, recipe, seed, rows and days: equal means the same rows.
    pub fingerprint: String,
    /// The seed.
    pub seed: u64,
    /// `fresh` or `aged`.
    pub fill: String,
    /// Bytes of the table's files, when known.
    pub bytes: Option<u64>,
    /// The table's CREATE TABLE as the server prints it.
    pub create_table: String,
}

/// One measured step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepResult {
    /// `claim, full key`.
    pub name: String,
    /// `claim`, …
    pub workload: String,
    /// The workload's parameters by name, as written in the suite.
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// Intended rate; null in closed loop.
    pub rate_per_s: Option<f64>,
    /// Connections.
    pub connections: u32,
    /// The rows that its claims can win; null for other workloads, and in files before 1.1.
    #[serde(default)]
    pub pool: Option<Pool>,
    /// Completed operations per second of the measured part.
    pub throughput_per_s: f64,
    /// Length of the measured part in seconds, draining excluded.
    pub measured_s: f64,
    /// What was cut off before it.
    pub warm_up: WarmUpResult,
    /// Counts by outcome: `ok`, `lost`, `duplicate`, `deadlock`, `lock_timeout`, `error`, `unsent`, …
    pub outcomes: BTreeMap<String, u64>,
    /// Server error codes seen, with their counts and the first message of each.
    pub errors: Vec<ErrorCount>,
    /// Percentiles by what was timed: `response`, `service`, `wait`, later `hold`, `commit`.
    pub latency_us: BTreeMap<String, LatencySummary>,
    /// Whole histograms by the same names: HDR V2-deflate, base64, microseconds (the values of `.hgrm`).
    pub histograms: BTreeMap<String, String>,
    /// One entry a second, from the start of warm-up to the end of draining.
    pub intervals: Vec<Interval>,
    /// Server counters on the same clock, by name, one sample per entry of `at_s`.
    pub counters: CounterSeries,
    /// Derived costs by name: `pages_read`, `redo_bytes`, `server_cpu_us`, `client_cpu_us`, `fsyncs`, …
    pub per_operation: BTreeMap<String, f64>,
    /// How the server runs each statement.
    pub statements: Vec<Statement>,
    /// The intended rate was not reached.
    pub overload: Option<Overload>,
    /// `steady`, `overloaded`, `not_steady`, `failed`, … in one word.
    pub verdict: String,
    /// What was checked on the rows after the step, in words, and that it held.
    pub checks: Vec<Check>,
    /// What to keep in mind, each with its advice.
    pub warnings: Vec<String>,
    /// Why the step failed, when it did.
    pub failure: Option<String>,
}

/// A step's verdict when a signal came while it was measured: its figures are those until then.
pub const INTERRUPTED: &str = "interrupted";
/// A step's verdict when a signal came while it was warming up.
pub const INTERRUPTED_BEFORE: &str = "interrupted_before_anything_was_measured";

impl StepResult {
    /// Where a signal cut the step short, in words, if one did.
    pub fn interruption(&self) -> Option<String> {
        match self.verdict.as_str() {
            INTERRUPTED => Some(format!("interrupted after {:.1} s, cut short", self.measured_s)),
            INTERRUPTED_BEFORE => Some("interrupted before anything was measured".to_owned()),
            _ => None,
        }
    }
}

/// The rows that a step's claims can win.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pool {
    /// Rows that are made PENDING and that the step's targets can name.
    pub rows: u64,
    /// So many rows, all picked alike, would be picked twice as often as these are: `rows` where targets are
    /// uniform, fewer the more unevenly they aim.
    pub even_rows: f64,
    /// Rows that may be leased at a time: rate × lease, and × batch for sweepers.
    pub leased_rows: f64,
}

impl Pool {
    /// Share of leased rows above which claims meet rows that are still leased too often to pass over.
    pub const LEASED_SHARE_MAX: f64 = 0.05;

    /// Leased rows as a share of the rows that are picked alike.
    pub fn leased_share(&self) -> f64 {
        self.leased_rows / self.even_rows.max(1.0)
    }

    /// Whether the pool is too small for the step: `lost` then rises by construction.
    pub fn is_small(&self) -> bool {
        self.leased_share() > Pool::LEASED_SHARE_MAX
    }
}

/// What warming up did.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WarmUpResult {
    /// How long it lasted.
    pub seconds: f64,
    /// Operations that were cut off with it.
    pub operations: u64,
    /// Whether it ended because the step was steady (false: because its time was up).
    pub steady: bool,
}

/// A server error and how often it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// MySQL error number; 0 for a failure of the connection.
    pub code: u16,
    /// How often.
    pub count: u64,
    /// The server's own words, of the first one.
    pub message: String,
}

/// A latency distribution in brief, all in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Default)]
pub struct LatencySummary {
    /// Samples.
    pub count: u64,
    /// Shortest.
    pub min: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Longest.
    pub max: u64,
    /// Samples above the histogram's range, counted in `count` and lifted to the bound in percentiles.
    pub overflow: u64,
}

/// One second of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct Interval {
    /// Start, seconds since the step's own start; negative during warm-up (0 is where measuring starts).
    pub start_s: f64,
    /// Length in seconds.
    pub length_s: f64,
    /// `warm_up`, `measure` or `drain`.
    pub phase: String,
    /// Operations whose intended instant fell into it.
    pub intended: u64,
    /// Operations that completed in it.
    pub completed: u64,
    /// Counts by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Response time of the operations *intended* in it, microseconds: nothing is left out, late or not.
    pub response_us: LatencySummary,
    /// The same response times in the buckets of [`super::buckets`]: `[upper edge in microseconds, count]`,
    /// ascending, empty ones left out. The spectrum plot is made of them.
    #[serde(default)]
    pub response_buckets: Vec<(u64, u64)>,
    /// Service time of the operations that completed in it, microseconds.
    pub service_us: LatencySummary,
    /// Operations due but not sent at its end.
    pub backlog: u64,
    /// Age of the oldest of them, seconds.
    pub backlog_age_s: f64,
}

/// Server counters over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Default)]
pub struct CounterSeries {
    /// Sample instants, seconds on the clock of [`Interval::start_s`].
    pub at_s: Vec<f64>,
    /// Values by counter name; `null` where the server did not say.
    pub values: BTreeMap<String, Vec<Option<f64>>>,
}

/// A statement that the step sends, and how the server runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statement {
    /// What it is for: `claim`, …
    pub name: String,
    /// Its text with placeholders.
    pub sql: String,
    /// EXPLAIN's `partitions` column.
    pub partitions: Vec<String>,
    /// EXPLAIN's `key` column.
    pub key: Option<String>,
    /// EXPLAIN's `type` column.
    pub access: Option<String>,
    /// EXPLAIN's `rows` column.
    pub rows: Option<u64>,
    /// What is wrong with the plan, if anything, with advice.
    pub advice: Option<String>,
}

/// The intended rate was too high.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Overload {
    /// Operations per second that were reached.
    pub reached_per_s: f64,
    /// Largest number of operations due but not sent.
    pub backlog_max: u64,
    /// The backlog's age when measuring ended, seconds: the oldest waiting at the end.
    pub backlog_age_s: f64,
    /// Operations never sent: they stand in the response histogram with their age, a lower bound.
    pub unsent: u64,
}

/// An invariant that was checked on the rows after a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What must be true.
    pub name: String,
    /// Whether it was.
    pub held: bool,
    /// The figures.
    pub detail: String,
}
