//! What the command line says instead of the file.

use std::str::FromStr;

use super::{Load, Step, Suite};
use crate::units::{PerSecond, Rows, Span};

/// Values that go before a suite's own; `None` leaves them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// Another dataset.
    pub dataset: Option<String>,
    /// Rows to load.
    pub rows: Option<Rows>,
    /// Days to load.
    pub days: Option<u32>,
    /// The rate of every step.
    pub rate: Option<RateOverride>,
    /// The connections of every step.
    pub connections: Option<u32>,
    /// How long every step is measured.
    pub duration: Option<Span>,
    /// Only steps whose name contains this text.
    pub step: Option<String>,
}

/// `--rate`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateOverride {
    /// Open loop at this rate.
    Open(PerSecond),
    /// Closed loop.
    Max,
}

impl FromStr for RateOverride {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "max" => Ok(RateOverride::Max),
            text => text.parse().map(RateOverride::Open).map_err(|_| {
                format!("`{text}` is neither a rate above zero such as 2000/s nor `max` for a closed loop")
            }),
        }
    }
}

/// Why values cannot go before a suite's own.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OverrideError {
    /// A value of which nothing can be made.
    #[error("{flag} must be above zero, such as {flag} {example}")]
    Zero {
        /// The flag.
        flag: &'static str,
        /// A value that would do.
        example: &'static str,
    },
    /// No step is left.
    #[error("no step of {suite} has `{text}` in its name (--step): its steps are {known}")]
    NoStep {
        /// The suite.
        suite: String,
        /// What was looked for.
        text: String,
        /// The names that there are.
        known: String,
    },
}

impl Overrides {
    fn check(&self) -> Result<(), OverrideError> {
        let zero = |flag, example| Err(OverrideError::Zero { flag, example });
        match self {
            Overrides { rows: Some(Rows(0)), .. } => zero("--rows", "10M"),
            Overrides { days: Some(0), .. } => zero("--days", "7"),
            Overrides { connections: Some(0), .. } => zero("--connections", "16"),
            Overrides { duration: Some(duration), .. } if duration.0.is_zero() => zero("--duration", "30s"),
            _ => Ok(()),
        }
    }
}

impl Suite {
    /// The suite with these values instead of its own. Steps that then are the same are run once.
    ///
    /// # Errors
    /// Values of zero, and a text that is in no step's name.
    pub fn with_overrides(mut self, overrides: &Overrides) -> Result<Suite, OverrideError> {
        overrides.check()?;
        let known = self.step_names();
        if let Some(dataset) = &overrides.dataset {
            self.dataset.clone_from(dataset);
        }
        self.rows = overrides.rows.or(self.rows);
        self.days = overrides.days.or(self.days);
        let wanted = |step: &Step| overrides.step.as_ref().is_none_or(|text| step.name.contains(text));
        let mut steps: Vec<Step> = Vec::new();
        for step in self.steps.into_iter().filter(wanted) {
            let step = step.with_overrides(overrides);
            if !steps.contains(&step) {
                steps.push(step);
            }
        }
        self.steps = steps;
        match &overrides.step {
            Some(text) if self.steps.is_empty() => {
                Err(OverrideError::NoStep { suite: self.name, text: text.clone(), known })
            }
            _ => Ok(self),
        }
    }

    /// The steps' names, each once, in words for a person.
    fn step_names(&self) -> String {
        let mut names: Vec<String> = self.steps.iter().map(|step| format!("`{}`", step.name)).collect();
        names.dedup();
        names.join(", ")
    }
}

impl Step {
    fn with_overrides(mut self, overrides: &Overrides) -> Step {
        let connections = overrides.connections.unwrap_or(self.load.connections());
        self.load = match (overrides.rate, self.load) {
            (Some(RateOverride::Open(rate)), _) | (None, Load::Open { rate, .. }) => {
                Load::Open { rate, connections }
            }
            (Some(RateOverride::Max), _) | (None, Load::Closed { .. }) => Load::Closed { connections },
        };
        self.duration = overrides.duration.unwrap_or(self.duration);
        self
    }
}
