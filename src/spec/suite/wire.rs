//! The shape of a suite's file: strict, and close to what stands in it. See `datasets/suites/`.

use std::fmt;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::units::{PerSecond, Rows, Span};

/// A suite's file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireSuite {
    pub description: String,
    pub dataset: String,
    pub rows: Option<Rows>,
    pub days: Option<u32>,
    #[serde(rename = "step")]
    pub steps: Vec<Spanned<WireStep>>,
}

/// One `[[step]]`; `rate` and `connections` may be lists, which are multiplied out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireStep {
    pub name: String,
    pub workload: WireWorkload,
    pub statement: Option<WireStatement>,
    pub batch: Option<u32>,
    pub targets: Option<WireTargets>,
    pub exponent: Option<f64>,
    pub newest_share: Option<f64>,
    pub losing_share: Option<f64>,
    pub duplicate_share: Option<f64>,
    pub lease: Option<Span>,
    pub design: Option<WireDesign>,
    pub rows_per_transaction: Option<u32>,
    pub handler_time: Option<Span>,
    pub isolation: Option<WireIsolation>,
    pub key_order: Option<WireKeyOrder>,
    pub deadlock_retries: Option<u32>,
    pub hot_orders: Option<u64>,
    pub rival_share: Option<f64>,
    pub rival_time: Option<Span>,
    pub owner_state: Option<WireOwnerState>,
    pub owner_ends: Option<WireOwnerEnds>,
    pub owner_time: Option<Span>,
    pub locking: Option<WireLocking>,
    pub rate: OneOrMany<WireRate>,
    pub connections: Option<OneOrMany<u32>>,
    pub duration: Span,
    pub warm_up: Option<WireWarmUp>,
}

/// A key that only some workloads take: its name, whether a step gives it, and those workloads.
type Key = (&'static str, fn(&WireStep) -> bool, &'static [WireWorkload]);

const KEYS: &[Key] = {
    use WireWorkload::{Claim, Contention, Hold, Rebalance};
    &[
        ("statement", |step| step.statement.is_some(), &[Claim]),
        ("targets", |step| step.targets.is_some(), &[Claim]),
        ("newest_share", |step| step.newest_share.is_some(), &[Claim]),
        ("losing_share", |step| step.losing_share.is_some(), &[Claim]),
        ("lease", |step| step.lease.is_some(), &[Claim]),
        ("exponent", |step| step.exponent.is_some(), &[Claim, Contention]),
        ("duplicate_share", |step| step.duplicate_share.is_some(), &[Claim, Hold, Contention]),
        ("batch", |step| step.batch.is_some(), &[Claim, Hold, Contention, Rebalance]),
        ("design", |step| step.design.is_some(), &[Hold, Contention, Rebalance]),
        ("isolation", |step| step.isolation.is_some(), &[Hold, Contention, Rebalance]),
        ("rows_per_transaction", |step| step.rows_per_transaction.is_some(), &[Hold, Contention]),
        ("handler_time", |step| step.handler_time.is_some(), &[Hold, Contention]),
        ("key_order", |step| step.key_order.is_some(), &[Hold, Contention]),
        ("deadlock_retries", |step| step.deadlock_retries.is_some(), &[Hold, Contention]),
        ("hot_orders", |step| step.hot_orders.is_some(), &[Contention]),
        ("rival_share", |step| step.rival_share.is_some(), &[Contention]),
        ("rival_time", |step| step.rival_time.is_some(), &[Contention]),
        ("owner_state", |step| step.owner_state.is_some(), &[Rebalance]),
        ("owner_ends", |step| step.owner_ends.is_some(), &[Rebalance]),
        ("owner_time", |step| step.owner_time.is_some(), &[Rebalance]),
        ("locking", |step| step.locking.is_some(), &[Rebalance]),
    ]
};

impl WireStep {
    /// The first key that is given and that the step's workload does not take, with those that do.
    pub fn foreign_key(&self) -> Option<String> {
        let foreign =
            KEYS.iter().find(|(_, is_given, takers)| is_given(self) && !takers.contains(&self.workload));
        let (key, _, takers) = foreign?;
        let takers: Vec<&str> = takers.iter().map(|taker| taker.name()).collect();
        let (workload, takers) = (self.workload.name(), takers.join(", "));
        Some(format!("{key} is no key of workload \"{workload}\", but of {takers}: take it out"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireWorkload {
    Claim,
    Hold,
    Contention,
    Rebalance,
}

impl WireWorkload {
    fn name(self) -> &'static str {
        match self {
            WireWorkload::Claim => "claim",
            WireWorkload::Hold => "hold",
            WireWorkload::Contention => "contention",
            WireWorkload::Rebalance => "rebalance",
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireDesign {
    OneTransaction,
    TwoTransactions,
    BatchedClaims,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireIsolation {
    ReadCommitted,
    #[default]
    RepeatableRead,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireKeyOrder {
    Sorted,
    #[default]
    AsDelivered,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireOwnerState {
    Idle,
    Executing,
    Waiting,
    Committing,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireOwnerEnds {
    #[default]
    Vanishes,
    GoesOn,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireLocking {
    #[default]
    Wait,
    Nowait,
    SkipLocked,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireStatement {
    FullKey,
    NoPartitionKey,
    SweepSkipLocked,
    SweepKeyList,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireTargets {
    #[default]
    Uniform,
    Zipfian,
    NewestDay,
}

/// `warm_up = { at_least = "3s", at_most = "15s" }`
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a pair such as { at_least = \"3s\", at_most = \"15s\" }")]
pub(super) struct WireWarmUp {
    pub at_least: Span,
    pub at_most: Span,
}

/// A rate, or `"max"` for a closed loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum WireRate {
    Open(PerSecond),
    Max,
}

impl WireRate {
    const EXPECTED: &'static str = "a rate above zero such as \"2000/s\", or \"max\" for a closed loop";
}

impl std::str::FromStr for WireRate {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "max" => Ok(WireRate::Max),
            text => text.parse().map(WireRate::Open).map_err(|_| Self::EXPECTED),
        }
    }
}

impl<'de> Deserialize<'de> for WireRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor::<WireRate>::default())
    }
}

/// One value, or a list of values to run through.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OneOrMany<T>(pub Vec<T>);

/// A value that stands alone: what it is made of, and what is expected instead.
trait Scalar: Sized {
    fn expected() -> &'static str;
    fn from_text(text: &str) -> Option<Self>;
    fn from_number(number: f64) -> Option<Self>;
}

impl Scalar for WireRate {
    fn expected() -> &'static str {
        WireRate::EXPECTED
    }
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
    fn from_number(number: f64) -> Option<Self> {
        PerSecond::new(number).map(WireRate::Open)
    }
}

impl Scalar for u32 {
    fn expected() -> &'static str {
        "a whole number of at least 1"
    }
    fn from_text(_: &str) -> Option<Self> {
        None
    }
    fn from_number(number: f64) -> Option<Self> {
        (number.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&number)).then_some(number as u32)
    }
}

struct ScalarVisitor<T>(std::marker::PhantomData<T>);

impl<T> Default for ScalarVisitor<T> {
    fn default() -> Self {
        ScalarVisitor(std::marker::PhantomData)
    }
}

impl<T: Scalar> Visitor<'_> for ScalarVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::expected())
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        T::from_number(number as f64).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        T::from_number(number).ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
    }
}

struct OneOrManyVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Scalar> Visitor<'de> for OneOrManyVisitor<T> {
    type Value = OneOrMany<T>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or a list of such", T::expected())
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        ScalarVisitor::default().visit_str(text).map(|one| OneOrMany(vec![one]))
    }
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        ScalarVisitor::default().visit_i64(number).map(|one| OneOrMany(vec![one]))
    }
    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        ScalarVisitor::default().visit_f64(number).map(|one| OneOrMany(vec![one]))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(ScalarValue(value)) = list.next_element()? {
            values.push(value);
        }
        if values.is_empty() {
            return Err(de::Error::invalid_length(0, &self));
        }
        Ok(OneOrMany(values))
    }
}

struct ScalarValue<T>(T);

impl<'de, T: Scalar> Deserialize<'de> for ScalarValue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor::default()).map(ScalarValue)
    }
}

impl<'de, T: Scalar> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor(std::marker::PhantomData))
    }
}
