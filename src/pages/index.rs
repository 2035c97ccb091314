//! A B-tree from its leaves up, in one pass: rows in key order in, finished pages out.
//!
//! A page gets its number only when a second page of its level begins. So a level that stays a single
//! page is the root, which already has its place, and every level below a root has two pages or more.

use super::buffer::PageBuffer;
use super::donor::IndexIds;
use super::fill::{Draws, FillProfile, FillTargets};
use super::format::*;
use super::leaves::LeafPlaces;
use super::page::{PageFrame, PageState};
use super::plan::IndexPlan;
use super::record::{NodePointer, Record, RecordMaker};
use super::space::{Segment, Space};

/// Where finished pages go.
pub trait PageSink {
    /// What can go wrong.
    type Error;
    /// Takes `bytes`, whole pages from page `first` on, and may put another buffer in their place.
    fn extent(&mut self, first: u32, bytes: &mut PageBuffer, used_bytes: usize) -> Result<(), Self::Error>;
    /// Takes one page.
    fn page(&mut self, number: u32, bytes: &[u8]) -> Result<(), Self::Error>;
}

/// Why an index cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum IndexError<E> {
    /// A key that is not above its predecessor.
    #[error(
        "row {row} of {index}: its key is {fault} (the row maker and the server do not agree on the order; use --method sql)"
    )]
    Order {
        /// Rows before it in the index.
        row: u64,
        /// The index.
        index: String,
        /// How it compares.
        fault: OrderFault,
    },
    /// The pages could not be handed over.
    #[error("write pages")]
    Sink(#[source] E),
}

/// How a key breaks the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderFault {
    /// Equal to the one before it.
    Duplicate,
    /// Smaller than the one before it.
    Descending,
}

impl std::fmt::Display for OrderFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            OrderFault::Duplicate => "a duplicate of the key before it",
            OrderFault::Descending => "smaller than the key before it",
        })
    }
}

/// What was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexSummary {
    /// Records in leaves.
    pub rows: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Pages above the leaves.
    pub inner_pages: u64,
    /// Levels, 1 when the root is a leaf.
    pub levels: u16,
}

/// Builds one index.
#[derive(Debug)]
pub struct IndexBuilder {
    name: String,
    ordinal: usize,
    clustered: bool,
    ids: IndexIds,
    space_id: u32,
    lsn: u64,
    inner_segment: Segment,
    aging: Aging,
    /// Of a page that is filled in order.
    capacity: usize,
    leaf: LeafLevel,
    inner: Vec<InnerLevel>,
    last_key: Vec<u8>,
    rows: u64,
}

#[derive(Debug)]
struct LeafLevel {
    state: PageState,
    places: LeafPlaces,
    targets: FillTargets,
    /// Bytes of the leaf at hand that may be used.
    capacity: usize,
    previous: u32,
    first: NodePointer,
    pages: u64,
    /// Bytes of the records and directory slots so far.
    bytes: u64,
}

#[derive(Debug)]
struct InnerLevel {
    state: PageState,
    buffer: PageBuffer,
    number: Option<u32>,
    targets: FillTargets,
    /// Bytes of the page at hand that may be used.
    capacity: usize,
    previous: u32,
    first: NodePointer,
    pages: u64,
}

/// How old an index is to look.
#[derive(Debug, Clone)]
pub struct Aging {
    /// Fill and order of its leaves.
    pub profile: FillProfile,
    /// What fills and places are drawn from.
    pub seed: u64,
    /// Rows that will come, as far as one knows: so much room is set aside for shuffled leaves.
    pub rows: u64,
}

/// What numbers are drawn for; inner levels draw their fills for their level's number.
const PURPOSE_LEAF_FILL: u64 = 0;
const PURPOSE_LEAF_PLACE: u64 = 1 << 32;

impl IndexBuilder {
    /// For the index number `ordinal` (0 is the clustered one) of a file.
    pub fn new(
        plan: &IndexPlan,
        ordinal: usize,
        ids: IndexIds,
        space_id: u32,
        lsn: u64,
        aging: &Aging,
    ) -> IndexBuilder {
        let capacity = PAGE_CAPACITY - if plan.clustered { CLUSTERED_RESERVE } else { 0 };
        let draws = |purpose| Draws::new(aging.seed, ordinal, purpose);
        let mut targets = FillTargets::new(&aging.profile, capacity, draws(PURPOSE_LEAF_FILL));
        let shuffled = match &aging.profile {
            FillProfile::Fresh => None,
            FillProfile::Aged(profile) => Some((profile.clone(), draws(PURPOSE_LEAF_PLACE))),
        };
        IndexBuilder {
            name: plan.name.clone(),
            clustered: plan.clustered,
            ids,
            space_id,
            lsn,
            inner_segment: Segment::inner(ordinal),
            ordinal,
            aging: aging.clone(),
            capacity,
            leaf: LeafLevel {
                state: PageState::default(),
                places: LeafPlaces::new(Segment::leaf(ordinal), shuffled),
                capacity: targets.of_page(0),
                targets,
                previous: NO_PAGE,
                first: NodePointer::default(),
                pages: 0,
                bytes: 0,
            },
            inner: Vec::new(),
            last_key: Vec::with_capacity(256),
            rows: 0,
        }
    }

    /// Appends the record that `maker` made last.
    #[inline]
    pub fn push<S: PageSink>(
        &mut self,
        maker: &RecordMaker,
        space: &mut Space,
        sink: &mut S,
    ) -> Result<(), IndexError<S::Error>> {
        self.check_order(maker.sort_key(), maker.unique_bytes())?;
        let record = maker.record();
        if !self.leaf.state.fits(record.bytes.len(), self.leaf.capacity) {
            self.next_leaf(space, sink)?;
        }
        if self.leaf.state.records() == 0 {
            self.leaf.first = maker.node_pointer();
        }
        self.leaf.state.push_leaf(self.leaf.places.page_mut(), record);
        self.rows += 1;
        Ok(())
    }

    /// Appends the records of the batch that `maker` made last; they are in order among themselves.
    pub fn push_batch<S: PageSink>(
        &mut self,
        maker: &RecordMaker,
        space: &mut Space,
        sink: &mut S,
    ) -> Result<(), IndexError<S::Error>> {
        let batch = maker.batch();
        self.check_order(batch.first_key(), Some(batch.first_key().len()))?;
        let (each, origin) = (batch.each(), batch.origin());
        let mut rest = batch.bytes();
        while !rest.is_empty() {
            let room = self.leaf.state.room_for(each, self.leaf.capacity);
            if room == 0 {
                self.next_leaf(space, sink)?;
                continue;
            }
            if self.leaf.state.records() == 0 {
                self.leaf.first = maker.pointer_to(Record { bytes: &rest[..each], origin });
            }
            let (records, later) = rest.split_at((room * each).min(rest.len()));
            self.leaf.state.push_leaves(self.leaf.places.page_mut(), records, each, origin);
            self.rows += (records.len() / each) as u64;
            rest = later;
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(maker.sort_key());
        Ok(())
    }

    #[inline]
    fn check_order<E>(&mut self, key: &[u8], unique_bytes: Option<usize>) -> Result<(), IndexError<E>> {
        if self.rows > 0 {
            // Sort keys are free of prefixes, so equal leading bytes are equal leading fields.
            let unique = unique_bytes.map(|bytes| &key[..bytes]);
            let duplicate = unique.is_some_and(|unique| self.last_key.starts_with(unique));
            if duplicate || *key <= self.last_key[..] {
                let fault = if duplicate { OrderFault::Duplicate } else { OrderFault::Descending };
                return Err(IndexError::Order { row: self.rows, index: self.name.clone(), fault });
            }
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Ok(())
    }

    /// Closes the tree: the last page of each level, the root at its place.
    pub fn finish<S: PageSink>(
        mut self,
        space: &mut Space,
        sink: &mut S,
    ) -> Result<IndexSummary, IndexError<S::Error>> {
        self.finish_leaves(space, sink)?;
        let mut level = 0;
        while level < self.inner.len() {
            self.finish_inner(level, space, sink)?;
            level += 1;
        }
        Ok(IndexSummary {
            rows: self.rows,
            leaf_pages: self.leaf.pages,
            inner_pages: self.inner.iter().map(|level| level.pages).sum(),
            levels: self.inner.len() as u16 + 1,
        })
    }

    fn frame(&self, number: u32, previous: u32, next: u32, level: u16) -> PageFrame {
        let secondary_leaf = level == 0 && !self.clustered;
        PageFrame {
            number,
            previous,
            next,
            level,
            index_id: self.ids.index_id,
            space_id: self.space_id,
            lsn: self.lsn,
            max_transaction: if secondary_leaf { PAGE_MAX_TRANSACTION } else { 0 },
            segments: (number == self.ids.root_page).then_some((self.ids.leaf_inode, self.ids.inner_inode)),
        }
    }

    fn next_leaf<S: PageSink>(
        &mut self,
        space: &mut Space,
        sink: &mut S,
    ) -> Result<(), IndexError<S::Error>> {
        let bytes = self.leaf.bytes + self.leaf.state.used_bytes() as u64;
        let leaves = || leaves_to_come(&self.aging, self.rows, bytes);
        let (number, next) = self.leaf.places.choose_next(space, leaves);
        self.close_leaf(number, next);
        self.leaf.places.advance(space, sink).map_err(IndexError::Sink)?;
        let mut first = std::mem::take(&mut self.leaf.first);
        first.set_child(number);
        self.push_inner(0, first, space, sink)
    }

    fn close_leaf(&mut self, number: u32, next: u32) {
        let frame = self.frame(number, self.leaf.previous, next, 0);
        self.leaf.state.finish(self.leaf.places.page_mut(), &frame);
        self.leaf.targets.used(self.leaf.state.used_bytes());
        self.leaf.bytes += self.leaf.state.used_bytes() as u64;
        self.leaf.state.clear();
        self.leaf.previous = number;
        self.leaf.pages += 1;
        self.leaf.capacity = self.leaf.targets.of_page(self.leaf.pages);
    }

    fn finish_leaves<S: PageSink>(
        &mut self,
        space: &mut Space,
        sink: &mut S,
    ) -> Result<(), IndexError<S::Error>> {
        let Some(number) = self.leaf.places.number() else {
            self.close_leaf(self.ids.root_page, NO_PAGE);
            return sink.page(self.ids.root_page, self.leaf.places.page_mut()).map_err(IndexError::Sink);
        };
        self.close_leaf(number, NO_PAGE);
        self.leaf.places.finish(space, sink).map_err(IndexError::Sink)?;
        let mut first = std::mem::take(&mut self.leaf.first);
        first.set_child(number);
        self.push_inner(0, first, space, sink)
    }

    /// Appends a node pointer to inner level `level` (0 is the one above the leaves).
    fn push_inner<S: PageSink>(
        &mut self,
        level: usize,
        pointer: NodePointer,
        space: &mut Space,
        sink: &mut S,
    ) -> Result<(), IndexError<S::Error>> {
        if level == self.inner.len() {
            let draws = Draws::new(self.aging.seed, self.ordinal, level as u64 + 1);
            let mut targets = FillTargets::new(&self.aging.profile, self.capacity, draws);
            self.inner.push(InnerLevel {
                capacity: targets.of_page(0),
                targets,
                state: PageState::default(),
                buffer: PageBuffer::new(PAGE_BYTES),
                number: None,
                previous: NO_PAGE,
                first: NodePointer::default(),
                pages: 0,
            });
        }
        if !self.inner[level].state.fits(pointer.record().bytes.len(), self.inner[level].capacity) {
            let segment = self.inner_segment;
            let number = *self.inner[level].number.get_or_insert_with(|| space.take_page(segment));
            let next = space.take_page(segment);
            self.close_inner(level, number, next, sink)?;
            self.inner[level].number = Some(next);
            let mut first = std::mem::take(&mut self.inner[level].first);
            first.set_child(number);
            self.push_inner(level + 1, first, space, sink)?;
        }
        let inner = &mut self.inner[level];
        let leftmost = inner.state.records() == 0 && inner.pages == 0;
        inner.state.push_node(inner.buffer.bytes_mut(), pointer.record(), leftmost);
        if inner.state.records() == 1 {
            inner.first = pointer;
        }
        Ok(())
    }

    fn close_inner<S: PageSink>(
        &mut self,
        level: usize,
        number: u32,
        next: u32,
        sink: &mut S,
    ) -> Result<(), IndexError<S::Error>> {
        let frame = self.frame(number, self.inner[level].previous, next, level as u16 + 1);
        let inner = &mut self.inner[level];
        inner.state.finish(inner.buffer.bytes_mut(), &frame);
        inner.targets.used(inner.state.used_bytes());
        inner.state.clear();
        inner.previous = number;
        inner.pages += 1;
        inner.capacity = inner.targets.of_page(inner.pages);
        sink.page(number, inner.buffer.bytes()).map_err(IndexError::Sink)
    }

    /// The last page of an inner level, or the root when it is the only one.
    fn finish_inner<S: PageSink>(
        &mut self,
        level: usize,
        space: &mut Space,
        sink: &mut S,
    ) -> Result<(), IndexError<S::Error>> {
        let Some(number) = self.inner[level].number else {
            return self.close_inner(level, self.ids.root_page, NO_PAGE, sink);
        };
        self.close_inner(level, number, NO_PAGE, sink)?;
        let mut first = std::mem::take(&mut self.inner[level].first);
        first.set_child(number);
        self.push_inner(level + 1, first, space, sink)
    }
}

/// How many leaves are to come, judging by the rows that came.
fn leaves_to_come(aging: &Aging, rows: u64, bytes: u64) -> u64 {
    let FillProfile::Aged(profile) = &aging.profile else { return 0 };
    let row_bytes = bytes as f64 / rows.max(1) as f64;
    let to_come = aging.rows.saturating_sub(rows) as f64 * row_bytes;
    (to_come / (PAGE_CAPACITY as f64 * profile.mean_fill()).max(1.0)).ceil() as u64
}
