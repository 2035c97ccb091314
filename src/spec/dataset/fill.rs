//! What the pages of a table look like after the load, as data.

use serde::{Deserialize, Serialize};

/// What the pages of the table look like after the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// As a load leaves them: full and in order.
    Fresh,
    /// As random inserts leave them: about 69 % full and shuffled (the pages loader, or random inserts).
    Aged,
    /// As a real table's were found (the pages loader only).
    Like(TableAge),
}

/// How the pages of a real table lie.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableAge {
    /// Which table or file was looked at.
    pub source: String,
    /// Its indexes, the clustered one first.
    pub indexes: Vec<IndexAge>,
}

/// How the leaves of one index lie. Shares are ten-thousandths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexAge {
    /// The fill of leaves at evenly spaced places from the emptiest to the fullest: at least two, rising.
    pub fill: Vec<u16>,
    /// Leaves whose successor is the physically next page.
    pub consecutive: u16,
    /// Leaves whose successor lies in the same extent, the next page included.
    pub same_extent: u16,
    /// Pages of the leaves' extents that are used.
    pub extents_used: u16,
}

/// Places of a measured distribution.
pub const FILL_PLACES: usize = 33;

impl IndexAge {
    /// The mean fill of a leaf, from 0 to 1.
    pub fn mean_fill(&self) -> f64 {
        let pairs = self.fill.windows(2).map(|pair| (f64::from(pair[0]) + f64::from(pair[1])) / 2.0);
        pairs.sum::<f64>() / (self.fill.len() - 1).max(1) as f64 / 10_000.0
    }
}

impl TableAge {
    /// The age of the index number `ordinal`; an index that the source has not is as its first one.
    pub fn index(&self, ordinal: usize) -> Option<&IndexAge> {
        self.indexes.get(ordinal).or(self.indexes.first())
    }
}

impl Fill {
    /// One line for a fingerprint: equal means the same pages. Where a profile came from does not count.
    pub(super) fn canonical_text(&self) -> String {
        match self {
            Fill::Fresh => "fresh".to_owned(),
            Fill::Aged => "aged".to_owned(),
            Fill::Like(age) => age.indexes.iter().fold("like".to_owned(), |text, index| {
                let IndexAge { fill, consecutive, same_extent, extents_used } = index;
                format!("{text} {fill:?} {consecutive} {same_extent} {extents_used}")
            }),
        }
    }
}

impl std::fmt::Display for Fill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fill::Fresh => f.write_str("fresh"),
            Fill::Aged => f.write_str("aged"),
            Fill::Like(age) => {
                write!(f, "like {}", age.source)?;
                let Some(index) = age.indexes.first() else { return Ok(()) };
                let percent = f64::from(index.consecutive) / 100.0;
                write!(f, ": leaves {:.1} % full, {percent:.1} % in order", 100.0 * index.mean_fill())
            }
        }
    }
}
