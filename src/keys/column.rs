//! One column's maker: a recipe compiled against the column's kind.

use super::days::{Day, Days};
use super::error::MakeError;
use super::key::{DIGITS_MAX, Digits, Numbers};
use super::literal::{TIMESTAMP_SECONDS, integer_range, kind_text, literal_cell};
use super::mix::{hash, key_for, scale};
use super::row::Cell;
use super::status::StatusBlocks;
use crate::spec::calendar::DAY_MICROS;
use crate::spec::dataset::{Dataset, KeyOrder, KeyShape, Recipe};
use crate::spec::table::{Column, ColumnKind};

/// What pseudo-random values are keyed by; fixed for ever.
const PURPOSE_VALUE: u64 = 6;
/// Digits of pseudo-random text.
const RANDOM_TEXT_DIGITS: u8 = 12;
/// Bytes of keys and pseudo-random values in a VARBINARY.
const VARBINARY_BYTES: u16 = 16;

/// How a column's cell follows from the row number.
#[derive(Debug, Clone)]
pub(super) enum ColumnMaker {
    /// Always the same.
    Fixed(Cell),
    /// `start` + row, unsigned.
    UnsignedSequence(u64),
    /// `start` + row, signed.
    SignedSequence(i64),
    /// The row's day plus so many days.
    Date(i32),
    /// The row's midnight plus so many microseconds.
    Offset(i64),
    /// An instant within the day: one of `steps` of `step_micros`.
    InstantInDay { key: u64, steps: u64, step_micros: i64 },
    /// `low` + one of `span` numbers (0: all of 2^64), unsigned.
    UnsignedHash { key: u64, span: u64 },
    /// The same, signed.
    SignedHash { key: u64, low: i64, span: u64 },
    /// One of `span` unscaled decimals.
    DecimalHash { key: u64, span: u64 },
    /// One of the labels.
    EnumHash { key: u64, labels: u64 },
    /// Pseudo-random digits.
    TextHash { digits: Digits, key: u64 },
    /// Pseudo-random bytes.
    BytesHash { key: u64, length: u16 },
    /// One of the cells; each with the hash behind its last one.
    Choice { key: u64, cells: Vec<(u64, Cell)> },
    /// The claim's status.
    Status(StatusBlocks),
    /// A key.
    Key { numbers: Numbers, rows_a_day_max: u64, form: KeyForm },
}

/// How a key's number becomes a cell.
#[derive(Debug, Clone)]
pub(super) enum KeyForm {
    Unsigned,
    Signed,
    /// `prefix` in the arena of constants, then digits.
    Text {
        prefix: (u32, u32),
        digits: Digits,
    },
    /// The number's low `number_bytes` bytes, big-endian, then random ones.
    Bytes {
        number_bytes: u16,
        length: u16,
        key: u64,
    },
}

impl ColumnMaker {
    /// Makes the cell of a row that lies on a day.
    #[inline]
    pub(super) fn cell(&self, row: u64, day: &Day, arena: &mut Vec<u8>) -> Cell {
        match self {
            ColumnMaker::Fixed(cell) => *cell,
            ColumnMaker::UnsignedSequence(start) => Cell::UInt(start.wrapping_add(row)),
            ColumnMaker::SignedSequence(start) => Cell::Int(start.wrapping_add_unsigned(row)),
            ColumnMaker::Date(days) => Cell::Date(day.day.wrapping_add(*days)),
            ColumnMaker::Offset(micros) => Cell::Instant(i64::from(day.day) * DAY_MICROS + micros),
            ColumnMaker::InstantInDay { key, steps, step_micros } => {
                Cell::Instant(instant_in_day(*key, *steps, *step_micros, row, day))
            }
            ColumnMaker::UnsignedHash { key, span } => Cell::UInt(spread(hash(*key, row), *span)),
            ColumnMaker::SignedHash { key, low, span } => {
                Cell::Int(low.wrapping_add_unsigned(spread(hash(*key, row), *span)))
            }
            ColumnMaker::DecimalHash { key, span } => Cell::Decimal(scale(hash(*key, row), *span) as i64),
            ColumnMaker::EnumHash { key, labels } => Cell::Enum(scale(hash(*key, row), *labels) as u16 + 1),
            ColumnMaker::TextHash { digits, key } => {
                let start = arena.len() as u32;
                digits.write(hash(*key, row), row, arena);
                Cell::Bytes { start, length: arena.len() as u32 - start }
            }
            ColumnMaker::BytesHash { key, length } => {
                let start = arena.len() as u32;
                append_random_bytes(*key, row, *length, arena);
                Cell::Bytes { start, length: u32::from(*length) }
            }
            ColumnMaker::Choice { key, cells } => {
                let drawn = hash(*key, row) >> 1;
                cells.iter().find(|(end, _)| drawn < *end).map_or(Cell::Null, |(_, cell)| *cell)
            }
            ColumnMaker::Status(blocks) => blocks.status(row, day),
            ColumnMaker::Key { numbers, rows_a_day_max, form } => {
                form.cell(numbers.number(row, day, *rows_a_day_max), row, arena)
            }
        }
    }
}

impl ColumnMaker {
    /// Whether all bytes that it makes are printable ASCII without a backslash.
    pub(super) fn is_plain_text(&self, constants: &[u8]) -> bool {
        let plain = |cell: &Cell| match cell {
            Cell::Bytes { start, length } => constants[*start as usize..(*start + *length) as usize]
                .iter()
                .all(|byte| (0x20..0x7f).contains(byte) && *byte != b'\\'),
            _ => true,
        };
        match self {
            ColumnMaker::Fixed(cell) => plain(cell),
            ColumnMaker::Choice { cells, .. } => cells.iter().all(|(_, cell)| plain(cell)),
            ColumnMaker::Status(blocks) => blocks.cells().all(|cell| plain(&cell)),
            ColumnMaker::BytesHash { .. } | ColumnMaker::Key { form: KeyForm::Bytes { .. }, .. } => false,
            _ => true,
        }
    }
}

impl KeyForm {
    #[inline]
    fn cell(&self, number: u64, row: u64, arena: &mut Vec<u8>) -> Cell {
        let start = arena.len() as u32;
        match self {
            KeyForm::Unsigned => return Cell::UInt(number),
            KeyForm::Signed => return Cell::Int(number as i64),
            KeyForm::Text { prefix: (from, length), digits } => {
                if *length > 0 {
                    arena.extend_from_within(*from as usize..(*from + *length) as usize);
                }
                digits.write(number, row, arena);
            }
            KeyForm::Bytes { number_bytes, length, key } => {
                arena.extend_from_slice(&number.to_be_bytes()[8 - usize::from(*number_bytes)..]);
                append_random_bytes(*key, row, length - number_bytes, arena);
            }
        }
        Cell::Bytes { start, length: arena.len() as u32 - start }
    }
}

#[inline]
pub(super) fn instant_in_day(key: u64, steps: u64, step_micros: i64, row: u64, day: &Day) -> i64 {
    let step = scale(hash(key, row), steps) as i64;
    i64::from(day.day) * DAY_MICROS + step * step_micros
}

#[inline]
pub(super) fn spread(hash: u64, span: u64) -> u64 {
    if span == 0 { hash } else { scale(hash, span) }
}

fn append_random_bytes(key: u64, row: u64, length: u16, arena: &mut Vec<u8>) {
    let start = arena.len();
    arena.resize(start + usize::from(length), 0);
    write_random_bytes(key, row, &mut arena[start..]);
}

#[inline]
pub(super) fn write_random_bytes(key: u64, row: u64, out: &mut [u8]) {
    for (word, bytes) in (1..).zip(out.chunks_mut(8)) {
        bytes.copy_from_slice(&hash(key.wrapping_add(word), row).to_le_bytes()[..bytes.len()]);
    }
}

/// What is needed to compile a recipe.
pub(super) struct Compiler<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) days: Days,
    /// Bytes that rows refer to unchanged.
    pub(super) constants: Vec<u8>,
}

impl Compiler<'_> {
    /// Compiles a column's recipe.
    pub(super) fn compile(&mut self, index: usize) -> Result<ColumnMaker, MakeError> {
        let dataset = self.dataset;
        let column = &dataset.table.columns[index];
        let Some(recipe) = &dataset.recipes[index] else { return Ok(ColumnMaker::Fixed(Cell::Generated)) };
        if let Some(claim) = dataset.claim.as_ref().filter(|claim| claim.status == index)
            && let Some(blocks) = self.status_blocks(column, recipe, &claim.pending)?
        {
            return Ok(ColumnMaker::Status(blocks));
        }
        let key = key_for(dataset.seed, PURPOSE_VALUE, index as u64);
        match recipe {
            Recipe::SortedKey(shape) => self.key(index, shape, true),
            Recipe::ShuffledKey(shape) => self.key(index, shape, false),
            Recipe::Sequence { start } => sequence(column, *start, self.days.rows()),
            Recipe::Day => self.day_offset(column, 0),
            Recipe::DayOffset { seconds } => self.day_offset(column, *seconds),
            Recipe::Instant => self.instant(column, key),
            Recipe::Hash { below } => self.hash(index, *below, key),
            Recipe::Choice(values) => self.choice(column, values, key),
            Recipe::Constant(literal) => {
                literal_cell(column, literal, &mut self.constants).map(ColumnMaker::Fixed)
            }
            Recipe::Null if column.nullable => Ok(ColumnMaker::Fixed(Cell::Null)),
            Recipe::Null => Err(misfit(column, "null", "the column is NOT NULL")),
        }
    }

    /// The claim's status laid out in blocks; `None` for recipes that have no weights.
    pub(super) fn status_blocks(
        &mut self,
        column: &Column,
        recipe: &Recipe,
        pending: &str,
    ) -> Result<Option<StatusBlocks>, MakeError> {
        let one = |literal: &String| vec![(literal.clone(), 1)];
        let weights = match (recipe, &column.kind) {
            (Recipe::Choice(values), _) => values.clone(),
            (Recipe::Constant(literal), _) => one(literal),
            (Recipe::Hash { .. }, ColumnKind::Enum(labels)) => labels.iter().flat_map(one).collect(),
            _ => return Ok(None),
        };
        let pending = literal_cell(column, pending, &mut self.constants)?;
        let mut cells = Vec::with_capacity(weights.len());
        for (literal, weight) in &weights {
            let cell = literal_cell(column, literal, &mut self.constants)?;
            // Texts are told apart by their bytes, not by where they lie.
            let cell = if self.same_bytes(cell, pending) { pending } else { cell };
            cells.push((cell, *weight));
        }
        match StatusBlocks::new(&cells, pending, self.dataset.seed) {
            Some(blocks) => Ok(Some(blocks)),
            None => Err(misfit(
                column,
                "choice",
                "the weights of a claim's status must add up to 1 to 4096 (after shortening)",
            )),
        }
    }

    fn same_bytes(&self, a: Cell, b: Cell) -> bool {
        let bytes = |cell| match cell {
            Cell::Bytes { start, length } => Some(&self.constants[start as usize..(start + length) as usize]),
            _ => None,
        };
        a == b || (bytes(a).is_some() && bytes(a) == bytes(b))
    }

    fn key(&mut self, index: usize, shape: &KeyShape, sorted: bool) -> Result<ColumnMaker, MakeError> {
        let dataset = self.dataset;
        let column = &dataset.table.columns[index];
        let name = if sorted { "sorted_key" } else { "shuffled_key" };
        let (form, bits) = self.key_form(index, shape, name)?;
        let in_order = dataset.key_order == KeyOrder::Sorted;
        let per_day = dataset.partition_of_day(0).is_some();
        let numbers = match sorted {
            true => Numbers::sorted(&self.days, per_day, in_order, bits, dataset.seed, index as u64),
            false => Numbers::shuffled(&self.days, bits, dataset.seed, index as u64),
        };
        let numbers = numbers.ok_or_else(|| MakeError::KeySpaceTooSmall {
            column: column.name.clone(),
            values: 1u128 << bits,
            rows: self.days.rows(),
        })?;
        Ok(ColumnMaker::Key { numbers, rows_a_day_max: self.days.rows_a_day_max(), form })
    }

    /// A key's form and the bits of its number.
    fn key_form(
        &mut self,
        index: usize,
        shape: &KeyShape,
        recipe: &'static str,
    ) -> Result<(KeyForm, u32), MakeError> {
        let column = &self.dataset.table.columns[index];
        let seed = self.dataset.seed;
        match &column.kind {
            ColumnKind::Integer { bytes, unsigned: true } => Ok((KeyForm::Unsigned, u32::from(*bytes) * 8)),
            ColumnKind::Integer { bytes, unsigned: false } => {
                Ok((KeyForm::Signed, u32::from(*bytes) * 8 - 1))
            }
            ColumnKind::Binary(length) | ColumnKind::VarBinary(length) if *length > 0 => {
                let length = match column.kind {
                    ColumnKind::Binary(_) => *length,
                    _ => (*length).min(VARBINARY_BYTES),
                };
                let number_bytes = length.min(8);
                let key = key_for(seed, PURPOSE_VALUE, index as u64);
                Ok((KeyForm::Bytes { number_bytes, length, key }, u32::from(number_bytes) * 8))
            }
            ColumnKind::Char(text) | ColumnKind::VarChar(text) => {
                let room = usize::from(text.characters).saturating_sub(shape.prefix.chars().count());
                let digits = shape.digits.unwrap_or_else(|| room.min(usize::from(DIGITS_MAX)) as u8);
                if digits == 0 || digits > DIGITS_MAX || usize::from(digits) > room {
                    let reason =
                        format!("the prefix leaves room for {room} digits, and 1 to {DIGITS_MAX} are made");
                    return Err(misfit(column, recipe, &reason));
                }
                if !shape.prefix.bytes().all(|byte| (0x21..=0x7e).contains(&byte) && byte != b'\\') {
                    return Err(misfit(
                        column,
                        recipe,
                        "the prefix must be printable ascii without spaces and backslashes",
                    ));
                }
                let digits = Digits::new(shape.alphabet, digits, seed, index as u64);
                let start = self.constants.len() as u32;
                self.constants.extend_from_slice(shape.prefix.as_bytes());
                let prefix = (start, shape.prefix.len() as u32);
                Ok((KeyForm::Text { prefix, digits }, digits.bits()))
            }
            _ => Err(misfit(column, recipe, "keys are made in integer, text and binary columns")),
        }
    }

    fn day_offset(&self, column: &Column, seconds: i64) -> Result<ColumnMaker, MakeError> {
        match column.kind {
            ColumnKind::Date => {
                let days = i32::try_from(seconds.div_euclid(86_400))
                    .map_err(|_| misfit(column, "day_offset", "the offset leaves the calendar"))?;
                Ok(ColumnMaker::Date(days))
            }
            ColumnKind::DateTime { .. } | ColumnKind::Timestamp { .. } => {
                let micros = seconds.checked_mul(1_000_000).filter(|micros| micros.abs() < 1 << 60);
                let micros =
                    micros.ok_or_else(|| misfit(column, "day_offset", "the offset leaves the calendar"))?;
                self.check_timestamp(column, micros, micros)?;
                Ok(ColumnMaker::Offset(micros))
            }
            _ => Err(misfit(column, "day", "only DATE, DATETIME and TIMESTAMP hold days")),
        }
    }

    fn instant(&self, column: &Column, key: u64) -> Result<ColumnMaker, MakeError> {
        match column.kind {
            ColumnKind::Date => Ok(ColumnMaker::Date(0)),
            ColumnKind::DateTime { fraction } | ColumnKind::Timestamp { fraction } => {
                self.check_timestamp(column, 0, DAY_MICROS - 1)?;
                let step_micros = 10i64.pow(6 - u32::from(fraction));
                Ok(ColumnMaker::InstantInDay { key, steps: (DAY_MICROS / step_micros) as u64, step_micros })
            }
            _ => Err(misfit(column, "instant", "only DATE, DATETIME and TIMESTAMP hold instants")),
        }
    }

    /// A TIMESTAMP's range, over all days and these microseconds after midnight.
    fn check_timestamp(&self, column: &Column, first_micros: i64, last_micros: i64) -> Result<(), MakeError> {
        if !matches!(column.kind, ColumnKind::Timestamp { .. }) {
            return Ok(());
        }
        let seconds = |day: u32, micros: i64| {
            (i64::from(self.days.day(day).day) * DAY_MICROS + micros).div_euclid(1_000_000)
        };
        let first = seconds(0, first_micros);
        let last = seconds(self.days.count() - 1, last_micros);
        match TIMESTAMP_SECONDS.contains(&first) && TIMESTAMP_SECONDS.contains(&last) {
            true => Ok(()),
            false => Err(misfit(column, "day", "a TIMESTAMP ends on 2038-01-19: use DATETIME or other days")),
        }
    }

    fn hash(&self, index: usize, below: Option<u64>, key: u64) -> Result<ColumnMaker, MakeError> {
        let column = &self.dataset.table.columns[index];
        if below == Some(0) {
            return Err(misfit(column, "hash", "`below` must be at least 1"));
        }
        match &column.kind {
            ColumnKind::Integer { bytes, unsigned } => {
                let (low, high) = integer_range(*bytes, *unsigned);
                let (low, values) = match below {
                    Some(below) => (0, i128::from(below)),
                    None => (low, high - low + 1),
                };
                if low + values - 1 > high {
                    return Err(misfit(column, "hash", &format!("it holds numbers up to {high}")));
                }
                let span = u64::try_from(values).unwrap_or(0); // 0 stands for 2^64
                Ok(match unsigned {
                    true => ColumnMaker::UnsignedHash { key, span },
                    false => ColumnMaker::SignedHash { key, low: low as i64, span },
                })
            }
            ColumnKind::Decimal { precision, .. } => {
                let values = 10u64.pow(u32::from(*precision).min(18));
                Ok(ColumnMaker::DecimalHash { key, span: below.unwrap_or(values).min(values) })
            }
            ColumnKind::Enum(labels) => Ok(ColumnMaker::EnumHash { key, labels: labels.len() as u64 }),
            ColumnKind::Char(text) | ColumnKind::VarChar(text) => {
                let digits = text.characters.min(u16::from(RANDOM_TEXT_DIGITS)) as u8;
                let digits = Digits::new(Default::default(), digits, self.dataset.seed, index as u64);
                Ok(ColumnMaker::TextHash { digits, key })
            }
            ColumnKind::Binary(length) => Ok(ColumnMaker::BytesHash { key, length: *length }),
            ColumnKind::VarBinary(length) => {
                Ok(ColumnMaker::BytesHash { key, length: (*length).min(VARBINARY_BYTES) })
            }
            ColumnKind::Date => Ok(ColumnMaker::Date(0)),
            ColumnKind::DateTime { .. } | ColumnKind::Timestamp { .. } => self.instant(column, key),
        }
    }

    fn choice(
        &mut self,
        column: &Column,
        values: &[(String, u32)],
        key: u64,
    ) -> Result<ColumnMaker, MakeError> {
        let sum: u64 = values.iter().map(|(_, weight)| u64::from(*weight)).sum();
        if sum == 0 {
            return Err(misfit(column, "choice", "the weights add up to 0"));
        }
        let mut before = 0u64;
        let mut cells = Vec::with_capacity(values.len());
        for (literal, weight) in values {
            before += u64::from(*weight);
            // Draws are 63 bits wide, so that the last end, 2^63, is above every one of them.
            let end = ((u128::from(before) << 63) / u128::from(sum)) as u64;
            cells.push((end, literal_cell(column, literal, &mut self.constants)?));
        }
        Ok(ColumnMaker::Choice { key, cells })
    }
}

fn sequence(column: &Column, start: u64, rows: u64) -> Result<ColumnMaker, MakeError> {
    let ColumnKind::Integer { bytes, unsigned } = column.kind else {
        return Err(misfit(column, "sequence", "only integer columns count"));
    };
    let (_, high) = integer_range(bytes, unsigned);
    if i128::from(start) + i128::from(rows) - 1 > high {
        let values = u128::try_from(high + 1 - i128::from(start)).unwrap_or(0);
        return Err(MakeError::KeySpaceTooSmall { column: column.name.clone(), values, rows });
    }
    Ok(match unsigned {
        true => ColumnMaker::UnsignedSequence(start),
        // Not above the column's highest value, so within i64.
        false => ColumnMaker::SignedSequence(start as i64),
    })
}

fn misfit(column: &Column, recipe: &'static str, reason: &str) -> MakeError {
    MakeError::RecipeDoesNotFit {
        column: column.name.clone(),
        kind: kind_text(&column.kind),
        recipe,
        reason: reason.to_owned(),
    }
}
