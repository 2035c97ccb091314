//! Workloads that settle messages: an idempotency row and a bill for each, in one transaction or in two.

use super::wire::{
    WireDesign, WireIsolation, WireKeyOrder, WireLocking, WireOwnerEnds, WireOwnerState, WireStep,
};
use crate::units::Span;

/// In how many transactions a message is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// The article's A: the idempotency row, DONE at once, and the bill together.
    OneTransaction,
    /// The article's B: the idempotency row, PENDING; then, in a second transaction, the bill and DONE.
    TwoTransactions,
    /// B with one first transaction for the whole batch, and second ones of
    /// [`HoldSpec::rows_per_transaction`].
    BatchedClaims,
}

/// The isolation level of a workload's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// No gap locks, except for duplicates of secondary keys.
    ReadCommitted,
    /// The server's default.
    RepeatableRead,
}

/// In which order a batch's messages are settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrder {
    /// By key: two batches lock their common keys in the same order.
    Sorted,
    /// As they were delivered.
    AsDelivered,
}

/// The hold workload's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct HoldSpec {
    /// One transaction or two.
    pub design: Design,
    /// Messages of an operation, as a poll brings them.
    pub batch: u32,
    /// Messages of a transaction.
    pub rows_per_transaction: u32,
    /// How long a message is worked on between its idempotency row and its bill.
    pub handler_time: Span,
    /// The sessions' isolation level.
    pub isolation: Isolation,
    /// The order within a batch.
    pub key_order: KeyOrder,
    /// Share of messages that were delivered before (0 to 1).
    pub duplicate_share: f64,
    /// How often a transaction is tried again after a deadlock.
    pub deadlock_retries: u32,
}

/// The contention workload's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentionSpec {
    /// How the consumers settle.
    pub consumers: HoldSpec,
    /// So many orders get all messages.
    pub hot_orders: u64,
    /// Zipf's exponent over them; 0 treats all alike.
    pub exponent: f64,
    /// Share of operations that are a rival's UPDATE of an order's bill (0 to 1).
    pub rival_share: f64,
    /// How long a rival keeps its transaction open behind its UPDATE.
    pub rival_time: Span,
}

/// What an old owner was doing when it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerState {
    /// Its batch's transaction is open, and it sends nothing.
    Idle,
    /// A statement of that transaction runs on the server.
    Executing,
    /// A statement of that transaction waits for somebody else's row lock.
    Waiting,
    /// Its COMMIT was sent.
    Committing,
}

/// How an old owner's stop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerEnds {
    /// Its process is gone after the owner's time: the kernel closes its connection.
    Vanishes,
    /// It goes on after the owner's time and commits: a pause, not a death.
    GoesOn,
}

/// How a new owner locks the batch that it takes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locking {
    /// FOR UPDATE.
    Wait,
    /// FOR UPDATE NOWAIT, again after a pause.
    NoWait,
    /// FOR UPDATE SKIP LOCKED.
    SkipLocked,
}

/// The rebalance workload's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct RebalanceSpec {
    /// How the owners settle.
    pub design: Design,
    /// Messages of the batch that changes hands.
    pub batch: u32,
    /// The sessions' isolation level.
    pub isolation: Isolation,
    /// What the old owner was doing.
    pub owner_state: OwnerState,
    /// How its stop ends.
    pub owner_ends: OwnerEnds,
    /// How long it lasts, counted from the takeover.
    pub owner_time: Span,
    /// How the new owner locks.
    pub locking: Locking,
}

/// Messages of a batch at most: `max.poll.records` is 500 where nobody sets it.
pub const BATCH_MAX: u32 = 1_000;
/// Rows that change hands at most, the article's `max.poll.records`.
pub const TAKEOVER_MAX: u32 = 200;
/// Longer pauses belong into no measured operation.
const PAUSE_MAX: Span = Span::seconds(60);
/// Retries after a deadlock where none are named.
const DEADLOCK_RETRIES: u32 = 3;
const DEADLOCK_RETRIES_MAX: u32 = 100;
/// Hot orders where none are named.
const HOT_ORDERS: u64 = 10;
/// Zipf's exponent where none is named: the one of most published key-value benchmarks.
const EXPONENT: f64 = 0.99;
/// The old owner's time where none is named.
const OWNER_TIME: Span = Span(std::time::Duration::from_millis(100));

impl Design {
    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            Design::OneTransaction => "one_transaction",
            Design::TwoTransactions => "two_transactions",
            Design::BatchedClaims => "batched_claims",
        }
    }
}

impl Isolation {
    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read_committed",
            Isolation::RepeatableRead => "repeatable_read",
        }
    }
}

impl KeyOrder {
    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            KeyOrder::Sorted => "sorted",
            KeyOrder::AsDelivered => "as_delivered",
        }
    }
}

impl OwnerState {
    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            OwnerState::Idle => "idle",
            OwnerState::Executing => "executing",
            OwnerState::Waiting => "waiting",
            OwnerState::Committing => "committing",
        }
    }
}

impl OwnerEnds {
    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            OwnerEnds::Vanishes => "vanishes",
            OwnerEnds::GoesOn => "goes_on",
        }
    }
}

impl Locking {
    /// The word in files.
    pub fn name(self) -> &'static str {
        match self {
            Locking::Wait => "wait",
            Locking::NoWait => "nowait",
            Locking::SkipLocked => "skip_locked",
        }
    }
}

pub(super) fn hold(wire: &WireStep) -> Result<HoldSpec, String> {
    let batch = within("batch", wire.batch.unwrap_or(1), BATCH_MAX)?;
    let design = design(wire)?;
    let rows = wire.rows_per_transaction.unwrap_or(1);
    if rows == 0 || rows > batch {
        return Err(format!(
            "rows_per_transaction = {rows} is not from 1 to the batch, {batch}: a transaction holds messages of one \
             batch"
        ));
    }
    let retries = wire.deadlock_retries.unwrap_or(DEADLOCK_RETRIES);
    if retries > DEADLOCK_RETRIES_MAX {
        return Err(format!("deadlock_retries = {retries} is not from 0 to {DEADLOCK_RETRIES_MAX}"));
    }
    Ok(HoldSpec {
        design,
        batch,
        rows_per_transaction: rows,
        handler_time: pause("handler_time", wire.handler_time, Span::default())?,
        isolation: isolation(wire),
        key_order: match wire.key_order.unwrap_or_default() {
            WireKeyOrder::Sorted => KeyOrder::Sorted,
            WireKeyOrder::AsDelivered => KeyOrder::AsDelivered,
        },
        duplicate_share: super::read::share("duplicate_share", wire.duplicate_share.unwrap_or(0.0))?,
        deadlock_retries: retries,
    })
}

pub(super) fn contention(wire: &WireStep) -> Result<ContentionSpec, String> {
    let exponent = wire.exponent.unwrap_or(EXPONENT);
    if !(exponent.is_finite() && exponent >= 0.0) {
        return Err(format!("exponent = {exponent} is not 0 or above"));
    }
    let hot_orders = wire.hot_orders.unwrap_or(HOT_ORDERS);
    if hot_orders == 0 {
        return Err("hot_orders must be at least 1".to_owned());
    }
    Ok(ContentionSpec {
        consumers: hold(wire)?,
        hot_orders,
        exponent,
        rival_share: super::read::share("rival_share", wire.rival_share.unwrap_or(0.5))?,
        rival_time: pause("rival_time", wire.rival_time, Span::default())?,
    })
}

pub(super) fn rebalance(wire: &WireStep) -> Result<RebalanceSpec, String> {
    let owner_state = match wire.owner_state.ok_or("missing field `owner_state`")? {
        WireOwnerState::Idle => OwnerState::Idle,
        WireOwnerState::Executing => OwnerState::Executing,
        WireOwnerState::Waiting => OwnerState::Waiting,
        WireOwnerState::Committing => OwnerState::Committing,
    };
    if owner_state == OwnerState::Committing && wire.owner_time.is_some() {
        return Err("owner_time is for the other states: a COMMIT takes as long as it takes".to_owned());
    }
    Ok(RebalanceSpec {
        design: design(wire)?,
        batch: within("batch", wire.batch.unwrap_or(TAKEOVER_MAX), TAKEOVER_MAX)?,
        isolation: isolation(wire),
        owner_state,
        owner_ends: match wire.owner_ends.unwrap_or_default() {
            WireOwnerEnds::Vanishes => OwnerEnds::Vanishes,
            WireOwnerEnds::GoesOn => OwnerEnds::GoesOn,
        },
        owner_time: pause("owner_time", wire.owner_time, OWNER_TIME)?,
        locking: match wire.locking.unwrap_or_default() {
            WireLocking::Wait => Locking::Wait,
            WireLocking::Nowait => Locking::NoWait,
            WireLocking::SkipLocked => Locking::SkipLocked,
        },
    })
}

fn design(wire: &WireStep) -> Result<Design, String> {
    Ok(match wire.design.ok_or("missing field `design`")? {
        WireDesign::OneTransaction => Design::OneTransaction,
        WireDesign::TwoTransactions => Design::TwoTransactions,
        WireDesign::BatchedClaims => Design::BatchedClaims,
    })
}

fn isolation(wire: &WireStep) -> Isolation {
    match wire.isolation.unwrap_or_default() {
        WireIsolation::ReadCommitted => Isolation::ReadCommitted,
        WireIsolation::RepeatableRead => Isolation::RepeatableRead,
    }
}

fn within(name: &str, value: u32, most: u32) -> Result<u32, String> {
    match value {
        value if (1..=most).contains(&value) => Ok(value),
        value => Err(format!("{name} = {value} is not from 1 to {most}")),
    }
}

fn pause(name: &str, given: Option<Span>, otherwise: Span) -> Result<Span, String> {
    match given.unwrap_or(otherwise) {
        span if span <= PAUSE_MAX => Ok(span),
        span => Err(format!("{name} = {span} is longer than {PAUSE_MAX}")),
    }
}
