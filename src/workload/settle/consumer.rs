//! A consumer that settles the messages of a poll, in one transaction or in two.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::MySqlConnection;
use sqlx::mysql::MySqlDatabaseError;

use super::book::{Book, Fate};
use super::series;
use crate::drive::Notes;
use crate::keys::{Draws, MESSAGES_MAX, Messages, Value};
use crate::recorder::Outcome;
use crate::spec::suite::{Design, HoldSpec, KeyOrder};
use crate::table::settle::{self, SettleStatements};
use crate::table::sweep::{begin, commit, rollback};

/// A connection's consumer.
#[derive(Debug)]
pub struct Consumer {
    statements: Arc<SettleStatements>,
    messages: Messages,
    spec: HoldSpec,
    draws: Draws,
    /// The number of the next message that has not been delivered to anybody.
    issued: Arc<AtomicU64>,
    /// Redeliveries are of the latest messages, so many: some are still under way with others.
    window: u64,
    /// The poll that is worked on.
    deliveries: Vec<Delivery>,
    pub(in crate::workload) notes: Notes,
    pub(in crate::workload) book: Book,
}

/// A message of a poll.
#[derive(Debug)]
struct Delivery {
    message: u64,
    /// Whether nobody got it before.
    first: bool,
    stage: Stage,
    /// Its idempotency row.
    values: Vec<Value>,
}

/// How far a delivery has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing of it is stored.
    Delivered,
    /// The COMMIT of its first (or only) transaction has no answer.
    Committing,
    /// PENDING is stored, since then.
    Claimed(Instant),
    /// The COMMIT of its second transaction has no answer.
    Finishing,
    Settled,
    /// Its key was there already.
    Duplicate,
}

/// Which of a message's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The only one.
    Whole,
    /// The first of two.
    Claim,
    /// The second.
    Finish,
}

impl Part {
    fn series(self) -> (u8, u8) {
        match self {
            Part::Whole => (series::HOLD, series::COMMIT),
            Part::Claim => (series::HOLD_TX1, series::COMMIT_TX1),
            Part::Finish => (series::HOLD_TX2, series::COMMIT_TX2),
        }
    }

    fn takes(self, stage: Stage) -> bool {
        match self {
            Part::Whole | Part::Claim => stage == Stage::Delivered,
            Part::Finish => matches!(stage, Stage::Claimed(_)),
        }
    }
}

/// A transaction that failed, with the delivery whose statement did.
struct Failed {
    delivery: Option<usize>,
    error: sqlx::Error,
}

impl Consumer {
    pub(in crate::workload) fn new(
        statements: Arc<SettleStatements>,
        messages: Messages,
        spec: HoldSpec,
        draws: Draws,
        issued: Arc<AtomicU64>,
        connections: u32,
    ) -> Consumer {
        let window = 2 * u64::from(spec.batch) * u64::from(connections);
        Consumer {
            statements,
            messages,
            spec,
            draws,
            issued,
            window,
            deliveries: Vec::new(),
            notes: Notes::default(),
            book: Book::default(),
        }
    }

    /// Settles one poll: `ok` if any message of it was settled, `duplicate` if all had been before.
    pub(in crate::workload) async fn settle_poll(
        &mut self,
        connection: &mut MySqlConnection,
    ) -> Result<Outcome, sqlx::Error> {
        self.poll()?;
        let result = self.settle(connection).await;
        let any = |stage: Stage| self.deliveries.iter().any(|delivery| delivery.stage == stage);
        let outcome = if any(Stage::Settled) { Outcome::Ok } else { Outcome::Duplicate };
        self.close();
        result.map(|()| outcome)
    }

    /// Writes down what is known of the deliveries that are not yet; also when their operation was cut off.
    pub(in crate::workload) fn close(&mut self) {
        for Delivery { message, first, stage, .. } in self.deliveries.drain(..) {
            let fate = match stage {
                Stage::Delivered if first => Fate::Missing,
                // A redelivery that left nothing says nothing of the message.
                Stage::Delivered => continue,
                Stage::Claimed(_) => Fate::Claimed,
                Stage::Committing | Stage::Finishing => Fate::Doubtful,
                Stage::Settled if first => {
                    self.book.settled();
                    continue;
                }
                Stage::Settled => Fate::Settled,
                // A key of a first delivery that is there already can only be that of a redelivery which
                // came before it. What became of it is the other worker's to say.
                Stage::Duplicate if first => {
                    self.book.settled();
                    continue;
                }
                Stage::Duplicate => continue,
            };
            match first {
                true => self.book.ended(message, fate),
                false => self.book.redelivered(message, fate),
            }
        }
    }

    /// The next messages, some of them not for the first time.
    fn poll(&mut self) -> Result<(), sqlx::Error> {
        self.deliveries.clear();
        let batch = self.spec.batch as usize;
        let known = self.issued.load(Ordering::Relaxed);
        for _ in 0..batch {
            if known == 0 || self.draws.fraction() >= self.spec.duplicate_share {
                continue;
            }
            let message = known - 1 - self.draws.below(self.window.min(known));
            self.deliver(message, false);
        }
        let fresh = (batch - self.deliveries.len()) as u64;
        let start = self.issued.fetch_add(fresh, Ordering::Relaxed);
        if start + fresh > MESSAGES_MAX {
            self.issued.fetch_sub(fresh, Ordering::Relaxed);
            return Err(sqlx::Error::Protocol(format!("a step has {MESSAGES_MAX} messages at most")));
        }
        (start..start + fresh).for_each(|message| self.deliver(message, true));
        if self.spec.key_order == KeyOrder::Sorted {
            let statements = Arc::clone(&self.statements);
            self.deliveries
                .sort_by(|left, right| statements.key_of(&left.values).cmp(statements.key_of(&right.values)));
        }
        Ok(())
    }

    fn deliver(&mut self, message: u64, first: bool) {
        let mut values = Vec::with_capacity(self.statements.columns.len());
        self.messages.fill(message, &mut values);
        self.deliveries.push(Delivery { message, first, stage: Stage::Delivered, values });
    }

    async fn settle(&mut self, connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
        let all = self.deliveries.len();
        let rows = self.spec.rows_per_transaction as usize;
        if self.spec.design == Design::BatchedClaims {
            self.transaction(connection, Part::Claim, 0..all).await?;
        }
        for from in (0..all).step_by(rows) {
            let range = from..(from + rows).min(all);
            match self.spec.design {
                Design::OneTransaction => {
                    self.transaction(connection, Part::Whole, range).await?;
                    continue;
                }
                Design::TwoTransactions => {
                    self.transaction(connection, Part::Claim, range.clone()).await?;
                }
                Design::BatchedClaims => {}
            }
            let claimed = self.taken(Part::Finish, range.clone()).len() as u32;
            handle(self.spec.handler_time.0 * claimed);
            self.transaction(connection, Part::Finish, range).await?;
        }
        Ok(())
    }

    /// The deliveries of a range that a transaction has to do with.
    fn taken(&self, part: Part, range: Range<usize>) -> Vec<usize> {
        range.filter(|place| part.takes(self.deliveries[*place].stage)).collect()
    }

    /// One transaction over a range of the poll. A message whose key is there already ends the transaction at
    /// once and is left out of the next attempt; a deadlock is tried again within bounds; any other error
    /// rolls back and ends the poll.
    async fn transaction(
        &mut self,
        connection: &mut MySqlConnection,
        part: Part,
        range: Range<usize>,
    ) -> Result<(), sqlx::Error> {
        let mut retries = 0;
        loop {
            let taken = self.taken(part, range.clone());
            if taken.is_empty() {
                return Ok(());
            }
            let begun = Instant::now();
            let Err(Failed { delivery, error }) = self.attempt(connection, part, taken, begun).await else {
                return Ok(());
            };
            // Error 1205 leaves the transaction open, with all its locks; 1062 keeps the lock on the key.
            if error.as_database_error().is_some() && rollback(connection).await.is_ok() {
                self.notes.time(series::HOLD_ROLLED_BACK, begun.elapsed());
            }
            match (code(&error), delivery) {
                (Some(1062), Some(delivery)) if part != Part::Finish => {
                    self.deliveries[delivery].stage = Stage::Duplicate;
                    if self.deliveries.len() > 1 {
                        self.notes.met(error);
                    }
                }
                // Behind a failed COMMIT there is nothing left to be tried again.
                (Some(1213), Some(_)) if retries < self.spec.deadlock_retries => {
                    retries += 1;
                    self.notes.met(error);
                }
                _ => return Err(error),
            }
        }
    }

    async fn attempt(
        &mut self,
        connection: &mut MySqlConnection,
        part: Part,
        taken: Vec<usize>,
        begun: Instant,
    ) -> Result<(), Failed> {
        let of_all = |error| Failed { delivery: None, error };
        begin(connection).await.map_err(of_all)?;
        for place in &taken {
            let sent = self.send(connection, part, *place).await;
            sent.map_err(|error| Failed { delivery: Some(*place), error })?;
        }
        let in_flight = if part == Part::Finish { Stage::Finishing } else { Stage::Committing };
        let before: Vec<Stage> = taken
            .iter()
            .map(|place| std::mem::replace(&mut self.deliveries[*place].stage, in_flight))
            .collect();
        let commit_sent = Instant::now();
        commit(connection).await.map_err(of_all)?;
        let done = Instant::now();
        let (hold, commit) = part.series();
        self.notes.time(hold, done - begun);
        self.notes.time(commit, done - commit_sent);
        for (place, before) in taken.into_iter().zip(before) {
            if let Stage::Claimed(claimed) = before {
                self.notes.time(series::WINDOW, done - claimed);
            }
            self.deliveries[place].stage =
                if part == Part::Claim { Stage::Claimed(done) } else { Stage::Settled };
        }
        Ok(())
    }

    async fn send(
        &mut self,
        connection: &mut MySqlConnection,
        part: Part,
        place: usize,
    ) -> Result<(), sqlx::Error> {
        let Delivery { message, values, .. } = &self.deliveries[place];
        match part {
            Part::Claim => settle::insert_row(connection, &self.statements, false, values).await,
            Part::Whole => {
                settle::insert_row(connection, &self.statements, true, values).await?;
                handle(self.spec.handler_time.0);
                settle::insert_bill(connection, &self.statements, *message, values).await
            }
            Part::Finish => {
                settle::insert_bill(connection, &self.statements, *message, values).await?;
                let found = settle::finish(connection, &self.statements, values).await?;
                self.book.unfound += u64::from(found != 1);
                Ok(())
            }
        }
    }
}

/// Works on a message. The thread belongs to this connection alone, and sleeps more exactly than the
/// runtime's timer, which counts in milliseconds.
fn handle(time: Duration) {
    if !time.is_zero() {
        std::thread::sleep(time);
    }
}

/// The server's error number.
pub(in crate::workload) fn code(error: &sqlx::Error) -> Option<u16> {
    error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}
