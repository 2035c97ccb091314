//! Which segment owns which extent, and the pages that say so: the space header with its descriptors, the
//! inodes, the descriptor and bitmap pages that come round every 16384 pages.
//!
//! Segments take whole extents in the order in which they ask; only the roots are single pages, as the
//! donor has them. The extents with descriptor pages stay shared ones of which nothing else is used: that
//! leaves 62 of 16384 pages empty and keeps every list simple. Shuffled leaves leave free pages in between,
//! and extents that were set aside for them in vain belong to nobody.

use super::donor::Donor;
use super::format::*;

/// One of an index's two segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment(u16);

impl Segment {
    /// Leaves of the index number `ordinal`.
    pub fn leaf(ordinal: usize) -> Segment {
        Segment(2 * ordinal as u16)
    }

    /// The pages above them.
    pub fn inner(ordinal: usize) -> Segment {
        Segment(2 * ordinal as u16 + 1)
    }
}

#[derive(Debug, Clone, Copy)]
struct Extent {
    /// `None`: shared by single pages.
    owner: Option<Segment>,
    /// Used pages, a bit each.
    used: u64,
}

impl Extent {
    fn is_full(self) -> bool {
        self.used == u64::MAX
    }
}

/// Extents of a file that is being built.
#[derive(Debug)]
pub struct Space {
    extents: Vec<Extent>,
    /// By segment: the extent from which single pages are being taken.
    open: Vec<Option<u32>>,
}

/// Pages that are used in a shared extent beside none of ours: descriptor and bitmap page.
const DESCRIPTION_PAGES: u64 = 0b11;

impl Space {
    /// A file that so far has the donor's first extent.
    pub fn new(donor: &Donor) -> Space {
        let used = donor.used_pages().fold(0, |used, page| used | 1 << page);
        let first = Extent { owner: None, used };
        Space { extents: vec![first], open: vec![None; 2 * donor.indexes.len()] }
    }

    /// Gives a segment the next extent; its first page.
    pub fn take_extent(&mut self, segment: Segment) -> u32 {
        if (self.extents.len() as u32).is_multiple_of(DESCRIBED_EXTENTS) {
            self.extents.push(Extent { owner: None, used: DESCRIPTION_PAGES });
        }
        self.extents.push(Extent { owner: Some(segment), used: 0 });
        (self.extents.len() as u32 - 1) * EXTENT_PAGES
    }

    /// These pages of the extent that begins at page `first` are used, a bit each.
    pub fn use_pages(&mut self, first: u32, used: u64) {
        self.extents[(first / EXTENT_PAGES) as usize].used |= used;
    }

    /// An extent of which no page was used belongs to nobody again.
    pub fn give_back(&mut self, first: u32) {
        self.extents[(first / EXTENT_PAGES) as usize].owner = None;
    }

    /// Gives a segment one page of its current extent.
    pub fn take_page(&mut self, segment: Segment) -> u32 {
        let place = usize::from(segment.0);
        let extent = match self.open[place] {
            Some(extent) if !self.extents[extent as usize].is_full() => extent,
            _ => self.take_extent(segment) / EXTENT_PAGES,
        };
        self.open[place] = Some(extent);
        let used = &mut self.extents[extent as usize].used;
        let page = used.trailing_ones();
        *used |= 1 << page;
        extent * EXTENT_PAGES + page
    }

    /// Pages of the whole file.
    pub fn pages(&self) -> u32 {
        self.extents.len() as u32 * EXTENT_PAGES
    }

    /// The pages that describe the file, and the donor's pages that are kept as they are (its roots are
    /// not among them: the trees were built anew).
    pub fn describe(&self, donor: &Donor) -> Vec<(u32, Vec<u8>)> {
        let lists = self.lists(donor);
        let mut pages = Vec::new();
        for number in donor.used_pages() {
            let mut page = donor.page(number).to_vec();
            if donor.indexes.iter().any(|index| index.root_page == number) {
                continue;
            }
            if number == 0 {
                self.put_header(&mut page, &lists);
                seal(&mut page, donor.lsn);
            } else if number == INODE_PAGE {
                self.put_inodes(&mut page, donor, &lists);
                seal(&mut page, donor.lsn);
            }
            pages.push((number, page));
        }
        for first in (DESCRIBED_PAGES..self.pages()).step_by(DESCRIBED_PAGES as usize) {
            let mut descriptors = blank(first, TYPE_DESCRIPTORS, donor);
            self.put_descriptors(&mut descriptors, first / EXTENT_PAGES, &lists);
            seal(&mut descriptors, donor.lsn);
            let mut bitmap = blank(first + 1, TYPE_BITMAP, donor);
            seal(&mut bitmap, donor.lsn);
            pages.extend([(first, descriptors), (first + 1, bitmap)]);
        }
        pages
    }

    /// Sorts the extents into their lists and links them.
    fn lists(&self, donor: &Donor) -> Lists {
        let mut lists = Lists {
            free: Vec::new(),
            shared: ListPair::default(),
            segments: vec![ListPair::default(); self.open.len()],
            nodes: vec![Node { owner_id: 0, previous: None, next: None }; self.extents.len()],
        };
        for (number, extent) in self.extents.iter().enumerate() {
            if extent.used == 0 && extent.owner.is_none() {
                lists.free.push(number as u32);
                continue;
            }
            let pair = match extent.owner {
                None => &mut lists.shared,
                Some(segment) => &mut lists.segments[usize::from(segment.0)],
            };
            let list = if extent.is_full() { &mut pair.full } else { &mut pair.with_room };
            list.push(number as u32);
            if !extent.is_full() {
                pair.with_room_used += extent.used.count_ones();
            }
            if let Some(Segment(segment)) = extent.owner {
                let index = &donor.indexes[usize::from(segment / 2)];
                lists.nodes[number].owner_id = index.segment_ids[usize::from(segment % 2)];
            }
        }
        let pairs = std::iter::once(&lists.shared).chain(&lists.segments);
        for list in pairs.flat_map(|pair| [&pair.full, &pair.with_room]).chain([&lists.free]) {
            for link in list.windows(2) {
                lists.nodes[link[0] as usize].next = Some(link[1]);
                lists.nodes[link[1] as usize].previous = Some(link[0]);
            }
        }
        lists
    }

    fn put_header(&self, page: &mut [u8], lists: &Lists) {
        put_u32(page, SPACE_SIZE, self.pages());
        put_u32(page, FREE_LIMIT, self.pages());
        put_u32(page, FRAGMENT_PAGES_USED, lists.shared.with_room_used);
        put_list(page, FREE_LIST, &lists.free);
        put_list(page, FREE_FRAGMENT_LIST, &lists.shared.with_room);
        put_list(page, FULL_FRAGMENT_LIST, &lists.shared.full);
        self.put_descriptors(page, 0, lists);
    }

    fn put_inodes(&self, page: &mut [u8], donor: &Donor, lists: &Lists) {
        for (ordinal, index) in donor.indexes.iter().enumerate() {
            for (place, inode) in [index.leaf_inode, index.inner_inode].into_iter().enumerate() {
                let (inode, pair) = (usize::from(inode), &lists.segments[2 * ordinal + place]);
                put_u32(page, inode + INODE_NOT_FULL_USED, pair.with_room_used);
                put_list(page, inode + INODE_FREE, &[]);
                put_list(page, inode + INODE_NOT_FULL, &pair.with_room);
                put_list(page, inode + INODE_FULL, &pair.full);
            }
        }
    }

    /// Descriptors of the extents from `first` on, up to a page's worth of them.
    fn put_descriptors(&self, page: &mut [u8], first: u32, lists: &Lists) {
        let end = (first + DESCRIBED_EXTENTS).min(self.extents.len() as u32);
        page[DESCRIPTORS..DESCRIPTORS + DESCRIBED_EXTENTS as usize * DESCRIPTOR_BYTES].fill(0);
        for extent in first..end {
            let at = DESCRIPTORS + (extent - first) as usize * DESCRIPTOR_BYTES;
            let (description, node) = (self.extents[extent as usize], lists.nodes[extent as usize]);
            let state = match description.owner {
                Some(_) => STATE_SEGMENT,
                None if description.used == 0 => STATE_FREE,
                None if description.is_full() => STATE_FULL_FRAGMENT,
                None => STATE_FREE_FRAGMENT,
            };
            put_u64(page, at, node.owner_id);
            put_address(page, at + DESCRIPTOR_NODE, node.previous);
            put_address(page, at + DESCRIPTOR_NODE + 6, node.next);
            put_u32(page, at + DESCRIPTOR_STATE, state);
            put_bitmap(&mut page[at + DESCRIPTOR_BITMAP..at + DESCRIPTOR_BYTES], description.used);
        }
    }
}

/// The extents by list, and their links.
struct Lists {
    /// Of nobody.
    free: Vec<u32>,
    shared: ListPair,
    segments: Vec<ListPair>,
    nodes: Vec<Node>,
}

#[derive(Debug, Clone, Default)]
struct ListPair {
    full: Vec<u32>,
    with_room: Vec<u32>,
    /// Used pages of the extents with room.
    with_room_used: u32,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    owner_id: u64,
    previous: Option<u32>,
    next: Option<u32>,
}

/// The address of an extent's list node, or the null address.
fn put_address(page: &mut [u8], at: usize, extent: Option<u32>) {
    let (number, offset) = extent.map_or((NO_PAGE, 0), |extent| {
        let place = (extent % DESCRIBED_EXTENTS) as usize;
        let offset = DESCRIPTORS + place * DESCRIPTOR_BYTES + DESCRIPTOR_NODE;
        (extent / DESCRIBED_EXTENTS * DESCRIBED_PAGES, offset as u16)
    });
    put_u32(page, at, number);
    put_u16(page, at + 4, offset);
}

/// A list's base node: length, first, last.
fn put_list(page: &mut [u8], at: usize, extents: &[u32]) {
    put_u32(page, at, extents.len() as u32);
    put_address(page, at + 4, extents.first().copied());
    put_address(page, at + 10, extents.last().copied());
}

/// Two bits a page, lowest first: free and clean, the latter always set.
fn put_bitmap(bitmap: &mut [u8], used: u64) {
    bitmap.fill(0xFF);
    for page in (0..EXTENT_PAGES as usize).filter(|page| used >> page & 1 == 1) {
        bitmap[page / 4] &= !(1 << (page % 4 * 2));
    }
}

fn blank(number: u32, page_type: u16, donor: &Donor) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES];
    put_u32(&mut page, PAGE_NUMBER, number);
    put_u16(&mut page, PAGE_TYPE, page_type);
    put_u32(&mut page, SPACE_ID, donor.space_id);
    page
}
