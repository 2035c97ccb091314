//! Being asked to stop: the first signal ends a command in order, a second one ends it at once.
//!
//! The process has one set of signals, so there is one state for it. Work that ends in order by itself (a load
//! keeps its rows, a run is saved) says so with [`attend_signals`]; any other command is dropped where it
//! stands ([`unattended_signal`]), and what it owns stops with it. An owned server is in a process group of
//! its own and does not get the terminal's signal itself.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::signal::unix::{Signal as Arrivals, SignalKind, signal};
use tokio::sync::watch;

/// A signal that asks a program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// Ctrl-C.
    Interrupt,
    /// `kill`, or the end of a container or job.
    Terminate,
    /// The terminal has gone.
    Hangup,
}

impl StopSignal {
    /// What a shell reports of a program that this signal ended: 128 and the signal's number.
    pub fn exit_code(self) -> u8 {
        match self {
            StopSignal::Hangup => 129,
            StopSignal::Interrupt => 130,
            StopSignal::Terminate => 143,
        }
    }
}

impl fmt::Display for StopSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopSignal::Interrupt => "SIGINT",
            StopSignal::Terminate => "SIGTERM",
            StopSignal::Hangup => "SIGHUP",
        })
    }
}

/// The first signal, and whether somebody attended to it when it came.
static FIRST: LazyLock<watch::Sender<Option<(StopSignal, bool)>>> = LazyLock::new(|| watch::channel(None).0);
static ATTENDING: AtomicUsize = AtomicUsize::new(0);

/// SIGHUP's number.
const HANGUP: u32 = 1;

/// Watches for signals from now on. A SIGHUP that whoever started us had ignored, as `nohup` does, stays
/// ignored: the work is to outlive its terminal.
pub fn watch_signals() {
    let kinds = [
        (SignalKind::interrupt(), StopSignal::Interrupt),
        (SignalKind::terminate(), StopSignal::Terminate),
        (SignalKind::hangup(), StopSignal::Hangup),
    ];
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let outlives_terminal = is_ignored(&status, HANGUP);
    for (kind, named) in kinds {
        if named == StopSignal::Hangup && outlives_terminal {
            continue;
        }
        // Without a handler the signal keeps its default effect, which ends us.
        if let Ok(arrivals) = signal(kind) {
            tokio::spawn(note(arrivals, named));
        }
    }
}

/// Whether a process ignores a signal, by its `/proc/…/status`: a mask in hexadecimal digits.
fn is_ignored(status: &str, signal: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

async fn note(mut arrivals: Arrivals, named: StopSignal) {
    while arrivals.recv().await.is_some() {
        let attended = ATTENDING.load(Ordering::SeqCst) > 0;
        let is_first = FIRST.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert((named, attended));
            is_first
        });
        if !is_first {
            std::process::exit(named.exit_code().into());
        }
    }
}

/// The first signal, if one has come.
pub fn stopped_by() -> Option<StopSignal> {
    FIRST.borrow().map(|(signal, _)| signal)
}

/// Waits for the first signal.
pub async fn stop_signal() -> StopSignal {
    first(|_| true).await
}

/// Waits for a first signal to which nobody attends.
pub async fn unattended_signal() -> StopSignal {
    first(|attended| !attended).await
}

async fn first(counts: impl Fn(bool) -> bool) -> StopSignal {
    let mut receiver = FIRST.subscribe();
    let found = receiver.wait_for(|first| first.is_some_and(|(_, attended)| counts(attended))).await;
    match found.ok().and_then(|first| *first) {
        Some((signal, _)) => signal,
        // The sender is a static and never goes away.
        None => std::future::pending().await,
    }
}

/// Whoever holds it ends in order by itself after a signal.
#[derive(Debug)]
pub struct Attending(());

/// From now until the answer is dropped a first signal does not end the command from outside.
#[must_use]
pub fn attend_signals() -> Attending {
    ATTENDING.fetch_add(1, Ordering::SeqCst);
    Attending(())
}

impl Drop for Attending {
    fn drop(&mut self) {
        ATTENDING.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mask: &str, ignored: bool) {
        let status = format!("SigBlk:\t0000000000000000\n{mask}\nSigCgt:\t0000000000000001\n");
        assert_eq!(is_ignored(&status, HANGUP), ignored, "{mask}");
    }

    #[test]
    fn the_kernel_says_whether_we_were_started_to_outlive_our_terminal() {
        check("SigIgn:\t0000000000000001", true);
        check("SigIgn:\t0000000000001007", true);
        check("SigIgn:\t0000000000001006", false);
        check("SigIgn:\t", false);
        check("", false);
    }
}
