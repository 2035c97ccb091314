//! One consumer: claims the row that its message names, sometimes a second time, sometimes in vain.

use std::time::{Duration, Instant};

use sqlx::MySqlConnection;

use super::wins::{Win, WinBook};
use crate::keys::{KeyOf, Picker, Value};
use crate::recorder::Outcome;
use crate::spec::suite::ClaimSpec;
use crate::table::claim::{ClaimStatement, claim};

/// A connection that claims named rows.
#[derive(Debug)]
pub struct One {
    statement: ClaimStatement,
    key_of: KeyOf,
    picker: Picker,
    owner: u32,
    losing_share: f64,
    duplicate_share: f64,
    lease: Duration,
    origin: Instant,
    /// The bound key, its memory used again.
    key: Vec<Value>,
    /// What was sent last and is not written down yet.
    under_way: Option<u64>,
    /// The last win, while its redelivery has not been sent.
    last_win: Option<(u64, Instant)>,
    /// Redeliveries owed: the share adds up until a win can be sent again.
    duplicates_owed: f64,
    /// What was won.
    pub(super) wins: WinBook<u64>,
    /// What must not happen.
    pub(super) faults: Faults,
}

/// Things that must not happen, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Faults {
    /// Claims that took more than one row.
    pub too_many_rows: u64,
    /// Claims that won a row that is not pending.
    pub impossible_wins: u64,
    /// Redeliveries that won while the first claim's lease ran.
    pub duplicate_wins: u64,
    /// Batches that locked other rows than they took.
    pub partial_batches: u64,
    /// Redeliveries sent.
    pub redeliveries: u64,
    /// Claims sent at rows that cannot be won.
    pub hopeless: u64,
}

impl Faults {
    pub(super) fn add(&mut self, other: Faults) {
        self.too_many_rows += other.too_many_rows;
        self.impossible_wins += other.impossible_wins;
        self.duplicate_wins += other.duplicate_wins;
        self.partial_batches += other.partial_batches;
        self.redeliveries += other.redeliveries;
        self.hopeless += other.hopeless;
    }
}

/// Why a claim is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    /// To win.
    Win,
    /// To lose: the row is not pending.
    Lose,
    /// To lose: the same claim has just won; until then its lease runs.
    Duplicate { lease_until: Instant },
}

impl One {
    pub(super) fn new(
        statement: ClaimStatement,
        key_of: KeyOf,
        picker: Picker,
        owner: u32,
        spec: &ClaimSpec,
        wins_max: usize,
        origin: Instant,
    ) -> One {
        One {
            statement,
            key_of,
            picker,
            owner,
            losing_share: spec.losing_share,
            duplicate_share: spec.duplicate_share,
            lease: spec.lease.0,
            origin,
            key: Vec::new(),
            under_way: None,
            last_win: None,
            duplicates_owed: 0.0,
            wins: WinBook::new(wins_max),
            faults: Faults::default(),
        }
    }

    /// Sends one claim and says how it ended.
    pub(super) async fn claim(&mut self, connection: &mut MySqlConnection) -> Result<Outcome, sqlx::Error> {
        let (row, aim) = self.aim();
        self.key_of.fill(row, &mut self.key);
        self.under_way = Some(row);
        let sent = Instant::now();
        let answer = claim(connection, &self.statement, self.owner, &self.key).await?;
        let done = Instant::now();
        self.under_way = None;
        self.faults.too_many_rows += u64::from(answer.rows > 1);
        if answer.rows == 0 {
            return Ok(if matches!(aim, Aim::Duplicate { .. }) { Outcome::Duplicate } else { Outcome::Lost });
        }
        match aim {
            Aim::Win => {}
            Aim::Lose => self.faults.impossible_wins += 1,
            Aim::Duplicate { lease_until } => self.faults.duplicate_wins += u64::from(done < lease_until),
        }
        self.last_win = Some((row, sent));
        let (from_ns, until_ns) = (self.since_origin(sent), self.since_origin(done));
        self.wins.won(Win { row, token: answer.token, from_ns, until_ns });
        Ok(Outcome::Ok)
    }

    /// Which row, and what is expected of it.
    fn aim(&mut self) -> (u64, Aim) {
        self.duplicates_owed = (self.duplicates_owed + self.duplicate_share).min(2.0);
        if self.duplicates_owed >= 1.0
            && let Some((row, sent)) = self.last_win.take()
        {
            self.duplicates_owed -= 1.0;
            self.faults.redeliveries += 1;
            // A hundredth less, for two clocks that may not run alike.
            return (row, Aim::Duplicate { lease_until: sent + self.lease.mul_f64(0.99) });
        }
        if self.losing_share > 0.0
            && self.picker.next_fraction() < self.losing_share
            && let Some(row) = self.picker.next_loser()
        {
            self.faults.hopeless += 1;
            return (row, Aim::Lose);
        }
        (self.picker.next_pending(), Aim::Win)
    }

    /// The server has said no: what was under way is not in doubt.
    pub(super) fn rolled_back(&mut self) {
        self.under_way = None;
    }

    pub(super) fn in_doubt(&mut self) {
        if let Some(row) = self.under_way.take() {
            self.wins.in_doubt(row);
        }
    }

    fn since_origin(&self, instant: Instant) -> u64 {
        instant.duration_since(self.origin).as_nanos() as u64
    }
}
