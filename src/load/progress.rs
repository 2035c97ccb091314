//! How far a load has come, for whoever shows it; and how it is asked to stop.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// What a load is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Connecting, making the table.
    Preparing,
    /// Sending rows, or building files.
    Filling,
    /// The server takes files.
    Importing,
    /// Making statistics.
    Analyzing,
    /// Reading rows back.
    Verifying,
    /// All done.
    Done,
}

const PHASES: [Phase; 6] =
    [Phase::Preparing, Phase::Filling, Phase::Importing, Phase::Analyzing, Phase::Verifying, Phase::Done];

/// Points of a load as files at which a crash may be tried: whoever makes the [`Progress`] may ask to be
/// called there ([`Progress::with_witness`]).
pub const POINTS: [&str; 19] = [
    "prepared",
    "stopped",
    "created",
    "building",
    "built",
    "verified",
    "discarded",
    "placed",
    "importing",
    "imported",
    "exchanged-one",
    "exchanged",
    "renamed",
    "started",
    "noted",
    "dropped",
    "analyzed",
    "compared",
    "complete",
];

/// Called at each of [`POINTS`].
type Call = Box<dyn Fn(&'static str) + Send + Sync>;

/// Who is called, if anybody.
#[derive(Default)]
struct Witness(Option<Call>);

impl std::fmt::Debug for Witness {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(if self.0.is_some() { "Witness" } else { "nobody" })
    }
}

/// Counters that a load writes and a screen reads, from any thread.
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU8,
    total: AtomicU64,
    sent: AtomicU64,
    committed: AtomicU64,
    rows_at_start: AtomicU64,
    stop: AtomicBool,
    witness: Witness,
}

impl Progress {
    /// A progress that calls at every point that a load as files reaches.
    pub fn with_witness(call: impl Fn(&'static str) + Send + Sync + 'static) -> Progress {
        Progress { witness: Witness(Some(Box::new(call))), ..Progress::default() }
    }

    pub(super) fn reached(&self, point: &'static str) {
        debug_assert!(POINTS.contains(&point), "{point}");
        if let Witness(Some(call)) = &self.witness {
            call(point);
        }
    }

    /// What the load is doing.
    pub fn phase(&self) -> Phase {
        PHASES[usize::from(self.phase.load(Ordering::Relaxed)).min(PHASES.len() - 1)]
    }

    /// Rows in all in this phase; 0 where it has no rows to count.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Rows sent so far (when verifying: recomputed), those of earlier loads included.
    pub fn rows(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Rows committed so far, those of earlier loads included.
    pub fn rows_committed(&self) -> u64 {
        self.committed.load(Ordering::Relaxed)
    }

    /// Rows that earlier loads had left: not to be counted into this one's speed.
    pub fn rows_at_start(&self) -> u64 {
        self.rows_at_start.load(Ordering::Relaxed)
    }

    /// Asks the load to stop: it rolls back what is not committed, restores the server's settings and ends
    /// with [`super::LoadError::Stopped`].
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn enter(&self, phase: Phase, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        if phase != Phase::Done {
            self.sent.store(0, Ordering::Relaxed);
        }
        let number = PHASES.iter().position(|known| *known == phase).unwrap_or(0);
        self.phase.store(number as u8, Ordering::Relaxed);
    }

    pub(super) fn start_fill(&self, total: u64, rows_there: u64) {
        self.enter(Phase::Filling, total);
        self.sent.store(rows_there, Ordering::Relaxed);
        self.committed.store(rows_there, Ordering::Relaxed);
        self.rows_at_start.store(rows_there, Ordering::Relaxed);
    }

    pub(super) fn add_rows(&self, rows: u64) {
        self.sent.fetch_add(rows, Ordering::Relaxed);
    }

    pub(super) fn add_committed(&self, rows: u64) {
        self.committed.fetch_add(rows, Ordering::Relaxed);
    }
}
