//! A dataset compiled into makers: from a row number to a row.

use super::batch::{Cells, RowBatch};
use super::column::{ColumnMaker, Compiler};
use super::days::{Day, Days};
use super::error::MakeError;
use super::row::{Cell, Row};
use super::status::{Counts, StatusBlocks};
use super::unique;
use crate::spec::dataset::{Dataset, Recipe};
use crate::spec::table::PartitionMethod;

/// Makes any row of a dataset from its number: constant time, no allocation once the [`Row`] has grown.
#[derive(Debug, Clone)]
pub struct RowMaker {
    days: Days,
    makers: Vec<ColumnMaker>,
    /// Bytes that every row starts with, so that constant texts need no copying.
    constants: Vec<u8>,
    statuses: Option<Statuses>,
}

/// Where the PENDING rows are.
#[derive(Debug, Clone)]
struct Statuses {
    blocks: StatusBlocks,
    pending: Counts,
    others: Counts,
}

impl RowMaker {
    /// Compiles a dataset, all its columns in order.
    ///
    /// # Errors
    /// Recipes that do not fit their columns, and keys that would collide.
    pub fn new(dataset: &Dataset) -> Result<RowMaker, MakeError> {
        unique::check(dataset)?;
        check_partition_column(dataset)?;
        let all: Vec<usize> = (0..dataset.table.columns.len()).collect();
        RowMaker::of_columns(dataset, &all)
    }

    /// Compiles only these columns, in this order.
    pub(super) fn of_columns(dataset: &Dataset, columns: &[usize]) -> Result<RowMaker, MakeError> {
        let days = Days::new(dataset);
        let mut compiler = Compiler { dataset, days, constants: Vec::new() };
        let makers = columns.iter().map(|column| compiler.compile(*column)).collect::<Result<_, _>>()?;
        let statuses = statuses(&mut compiler)?;
        Ok(RowMaker { days, makers, constants: compiler.constants, statuses })
    }

    /// Makes a row (its number below [`RowMaker::rows`]).
    #[inline]
    pub fn fill(&self, row: u64, out: &mut Row) {
        if !out.day.holds(row) {
            out.day = self.days.day_of(row);
        }
        out.arena.clear();
        out.arena.extend_from_slice(&self.constants);
        out.cells.clear();
        for maker in &self.makers {
            out.cells.push(maker.cell(row, &out.day, &mut out.arena));
        }
    }

    /// Makes rows from the first of `rows` on, at most to the last of them and not beyond the end of its day.
    pub fn fill_batch(&self, rows: std::ops::Range<u64>, out: &mut RowBatch) {
        // Not kept from the batch before, which another maker may have made: for so many rows it costs nothing.
        out.day = self.days.day_of(rows.start);
        out.rows = rows.start..rows.end.min(out.day.first_row + out.day.rows).max(rows.start);
        out.constants.clone_from(&self.constants);
        out.columns.resize(self.makers.len(), Cells::Same(Cell::Null));
        for (maker, cells) in self.makers.iter().zip(&mut out.columns) {
            maker.cells(out.rows.clone(), &out.day, &self.constants, cells);
        }
    }

    /// Whether a column has the same value in all rows of a day.
    pub fn is_constant_within_a_day(&self, column: usize) -> bool {
        use ColumnMaker::{Date, Fixed, Offset};
        matches!(self.makers.get(column), Some(Fixed(_) | Date(_) | Offset(_)))
    }

    /// Whether a column's bytes, as far as it has any, are printable ASCII without a backslash.
    pub fn is_plain_text(&self, column: usize) -> bool {
        self.makers.get(column).is_some_and(|maker| maker.is_plain_text(&self.constants))
    }

    /// The days and their rows.
    pub fn days(&self) -> &Days {
        &self.days
    }

    /// Rows in all.
    pub fn rows(&self) -> u64 {
        self.days.rows()
    }

    /// The day that a row lies on.
    pub fn day_of(&self, row: u64) -> Day {
        self.days.day_of(row)
    }

    /// The row numbers of a day.
    pub fn rows_of_day(&self, index: u32) -> std::ops::Range<u64> {
        let day = self.days.day(index);
        day.first_row..day.first_row + day.rows
    }

    /// Whether the dataset makes the row PENDING; `false` where the dataset knows no claims.
    pub fn is_pending(&self, row: u64) -> bool {
        self.statuses.as_ref().is_some_and(|statuses| statuses.blocks.is_pending(row, &self.days.day_of(row)))
    }

    /// How many rows are made PENDING.
    pub fn pending_rows(&self) -> u64 {
        self.statuses.as_ref().map_or(0, |statuses| statuses.pending.all())
    }

    /// The number of the `number`-th PENDING row, for a number below [`RowMaker::pending_rows`].
    pub fn pending_row(&self, number: u64) -> Option<u64> {
        self.nth(true, number)
    }

    /// How many rows are made anything but PENDING.
    pub fn other_rows(&self) -> u64 {
        self.statuses.as_ref().map_or(0, |statuses| statuses.others.all())
    }

    /// The number of the `number`-th row that is not PENDING.
    pub fn other_row(&self, number: u64) -> Option<u64> {
        self.nth(false, number)
    }

    /// How many PENDING rows (or others) lie before the day with that index.
    pub(super) fn rows_before_day(&self, pending: bool, day_index: u32) -> u64 {
        self.counts(pending).map_or(0, |counts| counts.before_day(day_index))
    }

    fn counts(&self, pending: bool) -> Option<&Counts> {
        let statuses = self.statuses.as_ref()?;
        Some(if pending { &statuses.pending } else { &statuses.others })
    }

    fn nth(&self, pending: bool, number: u64) -> Option<u64> {
        let counts = self.counts(pending).filter(|counts| number < counts.all())?;
        let (day, number_in_day) = counts.locate(number);
        Some(self.statuses.as_ref()?.blocks.nth(&self.days.day(day), pending, number_in_day))
    }
}

fn statuses(compiler: &mut Compiler<'_>) -> Result<Option<Statuses>, MakeError> {
    let dataset = compiler.dataset;
    let Some(claim) = &dataset.claim else { return Ok(None) };
    let Some(recipe) = &dataset.recipes[claim.status] else { return Ok(None) };
    let column = &dataset.table.columns[claim.status];
    let blocks = compiler.status_blocks(column, recipe, &claim.pending)?;
    Ok(blocks.map(|blocks| Statuses {
        pending: Counts::new(&blocks, &compiler.days, true),
        others: Counts::new(&blocks, &compiler.days, false),
        blocks,
    }))
}

fn check_partition_column(dataset: &Dataset) -> Result<(), MakeError> {
    let Some(partitioning) = &dataset.table.partitioning else { return Ok(()) };
    if partitioning.method == PartitionMethod::Integer {
        return Ok(());
    }
    match &dataset.recipes[partitioning.column] {
        Some(Recipe::Day | Recipe::Instant | Recipe::DayOffset { seconds: 0..86_400 }) => Ok(()),
        _ => {
            let column = dataset.table.columns[partitioning.column].name.clone();
            Err(MakeError::PartitionColumn { column })
        }
    }
}
