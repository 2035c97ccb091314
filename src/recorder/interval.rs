//! What is known about one interval.

use super::series::{Packed, Series};
use super::{OutcomeCounts, Timeline};
use crate::results::{Interval, buckets};

/// One interval. Its histograms are open while samples come in and packed when they no longer do: an hour
/// of packed seconds takes a few megabytes, one of open histograms hundreds.
#[derive(Debug, Default)]
pub(super) struct IntervalRecord {
    /// Operations that completed in it.
    pub completed: u64,
    /// Operations recorded so far that were intended in it.
    pub intended: u64,
    /// Outcomes of those that completed in it, and of those intended in it that were never sent.
    pub outcomes: OutcomeCounts,
    /// Operations due but not sent at its end.
    pub backlog: u64,
    /// Age of the oldest of them.
    pub backlog_age_ns: u64,
    open: Option<Box<OpenSeries>>,
    response: Packed,
    service: Packed,
}

/// The histograms of an interval that still changes.
#[derive(Debug, Default)]
pub(super) struct OpenSeries {
    /// By intended instant.
    pub response: Series,
    /// By intended instant.
    pub wait: Series,
    /// By completion.
    pub service: Series,
}

impl IntervalRecord {
    /// The histograms to record into; `spare` gives memory of closed ones back.
    pub fn open(&mut self, spare: &mut Vec<OpenSeries>) -> &mut OpenSeries {
        self.open.get_or_insert_with(|| Box::new(spare.pop().unwrap_or_default()))
    }

    /// Packs away what was recorded since the last call and hands it out, to be logged and used again.
    pub fn seal(&mut self) -> Option<Box<OpenSeries>> {
        let open = self.open.take()?;
        self.response.add(&open.response);
        self.service.add(&open.service);
        Some(open)
    }

    /// The median service time so far.
    pub fn service_p50_us(&self) -> u64 {
        self.service().p50_us()
    }

    /// The interval as it stands in a result.
    pub fn describe(&self, number: usize, timeline: &Timeline, intended: u64) -> Interval {
        let (start_ns, end_ns) = timeline.bounds_ns(number);
        let zero_ns = timeline.measure_start_ns.unwrap_or(0);
        let response = self.response();
        Interval {
            start_s: (start_ns as f64 - zero_ns as f64) / 1e9,
            length_s: (end_ns - start_ns) as f64 / 1e9,
            phase: timeline.phase_at(start_ns).name().to_owned(),
            intended,
            completed: self.completed,
            outcomes: self.outcomes.by_name(),
            response_us: response.summary(),
            response_buckets: buckets::sparse(response.buckets()),
            service_us: self.service().summary(),
            backlog: self.backlog,
            backlog_age_s: self.backlog_age_ns as f64 / 1e9,
        }
    }

    fn response(&self) -> Series {
        self.response.with(self.open.as_deref().map(|open| &open.response))
    }

    fn service(&self) -> Series {
        self.service.with(self.open.as_deref().map(|open| &open.service))
    }
}
