//! How an operation ended.

use std::collections::BTreeMap;

/// How an operation ended. Answers that a database is expected to give are outcomes, told apart by code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Outcome {
    /// It did what it was sent for: a claim won its row, a sweeper took a batch.
    Ok,
    /// The claim's row was not to be had: not pending, or its lease still runs.
    Lost,
    /// The second of two equal claims, which changed nothing, or error 1062.
    Duplicate,
    /// Error 1213: the server rolled the transaction back.
    Deadlock,
    /// Error 1205: the statement was rolled back, then the transaction by us.
    LockTimeout,
    /// Any other error; its code is counted apart.
    Error,
    /// Sent, but without an answer when draining ended; its times are lower bounds.
    Unfinished,
    /// Due, but never sent; its response time is its age when draining ended: a lower bound.
    Unsent,
}

impl Outcome {
    /// All of them, in the order of their numbers.
    pub const ALL: [Outcome; 8] = [
        Outcome::Ok,
        Outcome::Lost,
        Outcome::Duplicate,
        Outcome::Deadlock,
        Outcome::LockTimeout,
        Outcome::Error,
        Outcome::Unfinished,
        Outcome::Unsent,
    ];

    /// The name in `run.json`.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Lost => "lost",
            Outcome::Duplicate => "duplicate",
            Outcome::Deadlock => "deadlock",
            Outcome::LockTimeout => "lock_timeout",
            Outcome::Error => "error",
            Outcome::Unfinished => "unfinished",
            Outcome::Unsent => "unsent",
        }
    }

    /// What a MySQL error number means: 1062 duplicate, 1205 lock timeout, 1213 deadlock.
    pub fn of_error_code(code: u16) -> Outcome {
        match code {
            1062 => Outcome::Duplicate,
            1205 => Outcome::LockTimeout,
            1213 => Outcome::Deadlock,
            _ => Outcome::Error,
        }
    }
}

/// How often each outcome came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutcomeCounts([u64; Outcome::ALL.len()]);

impl OutcomeCounts {
    /// Counts one.
    pub fn count(&mut self, outcome: Outcome) {
        self.count_many(outcome, 1);
    }

    /// Counts several.
    pub fn count_many(&mut self, outcome: Outcome, times: u64) {
        self.0[outcome as usize] += times;
    }

    /// How often this one came.
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.0[outcome as usize]
    }

    /// How many there were of all kinds.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// By name, those that came at least once.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        let named = Outcome::ALL.iter().map(|outcome| (outcome.name().to_owned(), self.of(*outcome)));
        named.filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_told_apart_by_code_and_counted_by_name() {
        let mut counts = OutcomeCounts::default();
        for code in [1062, 1205, 1213, 1526, 1213] {
            counts.count(Outcome::of_error_code(code));
        }
        assert_eq!(counts.total(), 5);
        let named = counts.by_name();
        let named: Vec<_> = named.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(named, [("deadlock", 2), ("duplicate", 1), ("error", 1), ("lock_timeout", 1)]);
        assert!(Outcome::ALL.iter().enumerate().all(|(place, outcome)| *outcome as usize == place));
    }
}
