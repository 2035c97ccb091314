//! A rival: refunds and supplements, which update the bill of an order.

use std::sync::Arc;
use std::time::Instant;

use sqlx::MySqlConnection;

use crate::drive::Notes;
use crate::keys::{Messages, Value};
use crate::recorder::Outcome;
use crate::table::settle::{self, RIVAL_AMOUNT, SettleStatements};
use crate::table::sweep::{begin, commit, rollback};
use crate::units::Span;
use crate::workload::settle::{Rivals, Settling, code, hash, series};

/// A connection's rival.
#[derive(Debug)]
pub(super) struct Rival {
    statements: Arc<SettleStatements>,
    messages: Messages,
    /// How long the transaction stays open behind its UPDATE.
    time: Span,
    /// Chooses orders as messages are: by a number of its own.
    next: u64,
    values: Vec<Value>,
    /// Whether a COMMIT has no answer.
    committing: bool,
    pub rivals: Rivals,
}

/// Rivals of different connections count through numbers of their own.
const NUMBERS_EACH: u64 = 1 << 40;

impl Rival {
    pub fn new(settling: &Settling, time: Span, index: u32) -> Rival {
        Rival {
            statements: Arc::clone(&settling.statements),
            messages: settling.messages.clone(),
            time,
            next: hash(index) % NUMBERS_EACH + u64::from(index) * NUMBERS_EACH,
            values: Vec::new(),
            committing: false,
            rivals: Rivals::default(),
        }
    }

    /// One refund or supplement, in turns: `ok`, or `lost` where the order has no bill yet.
    pub async fn update(
        &mut self,
        connection: &mut MySqlConnection,
        retries: u32,
        notes: &mut Notes,
    ) -> Result<Outcome, sqlx::Error> {
        self.next += 1;
        let row = self.messages.row_of(self.next);
        self.messages.fill_about(row, 0, &mut self.values);
        let amount = if self.next.is_multiple_of(2) { RIVAL_AMOUNT } else { -RIVAL_AMOUNT };
        let mut retry = 0;
        loop {
            let begun = Instant::now();
            let error = match self.attempt(connection, amount, begun, notes).await {
                Ok(outcome) => return Ok(outcome),
                Err(error) => error,
            };
            self.close();
            if error.as_database_error().is_some() && rollback(connection).await.is_ok() {
                notes.time(series::HOLD_ROLLED_BACK, begun.elapsed());
            }
            if code(&error) != Some(1213) || retry >= retries {
                return Err(error);
            }
            notes.met(error);
            retry += 1;
        }
    }

    async fn attempt(
        &mut self,
        connection: &mut MySqlConnection,
        amount: i64,
        begun: Instant,
        notes: &mut Notes,
    ) -> Result<Outcome, sqlx::Error> {
        begin(connection).await?;
        let sent = Instant::now();
        let order = &self.values[self.statements.order];
        let found = settle::update_bill(connection, &self.statements, amount, order).await?;
        notes.time(series::UPDATE_RIVAL, sent.elapsed());
        if !self.time.0.is_zero() {
            // The thread belongs to this connection alone.
            std::thread::sleep(self.time.0);
        }
        self.committing = found > 0;
        commit(connection).await?;
        self.committing = false;
        notes.time(series::HOLD_RIVAL, begun.elapsed());
        self.rivals.added += i128::from(amount) * i128::from(found);
        Ok(if found > 0 { Outcome::Ok } else { Outcome::Lost })
    }

    /// A COMMIT that was cut off may have had its effect.
    pub fn close(&mut self) {
        self.rivals.in_doubt += u64::from(std::mem::take(&mut self.committing));
    }
}
