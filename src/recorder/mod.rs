//! What was timed becomes histograms, intervals and counts.
//!
//! The cast: every worker owns a [`WorkerRecorder`] and puts one [`Sample`] per operation into its own
//! ring, behind whatever the workload timed on the way ([`Entry`]): no lock, no allocation, a few nanoseconds. One [`Collector`] empties the rings a few times a
//! second and does everything that costs: histograms (in all and per interval), outcomes, error codes,
//! the `.hlog` on disk. Nothing is sampled, averaged or dropped: a full ring makes its worker wait.
//!
//! Durations are nanoseconds until they enter a histogram, which counts whole microseconds, rounded half
//! up: an operation under 500 ns stands as 0. All instants are nanoseconds on the step's own clock, which
//! starts with warming up.
//!
//! *Response* and *wait* belong to the interval in which an operation was **intended**; *service* and
//! completion to the one in which it **completed**. A server that stands still for five seconds therefore
//! shows in those five seconds, and not as one late point.

mod collector;
mod interval;
mod log;
mod outcome;
mod sample;
mod series;
mod timeline;

pub use collector::{Collector, Recorded};
pub use log::{IntervalLog, WriteLogError};
pub use outcome::{Outcome, OutcomeCounts};
pub use sample::{Entry, ErrorMessages, Inbox, Sample, WorkerRecorder, ring};
pub use series::{BOUND_US, Series, micros};
pub use timeline::{Phase, Timeline};
