//! The way that a row's values take. There are three kinds of steps only, and the frequent one of each is a plain
//! comparison away: choosing among all encodings by a table of jumps, which processors foresee badly, took a
//! third of the time of making a record.

use super::{
    DayMemo, EncodeError, Encoding, Value, date, date_time, encode_text, in_range, misfit, timestamp,
};

/// How a value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A number, moved and checked.
    Number(NumberStep),
    /// DATE, DATETIME, TIMESTAMP.
    Time,
    /// Anything else.
    Other,
}

/// An integer or a label: `bias` is added, and the sum must lie in the `span` numbers above `low`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberStep {
    bytes: u8,
    signed: bool,
    label: bool,
    bias: u64,
    low: u64,
    span: u64,
}

impl Step {
    /// For that encoding.
    pub fn of(encoding: Encoding) -> Step {
        match encoding {
            Encoding::Integer { bytes, signed } => {
                let bits = 8 * u32::from(bytes);
                // Flipping the sign bit is adding it.
                let bias = if signed { 1 << (bits - 1) } else { 0 };
                let span = u64::MAX >> (64 - bits);
                Step::Number(NumberStep { bytes, signed, label: false, bias, low: 0, span })
            }
            Encoding::Enum { labels } => Step::Number(NumberStep {
                bytes: 1 + u8::from(labels > 255),
                signed: false,
                label: true,
                bias: 0,
                low: 1,
                span: u64::from(labels.saturating_sub(1)),
            }),
            Encoding::Date | Encoding::DateTime { .. } | Encoding::Timestamp { .. } => Step::Time,
            Encoding::Padded { .. } | Encoding::Variable { .. } | Encoding::Decimal { .. } => Step::Other,
        }
    }
}

/// Room behind a value's bytes that [`encode`] may write to: short values are stored as whole words.
pub const SLACK_BYTES: usize = 8;

/// Writes a value's bytes to the start of `out` and says how many; `out` must hold the encoding's most bytes
/// and [`SLACK_BYTES`] more.
///
/// The value is asked for once the step is known, so that the kinds of value that fit are looked at first.
#[inline(always)]
pub fn encode<'v>(
    step: Step,
    encoding: Encoding,
    values: &impl Fn(usize) -> Value<'v>,
    column: usize,
    memo: &mut DayMemo,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    let (bytes, word) = match step {
        Step::Number(step) => (u32::from(step.bytes), number(&step, values(column))?),
        Step::Time => match values(column) {
            Value::Micros(micros) => instant(encoding, micros, memo)?,
            Value::Day(day) if encoding == Encoding::Date => (3, date(day, memo)?),
            other => return Err(misfit(other)),
        },
        Step::Other => return encode_text(encoding, values(column), out),
    };
    out[..8].copy_from_slice(&(word << (64 - 8 * bytes)).to_be_bytes());
    Ok(bytes as usize)
}

#[inline(always)]
pub(super) fn number(step: &NumberStep, value: Value<'_>) -> Result<u64, EncodeError> {
    let number = match value {
        Value::Unsigned(number) if !step.label => {
            in_range(!step.signed || number <= i64::MAX as u64)?;
            number
        }
        Value::Signed(number) if !step.label => {
            in_range(step.signed || number >= 0)?;
            number as u64
        }
        Value::Label(ordinal) if step.label => u64::from(ordinal),
        other => return Err(misfit(other)),
    };
    let word = number.wrapping_add(step.bias);
    in_range(word.wrapping_sub(step.low) <= step.span).map(|()| word)
}

#[inline(always)]
fn instant(encoding: Encoding, micros: i64, memo: &mut DayMemo) -> Result<(u32, u64), EncodeError> {
    match encoding {
        Encoding::DateTime { fraction } => date_time(fraction, micros, memo),
        Encoding::Timestamp { fraction } => timestamp(fraction, micros),
        _ => Err(EncodeError::WrongKind),
    }
}
