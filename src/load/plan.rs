//! The table cut into pieces and chunks: pure.
//!
//! A piece is a partition (or the whole table): its rows go in by one stream at a time, in order, so that
//! its tree grows at the right edge. A chunk is one transaction's rows: of one piece and one day.

use std::ops::Range;
use std::sync::Mutex;

use crate::keys::RowMaker;
use crate::spec::dataset::Dataset;

/// Rows of a chunk: long enough that commits and statements cost nothing, short enough that a killed load
/// loses a second or two and a rollback is quick.
pub(super) const CHUNK_ROWS: u64 = 100_000;

/// A partition, or the whole table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The partition; `None` for the whole table.
    pub(super) partition: Option<String>,
    /// Its rows; empty for partitions of days that hold none.
    pub(super) rows: Range<u64>,
}

/// All pieces of a table, in the order of its partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) pieces: Vec<Piece>,
}

impl Plan {
    pub(super) fn new(dataset: &Dataset, maker: &RowMaker) -> Plan {
        let whole = || Plan { pieces: vec![Piece { partition: None, rows: 0..maker.rows() }] };
        let Some(partitioning) = &dataset.table.partitioning else { return whole() };
        let mut pieces: Vec<Piece> = partitioning
            .partitions
            .iter()
            .map(|partition| Piece { partition: Some(partition.name.clone()), rows: 0..0 })
            .collect();
        for day in 0..dataset.days {
            // Rows do not go by day: the server finds each row's partition.
            let Some(index) = dataset.partition_of_day(day) else { return whole() };
            let rows = maker.rows_of_day(day);
            let piece = &mut pieces[index].rows;
            let first = if piece.is_empty() { rows.start } else { piece.start };
            *piece = first..rows.end;
        }
        Plan { pieces }
    }

    /// The first row of each piece: where its checkpoint begins.
    pub(super) fn first_rows(&self) -> Vec<u64> {
        self.pieces.iter().map(|piece| piece.rows.start).collect()
    }
}

/// One transaction's rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunk {
    /// The piece's number.
    pub(super) piece: usize,
    /// The piece's partition.
    pub(super) partition: Option<String>,
    /// The rows.
    pub(super) rows: Range<u64>,
}

/// The pieces under work: who asks gets the next chunk of the piece that has most left and that nobody else
/// is working on, so that all pieces end together and no stream waits for the last one.
#[derive(Debug)]
pub(super) struct Pieces {
    pieces: Vec<Piece>,
    state: Mutex<Vec<PieceState>>,
}

#[derive(Debug, Clone, Copy)]
struct PieceState {
    next_row: u64,
    taken: bool,
}

impl Pieces {
    pub(super) fn new(plan: &Plan, next_rows: &[u64]) -> Pieces {
        let state =
            next_rows.iter().map(|next_row| PieceState { next_row: *next_row, taken: false }).collect();
        Pieces { pieces: plan.pieces.clone(), state: Mutex::new(state) }
    }

    /// Takes a chunk; `None` when all other pieces are done or taken.
    pub(super) fn take(&self, maker: &RowMaker) -> Option<Chunk> {
        let mut state = self.lock();
        let left = |(index, state): &(usize, &PieceState)| self.pieces[*index].rows.end - state.next_row;
        let (index, _) =
            state.iter().enumerate().filter(|piece| !piece.1.taken && left(piece) > 0).max_by_key(left)?;
        let first = state[index].next_row;
        let day = maker.day_of(first);
        let end = (first + CHUNK_ROWS).min(day.first_row + day.rows).min(self.pieces[index].rows.end);
        state[index].taken = true;
        Some(Chunk { piece: index, partition: self.pieces[index].partition.clone(), rows: first..end })
    }

    /// Gives a piece back, the chunk committed.
    pub(super) fn done(&self, chunk: &Chunk) {
        self.lock()[chunk.piece] = PieceState { next_row: chunk.rows.end, taken: false };
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<PieceState>> {
        // Nothing in here panics while it holds the lock, and the state is whole after every line.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::Rows;

    fn dataset(name: &str, rows: u64, days: u32) -> Dataset {
        Dataset::read(name).unwrap().scaled(Some(Rows(rows)), Some(days), None, None).unwrap()
    }

    proptest! {
        #[test]
        fn chunks_cover_every_row_once_in_order_within_a_piece(
            rows in 1u64..3_000_000, days in 1u32..40, by_partition: bool,
        ) {
            let dataset = dataset(if by_partition { "t_idem" } else { "seed" }, rows, days);
            let maker = RowMaker::new(&dataset).unwrap();
            let plan = Plan::new(&dataset, &maker);
            let pieces = Pieces::new(&plan, &plan.first_rows());
            let mut next = plan.first_rows();
            while let Some(chunk) = pieces.take(&maker) {
                prop_assert_eq!(next[chunk.piece], chunk.rows.start);
                prop_assert!(chunk.rows.end > chunk.rows.start);
                prop_assert_eq!(maker.day_of(chunk.rows.start), maker.day_of(chunk.rows.end - 1));
                next[chunk.piece] = chunk.rows.end;
                pieces.done(&chunk);
            }
            let done: u64 = plan.pieces.iter().zip(&next).map(|(piece, next)| next - piece.rows.start).sum();
            prop_assert_eq!(done, rows);
        }
    }

    #[test]
    fn a_piece_is_worked_on_by_one_stream_at_a_time() {
        let dataset = dataset("t_idem", 1_000_000, 3);
        let maker = RowMaker::new(&dataset).unwrap();
        let plan = Plan::new(&dataset, &maker);
        assert_eq!(plan.pieces.len(), 4);
        let pieces = Pieces::new(&plan, &plan.first_rows());
        let taken: Vec<_> = std::iter::from_fn(|| pieces.take(&maker)).collect();
        let mut numbers: Vec<_> = taken.iter().map(|chunk| chunk.piece).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [0, 1, 2]);
        pieces.done(&taken[1]);
        assert_eq!(pieces.take(&maker).map(|chunk| chunk.piece), Some(taken[1].piece));
    }
}
