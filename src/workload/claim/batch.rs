//! One sweeper: takes whatever is due, a batch at a time.

use std::time::Instant;

use sqlx::MySqlConnection;

use super::one::Faults;
use super::wins::{Win, WinBook};
use crate::drive::Notes;
use crate::keys::{KeyOf, Picker, Value};
use crate::recorder::Outcome;
use crate::table::sweep::{self, Found, SweepStatements};

/// A connection that sweeps.
#[derive(Debug)]
pub struct Batch {
    statements: SweepStatements,
    key_of: KeyOf,
    picker: Picker,
    owner: u32,
    origin: Instant,
    /// The row that the sweep starts at, its memory used again.
    start: Vec<Value>,
    /// What is being taken and is not written down yet.
    under_way: Vec<Found>,
    /// What was won.
    pub(super) wins: WinBook<Vec<Value>>,
    /// What must not happen.
    pub(super) faults: Faults,
    /// Rows taken in all.
    pub(super) rows: u64,
    /// The hold of each transaction.
    pub(super) notes: Notes,
}

impl Batch {
    pub(super) fn new(
        statements: SweepStatements,
        key_of: KeyOf,
        picker: Picker,
        owner: u32,
        wins_max: usize,
        origin: Instant,
    ) -> Batch {
        Batch {
            statements,
            key_of,
            picker,
            owner,
            origin,
            start: Vec::new(),
            under_way: Vec::new(),
            wins: WinBook::new(wins_max),
            faults: Faults::default(),
            rows: 0,
            notes: Notes::default(),
        }
    }

    /// One sweep: `ok` if it took any row, `lost` if there was none to take.
    pub(super) async fn sweep(&mut self, connection: &mut MySqlConnection) -> Result<Outcome, sqlx::Error> {
        let row = self.picker.next_pending();
        self.key_of.fill(row, &mut self.start);
        match self.statements.compares_tokens {
            true => self.sweep_key_list(connection).await,
            false => self.sweep_skip_locked(connection).await,
        }
    }

    async fn sweep_skip_locked(&mut self, connection: &mut MySqlConnection) -> Result<Outcome, sqlx::Error> {
        let begun = Instant::now();
        sweep::begin(connection).await?;
        let found = sweep::select(connection, &self.statements, &self.start).await?;
        let taken = sweep::update(connection, &self.statements, self.owner, &found).await?;
        self.under_way = found;
        sweep::commit(connection).await?;
        let done = Instant::now();
        let found = std::mem::take(&mut self.under_way);
        // They are locked: nobody can have taken one in between.
        self.faults.partial_batches += u64::from(taken != found.len() as u64);
        self.faults.too_many_rows += u64::from(taken > found.len() as u64);
        self.notes.time(super::HOLD, done.duration_since(begun));
        Ok(self.write_down(found, begun, done))
    }

    async fn sweep_key_list(&mut self, connection: &mut MySqlConnection) -> Result<Outcome, sqlx::Error> {
        let found = sweep::select(connection, &self.statements, &self.start).await?;
        if found.is_empty() {
            return Ok(Outcome::Lost);
        }
        let sent = Instant::now();
        self.under_way = found;
        let taken = sweep::update(connection, &self.statements, self.owner, &self.under_way).await?;
        let done = Instant::now();
        let listed = self.under_way.len() as u64;
        self.faults.too_many_rows += u64::from(taken > listed);
        if taken == listed {
            let found = std::mem::take(&mut self.under_way);
            return Ok(self.write_down(found, sent, done));
        }
        let asked = sweep::won(connection, &self.statements, self.owner, &self.under_way).await;
        // The UPDATE is committed: without the answer nobody knows which of its rows it took.
        let won = asked.inspect_err(|_| self.in_doubt())?;
        self.under_way.clear();
        self.faults.partial_batches += u64::from(won.len() as u64 != taken);
        Ok(self.write_down(won, sent, done))
    }

    fn write_down(&mut self, taken: Vec<Found>, from: Instant, until: Instant) -> Outcome {
        if taken.is_empty() {
            return Outcome::Lost;
        }
        self.rows += taken.len() as u64;
        let ns = |instant: Instant| instant.duration_since(self.origin).as_nanos() as u64;
        let (from_ns, until_ns) = (ns(from), ns(until));
        for found in taken {
            self.wins.won(Win { row: found.key, token: found.token + 1, from_ns, until_ns });
        }
        Outcome::Ok
    }

    /// The server has said no and all is rolled back: what was under way is not in doubt.
    pub(super) fn rolled_back(&mut self) {
        self.under_way.clear();
    }

    pub(super) fn in_doubt(&mut self) {
        for found in self.under_way.drain(..) {
            self.wins.in_doubt(found.key);
        }
    }
}
