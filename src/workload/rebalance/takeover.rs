//! The new owner: locks the batch, finds out what became of it, settles the rest.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::MySqlConnection;

use super::Message;
use crate::drive::Notes;
use crate::keys::Value;
use crate::spec::suite::{Locking, RebalanceSpec};
use crate::table::holders::key_text;
use crate::table::settle::{self, SettleStatements};
use crate::table::sweep::{begin, commit, rollback};
use crate::workload::settle::{code, series};

/// ER_LOCK_NOWAIT.
const LOCKED: u16 = 3572;
/// Pause before NOWAIT is tried again: what a consumer might wait that has other partitions to poll.
const NOWAIT_PAUSE: Duration = Duration::from_millis(5);
/// How often a takeover is tried again after a deadlock or a key that was there all of a sudden.
const RETRIES: u32 = 20;
/// How long NOWAIT is tried.
const NOWAIT_MAX: Duration = Duration::from_secs(60);

/// A connection's takeovers.
#[derive(Debug)]
pub(super) struct Takeover {
    statements: Arc<SettleStatements>,
    locking: Locking,
    lock_batch: Arc<str>,
    lock_one: Arc<str>,
}

impl Takeover {
    pub fn new(statements: Arc<SettleStatements>, spec: &RebalanceSpec) -> Takeover {
        Takeover {
            lock_batch: statements.take_over_sql(spec.batch as usize, spec.locking).into(),
            lock_one: statements.take_over_sql(1, Locking::Wait).into(),
            locking: spec.locking,
            statements,
        }
    }

    /// Takes a batch over, from the first locking read to the last COMMIT.
    pub async fn take(
        &self,
        connection: &mut MySqlConnection,
        batch: &[Message],
        notes: &mut Notes,
    ) -> Result<(), sqlx::Error> {
        let begun = Instant::now();
        let mut retries = 0;
        let mut locked = None;
        loop {
            let error = match self.attempt(connection, batch, &mut locked, begun).await {
                Ok(()) => break,
                Err(error) => error,
            };
            // NOWAIT's error too leaves the transaction open, with the locks that it got.
            if error.as_database_error().is_some() {
                rollback(connection).await?;
            }
            match code(&error) {
                Some(LOCKED) if begun.elapsed() < NOWAIT_MAX => tokio::time::sleep(NOWAIT_PAUSE).await,
                Some(1213 | 1062) if retries < RETRIES => retries += 1,
                _ => return Err(error),
            }
            notes.met(error);
        }
        if let Some(locked) = locked {
            notes.time(series::TAKEOVER_LOCK, locked);
        }
        notes.time(series::TAKEOVER, begun.elapsed());
        Ok(())
    }

    async fn attempt(
        &self,
        connection: &mut MySqlConnection,
        batch: &[Message],
        locked: &mut Option<Duration>,
        begun: Instant,
    ) -> Result<(), sqlx::Error> {
        let statements = &*self.statements;
        let keys: Vec<Value> =
            batch.iter().flat_map(|message| statements.key_of(&message.values)).cloned().collect();
        begin(connection).await?;
        let rows = settle::take_over(connection, &self.lock_batch, statements, &keys).await?;
        locked.get_or_insert(begun.elapsed());
        let found: HashMap<String, bool> = rows.into_iter().map(|row| (row.key, row.done)).collect();
        let mut unseen = Vec::new();
        for message in batch {
            let key: Vec<Value> = statements.key_of(&message.values).cloned().collect();
            match found.get(&key_text(&key)) {
                Some(true) => {}
                Some(false) => finish(connection, statements, message).await?,
                // Locked or not there: SKIP LOCKED does not say which.
                None if self.locking == Locking::SkipLocked => unseen.push(message),
                None => settle_anew(connection, statements, message).await?,
            }
        }
        commit(connection).await?;
        for message in unseen {
            self.take_unseen(connection, message).await?;
        }
        Ok(())
    }

    /// Whether a row is there that SKIP LOCKED has not shown is found out by inserting it, which waits for
    /// whoever holds its key.
    async fn take_unseen(
        &self,
        connection: &mut MySqlConnection,
        message: &Message,
    ) -> Result<(), sqlx::Error> {
        let statements = &*self.statements;
        begin(connection).await?;
        match settle_anew(connection, statements, message).await {
            Ok(()) => return commit(connection).await,
            Err(error) if code(&error) == Some(1062) => rollback(connection).await?,
            Err(error) => return Err(error),
        }
        begin(connection).await?;
        let key: Vec<Value> = statements.key_of(&message.values).cloned().collect();
        let rows = settle::take_over(connection, &self.lock_one, statements, &key).await?;
        if rows.first().is_some_and(|row| !row.done) {
            finish(connection, statements, message).await?;
        }
        commit(connection).await
    }
}

async fn settle_anew(
    connection: &mut MySqlConnection,
    statements: &SettleStatements,
    message: &Message,
) -> Result<(), sqlx::Error> {
    settle::insert_row(connection, statements, true, &message.values).await?;
    settle::insert_bill(connection, statements, message.number, &message.values).await
}

async fn finish(
    connection: &mut MySqlConnection,
    statements: &SettleStatements,
    message: &Message,
) -> Result<(), sqlx::Error> {
    settle::insert_bill(connection, statements, message.number, &message.values).await?;
    settle::finish(connection, statements, &message.values).await.map(|_| ())
}
