//! One connection with its thread: waits for its next operation, sends it, records it.
//!
//! Every connection has a thread and a single-threaded runtime of its own. Nothing is handed between
//! threads on the way of a statement, and a thread may simply sleep until its next operation is due.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError};
use sqlx::{ConnectOptions, MySqlConnection};
use tokio::sync::{mpsc, watch};

use super::clock::{Clock, sleep_precisely};
use super::gate::{Gate, Next, Tick};
use super::reads::{OwnRuntime, Poll};
use super::workload::{Note, Worker};
use crate::recorder::{Entry, ErrorMessages, Outcome, Sample, WorkerRecorder};

/// How long one attempt to connect may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Pauses between attempts to reconnect: from the first to the second, doubling.
const RECONNECT_PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// What a worker shares with the others once the step begins.
#[derive(Clone)]
pub(super) struct Start {
    pub clock: Clock,
    pub gate: Arc<Gate>,
}

/// All that one connection needs.
pub(super) struct Connection<W> {
    pub worker: W,
    pub options: MySqlConnectOptions,
    pub recorder: WorkerRecorder,
    pub messages: ErrorMessages,
    /// Operations that this connection completed, for whoever wants to know while it runs.
    pub completed: Arc<AtomicU64>,
    /// Set when this connection gives up for good.
    pub gave_up: Arc<AtomicBool>,
    /// How long a lost connection is tried again.
    pub reconnect_for: Duration,
    /// Becomes true when whatever is still under way is given up.
    pub abort: watch::Receiver<bool>,
}

/// What a connection leaves behind.
pub(super) struct Ended<W> {
    pub worker: W,
    /// Why it gave up before its time.
    pub failure: Option<String>,
}

/// An operation that was taken and has not been recorded.
#[derive(Debug, Clone, Copy)]
struct InHand {
    tick: Tick,
    sent_ns: Option<u64>,
}

impl<W: Worker> Connection<W> {
    /// The thread's body: connects, says so, waits for the start, runs to the end.
    pub fn run(mut self, ready: mpsc::Sender<Result<(), String>>, start: Receiver<Start>) -> Ended<W> {
        let OwnRuntime { runtime, poll } = match OwnRuntime::new() {
            Ok(own) => own,
            Err(error) => return self.not_started(&ready, format!("failed to start a runtime: {error}")),
        };
        let connection = match runtime.block_on(self.connect(poll)) {
            Ok(connection) => connection,
            Err(error) => return self.not_started(&ready, error.to_string()),
        };
        // The receiver is gone when another connection failed; then there is no start either.
        let _ = ready.try_send(Ok(()));
        drop(ready);
        let Ok(start) = start.recv() else { return Ended { worker: self.worker, failure: None } };
        sleep_precisely();
        let failure = runtime.block_on(self.until_aborted(connection, poll, &start));
        if failure.is_some() {
            self.gave_up.store(true, Ordering::SeqCst);
        }
        Ended { worker: self.worker, failure }
    }

    fn not_started(self, ready: &mpsc::Sender<Result<(), String>>, failure: String) -> Ended<W> {
        let _ = ready.try_send(Err(failure.clone()));
        Ended { worker: self.worker, failure: Some(failure) }
    }

    /// Runs until there is nothing more to do, or until aborted: then what is in hand is recorded as far
    /// as it got, and its connection is dropped.
    async fn until_aborted(
        &mut self,
        connection: MySqlConnection,
        poll: Poll,
        start: &Start,
    ) -> Option<String> {
        let in_hand = Cell::new(None);
        let mut abort = self.abort.clone();
        let failure = tokio::select! {
            biased;
            failure = self.serve(connection, poll, start, &in_hand) => failure,
            _ = abort.wait_for(|aborted| *aborted) => None,
        };
        if let Some(InHand { tick, sent_ns }) = in_hand.get() {
            self.record_unfinished(tick, sent_ns, start.clock.now_ns());
        }
        failure
    }

    async fn serve(
        &mut self,
        mut connection: MySqlConnection,
        poll: Poll,
        start: &Start,
        in_hand: &Cell<Option<InHand>>,
    ) -> Option<String> {
        while let Some(tick) = wait_for_turn(start, in_hand) {
            let sent_ns = start.clock.now_ns();
            in_hand.set(Some(InHand { tick, sent_ns: Some(sent_ns) }));
            let result = self.worker.operation(&mut connection, tick).await;
            let done_ns = start.clock.now_ns();
            in_hand.set(None);
            self.record(tick, sent_ns, done_ns, &result);
            if let Err(error) = result {
                match self.recovered(connection, poll, error).await {
                    Ok(usable) => connection = usable,
                    Err(failure) => return Some(failure),
                }
            }
        }
        None
    }

    fn record(&mut self, tick: Tick, sent_ns: u64, done_ns: u64, result: &Result<Outcome, sqlx::Error>) {
        let (outcome, error_code) = match result {
            Ok(outcome) => (*outcome, 0),
            Err(error) => {
                let code = server_code(error).unwrap_or(0);
                self.messages.keep_first(code, || server_words(error));
                (Outcome::of_error_code(code), code)
            }
        };
        self.record_notes(tick);
        self.recorder.record(Entry::Operation(Sample {
            intended_ns: tick.intended_ns,
            sent_ns,
            done_ns,
            outcome,
            error_code,
            failed: result.is_err(),
        }));
        self.completed.fetch_add(1, Ordering::Relaxed);
    }

    fn record_notes(&mut self, tick: Tick) {
        let Some(notes) = self.worker.notes() else { return };
        let intended_ns = tick.intended_ns;
        notes.take(|note| match note {
            Note::Timed { series, ns } => self.recorder.record(Entry::Timed { intended_ns, ns, series }),
            Note::Met(error) => {
                let code = server_code(&error).unwrap_or(0);
                self.messages.keep_first(code, || server_words(&error));
                self.recorder.record(Entry::Met { intended_ns, code });
            }
        });
    }

    fn record_unfinished(&mut self, tick: Tick, sent_ns: Option<u64>, now_ns: u64) {
        let outcome = if sent_ns.is_some() { Outcome::Unfinished } else { Outcome::Unsent };
        if sent_ns.is_some() {
            self.worker.in_doubt();
        } else if tick.intended_ns > now_ns {
            // It was not even due.
            return;
        }
        self.record_notes(tick);
        self.recorder.record(Entry::Operation(Sample {
            intended_ns: tick.intended_ns,
            sent_ns: sent_ns.unwrap_or(now_ns),
            done_ns: now_ns,
            outcome,
            error_code: 0,
            failed: false,
        }));
    }

    /// A connection that can be used after this error: the same one, or a new one.
    async fn recovered(
        &mut self,
        mut connection: MySqlConnection,
        poll: Poll,
        error: sqlx::Error,
    ) -> Result<MySqlConnection, String> {
        if is_connection_usable(&error) && self.worker.recover(&mut connection).await.is_ok() {
            return Ok(connection);
        }
        self.worker.in_doubt();
        drop(connection);
        let deadline = Instant::now() + self.reconnect_for;
        let mut pause = RECONNECT_PAUSES.0;
        loop {
            match self.connect(poll).await {
                Ok(connection) => return Ok(connection),
                Err(_) if Instant::now() + pause < deadline => tokio::time::sleep(pause).await,
                Err(again) => {
                    return Err(format!(
                        "lost the server ({}) and could not reach it again within {} s ({again})",
                        server_words(&error),
                        self.reconnect_for.as_secs()
                    ));
                }
            }
            pause = (pause * 2).min(RECONNECT_PAUSES.1);
        }
    }

    async fn connect(&mut self, poll: Poll) -> Result<MySqlConnection, sqlx::Error> {
        let connecting = async {
            let mut connection = self.options.connect().await?;
            self.worker.connected(&mut connection).await?;
            if !self.worker.shares_its_thread() {
                // Where it cannot be done, an operation costs the client a little more.
                poll.block_reads();
            }
            Ok(connection)
        };
        let timed_out = |_| sqlx::Error::Io(std::io::ErrorKind::TimedOut.into());
        // Nothing is lost with a connection that is not open yet, so that it may be cut off.
        tokio::time::timeout(CONNECT_PATIENCE, connecting).await.map_err(timed_out)?
    }
}

/// Blocks the thread until the next operation of this connection is due. While it sleeps nothing else is
/// to be done on it: its connection is idle.
fn wait_for_turn(start: &Start, in_hand: &Cell<Option<InHand>>) -> Option<Tick> {
    let mut held = None;
    loop {
        let now_ns = start.clock.now_ns();
        match start.gate.next(held, now_ns) {
            Next::Send(tick) => return Some(tick),
            Next::Finished => {
                // Stopped while an operation was held that had become due: it was never sent.
                let due = held.filter(|tick| tick.intended_ns <= now_ns && start.gate.is_stopped());
                in_hand.set(due.map(|tick| InHand { tick, sent_ns: None }));
                return None;
            }
            Next::Hold(tick) => {
                held = Some(tick);
                std::thread::park_timeout(Duration::from_nanos(tick.intended_ns - now_ns));
            }
        }
    }
}

/// The server's error number, if the error is the server's.
fn server_code(error: &sqlx::Error) -> Option<u16> {
    error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}

/// The server's own words, or the driver's where the server said nothing.
fn server_words(error: &sqlx::Error) -> String {
    match error.as_database_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    }
}

/// Whether the connection still answers after this error. Only the server's own errors leave it in a
/// known state, and of those not the ones with which it says goodbye: 1053 (shutdown), 1152 to 1161
/// (aborted, packet and network errors) and 4031 (disconnected for being idle).
fn is_connection_usable(error: &sqlx::Error) -> bool {
    server_code(error).is_some_and(|code| !matches!(code, 1053 | 1152..=1161 | 4031))
}
