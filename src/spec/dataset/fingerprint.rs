//! When two datasets hold the same rows: a hash over everything that a row depends on.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::{Alphabet, Dataset, KeyOrder, KeyShape, Recipe};

/// Raised when the row maker makes other values from the same dataset, so that tables loaded by an older
/// program are not taken for the same.
const ROW_MAKER_VERSION: u32 = 1;

impl Dataset {
    /// The first 16 bytes, in hex, of the SHA-256 over the definition (white space collapsed), the
    /// partitions, the recipes, the seed, the rows, the days and the order and fill: equal means the same
    /// table with the same rows.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.canonical_text().as_bytes());
        digest[..16].iter().fold(String::new(), |mut text, byte| {
            // Writing into a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    fn canonical_text(&self) -> String {
        let definition = self.create_table_sql().split_whitespace().collect::<Vec<_>>().join(" ");
        let order = match self.key_order {
            KeyOrder::Sorted => "sorted",
            KeyOrder::Random => "random",
        };
        let fill = self.fill.canonical_text();
        let mut text = format!(
            "rows v{ROW_MAKER_VERSION}\n{definition}\nrows {}\ndays {} from {}\nseed {}\norder {order}\nfill {fill}\n",
            self.rows.0, self.days, self.first_day, self.seed
        );
        for (column, recipe) in self.table.columns.iter().zip(&self.recipes) {
            let recipe = recipe.as_ref().map_or_else(|| "generated".to_owned(), canonical_recipe);
            let _ = writeln!(text, "{} {recipe}", column.name.to_lowercase());
        }
        // The status column is laid out in blocks when it takes part in claims (see `keys::status`).
        if let Some(claim) = &self.claim {
            let _ = writeln!(text, "claim by column {} pending {:?}", claim.status, claim.pending);
        }
        text
    }
}

fn canonical_recipe(recipe: &Recipe) -> String {
    match recipe {
        Recipe::SortedKey(shape) => format!("sorted_key {}", canonical_shape(shape)),
        Recipe::ShuffledKey(shape) => format!("shuffled_key {}", canonical_shape(shape)),
        Recipe::Sequence { start } => format!("sequence {start}"),
        Recipe::Day => "day".to_owned(),
        Recipe::Instant => "instant".to_owned(),
        Recipe::DayOffset { seconds } => format!("day_offset {seconds}"),
        Recipe::Hash { below: Some(below) } => format!("hash {below}"),
        Recipe::Hash { below: None } => "hash".to_owned(),
        Recipe::Choice(values) => format!("choice {values:?}"),
        Recipe::Constant(value) => format!("constant {value:?}"),
        Recipe::Null => "null".to_owned(),
    }
}

fn canonical_shape(shape: &KeyShape) -> String {
    let alphabet = match shape.alphabet {
        Alphabet::Base32 => "base32",
        Alphabet::Base64 => "base64",
    };
    let digits = shape.digits.map_or_else(|| "all".to_owned(), |digits| digits.to_string());
    format!("{:?} {digits} {alphabet}", shape.prefix)
}
