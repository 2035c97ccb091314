//! A statement that needs a table's metadata lock, without making everybody queue up behind it.
//!
//! DDL waits for every open transaction that has touched the table, and while it waits all later statements on
//! the table wait behind it. So it waits briefly (`lock_wait_timeout`), gives up, lets the others through, and
//! comes again; and where somebody is known to hold the lock for longer than that, it does not even begin to.

use std::time::{Duration, Instant};

use sqlx::MySqlConnection;
use sqlx::mysql::MySqlDatabaseError;

use crate::server::metadata_locks::{Holder, holders};
use crate::table::partition::{alter, set_lock_wait};
use crate::units::Span;

/// How long one waits, how often one comes again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Patience {
    /// How long the statement may hold others up, whole seconds, at least 1.
    pub lock_wait: Span,
    /// Attempts in all, at least 1.
    pub attempts: u32,
    /// The first pause between attempts; each later one is twice as long, up to [`PAUSE_MAX`].
    pub pause: Span,
}

/// No pause is longer.
pub const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Lock wait timeout exceeded.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// An attempt that came to nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Waited {
    /// Which, from 1.
    pub attempt: u32,
    /// Whether the statement was sent and timed out; else it was held back.
    pub was_sent: bool,
    /// Who is in the way, oldest first; `None` where the server does not say.
    pub blockers: Option<Vec<Holder>>,
    /// The pause before the next attempt; `None` if there is none.
    pub pause: Option<Duration>,
}

/// A statement that was done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Done {
    /// How long the attempt that succeeded took.
    pub took: Duration,
    /// Attempts, this one included.
    pub attempts: u32,
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum PatienceError {
    /// The lock never came free.
    #[error(
        "the table's metadata lock did not come free in {attempts} attempts: {blocker} — end that session (KILL its \
         connection) or come again later"
    )]
    NeverFree {
        /// Attempts that were made.
        attempts: u32,
        /// Who is in the way.
        blocker: String,
    },
    /// Asked to stop while waiting.
    #[error("stopped while waiting for the table's metadata lock")]
    Stopped,
    /// The server refused.
    #[error("{0}")]
    Server(#[from] sqlx::Error),
}

/// Sends a statement as often as it takes. `tell` hears of every attempt that came to nothing.
pub async fn send(
    connection: &mut MySqlConnection,
    table: &str,
    sql: &str,
    patience: Patience,
    is_stopped: &(dyn Fn() -> bool + Sync),
    tell: &mut (dyn FnMut(&Waited) + Send),
) -> Result<Done, PatienceError> {
    set_lock_wait(connection, patience.lock_wait.0.as_secs()).await?;
    let attempts = patience.attempts.max(1);
    for attempt in 1..=attempts {
        if is_stopped() {
            return Err(PatienceError::Stopped);
        }
        let mut blockers = holders(connection, table).await?;
        let lock_wait_s = patience.lock_wait.0.as_secs_f64();
        let hopeless = blockers.iter().flatten().any(|holder| holder.age_s() > lock_wait_s);
        if !hopeless {
            let begun = Instant::now();
            match alter(connection, sql).await {
                Ok(()) => return Ok(Done { took: begun.elapsed(), attempts: attempt }),
                Err(error) if code(&error) == Some(LOCK_WAIT_TIMEOUT) => {}
                Err(error) => return Err(error.into()),
            }
            blockers = holders(connection, table).await?;
        }
        let pause = (attempt < attempts).then(|| pause_after(patience.pause.0, attempt));
        tell(&Waited { attempt, was_sent: !hopeless, blockers: blockers.clone(), pause });
        match pause {
            Some(pause) => rest(pause, is_stopped).await,
            None => {
                return Err(PatienceError::NeverFree { attempts, blocker: in_the_way(blockers.as_deref()) });
            }
        }
    }
    // The last attempt returns.
    Err(PatienceError::Stopped)
}

/// The oldest holder in words.
pub fn in_the_way(blockers: Option<&[Holder]>) -> String {
    match blockers {
        None => "who holds it cannot be seen (performance_schema is off, or the account may not read it)"
            .to_owned(),
        Some([]) => "whoever held it has gone since".to_owned(),
        Some([only]) => only.to_string(),
        Some([oldest, others @ ..]) => format!("{oldest} (and {} more)", others.len()),
    }
}

fn pause_after(first: Duration, attempt: u32) -> Duration {
    first.saturating_mul(1 << (attempt - 1).min(10)).min(PAUSE_MAX)
}

pub(super) async fn rest(pause: Duration, is_stopped: &(dyn Fn() -> bool + Sync)) {
    let until = Instant::now() + pause;
    while Instant::now() < until && !is_stopped() {
        let left = until.saturating_duration_since(Instant::now());
        tokio::time::sleep(left.min(Duration::from_millis(100))).await;
    }
}

fn code(error: &sqlx::Error) -> Option<u16> {
    error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound() {
        let pauses: Vec<u64> =
            (1..=8).map(|attempt| pause_after(Duration::from_secs(1), attempt).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30, 30]);
    }
}
