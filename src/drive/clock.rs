//! The step's clock, and sleeping that is as exact as the kernel can.

use std::time::{Duration, Instant};

/// Nanoseconds since the step began, on the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that stands at zero now.
    pub fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// How far it has come.
    pub fn now_ns(&self) -> u64 {
        // 584 years fit.
        self.origin.elapsed().as_nanos() as u64
    }

    /// How long until it shows `ns`; zero if it has.
    pub fn until(&self, ns: u64) -> Duration {
        Duration::from_nanos(ns.saturating_sub(self.now_ns()))
    }
}

/// Asks the kernel to end this thread's sleeps on time. By default it may be 50 us late, to wake several
/// sleepers at once; that would stand in every response time. Measured with sleeps of 300 us: 63 us late
/// before, 12 us after. Where the kernel refuses, sleeps stay as they are, and the wait time shows it.
pub(super) fn sleep_precisely() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
