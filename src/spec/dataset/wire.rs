//! `dataset.toml` as it is written. What it may say is checked here, with the line; what it means
//! for the table's columns is decided in `read`.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use super::{Alphabet, DatasetError, Fill, KeyOrder, KeyShape, PartitionRule, Recipe};
use crate::spec::calendar::parse_date;
use crate::units::Rows;

/// The file.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct DatasetWire {
    pub(super) description: Option<String>,
    pub(super) rows: Option<Rows>,
    pub(super) days: Option<u32>,
    last_day: Option<Spanned<String>>,
    pub(super) seed: Option<u64>,
    key_order: Option<KeyOrderWire>,
    fill: Option<FillWire>,
    partitions: Option<PartitionsWire>,
    pub(super) claim: Option<Spanned<ClaimWire>>,
    #[serde(default)]
    pub(super) columns: BTreeMap<Spanned<String>, Spanned<RecipeWire>>,
}

#[derive(Debug, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum KeyOrderWire {
    Sorted,
    Random,
}

#[derive(Debug, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum FillWire {
    Fresh,
    Aged,
}

#[derive(Debug, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum PartitionsWire {
    Daily,
    AsWritten,
}

/// `[claim]`: all five columns, and the two labels.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimWire {
    pub(super) status: String,
    pub(super) pending: String,
    pub(super) done: String,
    pub(super) token: String,
    pub(super) owner: String,
    pub(super) lease_until: String,
}

/// `[columns.x]`: one flat table, so that an unknown key is told with its line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecipeWire {
    make: MakeWire,
    prefix: Option<String>,
    digits: Option<u8>,
    alphabet: Option<AlphabetWire>,
    start: Option<u64>,
    seconds: Option<i64>,
    below: Option<u64>,
    values: Option<Vec<ChoiceWire>>,
    value: Option<String>,
}

#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum MakeWire {
    SortedKey,
    ShuffledKey,
    Sequence,
    Day,
    Instant,
    DayOffset,
    Hash,
    Choice,
    Constant,
    Null,
}

#[derive(Debug, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum AlphabetWire {
    Base32,
    Base64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChoiceWire {
    value: String,
    weight: u32,
}

/// The file's text with its name, for errors.
pub(super) struct Toml<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Toml<'_> {
    pub(super) fn parse(&self) -> Result<DatasetWire, DatasetError> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error_at(at, error.message().to_owned())
        })
    }

    pub(super) fn error_at(&self, byte: usize, what: String) -> DatasetError {
        let line = self.text[..byte.min(self.text.len())].matches('\n').count() + 1;
        DatasetError::Toml { file: self.file.to_owned(), line, what }
    }
}

impl DatasetWire {
    pub(super) fn last_day(&self, toml: &Toml<'_>) -> Result<Option<i32>, DatasetError> {
        let Some(written) = &self.last_day else { return Ok(None) };
        match parse_date(written.get_ref()) {
            Some(day) => Ok(Some(day)),
            None => {
                let what = format!("last_day = `{}` is not a day such as 2026-01-07", written.get_ref());
                Err(toml.error_at(written.span().start, what))
            }
        }
    }

    pub(super) fn key_order(&self) -> KeyOrder {
        match self.key_order {
            None | Some(KeyOrderWire::Sorted) => KeyOrder::Sorted,
            Some(KeyOrderWire::Random) => KeyOrder::Random,
        }
    }

    pub(super) fn fill(&self) -> Fill {
        match self.fill {
            None | Some(FillWire::Fresh) => Fill::Fresh,
            Some(FillWire::Aged) => Fill::Aged,
        }
    }

    pub(super) fn partitions(&self) -> Option<PartitionRule> {
        self.partitions.map(|rule| match rule {
            PartitionsWire::Daily => PartitionRule::Daily,
            PartitionsWire::AsWritten => PartitionRule::AsWritten,
        })
    }
}

impl RecipeWire {
    /// The recipe, or which setting is missing or too much.
    pub(super) fn recipe(&self) -> Result<Recipe, String> {
        self.refuse_settings_of_other_kinds()?;
        let need =
            |setting: &str| format!("`{setting}` is missing: make = \"{}\" needs it", self.make.name());
        Ok(match self.make {
            MakeWire::SortedKey => Recipe::SortedKey(self.shape()),
            MakeWire::ShuffledKey => Recipe::ShuffledKey(self.shape()),
            MakeWire::Sequence => Recipe::Sequence { start: self.start.unwrap_or(0) },
            MakeWire::Day => Recipe::Day,
            MakeWire::Instant => Recipe::Instant,
            MakeWire::DayOffset => {
                Recipe::DayOffset { seconds: self.seconds.ok_or_else(|| need("seconds"))? }
            }
            MakeWire::Hash => Recipe::Hash { below: self.below },
            MakeWire::Choice => {
                let values = self.values.as_ref().ok_or_else(|| need("values"))?;
                Recipe::Choice(values.iter().map(|choice| (choice.value.clone(), choice.weight)).collect())
            }
            MakeWire::Constant => Recipe::Constant(self.value.clone().ok_or_else(|| need("value"))?),
            MakeWire::Null => Recipe::Null,
        })
    }

    fn shape(&self) -> KeyShape {
        let alphabet = match self.alphabet {
            None | Some(AlphabetWire::Base32) => Alphabet::Base32,
            Some(AlphabetWire::Base64) => Alphabet::Base64,
        };
        KeyShape { prefix: self.prefix.clone().unwrap_or_default(), digits: self.digits, alphabet }
    }

    fn refuse_settings_of_other_kinds(&self) -> Result<(), String> {
        use MakeWire::{Choice, Constant, DayOffset, Hash, Sequence, ShuffledKey, SortedKey};
        let settings: [(&str, bool, &[MakeWire]); 8] = [
            ("prefix", self.prefix.is_some(), &[SortedKey, ShuffledKey]),
            ("digits", self.digits.is_some(), &[SortedKey, ShuffledKey]),
            ("alphabet", self.alphabet.is_some(), &[SortedKey, ShuffledKey]),
            ("start", self.start.is_some(), &[Sequence]),
            ("seconds", self.seconds.is_some(), &[DayOffset]),
            ("below", self.below.is_some(), &[Hash]),
            ("values", self.values.is_some(), &[Choice]),
            ("value", self.value.is_some(), &[Constant]),
        ];
        match settings.iter().find(|(_, given, kinds)| *given && !kinds.contains(&self.make)) {
            None => Ok(()),
            Some((setting, ..)) => {
                Err(format!("`{setting}` does not go with make = \"{}\": leave it out", self.make.name()))
            }
        }
    }
}

impl MakeWire {
    fn name(self) -> &'static str {
        match self {
            MakeWire::SortedKey => "sorted_key",
            MakeWire::ShuffledKey => "shuffled_key",
            MakeWire::Sequence => "sequence",
            MakeWire::Day => "day",
            MakeWire::Instant => "instant",
            MakeWire::DayOffset => "day_offset",
            MakeWire::Hash => "hash",
            MakeWire::Choice => "choice",
            MakeWire::Constant => "constant",
            MakeWire::Null => "null",
        }
    }
}
