//! Where workers ask what to do next: the schedule, its phases and the backlog, as a few counters.
//!
//! A worker takes the next operation number, computes its intended instant and, if that is still ahead,
//! sleeps until then. So an operation is released by the thread that sends it: nothing is handed over, and
//! nothing is queued: what is due and not taken is the difference of two counters, however long it gets.
//! No number is ever skipped while measuring.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::schedule::Schedule;

/// One operation to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// Its number, counted from 0 within its phase.
    pub number: u64,
    /// When it is intended, on the step's clock.
    pub intended_ns: u64,
    /// Whether it belongs to warming up.
    pub warm_up: bool,
}

/// What a worker does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Send it now.
    Send(Tick),
    /// It is taken but not due: sleep until then, and ask again holding it.
    Hold(Tick),
    /// There is nothing more to do.
    Finished,
}

/// "Not decided yet" for an instant.
const UNDECIDED: u64 = u64::MAX;

/// The counters that all workers share. All instants are nanoseconds on the step's clock.
#[derive(Debug)]
pub(super) struct Gate {
    /// `None` in closed loop.
    schedule: Option<Schedule>,
    warm_up_taken: AtomicU64,
    measure_taken: AtomicU64,
    measure_start_ns: AtomicU64,
    measure_end_ns: AtomicU64,
    stopped: AtomicBool,
}

/// What is due and not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Backlog {
    /// Operations.
    pub count: u64,
    /// How long the oldest has been due.
    pub age_ns: u64,
}

impl Gate {
    /// A gate at the start of warming up; without a schedule, a closed loop.
    pub fn new(schedule: Option<Schedule>) -> Gate {
        Gate {
            schedule,
            warm_up_taken: AtomicU64::new(0),
            measure_taken: AtomicU64::new(0),
            measure_start_ns: AtomicU64::new(UNDECIDED),
            measure_end_ns: AtomicU64::new(UNDECIDED),
            stopped: AtomicBool::new(false),
        }
    }

    /// Announces when measuring starts and ends. Workers must be woken afterwards.
    pub fn announce(&self, start_ns: u64, end_ns: u64) {
        // The end first: who sees the start must find an end.
        self.measure_end_ns.store(end_ns, Ordering::SeqCst);
        self.measure_start_ns.store(start_ns, Ordering::SeqCst);
    }

    /// Ends measuring earlier than announced. Workers must be woken afterwards.
    pub fn cut_short(&self, end_ns: u64) {
        self.measure_end_ns.fetch_min(end_ns, Ordering::SeqCst);
    }

    /// Nothing more is sent. Workers must be woken afterwards.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// What a worker that holds `held` (or nothing) does at `now_ns`.
    pub fn next(&self, held: Option<Tick>, now_ns: u64) -> Next {
        if self.is_stopped() {
            return Next::Finished;
        }
        let start_ns = self.measure_start_ns.load(Ordering::SeqCst);
        let end_ns = self.measure_end_ns.load(Ordering::SeqCst);
        let mut tick = held.unwrap_or_else(|| self.take(now_ns >= start_ns, start_ns, now_ns));
        // What warming up has not sent when measuring starts is given up: measuring starts without debts.
        if tick.warm_up && (tick.intended_ns >= start_ns || now_ns >= start_ns) {
            tick = self.take(true, start_ns, now_ns);
        }
        match tick {
            tick if !tick.warm_up && tick.intended_ns >= end_ns => Next::Finished,
            tick if tick.intended_ns > now_ns => Next::Hold(tick),
            tick => Next::Send(tick),
        }
    }

    fn take(&self, measuring: bool, start_ns: u64, now_ns: u64) -> Tick {
        let (taken, from_ns) =
            if measuring { (&self.measure_taken, start_ns) } else { (&self.warm_up_taken, 0) };
        let number = taken.fetch_add(1, Ordering::Relaxed);
        let intended_ns = match &self.schedule {
            Some(schedule) => from_ns.saturating_add(schedule.intended_ns(number)),
            None => now_ns,
        };
        Tick { number, intended_ns, warm_up: !measuring }
    }

    /// The backlog of the phase that `now_ns` lies in.
    pub fn backlog(&self, now_ns: u64) -> Backlog {
        let Some(schedule) = &self.schedule else { return Backlog::default() };
        let start_ns = self.measure_start_ns.load(Ordering::SeqCst);
        let end_ns = self.measure_end_ns.load(Ordering::SeqCst);
        let (taken, from_ns, until_ns) = match now_ns >= start_ns {
            true => (&self.measure_taken, start_ns, now_ns.min(end_ns)),
            false => (&self.warm_up_taken, 0, now_ns),
        };
        let taken = taken.load(Ordering::Relaxed);
        let due = schedule.count_before(until_ns.saturating_sub(from_ns));
        if due <= taken {
            return Backlog::default();
        }
        let oldest_ns = from_ns + schedule.intended_ns(taken);
        Backlog { count: due - taken, age_ns: now_ns.saturating_sub(oldest_ns) }
    }

    /// How many operations the schedule intends in `[from_ns, until_ns)`; `None` in closed loop.
    pub fn intended_between(&self, from_ns: u64, until_ns: u64) -> Option<u64> {
        let schedule = self.schedule.as_ref()?;
        let start_ns = self.measure_start_ns.load(Ordering::SeqCst);
        let end_ns = self.measure_end_ns.load(Ordering::SeqCst);
        let within = |zero_ns: u64, last_ns: u64| {
            let before = |ns: u64| schedule.count_before(ns.clamp(zero_ns, last_ns) - zero_ns);
            before(until_ns) - before(from_ns)
        };
        let measured = if start_ns < end_ns { within(start_ns, end_ns) } else { 0 };
        Some(within(0, start_ns.min(end_ns)) + measured)
    }

    /// The operations of the measured part that nobody took, as `(intended_ns, how many)`: those that are
    /// intended within the same microsecond together, since histograms tell no more apart.
    pub fn untaken(&self) -> impl Iterator<Item = (u64, u64)> {
        let schedule = self.schedule;
        let start_ns = self.measure_start_ns.load(Ordering::SeqCst);
        let end_ns = self.measure_end_ns.load(Ordering::SeqCst);
        let total = match (&schedule, start_ns < end_ns && end_ns != UNDECIDED) {
            (Some(schedule), true) => schedule.count_before(end_ns - start_ns),
            _ => 0,
        };
        let mut next = self.measure_taken.load(Ordering::Relaxed);
        std::iter::from_fn(move || {
            let schedule = schedule.filter(|_| next < total)?;
            let intended_ns = schedule.intended_ns(next);
            let end = schedule.count_before((intended_ns / 1_000 + 1) * 1_000).clamp(next + 1, total);
            let group = (start_ns + intended_ns, end - next);
            next = end;
            Some(group)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::PerSecond;

    const MS: u64 = 1_000_000;

    /// A gate at 1,000 operations a second.
    fn gate() -> Gate {
        Gate::new(Some(Schedule::new(PerSecond::new(1000.0).expect("a rate"))))
    }

    fn numbers_sent_until(gate: &Gate, now_ns: u64) -> Vec<u64> {
        let mut held = None;
        let mut numbers = Vec::new();
        loop {
            match gate.next(held.take(), now_ns) {
                Next::Send(tick) => numbers.push(tick.number),
                Next::Hold(_) | Next::Finished => return numbers,
            }
        }
    }

    #[test]
    fn a_worker_holds_what_is_not_due_and_sends_what_is() {
        let gate = gate();
        let Next::Send(first) = gate.next(None, 0) else { panic!("due at once") };
        assert_eq!(first, Tick { number: 0, intended_ns: 0, warm_up: true });
        let Next::Hold(second) = gate.next(None, 10) else { panic!("due after a millisecond") };
        assert_eq!(gate.next(Some(second), MS - 1), Next::Hold(second));
        assert_eq!(gate.next(Some(second), MS), Next::Send(second));
    }

    #[test]
    fn a_late_worker_sends_every_operation_that_was_due() {
        let gate = gate();
        gate.announce(0, 50 * MS);
        // Nobody asks for 40 ms.
        assert_eq!(gate.backlog(40 * MS), Backlog { count: 40, age_ns: 40 * MS });
        assert_eq!(numbers_sent_until(&gate, 40 * MS), (0..=40).collect::<Vec<_>>());
        assert_eq!(gate.backlog(40 * MS), Backlog::default());
    }

    #[test]
    fn measuring_starts_without_the_debts_of_warming_up() {
        let gate = gate();
        let Next::Send(_) = gate.next(None, 0) else { panic!() };
        gate.announce(20 * MS, 30 * MS);
        assert_eq!(gate.backlog(19 * MS).count, 18);
        let Next::Send(tick) = gate.next(None, 22 * MS) else { panic!() };
        assert_eq!(tick, Tick { number: 0, intended_ns: 20 * MS, warm_up: false });
    }

    #[test]
    fn a_held_operation_of_warming_up_gives_way_to_measuring() {
        let gate = gate();
        let held = loop {
            if let Next::Hold(tick) = gate.next(None, 0) {
                break tick;
            }
        };
        gate.announce(MS / 2, 10 * MS);
        assert_eq!(
            gate.next(Some(held), 10),
            Next::Hold(Tick { number: 0, intended_ns: MS / 2, warm_up: false })
        );
    }

    #[test]
    fn what_nobody_took_is_known_to_the_last_one() {
        let gate = gate();
        gate.announce(5 * MS, 15 * MS);
        for _ in 0..4 {
            let Next::Send(_) = gate.next(None, 14 * MS) else { panic!() };
        }
        assert_eq!(gate.untaken().collect::<Vec<_>>(), (9..15).map(|ms| (ms * MS, 1)).collect::<Vec<_>>());
        assert_eq!(gate.intended_between(0, 5 * MS), Some(5));
        assert_eq!(gate.intended_between(0, 100 * MS), Some(15));
        assert_eq!(gate.backlog(20 * MS), Backlog { count: 6, age_ns: 11 * MS });
    }

    #[test]
    fn many_operations_in_a_microsecond_are_counted_together() {
        let gate = Gate::new(Some(Schedule::new(PerSecond::new(10e6).expect("a rate"))));
        gate.announce(0, 2_000);
        assert_eq!(gate.untaken().collect::<Vec<_>>(), [(0, 10), (1_000, 10)]);
    }

    #[test]
    fn an_end_that_comes_early_ends_what_is_held() {
        let gate = gate();
        gate.announce(0, 1_000 * MS);
        let Next::Send(_) = gate.next(None, 0) else { panic!() };
        let Next::Hold(held) = gate.next(None, 0) else { panic!() };
        gate.cut_short(MS / 2);
        assert_eq!(gate.next(Some(held), 10), Next::Finished);
        gate.stop();
        assert_eq!(gate.next(None, 20), Next::Finished);
    }

    #[test]
    fn a_closed_loop_intends_what_it_sends() {
        let gate = Gate::new(None);
        gate.announce(MS, 2 * MS);
        let Next::Send(tick) = gate.next(None, 7) else { panic!() };
        assert_eq!(tick, Tick { number: 0, intended_ns: 7, warm_up: true });
        let Next::Send(tick) = gate.next(None, MS + 3) else { panic!() };
        assert_eq!(tick, Tick { number: 0, intended_ns: MS + 3, warm_up: false });
        assert_eq!(gate.next(None, 2 * MS), Next::Finished);
        assert_eq!(gate.backlog(2 * MS), Backlog::default());
    }
}
