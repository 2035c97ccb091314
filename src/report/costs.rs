//! Costs of one operation by name, across the steps of a run. Pure.

use std::collections::BTreeSet;

use crate::results::Run;
use crate::units::{Bytes, Micros, three_digits};

/// One cost with its value for every step.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// `pages read`, `redo`, `server CPU`, …
    pub name: String,
    /// How its values are written.
    pub unit: Unit,
    /// By position of the step; `None` where the step has none.
    pub values: Vec<Option<f64>>,
}

/// What a cost is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Microseconds.
    Micros,
}

impl Unit {
    /// The value with its unit, three digits.
    pub fn text(self, value: f64) -> String {
        match self {
            // Fractions of a byte or of a microsecond matter only where there is less than ten of them.
            Unit::Bytes if value < 10.0 => format!("{} B", three_digits(value)),
            Unit::Bytes => Bytes(value.round() as u64).to_string(),
            Unit::Micros if value < 10.0 => format!("{} us", three_digits(value)),
            Unit::Micros => Micros(value.round() as u64).to_string(),
            Unit::Count => three_digits(value),
        }
    }
}

/// The order in which readers look for them, and whether they are drawn; what is not named follows by name.
const KNOWN: [(&str, &str, bool); 10] = [
    ("page_requests", "page requests", true),
    ("pages_read", "pages read", true),
    ("redo_bytes", "redo", true),
    ("fsyncs", "fsyncs", true),
    ("server_cpu_us", "server CPU", true),
    ("client_cpu_us", "client CPU", true),
    ("pages_written", "pages written", false),
    ("row_lock_waits", "row lock waits", false),
    ("rows_read", "rows read", false),
    ("rows_updated", "rows updated", false),
];

/// The costs that are drawn as bars.
pub fn drawn(run: &Run) -> Vec<Cost> {
    let drawn = KNOWN.iter().filter(|(_, _, drawn)| *drawn).map(|(key, ..)| cost(run, key));
    drawn.filter(|cost| cost.values.iter().any(Option::is_some)).collect()
}

/// Every cost that some step has.
pub fn costs(run: &Run) -> Vec<Cost> {
    let mut rest: BTreeSet<&str> =
        run.steps.iter().flat_map(|step| step.per_operation.keys().map(String::as_str)).collect();
    let known: Vec<&str> = KNOWN.iter().map(|(key, ..)| *key).filter(|key| rest.remove(key)).collect();
    known.into_iter().chain(rest).map(|key| cost(run, key)).collect()
}

fn cost(run: &Run, key: &str) -> Cost {
    let (bare, unit) = match key {
        key if key.ends_with("_bytes") => (key.trim_end_matches("_bytes"), Unit::Bytes),
        key if key.ends_with("_us") => (key.trim_end_matches("_us"), Unit::Micros),
        key => (key, Unit::Count),
    };
    let known = KNOWN.iter().find(|(name, ..)| *name == key);
    let name = known.map_or_else(|| bare.replace('_', " "), |(_, name, _)| (*name).to_owned());
    let values = run.steps.iter().map(|step| step.per_operation.get(key).copied()).collect();
    Cost { name, unit, values }
}
