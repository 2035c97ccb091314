//! The old owner: brought into the state in which it is stopped.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use sqlx::mysql::MySqlConnectOptions;
use sqlx::{ConnectOptions, MySqlConnection};

use super::Message;
use crate::spec::suite::{Design, Isolation, OwnerEnds, OwnerState, RebalanceSpec};
use crate::table::settle::{self, SettleStatements};
use crate::table::sweep::{begin, commit, rollback};

/// How long a statement is given to reach the server and to stand there before the takeover begins.
const ON_ITS_WAY: Duration = Duration::from_millis(5);

/// An old owner, and the session that it may have to wait for: those that can be used again.
#[derive(Debug)]
pub(super) struct Owner {
    options: MySqlConnectOptions,
    statements: Arc<SettleStatements>,
    spec: RebalanceSpec,
    session: Option<MySqlConnection>,
    blocker: Option<MySqlConnection>,
}

/// A session that is in use, to be had back at the end unless its owner vanishes.
type InUse = Pin<Box<dyn Future<Output = Result<Option<MySqlConnection>, sqlx::Error>>>>;

/// A stopped owner: what still goes on in its sessions.
pub(super) struct Stopped {
    session: InUse,
    blocker: Option<InUse>,
}

impl Stopped {
    /// Waits until the owner has come to its end, and hands back what sessions can be used again.
    pub async fn end(self) -> Result<[Option<MySqlConnection>; 2], sqlx::Error> {
        let blocker = async {
            match self.blocker {
                Some(blocker) => blocker.await,
                None => Ok(None),
            }
        };
        let (session, blocker) = tokio::join!(self.session, blocker);
        Ok([session?, blocker?])
    }
}

impl Owner {
    pub fn new(
        options: MySqlConnectOptions,
        statements: Arc<SettleStatements>,
        spec: RebalanceSpec,
    ) -> Owner {
        Owner { options, statements, spec, session: None, blocker: None }
    }

    /// Takes sessions back.
    pub fn put_back(&mut self, [session, blocker]: [Option<MySqlConnection>; 2]) {
        (self.session, self.blocker) = (session, blocker);
    }

    /// Works on the batch until the state is reached, and stops there.
    pub async fn stop(&mut self, batch: &[Message], waited_for: &Message) -> Result<Stopped, sqlx::Error> {
        let mut session = self.open(self.spec.isolation, false).await?;
        work(&mut session, &self.statements, self.spec.design, batch).await?;
        let vanishes = self.spec.owner_ends == OwnerEnds::Vanishes;
        let time = self.spec.owner_time.0;
        match self.spec.owner_state {
            OwnerState::Idle => Ok(Stopped { session: idle(session, time, vanishes), blocker: None }),
            OwnerState::Executing => {
                let runs = in_use(session, async move |session| settle::run_for(session, time).await);
                Ok(Stopped { session: sent(runs, ON_ITS_WAY, vanishes).await?, blocker: None })
            }
            OwnerState::Committing => {
                let commits = in_use(session, async |_| Ok(()));
                Ok(Stopped { session: sent(commits, Duration::ZERO, vanishes).await?, blocker: None })
            }
            OwnerState::Waiting => {
                let mut blocker = self.open(self.spec.isolation, true).await?;
                begin(&mut blocker).await?;
                settle::insert_row(&mut blocker, &self.statements, false, &waited_for.values).await?;
                let (statements, values) = (Arc::clone(&self.statements), waited_for.values.clone());
                let waits = in_use(session, async move |session| {
                    settle::finish(session, &statements, &values).await.map(|_| ())
                });
                let session = sent(waits, ON_ITS_WAY, vanishes).await?;
                let blocker: InUse = Box::pin(async move {
                    tokio::time::sleep(time).await;
                    rollback(&mut blocker).await?;
                    Ok(Some(blocker))
                });
                Ok(Stopped { session, blocker: Some(blocker) })
            }
        }
    }

    async fn open(&mut self, isolation: Isolation, blocker: bool) -> Result<MySqlConnection, sqlx::Error> {
        let kept = if blocker { self.blocker.take() } else { self.session.take() };
        match kept {
            Some(session) => Ok(session),
            None => {
                let mut session = self.options.connect().await?;
                settle::set_isolation(&mut session, isolation).await?;
                Ok(session)
            }
        }
    }
}

/// What the design has done, and not committed, when its owner is stopped: all of the batch in one
/// transaction; or the second transaction of the batch's first message, with those claims committed that the
/// design makes ahead.
async fn work(
    session: &mut MySqlConnection,
    statements: &SettleStatements,
    design: Design,
    batch: &[Message],
) -> Result<(), sqlx::Error> {
    begin(session).await?;
    if design == Design::OneTransaction {
        for message in batch {
            settle::insert_row(session, statements, true, &message.values).await?;
            settle::insert_bill(session, statements, message.number, &message.values).await?;
        }
        return Ok(());
    }
    let claimed = if design == Design::BatchedClaims { batch.len() } else { 1 };
    for message in &batch[..claimed.min(batch.len())] {
        settle::insert_row(session, statements, false, &message.values).await?;
    }
    commit(session).await?;
    begin(session).await?;
    if let Some(message) = batch.first() {
        settle::insert_bill(session, statements, message.number, &message.values).await?;
        settle::finish(session, statements, &message.values).await?;
    }
    Ok(())
}

/// A session whose owner sends nothing for a while, then vanishes or commits.
fn idle(mut session: MySqlConnection, time: Duration, vanishes: bool) -> InUse {
    Box::pin(async move {
        tokio::time::sleep(time).await;
        if vanishes {
            // Without a word to the server, as the kernel closes a dead process's sockets.
            return Ok(None);
        }
        commit(&mut session).await?;
        Ok(Some(session))
    })
}

/// A session that runs a statement and then commits.
fn in_use(
    mut session: MySqlConnection,
    statement: impl AsyncFnOnce(&mut MySqlConnection) -> Result<(), sqlx::Error> + 'static,
) -> InUse {
    Box::pin(async move {
        statement(&mut session).await?;
        commit(&mut session).await?;
        Ok(Some(session))
    })
}

/// Sends a session's statement; an owner that vanishes is gone when it is on its way.
async fn sent(mut session: InUse, on_its_way: Duration, vanishes: bool) -> Result<InUse, sqlx::Error> {
    let over = tokio::select! {
        biased;
        over = session.as_mut() => Some(over?),
        () = on_the_way(on_its_way) => None,
    };
    match over {
        Some(over) if !vanishes => Ok(Box::pin(async move { Ok(over) })),
        None if !vanishes => Ok(session),
        // Dropping it closes the socket, without a word to the server.
        _ => Ok(Box::pin(async { Ok(None) })),
    }
}

/// Long enough for a statement to be written to its socket, and the time given on top.
async fn on_the_way(time: Duration) {
    match time {
        Duration::ZERO => tokio::task::yield_now().await,
        time => tokio::time::sleep(time).await,
    }
}
