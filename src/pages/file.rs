//! One partition's file: its rows go in, and at the end everything else that makes a tablespace.

use std::path::{Path, PathBuf};

use super::donor::Donor;
use super::encode::{Rows, Value};
use super::fill::FillProfile;
use super::format::{EXTENT_PAGES, PAGE_BYTES};
use super::index::{Aging, IndexBuilder, IndexError, IndexSummary, PageSink};
use super::plan::TablePlan;
use super::record::{Record, RecordMaker, RowError};
use super::sort::{Entry, SortError, Sorted, Sorter};
use super::space::Space;

/// How rows come and what may be used to sort them.
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// Whether rows come in primary-key order; otherwise they are sorted too.
    pub rows_sorted: bool,
    /// Memory for sorting, all indexes of the file together.
    pub sort_bytes: usize,
    /// Where sorted runs go that do not fit.
    pub spill_folder: PathBuf,
    /// How old each index is to look, in the order of the plan; those that are not named are fresh.
    pub profiles: Vec<FillProfile>,
    /// What fills and places of aged leaves are drawn from.
    pub seed: u64,
    /// Rows that will come, as far as one knows.
    pub rows: u64,
}

/// What was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSummary {
    /// Bytes of the file.
    pub bytes: u64,
    /// Its indexes, the clustered one first.
    pub indexes: Vec<IndexSummary>,
}

/// Why a file cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError<E> {
    /// A row cannot be stored.
    #[error("make row {row} of the partition into a record")]
    Row {
        /// Rows before it.
        row: u64,
        /// Why.
        source: RowError,
    },
    /// Sorting failed.
    #[error("sort the entries of {index}")]
    Sort {
        /// The index.
        index: String,
        /// Why.
        source: SortError,
    },
    /// The tree cannot be built.
    #[error("build {index}")]
    Index {
        /// The index.
        index: String,
        /// Why.
        source: IndexError<E>,
    },
    /// The closing pages could not be handed over.
    #[error("write the pages that describe the file")]
    Sink(#[source] E),
}

/// Builds one file.
#[derive(Debug)]
pub struct FileBuilder {
    donor: Donor,
    space: Space,
    rows: u64,
    row_maker: RecordMaker,
    /// `None` while rows are being sorted.
    clustered: Option<IndexBuilder>,
    row_sorter: Option<Sorter>,
    payload: Vec<u8>,
    secondary: Vec<(RecordMaker, Sorter)>,
    profiles: Vec<FillProfile>,
    aging: Aging,
}

impl FileBuilder {
    /// A file in the place of `donor` for a table of that plan. The donor must have been read for as many
    /// indexes as the plan has.
    pub fn new(plan: &TablePlan, donor: Donor, options: &FileOptions) -> FileBuilder {
        let sorters = plan.secondary.len() + usize::from(!options.rows_sorted);
        let share = options.sort_bytes / sorters.max(1);
        let folder: &Path = &options.spill_folder;
        let mut builder = FileBuilder {
            space: Space::new(&donor),
            rows: 0,
            row_maker: RecordMaker::new(&plan.clustered),
            clustered: None,
            row_sorter: (!options.rows_sorted).then(|| Sorter::new(share, folder)),
            payload: Vec::new(),
            secondary: plan
                .secondary
                .iter()
                .map(|index| (RecordMaker::new(index), Sorter::new(share, folder)))
                .collect(),
            donor,
            profiles: options.profiles.clone(),
            aging: Aging { profile: FillProfile::Fresh, seed: options.seed, rows: options.rows },
        };
        builder.clustered = options.rows_sorted.then(|| builder.builder(&builder.row_maker, 0));
        builder
    }

    /// Appends a row.
    #[inline]
    pub fn push<'v, S: PageSink>(
        &mut self,
        values: impl Fn(usize) -> Value<'v>,
        sink: &mut S,
    ) -> Result<(), BuildError<S::Error>> {
        let row = self.rows;
        let bad_row = |source| BuildError::Row { row, source };
        self.row_maker.make_row(&values).map_err(bad_row)?;
        if let Some(clustered) = &mut self.clustered {
            let pushed = clustered.push(&self.row_maker, &mut self.space, sink);
            pushed.map_err(|source| failed(&self.row_maker, source))?;
        } else if let Some(sorter) = &mut self.row_sorter {
            let record = self.row_maker.record();
            self.payload.clear();
            self.payload.extend_from_slice(&(record.origin as u16).to_le_bytes());
            self.payload.extend_from_slice(record.bytes);
            let pushed = sorter.push(self.row_maker.sort_key(), &self.payload);
            pushed.map_err(|source| unsorted(&self.row_maker, source))?;
        }
        for (maker, sorter) in &mut self.secondary {
            maker.make_sort_key(&values).map_err(bad_row)?;
            sorter.push(maker.sort_key(), &[]).map_err(|source| unsorted(maker, source))?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Appends rows; the same as one by one, and faster where they are made alike.
    pub fn push_rows<S: PageSink>(
        &mut self,
        rows: &impl Rows,
        sink: &mut S,
    ) -> Result<(), BuildError<S::Error>> {
        let Some(clustered) = self.clustered.as_mut().filter(|_| self.row_maker.make_rows(rows)) else {
            return (0..rows.count()).try_for_each(|row| self.push(|column| rows.value(row, column), sink));
        };
        let pushed = clustered.push_batch(&self.row_maker, &mut self.space, sink);
        pushed.map_err(|source| failed(&self.row_maker, source))?;
        for (maker, sorter) in &mut self.secondary {
            if maker.make_sort_keys(rows) {
                let batch = maker.batch();
                let pushed =
                    batch.bytes().chunks_exact(batch.each()).try_for_each(|key| sorter.push(key, &[]));
                pushed.map_err(|source| unsorted(maker, source))?;
                continue;
            }
            for row in 0..rows.count() {
                let bad_row = |source| BuildError::Row { row: self.rows + row as u64, source };
                maker.make_sort_key(&|column| rows.value(row, column)).map_err(bad_row)?;
                sorter.push(maker.sort_key(), &[]).map_err(|source| unsorted(maker, source))?;
            }
        }
        self.rows += rows.count() as u64;
        Ok(())
    }

    /// Builds what is left: sorted rows, secondary indexes, the pages that describe the file.
    pub fn finish<S: PageSink>(mut self, sink: &mut S) -> Result<FileSummary, BuildError<S::Error>> {
        let clustered = match (self.clustered.take(), self.row_sorter.take()) {
            (Some(clustered), _) => clustered,
            (None, sorter) => self.sorted_rows(sorter, sink)?,
        };
        let summary = clustered.finish(&mut self.space, sink);
        let mut indexes = vec![summary.map_err(|source| failed(&self.row_maker, source))?];
        for (ordinal, (maker, sorter)) in std::mem::take(&mut self.secondary).into_iter().enumerate() {
            indexes.push(self.secondary_index(ordinal + 1, maker, sorter, sink)?);
        }
        for (number, page) in self.space.describe(&self.donor) {
            sink.page(number, &page).map_err(BuildError::Sink)?;
        }
        let bytes = u64::from(self.space.pages().max(EXTENT_PAGES)) * PAGE_BYTES as u64;
        Ok(FileSummary { bytes, indexes })
    }

    fn builder(&self, maker: &RecordMaker, ordinal: usize) -> IndexBuilder {
        let profile = self.profiles.get(ordinal).unwrap_or(&FillProfile::Fresh).clone();
        IndexBuilder::new(
            maker.plan(),
            ordinal,
            self.donor.indexes[ordinal],
            self.donor.space_id,
            self.donor.lsn,
            &Aging { profile, ..self.aging.clone() },
        )
    }

    fn sorted_rows<S: PageSink>(
        &mut self,
        sorter: Option<Sorter>,
        sink: &mut S,
    ) -> Result<IndexBuilder, BuildError<S::Error>> {
        let mut builder = self.builder(&self.row_maker, 0);
        let maker = &mut self.row_maker;
        let Some(sorter) = sorter else { return Ok(builder) };
        let mut sorted = sorter.finish().map_err(|source| unsorted(maker, source))?;
        while let Some((key, payload)) = next(&mut sorted, maker)? {
            let (origin, bytes) = payload.split_at(2);
            let origin = usize::from(u16::from_le_bytes([origin[0], origin[1]]));
            maker.restore(key, Record { bytes, origin });
            builder.push(maker, &mut self.space, sink).map_err(|source| failed(maker, source))?;
        }
        Ok(builder)
    }

    fn secondary_index<S: PageSink>(
        &mut self,
        ordinal: usize,
        mut maker: RecordMaker,
        sorter: Sorter,
        sink: &mut S,
    ) -> Result<IndexSummary, BuildError<S::Error>> {
        let mut builder = self.builder(&maker, ordinal);
        let mut sorted = sorter.finish().map_err(|source| unsorted(&maker, source))?;
        while let Some((key, _)) = next(&mut sorted, &maker)? {
            maker.make_entry(key);
            builder.push(&maker, &mut self.space, sink).map_err(|source| failed(&maker, source))?;
        }
        builder.finish(&mut self.space, sink).map_err(|source| failed(&maker, source))
    }
}

fn next<'s, E>(sorted: &'s mut Sorted, maker: &RecordMaker) -> Result<Option<Entry<'s>>, BuildError<E>> {
    sorted.next_entry().map_err(|source| unsorted(maker, source))
}

fn unsorted<E>(maker: &RecordMaker, source: SortError) -> BuildError<E> {
    BuildError::Sort { index: maker.plan().name.clone(), source }
}

fn failed<E>(maker: &RecordMaker, source: IndexError<E>) -> BuildError<E> {
    BuildError::Index { index: maker.plan().name.clone(), source }
}
