//! Keys that would collide: found from recipes and collations, before anything is loaded.

use super::error::MakeError;
use super::key::{DIGITS_MAX, Digits};
use crate::spec::dataset::{Alphabet, Dataset, KeyShape, Recipe};
use crate::spec::table::{ColumnKind, KeyPart, Text};

/// Whether a collation takes `a` and `A` for the same.
pub(super) fn ignores_case(collation: &str) -> bool {
    collation.ends_with("_ci")
}

/// Every unique key holds a column whose values never repeat, under that column's collation.
pub(super) fn check(dataset: &Dataset) -> Result<(), MakeError> {
    let table = &dataset.table;
    let primary = ("PRIMARY KEY".to_owned(), &table.primary_key);
    let unique = table.indexes.iter().filter(|index| index.unique);
    let unique = unique.map(|index| (format!("UNIQUE KEY {}", index.name), &index.parts));
    for (key, parts) in std::iter::once(primary).chain(unique).filter(|(_, parts)| !parts.is_empty()) {
        check_key(dataset, &key, parts)?;
    }
    Ok(())
}

fn check_key(dataset: &Dataset, key: &str, parts: &[KeyPart]) -> Result<(), MakeError> {
    if dataset.rows.0 <= 1 {
        return Ok(());
    }
    let mut reasons = Vec::new();
    for part in parts {
        match why_values_repeat(dataset, part) {
            None => return Ok(()),
            Some(reason) => reasons.push(format!("{} {reason}", dataset.table.columns[part.column].name)),
        }
    }
    let reason = format!(
        "no column of it tells all rows apart ({}); make one of them by sorted_key, shuffled_key or sequence",
        reasons.join("; ")
    );
    Err(MakeError::KeysCollide { key: key.to_owned(), reason })
}

/// Why two rows may have the same value in a key's part, or `None` when they cannot.
fn why_values_repeat(dataset: &Dataset, part: &KeyPart) -> Option<String> {
    let kind = &dataset.table.columns[part.column].kind;
    match dataset.recipes[part.column].as_ref() {
        Some(Recipe::Sequence { .. }) => None,
        Some(Recipe::SortedKey(shape) | Recipe::ShuffledKey(shape)) => match kind {
            ColumnKind::Char(text) | ColumnKind::VarChar(text) => why_digits_repeat(shape, text, part.prefix),
            ColumnKind::Binary(_) | ColumnKind::VarBinary(_) => {
                let short = part.prefix.is_some_and(|bytes| bytes < 8);
                short.then(|| "is in the key by less than its first 8 bytes".to_owned())
            }
            _ => None,
        },
        // A row's value in a generated column is the server's; it may well be unique, we cannot know.
        None => Some("is generated".to_owned()),
        Some(_) => Some("repeats its values".to_owned()),
    }
}

fn why_digits_repeat(shape: &KeyShape, text: &Text, prefix: Option<u16>) -> Option<String> {
    if shape.alphabet == Alphabet::Base64 && ignores_case(&text.collation) {
        return Some(format!("has digits in both cases, which {} takes for the same", text.collation));
    }
    let digits = Digits::new(shape.alphabet, shape.digits.unwrap_or(DIGITS_MAX), 0, 0);
    let needed = shape.prefix.chars().count() as u32 + digits.significant();
    let short = prefix.is_some_and(|characters| u32::from(characters) < needed);
    short.then(|| format!("is in the key by less than the {needed} characters that tell keys apart"))
}
