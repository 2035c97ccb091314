//! One index page, filled front to back as a bulk load fills it: records in order, directory groups of
//! four, no gaps.

use super::format::*;
use super::record::Record;

/// How far a page is filled. The bytes themselves belong to the caller, so that a page can be built in
/// the buffer from which it is written.
#[derive(Debug, Clone)]
pub struct PageState {
    heap_top: usize,
    records: usize,
    last_origin: usize,
    /// Bytes of all records.
    used: usize,
    /// Origins of every fourth record: the directory's candidates.
    fourths: Vec<u16>,
}

/// What a finished page says about itself beside its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageFrame {
    /// Its number in the file.
    pub number: u32,
    /// Left sibling or [`NO_PAGE`].
    pub previous: u32,
    /// Right sibling or [`NO_PAGE`].
    pub next: u32,
    /// 0 for leaves.
    pub level: u16,
    /// Id of the index.
    pub index_id: u64,
    /// Id of the tablespace.
    pub space_id: u32,
    /// LSN to bear.
    pub lsn: u64,
    /// Youngest transaction; 0 but on secondary leaves.
    pub max_transaction: u64,
    /// The root bears the addresses of its index's two segments: inode offsets of leaf and inner segment.
    pub segments: Option<(u16, u16)>,
}

/// Records in a directory group, all but the last one.
const GROUP: usize = 4;
/// Record types in the header.
const TYPE_LEAF: u16 = 0;
const TYPE_NODE: u16 = 1;
/// Info bit of the leftmost record of an inner level.
const MIN_RECORD: u8 = 0x10;

impl Default for PageState {
    fn default() -> Self {
        PageState {
            heap_top: FIRST_RECORD,
            records: 0,
            last_origin: INFIMUM,
            used: 0,
            fourths: Vec::with_capacity(PAGE_BYTES / 32),
        }
    }
}

impl PageState {
    /// Starts over on another page.
    pub fn clear(&mut self) {
        (self.heap_top, self.records, self.last_origin, self.used) = (FIRST_RECORD, 0, INFIMUM, 0);
        self.fourths.clear();
    }

    /// Records on the page.
    pub fn records(&self) -> usize {
        self.records
    }

    /// Bytes of the records and of their directory slots.
    pub fn used_bytes(&self) -> usize {
        self.used + (2 * self.records).div_ceil(GROUP)
    }

    /// Whether a record of so many bytes still fits when `capacity` bytes may be used for records and
    /// their directory slots. A page takes two records whatever `capacity` says.
    #[inline]
    pub fn fits(&self, record_bytes: usize, capacity: usize) -> bool {
        let limit = if self.records < 2 { PAGE_CAPACITY } else { capacity };
        // Two bytes for each group of four, rounded up, as the server reckons.
        self.used + record_bytes + (2 * (self.records + 1)).div_ceil(GROUP) <= limit
    }

    /// How many records of so many bytes fit beside each other, in the same way; at least as far as `fits` says.
    #[inline]
    pub fn room_for(&self, record_bytes: usize, capacity: usize) -> usize {
        if self.records < 2 {
            return usize::from(self.fits(record_bytes, capacity));
        }
        // n records fit if used + n * bytes + (records + n) / 2, rounded up, is not above the capacity. Twice that
        // is even, so that rounding makes no difference.
        let twice = (2 * capacity.saturating_sub(self.used)).saturating_sub(self.records);
        twice / (2 * record_bytes + 1)
    }

    /// Appends leaf records of `record_bytes` each, whose origins lie at `origin`.
    pub fn push_leaves(&mut self, page: &mut [u8], records: &[u8], record_bytes: usize, origin: usize) {
        let top = self.heap_top;
        let heap = &mut page[top..top + records.len()];
        heap.copy_from_slice(records);
        // Heap numbers 0 and 1 are the infimum and the supremum.
        let first_heap_number = self.records as u32 + 2;
        for (heap_number, record) in (first_heap_number..).zip(heap.chunks_exact_mut(record_bytes)) {
            let info_and_next = (heap_number << 3 | u32::from(TYPE_LEAF)) << 16 | record_bytes as u32;
            record[origin - 4..origin].copy_from_slice(&info_and_next.to_be_bytes());
        }
        let count = records.len() / record_bytes;
        // Every record points to its successor; the last one's is not known yet.
        let first_origin = top + origin;
        if self.records > 0 {
            put_u16(page, self.last_origin - 2, (first_origin - self.last_origin) as u16);
        } else {
            put_infimum(page, first_origin);
        }
        let to_fourth = GROUP - 1 - self.records % GROUP;
        let fourths = (to_fourth..count).step_by(GROUP);
        self.fourths.extend(fourths.map(|place| (first_origin + place * record_bytes) as u16));
        self.records += count;
        self.used += records.len();
        self.heap_top = top + records.len();
        self.last_origin = first_origin + count.saturating_sub(1) * record_bytes;
    }

    /// Appends a leaf record.
    #[inline]
    pub fn push_leaf(&mut self, page: &mut [u8], record: Record<'_>) {
        self.push(page, record, TYPE_LEAF, 0);
    }

    /// Appends a node pointer; `leftmost` when it is the first of its level.
    pub fn push_node(&mut self, page: &mut [u8], record: Record<'_>, leftmost: bool) {
        self.push(page, record, TYPE_NODE, if leftmost { MIN_RECORD } else { 0 });
    }

    #[inline]
    fn push(&mut self, page: &mut [u8], record: Record<'_>, record_type: u16, info: u8) {
        let origin = self.heap_top + record.origin;
        let end = self.heap_top + record.bytes.len();
        page[self.heap_top..end].copy_from_slice(record.bytes);
        page[origin - 5] = info;
        // Heap numbers 0 and 1 are the infimum and the supremum.
        put_u16(page, origin - 4, (self.records as u16 + 2) << 3 | record_type);
        if self.records > 0 {
            put_u16(page, self.last_origin - 2, (origin - self.last_origin) as u16);
        } else {
            put_infimum(page, origin);
        }
        self.records += 1;
        self.used += record.bytes.len();
        self.heap_top = end;
        self.last_origin = origin;
        if self.records.is_multiple_of(GROUP) {
            self.fourths.push(origin as u16);
        }
    }

    /// Closes the page: chain, directory, headers, checksum. What lies between heap and directory is zeroed.
    pub fn finish(&self, page: &mut [u8], frame: &PageFrame) {
        if self.records > 0 {
            put_u16(page, self.last_origin - 2, SUPREMUM.wrapping_sub(self.last_origin) as u16);
        } else {
            put_infimum(page, SUPREMUM);
        }
        let slots = self.put_directory(page);
        page[self.heap_top..TRAILER - 2 * slots].fill(0);
        put_u16(page, 38, slots as u16);
        put_u16(page, 40, self.heap_top as u16);
        put_u16(page, 42, 0x8000 | (self.records as u16 + 2));
        put_u16(page, 44, 0);
        put_u16(page, 46, 0);
        put_u16(page, 48, if self.records > 0 { self.last_origin as u16 } else { 0 });
        // Direction: to the right; an empty page has none.
        put_u16(page, 50, if self.records > 0 { 2 } else { 5 });
        put_u16(page, 52, 0);
        put_u16(page, 54, self.records as u16);
        put_u64(page, 56, frame.max_transaction);
        put_u16(page, 64, frame.level);
        put_u64(page, INDEX_ID, frame.index_id);
        put_segments(page, frame);
        put_u32(page, PAGE_NUMBER, frame.number);
        put_u32(page, PREVIOUS, frame.previous);
        put_u32(page, NEXT, frame.next);
        put_u16(page, PAGE_TYPE, TYPE_INDEX);
        page[26..SPACE_ID].fill(0);
        put_u32(page, SPACE_ID, frame.space_id);
        seal(page, frame.lsn);
    }

    /// Groups of four while eight or more records remain; the rest belongs to the supremum.
    fn put_directory(&self, page: &mut [u8]) -> usize {
        let groups = if self.records >= 2 * GROUP { (self.records - GROUP) / GROUP } else { 0 };
        let slot = |number: usize| TRAILER - 2 * (number + 1);
        put_u16(page, slot(0), INFIMUM as u16);
        for (number, origin) in self.fourths[..groups].iter().enumerate() {
            put_u16(page, slot(number + 1), *origin);
            let owner = &mut page[usize::from(*origin) - 5];
            *owner = *owner & 0xF0 | GROUP as u8;
        }
        put_u16(page, slot(groups + 1), SUPREMUM as u16);
        put_supremum(page, (self.records - groups * GROUP + 1) as u8);
        groups + 2
    }
}

fn put_infimum(page: &mut [u8], next: usize) {
    page[94..97].copy_from_slice(&[0x01, 0x00, 0x02]);
    put_u16(page, 97, (next - INFIMUM) as u16);
    page[INFIMUM..INFIMUM + 8].copy_from_slice(b"infimum\0");
}

fn put_supremum(page: &mut [u8], owned: u8) {
    page[107..SUPREMUM].copy_from_slice(&[owned, 0x00, 0x0B, 0x00, 0x00]);
    page[SUPREMUM..SUPREMUM + 8].copy_from_slice(b"supremum");
}

fn put_segments(page: &mut [u8], frame: &PageFrame) {
    page[ROOT_SEGMENTS..ROOT_SEGMENTS + 20].fill(0);
    if let Some((leaf, inner)) = frame.segments {
        for (at, offset) in [(ROOT_SEGMENTS, leaf), (ROOT_SEGMENTS + 10, inner)] {
            put_u32(page, at, frame.space_id);
            put_u32(page, at + 4, INODE_PAGE);
            put_u16(page, at + 8, offset);
        }
    }
}
