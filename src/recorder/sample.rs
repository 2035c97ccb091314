//! One operation's times, what happened on its way, and the ring that carries both from its worker to the
//! collector.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Outcome;

/// What is known about one operation when it is over. Instants are nanoseconds on the step's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// When the schedule wanted it sent; in closed loop, when it was sent.
    pub intended_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// When its answer was there.
    pub done_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// The server's error number; 0 where there was no error or none from the server.
    pub error_code: u16,
    /// Whether it ended with an error, which error code 0 cannot say.
    pub failed: bool,
}

/// What goes through a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// An operation that is over. What happened on its way came before it.
    Operation(Sample),
    /// A duration that the workload timed within an operation, such as the hold of a transaction.
    Timed {
        /// When its operation was intended.
        intended_ns: u64,
        /// How long it took.
        ns: u64,
        /// Which of the workload's series it belongs to.
        series: u8,
    },
    /// An error that the workload dealt with within an operation, such as a deadlock that it tried again.
    Met {
        /// When its operation was intended.
        intended_ns: u64,
        /// The server's error number.
        code: u16,
    },
}

/// The worker's end of its ring.
#[derive(Debug)]
pub struct WorkerRecorder {
    ring: rtrb::Producer<Entry>,
}

/// The collector's end of a worker's ring.
#[derive(Debug)]
pub struct Inbox {
    ring: rtrb::Consumer<Entry>,
}

/// A ring of `capacity` entries between a worker and the collector.
pub fn ring(capacity: usize) -> (WorkerRecorder, Inbox) {
    let (producer, consumer) = rtrb::RingBuffer::new(capacity);
    (WorkerRecorder { ring: producer }, Inbox { ring: consumer })
}

impl WorkerRecorder {
    /// Hands an entry over. A full ring (the collector has had no processor for as long as it takes to
    /// fill it) makes the worker wait: its next operation is then late, which its wait time shows.
    pub fn record(&mut self, entry: Entry) {
        let mut entry = entry;
        while let Err(rtrb::PushError::Full(back)) = self.ring.push(entry) {
            // Nobody reads any more: the step is over and its result is written.
            if self.ring.is_abandoned() {
                return;
            }
            entry = back;
            std::thread::yield_now();
        }
    }
}

impl Inbox {
    /// Takes what is there and hands it on, oldest first.
    pub fn drain(&mut self, mut take: impl FnMut(Entry)) {
        // Only what is there now: a fast worker must not keep the collector here.
        for _ in 0..self.ring.slots() {
            match self.ring.pop() {
                Ok(entry) => take(entry),
                Err(_) => return,
            }
        }
    }

    /// Whether the worker is gone and everything was taken.
    pub fn is_finished(&self) -> bool {
        self.ring.is_abandoned() && self.ring.is_empty()
    }
}

/// The first message of each error code, shared by all workers. Only an operation that failed comes here.
#[derive(Debug, Clone, Default)]
pub struct ErrorMessages(Arc<Mutex<BTreeMap<u16, String>>>);

impl ErrorMessages {
    /// Codes that are told apart; further ones are counted without their message.
    const CODES_MAX: usize = 256;

    /// Keeps the message if it is the first of its code.
    pub fn keep_first(&self, code: u16, message: impl FnOnce() -> String) {
        let mut messages = self.lock();
        if messages.len() < Self::CODES_MAX {
            messages.entry(code).or_insert_with(message);
        }
    }

    /// The first message of a code.
    pub fn of(&self, code: u16) -> String {
        self.lock().get(&code).cloned().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u16, String>> {
        // A map of strings is whole after any panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
