//! Drives a workload at intended instants and records what happens.
//!
//! The cast: the *gate* ([`schedule`], phases and backlog as a few counters) says what is due; *workers*,
//! one thread and one connection each, take it, send it and time it; the *conductor* collects their
//! samples, decides when warming up is over and ends the step; the *sampler* reads the server's counters
//! on the same clock. [`run`] is the whole of one step.

mod assemble;
mod clock;
mod conduct;
mod costs;
mod gate;
pub mod phase;
mod reads;
mod sampler;
pub mod schedule;
pub mod steady;
mod worker;
mod workload;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use sqlx::mysql::MySqlConnectOptions;
use sqlx::{ConnectOptions, MySqlConnection};
use tokio::sync::watch;

pub use gate::Tick;
pub use workload::{Notes, PrepareError, Prepared, Worker, Workload};

use crate::recorder::{ErrorMessages, Inbox, IntervalLog, ring};
use crate::results::{Check, Interval, StepResult};
use crate::spec::suite::{Load, Step};
use assemble::Parts;
use clock::Clock;
use conduct::{Conducted, Conductor};
use gate::Gate;
use phase::PhasePlan;
use sampler::{Sampler, Snapshot};
use schedule::Schedule;
use worker::{Connection, Ended, Start};

/// Which server is driven.
#[derive(Debug, Clone)]
pub struct Target {
    /// How its connections are made.
    pub options: MySqlConnectOptions,
    /// Its process, when it runs on this machine: its processor time is then counted.
    pub server_pid: Option<u32>,
}

/// How a step is driven, beside what the suite says.
#[derive(Clone)]
pub struct Options {
    /// Length of an interval.
    pub interval: Duration,
    /// How long draining may take; what is not sent or answered then is counted as such.
    pub drain_at_most: Duration,
    /// How long a lost connection is tried again before the step fails.
    pub reconnect_for: Duration,
    /// How long looking at the rows afterwards may take.
    pub check_for: Duration,
    /// Where the interval log is written; `None`: nowhere.
    pub log: Option<PathBuf>,
    /// Ends the step early.
    pub stop: Stop,
    /// Told every interval, on the conductor's thread: it must return soon.
    pub progress: Arc<dyn Fn(&Progress) + Send + Sync>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            interval: Duration::from_secs(1),
            drain_at_most: Duration::from_secs(10),
            reconnect_for: Duration::from_secs(10),
            check_for: Duration::from_secs(120),
            log: None,
            stop: Stop::default(),
            progress: Arc::new(|_| {}),
        }
    }
}

/// A request to end early, shared by all who may make it and all who must heed it.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks for the end.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether the end was asked for.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// What is known when an interval is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The interval as far as it is known; operations that are still under way are not in it.
    pub interval: Interval,
    /// Seconds that the measured part lasts.
    pub measure_s: f64,
}

/// Samples that a worker can be ahead of the conductor: 2 s of a connection at 8,000 operations a second.
const RING_CAPACITY: usize = 16_384;
/// Connections that are opened at a time: of two thousand, 64 together waited for each other past their patience.
/// Perhaps for the files of the temporary tables in which each tries its row counts; that was not measured.
const OPENING_AT_ONCE: u32 = 16;
/// How long any one connection may take to open outside the measured part.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// Runs one step: connects, prepares, warms up, measures, drains, checks. Whatever goes wrong, the result
/// holds what was measured until then, and says in `failure` what it was.
pub async fn run<W>(workload: &W, step: &Step, target: &Target, options: &Options) -> StepResult
where
    W: Workload,
    W::Worker: 'static,
{
    let mut parts = Parts::new(workload, step);
    match prepare(workload, target).await {
        Ok(prepared) => parts.prepared = prepared,
        Err(error) => return parts.never_ran(error.to_string()),
    }
    let crew = match Crew::connect(workload, step, target, options).await {
        Ok(crew) => crew,
        Err(failure) => return parts.never_ran(failure),
    };
    let messages = crew.messages.clone();
    let (conducted, snapshots, ended) = crew.perform(step, target, options).await;
    parts.messages = messages;
    parts.snapshots = snapshots;
    parts.failure = failure_of(&ended, step.load.connections());
    parts.conducted = Some(conducted);
    let workers = ended.into_iter().map(|ended| ended.worker).collect();
    parts.checks = check(workload, workers, target, options).await;
    parts.assemble()
}

fn failure_of<W>(ended: &[Ended<W>], connections: u32) -> Option<String> {
    let given_up = ended.iter().find_map(|ended| ended.failure.clone());
    // A thread that ended without a word has panicked; what the others recorded is kept.
    let panicked = (ended.len() < connections as usize)
        .then(|| "a connection's thread broke off, which is a bug of idembench: please report it".to_owned());
    given_up.or(panicked)
}

async fn prepare<W: Workload>(workload: &W, target: &Target) -> Result<Prepared, PrepareError> {
    let mut connection = connect(target)
        .await
        .map_err(|source| PrepareError::Server { act: "connect to the server".to_owned(), source })?;
    workload.prepare(&mut connection).await
}

async fn connect(target: &Target) -> Result<MySqlConnection, sqlx::Error> {
    let timed_out = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
    tokio::time::timeout(CONNECT_PATIENCE, target.options.connect()).await.map_err(timed_out)?
}

/// Looks at the rows; a server that cannot be asked makes a check that did not hold.
async fn check<W: Workload>(
    workload: &W,
    workers: Vec<W::Worker>,
    target: &Target,
    options: &Options,
) -> Vec<Check> {
    let not_checked = |detail: String| {
        vec![Check { name: "the rows can be looked at after the step".to_owned(), held: false, detail }]
    };
    let mut connection = match connect(target).await {
        Ok(connection) => connection,
        Err(error) => return not_checked(format!("failed to connect to the server: {error}")),
    };
    // The connection is given up together with what is cut off.
    match tokio::time::timeout(options.check_for, workload.check(workers, &mut connection)).await {
        Ok(checks) => checks,
        Err(_) => not_checked(format!("no answer within {} s", options.check_for.as_secs())),
    }
}

/// Workers that are connected and wait for the start.
struct Crew<W> {
    threads: Vec<std::thread::JoinHandle<Ended<W>>>,
    starts: Vec<std::sync::mpsc::Sender<Start>>,
    inboxes: Vec<Inbox>,
    completed: Vec<Arc<AtomicU64>>,
    messages: ErrorMessages,
    gave_up: Arc<AtomicBool>,
    abort: watch::Sender<bool>,
}

impl<W: Worker + 'static> Crew<W> {
    /// One worker per connection; all of them connected and prepared, or none.
    async fn connect<L>(
        workload: &L,
        step: &Step,
        target: &Target,
        options: &Options,
    ) -> Result<Crew<W>, String>
    where
        L: Workload<Worker = W>,
    {
        let connections = step.load.connections().max(1);
        let (ready, mut readiness) = tokio::sync::mpsc::channel(connections as usize);
        let (abort, aborted) = watch::channel(false);
        let mut crew = Crew {
            threads: Vec::new(),
            starts: Vec::new(),
            inboxes: Vec::new(),
            completed: Vec::new(),
            messages: ErrorMessages::default(),
            gave_up: Arc::new(AtomicBool::new(false)),
            abort,
        };
        let opened = |answer: Result<(), String>| {
            answer.map_err(|failure| format!("failed to open {connections} connections: {failure}"))
        };
        for index in 0..connections {
            if index >= OPENING_AT_ONCE {
                // A thread that broke off never answers; the others are not to wait for it for ever.
                let answer = tokio::time::timeout(2 * CONNECT_PATIENCE, readiness.recv()).await;
                answer.ok().flatten().map_or(Ok(()), opened)?;
            }
            let (recorder, inbox) = ring(RING_CAPACITY);
            let connection = Connection {
                worker: workload.worker(index),
                options: target.options.clone(),
                recorder,
                messages: crew.messages.clone(),
                completed: Arc::new(AtomicU64::new(0)),
                gave_up: crew.gave_up.clone(),
                reconnect_for: options.reconnect_for,
                abort: aborted.clone(),
            };
            crew.enlist(index, connection, ready.clone(), inbox)?;
        }
        drop(ready);
        // Every worker answers within its patience for connecting.
        while let Some(answer) = readiness.recv().await {
            opened(answer)?;
        }
        Ok(crew)
    }

    fn enlist(
        &mut self,
        index: u32,
        connection: Connection<W>,
        ready: tokio::sync::mpsc::Sender<Result<(), String>>,
        inbox: Inbox,
    ) -> Result<(), String> {
        let (start, started) = std::sync::mpsc::channel();
        self.completed.push(connection.completed.clone());
        let thread = std::thread::Builder::new()
            .name(format!("connection {index}"))
            .spawn(move || connection.run(ready, started))
            .map_err(|error| format!("failed to start a thread for connection {index}: {error}"))?;
        self.threads.push(thread);
        self.starts.push(start);
        self.inboxes.push(inbox);
        Ok(())
    }

    /// From the start to the end of the step.
    async fn perform(
        self,
        step: &Step,
        target: &Target,
        options: &Options,
    ) -> (Conducted, Vec<Snapshot>, Vec<Ended<W>>) {
        let schedule = match step.load {
            Load::Open { rate, .. } => Some(Schedule::new(rate)),
            Load::Closed { .. } => None,
        };
        let plan = plan(step, options);
        let (announced, announcement) = watch::channel(None);
        let (done, is_done) = watch::channel(false);
        let sampling_connection = connect(target).await.ok();
        let mut warnings = Vec::new();
        let log = options.log.as_ref().and_then(|path| {
            IntervalLog::create(path, &step.name, SystemTime::now())
                .map_err(|error| warnings.push(format!("{error} — this step has no interval log")))
                .ok()
        });
        let gate = Arc::new(Gate::new(schedule));
        if let Some(announcement) = plan.without_warm_up() {
            // Before any worker asks: otherwise the first would find itself warming up.
            gate.announce(announcement.start_ns, announcement.end_ns);
        }
        let clock = Clock::start();
        for start in &self.starts {
            // A worker that is gone already shows at the end.
            let _ = start.send(Start { clock, gate: gate.clone() });
        }
        let conductor = Conductor {
            clock,
            gate,
            plan,
            closed_loop: schedule.is_none(),
            inboxes: self.inboxes,
            threads: self.threads.iter().map(|thread| thread.thread().clone()).collect(),
            gave_up: self.gave_up,
            abort: self.abort,
            announced,
            log,
            stop: options.stop.clone(),
            progress: options.progress.clone(),
            warnings,
        };
        let sampler = Sampler {
            clock,
            interval_ns: plan.interval_ns,
            options: target.options.clone(),
            server_pid: target.server_pid,
            completed: self.completed,
            announced: announcement,
        };
        let conducting = async {
            let conducted = tokio::task::spawn_blocking(move || conductor.run()).await;
            done.send_replace(true);
            conducted
        };
        let (conducted, snapshots) = tokio::join!(conducting, sampler.run(sampling_connection, is_done));
        let conducted = conducted.unwrap_or_else(|_| Conducted::nothing());
        let ended = self.threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>();
        let ended = ended.into_iter().filter_map(Result::ok).collect();
        (conducted, snapshots, ended)
    }
}

fn plan(step: &Step, options: &Options) -> PhasePlan {
    let ns = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 4);
    PhasePlan {
        interval_ns: ns(options.interval).max(1_000_000),
        warm_up_at_least_ns: ns(step.warm_up.at_least.0),
        warm_up_at_most_ns: ns(step.warm_up.at_most.0),
        measure_ns: ns(step.duration.0),
        drain_at_most_ns: ns(options.drain_at_most),
    }
}
