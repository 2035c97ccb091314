//! Which status a row has: by its place in a block, so that the k-th PENDING row is found without a list.
//!
//! Rows of a day are cut into blocks as long as the weights' sum (100, say). Within a block every place is
//! mapped to a residue by multiplying and rotating, the rotation being another one in every block, and
//! the residue decides the status. So each whole block holds each status exactly as often as its weight
//! says, the places look random, and the map can be walked backwards.

use super::days::{Day, Days};
use super::mix::{hash, key_for, scale};
use super::row::Cell;

/// What rotations are keyed by; fixed for ever.
const PURPOSE_ROTATION: u64 = 5;
/// The longest block.
pub(super) const BLOCK_ROWS_MAX: u64 = 4_096;

/// The statuses of all rows.
#[derive(Debug, Clone)]
pub(super) struct StatusBlocks {
    /// Rows in a block.
    block: u64,
    /// Each status with the residue behind its last one.
    statuses: Vec<(u64, Cell)>,
    /// Residues that mean "pending".
    pending: std::ops::Range<u64>,
    factor: u64,
    inverse: u64,
    key: u64,
    /// The labels' numbers of places without rotation, twice: rotating is reading from another place on. `None`
    /// unless all statuses are labels.
    labels: Option<Vec<u16>>,
}

impl StatusBlocks {
    /// From statuses with weights; `None` when the weights, shortened, add up to more than a block or to 0.
    pub(super) fn new(weights: &[(Cell, u32)], pending: Cell, seed: u64) -> Option<StatusBlocks> {
        let divisor = weights.iter().fold(0, |divisor, (_, weight)| gcd(divisor, u64::from(*weight)));
        let block: u64 =
            weights.iter().map(|(_, weight)| u64::from(*weight)).sum::<u64>().checked_div(divisor)?;
        if block > BLOCK_ROWS_MAX {
            return None;
        }
        // The pending ones first, so that their residues lie together however often the label is listed.
        let (first, then): (Vec<_>, Vec<_>) = weights.iter().partition(|(status, _)| *status == pending);
        let pending_residues = first.iter().map(|(_, weight)| u64::from(*weight)).sum::<u64>() / divisor;
        let mut end = 0;
        let statuses: Vec<(u64, Cell)> = first
            .into_iter()
            .chain(then)
            .map(|(status, weight)| {
                end += u64::from(weight) / divisor;
                (end, status)
            })
            .collect();
        // Near the golden section of the block, so that equal residues lie far apart.
        let golden = (block as f64 * 0.618).round() as u64;
        let factor = (golden.max(1)..).find(|factor| gcd(*factor, block) == 1).unwrap_or(1);
        let inverse = (1..=block).find(|inverse| factor * inverse % block == 1 % block).unwrap_or(1);
        let key = key_for(seed, PURPOSE_ROTATION, 0);
        let label = |residue: u64| match statuses.iter().find(|(end, _)| residue < *end) {
            Some((_, Cell::Enum(ordinal))) => Some(*ordinal),
            _ => None,
        };
        let labels = (0..2 * block).map(|place| label(place * factor % block)).collect();
        Some(StatusBlocks { block, statuses, pending: 0..pending_residues, factor, inverse, key, labels })
    }

    /// The status of a row.
    #[inline]
    pub(super) fn status(&self, row: u64, day: &Day) -> Cell {
        let residue = self.residue(row - day.first_row, day);
        let found = self.statuses.iter().find(|(end, _)| residue < *end);
        // The last end is the block's length, above every residue.
        found.map_or(Cell::Null, |(_, status)| *status)
    }

    /// Whether all statuses are labels of an ENUM.
    pub(super) fn has_labels(&self) -> bool {
        self.labels.is_some()
    }

    /// Appends the labels' numbers of rows of a day.
    pub(super) fn append_labels(&self, rows: std::ops::Range<u64>, day: &Day, out: &mut Vec<u16>) {
        let Some(labels) = &self.labels else { return };
        let (mut next, end) = (rows.start - day.first_row, rows.end - day.first_row);
        while next < end {
            let (block, place) = (next / self.block, next % self.block);
            let count = (self.block - place).min(end - next);
            // The place that would have this rotation as its residue; both are below the block's length.
            let turned = self.rotation(block, day) * self.inverse % self.block;
            let from = (turned + place) as usize;
            out.extend_from_slice(&labels[from..from + count as usize]);
            next += count;
        }
    }

    /// Every status.
    pub(super) fn cells(&self) -> impl Iterator<Item = Cell> {
        self.statuses.iter().map(|(_, cell)| *cell)
    }

    /// Whether a row is pending.
    pub(super) fn is_pending(&self, row: u64, day: &Day) -> bool {
        self.pending.contains(&self.residue(row - day.first_row, day))
    }

    /// How many rows of a day are pending (`true`) or are not (`false`).
    pub(super) fn count(&self, day: &Day, pending: bool) -> u64 {
        let (blocks, rest) = (day.rows / self.block, day.rows % self.block);
        let residues = self.residues(pending);
        let in_rest = residues.clone().filter(|residue| self.place(blocks, *residue, day) < rest).count();
        blocks * (residues.end - residues.start) + in_rest as u64
    }

    /// The `number`-th pending (or other) row of a day, for a number below [`StatusBlocks::count`].
    pub(super) fn nth(&self, day: &Day, pending: bool, number: u64) -> u64 {
        let residues = self.residues(pending);
        let in_block = residues.end - residues.start;
        let (block, place_in_class) = (number / in_block.max(1), number % in_block.max(1));
        let blocks = day.rows / self.block;
        let place = if block < blocks {
            self.place(block, residues.start + place_in_class, day)
        } else {
            // The last block is cut off: count only the places that exist.
            let rest = day.rows % self.block;
            let mut places =
                residues.map(|residue| self.place(blocks, residue, day)).filter(|place| *place < rest);
            places.nth(place_in_class as usize).unwrap_or(0)
        };
        day.first_row + block.min(blocks) * self.block + place
    }

    fn residues(&self, pending: bool) -> std::ops::Range<u64> {
        if pending { self.pending.clone() } else { self.pending.end..self.block }
    }

    #[inline]
    fn residue(&self, place_in_day: u64, day: &Day) -> u64 {
        let (block, place) = (place_in_day / self.block, place_in_day % self.block);
        (place * self.factor + self.rotation(block, day)) % self.block
    }

    fn place(&self, block: u64, residue: u64, day: &Day) -> u64 {
        (residue + self.block - self.rotation(block, day)) * self.inverse % self.block
    }

    #[inline]
    fn rotation(&self, block: u64, day: &Day) -> u64 {
        scale(hash(self.key ^ u64::from(day.index), block), self.block)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// How many pending (or other) rows lie before each day, and in all.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    /// `before[i]` rows before day i; one entry more than days.
    before: Vec<u64>,
}

impl Counts {
    pub(super) fn new(blocks: &StatusBlocks, days: &Days, pending: bool) -> Counts {
        let mut before = Vec::with_capacity(days.count() as usize + 1);
        let mut sum = 0;
        before.push(0);
        for index in 0..days.count() {
            sum += blocks.count(&days.day(index), pending);
            before.push(sum);
        }
        Counts { before }
    }

    pub(super) fn all(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }

    pub(super) fn before_day(&self, index: u32) -> u64 {
        self.before[index as usize]
    }

    /// The day of the `number`-th row (below [`Counts::all`]) and its number within the day.
    pub(super) fn locate(&self, number: u64) -> (u32, u64) {
        let day = self.before.partition_point(|before| *before <= number).saturating_sub(1);
        (day as u32, number - self.before[day])
    }
}
