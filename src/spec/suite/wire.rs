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
    pub statement: WireStatement,
    pub batch: Option<u32>,
    #[serde(default)]
    pub targets: WireTargets,
    pub exponent: Option<f64>,
    pub newest_share: Option<f64>,
    #[serde(default)]
    pub losing_share: f64,
    #[serde(default)]
    pub duplicate_share: f64,
    pub lease: Option<Span>,
    pub rate: OneOrMany<WireRate>,
    pub connections: Option<OneOrMany<u32>>,
    pub duration: Span,
    pub warm_up: Option<WireWarmUp>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WireWorkload {
    Claim,
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
