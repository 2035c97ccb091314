//! How full leaves are and in which order they lie, in numbers.

use serde::Serialize;

use super::content::NONE;

/// Bytes that records and their directory slots share on a page: all but headers (120), trailer (8) and the
/// two slots that every page has (4).
const ROOM: usize = 0x4000 - 120 - 8 - 4;
/// Pages of an extent.
const EXTENT: u32 = 64;

/// Counted over the leaves of an index.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeafOrder {
    leaves: u64,
    /// Bytes in use; directory slots as a bulk load makes them, one for four records.
    bytes: u64,
    /// Leaves by tenths of their room.
    tenths: [u64; 10],
    with_successor: u64,
    consecutive: u64,
    same_extent: u64,
}

/// The same as shares.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OrderSummary {
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Their mean fill, from 0 to 1.
    pub mean_fill: f64,
    /// Leaves that are up to a tenth full, up to two tenths, and so on.
    pub leaves_by_tenths: [u64; 10],
    /// Share of leaves whose successor is the physically next page.
    pub consecutive_share: f64,
    /// Share of leaves whose successor lies in the same extent, the next page included.
    pub same_extent_share: f64,
}

impl LeafOrder {
    /// Counts a leaf.
    pub fn add(&mut self, page: u32, next: u32, record_bytes: usize, records: u16) {
        let bytes = record_bytes + (2 * usize::from(records)).div_ceil(4);
        self.leaves += 1;
        self.bytes += bytes as u64;
        self.tenths[(bytes.saturating_sub(1) * 10 / ROOM).min(9)] += 1;
        if next != NONE {
            self.with_successor += 1;
            self.consecutive += u64::from(next == page.wrapping_add(1));
            self.same_extent += u64::from(next / EXTENT == page / EXTENT);
        }
    }

    /// Adds another file's leaves of the same index.
    pub fn merge(&mut self, other: &LeafOrder) {
        self.leaves += other.leaves;
        self.bytes += other.bytes;
        self.tenths.iter_mut().zip(other.tenths).for_each(|(sum, leaves)| *sum += leaves);
        self.with_successor += other.with_successor;
        self.consecutive += other.consecutive;
        self.same_extent += other.same_extent;
    }

    /// As shares.
    pub fn summary(&self) -> OrderSummary {
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        OrderSummary {
            leaf_pages: self.leaves,
            mean_fill: share(self.bytes, self.leaves * ROOM as u64),
            leaves_by_tenths: self.tenths,
            consecutive_share: share(self.consecutive, self.with_successor),
            same_extent_share: share(self.same_extent, self.with_successor),
        }
    }
}
