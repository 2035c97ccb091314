//! Looks at the files of a table that has lived: how full its leaves are and in which order they lie. Reads
//! the pages that describe a file, and a bounded sample of its leaves' extents.
//!
//! The file must hold what the server holds: flushed for export, or of a server that was shut down.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::fill::Draws;
use super::format::*;
use super::verify::{LeafOrder, OrderSummary};
use crate::spec::dataset::{FILL_PLACES, IndexAge, TableAge};

/// Extents that are read of each index at most, all files together: 512 MiB.
const EXTENTS_MAX: usize = 512;

/// What a sample shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// The table or file.
    pub source: String,
    /// Its indexes, the clustered one first.
    pub indexes: Vec<SampledIndex>,
}

/// What a sample shows of one index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampledIndex {
    /// Leaf pages in all files, counted from their descriptors.
    pub leaf_pages: u64,
    /// Of the leaves that were read.
    pub leaves: OrderSummary,
    /// Share of the pages of the leaves' extents that are used.
    pub extents_used_share: f64,
    /// As a profile.
    pub age: IndexAge,
}

/// Why a file tells nothing.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// It could not be read.
    #[error("read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is of another format.
    #[error(
        "take the age of {path}: it is {what}, and only plain pages of 16 KiB are understood — name a table with such \
         pages, or use --fill aged"
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// In words.
        what: &'static str,
    },
    /// It contradicts itself.
    #[error(
        "take the age of {path}: page {page} {fault} — flush the table (FLUSH TABLES … FOR EXPORT) or stop its server \
         first, and give the path of the file of one table or partition"
    )]
    Page {
        /// The file.
        path: PathBuf,
        /// The page.
        page: u32,
        /// What is wrong.
        fault: &'static str,
    },
    /// It has no row.
    #[error("take the age of {source_name}: it has no rows — name a table that has lived")]
    Empty {
        /// The table or file.
        source_name: String,
    },
}

/// What was counted of one index.
#[derive(Debug, Default)]
struct Counted {
    leaf_pages: u64,
    extents: u64,
    pages_in_extents: u64,
    order: LeafOrder,
    /// Fills of the leaves read, in ten-thousandths.
    fills: Vec<u16>,
}

/// Looks at all files of a table.
///
/// # Errors
/// [`SampleError`]
pub fn sample(source: &str, files: &[PathBuf]) -> Result<Sample, SampleError> {
    let mut counted: BTreeMap<usize, Counted> = BTreeMap::new();
    for path in files {
        let file = SampledFile::open(path)?;
        for (ordinal, index) in file.indexes()?.iter().enumerate() {
            file.count(index, EXTENTS_MAX.div_ceil(files.len()), counted.entry(ordinal).or_default())?;
        }
    }
    let indexes: Vec<SampledIndex> = counted.into_values().filter_map(sampled_index).collect();
    match indexes.is_empty() {
        true => Err(SampleError::Empty { source_name: source.to_owned() }),
        false => Ok(Sample { source: source.to_owned(), indexes }),
    }
}

impl Sample {
    /// The profile to build tables with.
    pub fn age(&self) -> TableAge {
        let indexes = self.indexes.iter().map(|index| index.age.clone()).collect();
        TableAge { source: self.source.clone(), indexes }
    }
}

fn sampled_index(mut counted: Counted) -> Option<SampledIndex> {
    counted.fills.sort_unstable();
    let last = counted.fills.len().checked_sub(1)?;
    let place = |place: usize| counted.fills[(place * last + (FILL_PLACES - 1) / 2) / (FILL_PLACES - 1)];
    let leaves = counted.order.summary();
    // An index without extents lies on single pages.
    let extents_used_share = match counted.extents {
        0 => 1.0,
        extents => counted.pages_in_extents as f64 / (extents * u64::from(EXTENT_PAGES)) as f64,
    };
    let ten_thousandths = |share: f64| (share * 10_000.0).round() as u16;
    let age = IndexAge {
        fill: (0..FILL_PLACES).map(place).collect(),
        consecutive: ten_thousandths(leaves.consecutive_share),
        same_extent: ten_thousandths(leaves.same_extent_share),
        extents_used: ten_thousandths(extents_used_share),
    };
    Some(SampledIndex { leaf_pages: counted.leaf_pages, leaves, extents_used_share, age })
}

/// An index in a file.
struct FileIndex {
    id: u64,
    leaf_segment: u64,
    /// Leaves that are single pages.
    fragments: Vec<u32>,
    root: u32,
}

struct SampledFile {
    path: PathBuf,
    file: File,
    pages: u32,
    space_id: u32,
    /// By extent: its segment, 0 if it has none, and its used pages, a bit each.
    extents: Vec<(u64, u64)>,
}

/// Space flags: a compressed page size, another page size, encryption.
const FLAGS_ZIP: u32 = 0xF << 1;
const FLAGS_PAGE_SIZE: u32 = 0xF << 6;
const FLAGS_ENCRYPTED: u32 = 1 << 13;
/// Page types of pages that are stored compressed or encrypted.
const TYPES_STORED_OTHERWISE: std::ops::RangeInclusive<u16> = 14..=17;
/// States of extents that a segment owns: its own, and leased.
const STATES_OWNED: [u32; 2] = [STATE_SEGMENT, 5];

impl SampledFile {
    fn open(path: &Path) -> Result<SampledFile, SampleError> {
        let unread = |source| SampleError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(unread)?;
        let bytes = file.metadata().map_err(unread)?.len();
        let pages = u32::try_from(bytes / PAGE_BYTES as u64).unwrap_or(u32::MAX);
        let mut sampled =
            SampledFile { path: path.to_owned(), file, pages, space_id: 0, extents: Vec::new() };
        let header = sampled.read(0, 1)?;
        let format = |what| Err(SampleError::Format { path: path.to_owned(), what });
        if get_u16(&header, PAGE_TYPE) != TYPE_SPACE_HEADER || pages < EXTENT_PAGES / 16 {
            return format("no tablespace file");
        }
        let flags = get_u32(&header, SPACE_FLAGS);
        if flags & FLAGS_ZIP != 0 {
            return format("compressed (ROW_FORMAT=COMPRESSED)");
        }
        if flags & FLAGS_PAGE_SIZE != 0 {
            return format("of another page size");
        }
        if flags & FLAGS_ENCRYPTED != 0 {
            return format("encrypted");
        }
        sampled.space_id = get_u32(&header, SPACE_ID);
        sampled.check(0, &header)?;
        sampled.extents = sampled.read_descriptors(get_u32(&header, FREE_LIMIT).min(pages))?;
        Ok(sampled)
    }

    fn read(&self, first: u32, pages: u32) -> Result<Vec<u8>, SampleError> {
        let pages = pages.min(self.pages.saturating_sub(first)).max(1);
        let mut bytes = vec![0; pages as usize * PAGE_BYTES];
        let offset = u64::from(first) * PAGE_BYTES as u64;
        let unread = |source| SampleError::Read { path: self.path.clone(), source };
        self.file.read_exact_at(&mut bytes, offset).map_err(unread)?;
        Ok(bytes)
    }

    fn fault<T>(&self, page: u32, fault: &'static str) -> Result<T, SampleError> {
        Err(SampleError::Page { path: self.path.clone(), page, fault })
    }

    fn check(&self, number: u32, page: &[u8]) -> Result<(), SampleError> {
        if TYPES_STORED_OTHERWISE.contains(&get_u16(page, PAGE_TYPE)) {
            let what = "compressed or encrypted page by page";
            return Err(SampleError::Format { path: self.path.clone(), what });
        }
        if get_u32(page, CHECKSUM) != page_checksum(page) {
            return self.fault(number, "has a wrong checksum");
        }
        if get_u32(page, PAGE_NUMBER) != number || get_u32(page, SPACE_ID) != self.space_id {
            return self.fault(number, "bears another page's number or another tablespace's id");
        }
        Ok(())
    }

    fn read_descriptors(&self, end: u32) -> Result<Vec<(u64, u64)>, SampleError> {
        let mut extents = Vec::new();
        for first in (0..end).step_by(DESCRIBED_PAGES as usize) {
            let page = self.read(first, 1)?;
            self.check(first, &page)?;
            let described = (end - first).min(DESCRIBED_PAGES).div_ceil(EXTENT_PAGES) as usize;
            for entry in page[DESCRIPTORS..].chunks_exact(DESCRIPTOR_BYTES).take(described) {
                let owned = STATES_OWNED.contains(&get_u32(entry, DESCRIPTOR_STATE));
                extents.push((if owned { get_u64(entry, 0) } else { 0 }, used_pages(entry)));
            }
        }
        Ok(extents)
    }

    /// All indexes, oldest first: the clustered one is made before the others.
    fn indexes(&self) -> Result<Vec<FileIndex>, SampleError> {
        let inodes = self.read(INODE_PAGE, 1)?;
        self.check(INODE_PAGE, &inodes)?;
        let mut found = Vec::new();
        let offsets = (FIRST_INODE..=TRAILER - INODE_BYTES).step_by(INODE_BYTES);
        for offset in offsets.filter(|offset| get_u64(&inodes, *offset) != 0) {
            let root = get_u32(&inodes, offset + INODE_FRAGMENTS);
            // The first page of an index's upper segment is its root.
            if root >= self.pages {
                continue;
            }
            let page = self.read(root, 1)?;
            let is_root = get_u16(&page, PAGE_TYPE) == TYPE_INDEX
                && get_u32(&page, PREVIOUS) == NO_PAGE
                && get_u32(&page, NEXT) == NO_PAGE
                && get_u32(&page, ROOT_SEGMENTS + 14) == INODE_PAGE
                && usize::from(get_u16(&page, ROOT_SEGMENTS + 18)) == offset;
            let leaf_inode = usize::from(get_u16(&page, ROOT_SEGMENTS + 8));
            if !is_root || leaf_inode + INODE_BYTES > TRAILER {
                continue;
            }
            self.check(root, &page)?;
            let slots = (0..32).map(|slot| get_u32(&inodes, leaf_inode + INODE_FRAGMENTS + 4 * slot));
            found.push(FileIndex {
                id: get_u64(&page, INDEX_ID),
                leaf_segment: get_u64(&inodes, leaf_inode),
                fragments: slots.filter(|page| *page < self.pages).collect(),
                root,
            });
        }
        found.sort_by_key(|index| index.id);
        Ok(found)
    }

    fn count(&self, index: &FileIndex, extents_max: usize, counted: &mut Counted) -> Result<(), SampleError> {
        let owned = |(_, (owner, _)): &(usize, &(u64, u64))| *owner == index.leaf_segment;
        let mut extents: Vec<(usize, u64)> = self
            .extents
            .iter()
            .enumerate()
            .filter(owned)
            .map(|(number, (_, used))| (number, *used))
            .collect();
        let used: u64 = extents.iter().map(|(_, used)| u64::from(used.count_ones())).sum();
        counted.leaf_pages += used + index.fragments.len() as u64;
        counted.extents += extents.len() as u64;
        counted.pages_in_extents += used;
        for page in &index.fragments {
            self.leaf(index, *page, &self.read(*page, 1)?, counted)?;
        }
        if used == 0 && index.fragments.is_empty() {
            let root = self.read(index.root, 1)?;
            if get_u16(&root, 54) > 0 {
                counted.leaf_pages += 1;
                self.leaf(index, index.root, &root, counted)?;
            }
        }
        // A partial shuffle: the first ones are drawn by lot.
        let draws = Draws::new(index.id, 0, 0);
        for place in 0..extents_max.min(extents.len()) {
            let other = place + draws.below(place as u64, extents.len() - place);
            extents.swap(place, other);
            let (extent, used) = extents[place];
            let first = extent as u32 * EXTENT_PAGES;
            let bytes = self.read(first, EXTENT_PAGES)?;
            for (number, page) in (first..).zip(bytes.chunks_exact(PAGE_BYTES)) {
                if used >> (number - first) & 1 == 1 {
                    self.leaf(index, number, page, counted)?;
                }
            }
        }
        Ok(())
    }

    fn leaf(
        &self,
        index: &FileIndex,
        number: u32,
        page: &[u8],
        counted: &mut Counted,
    ) -> Result<(), SampleError> {
        self.check(number, page)?;
        let is_leaf = get_u16(page, PAGE_TYPE) == TYPE_INDEX && get_u16(page, 64) == 0;
        if !is_leaf || get_u64(page, INDEX_ID) != index.id {
            return self.fault(number, "is used by an index's leaves but is none");
        }
        let records = get_u16(page, 54);
        // What deleted records have left is room again.
        let heap = usize::from(get_u16(page, 40)).saturating_sub(FIRST_RECORD);
        let bytes = heap.saturating_sub(usize::from(get_u16(page, 46)));
        counted.order.add(number, get_u32(page, NEXT), bytes, records);
        let used = bytes + (2 * usize::from(records)).div_ceil(4);
        counted.fills.push((used * 10_000 / PAGE_CAPACITY).min(10_000) as u16);
        Ok(())
    }
}

/// One bit a page from a descriptor's two.
fn used_pages(entry: &[u8]) -> u64 {
    let bits = |page: usize| entry[DESCRIPTOR_BITMAP + page / 4] >> (page % 4 * 2) & 1;
    (0..EXTENT_PAGES as usize).filter(|page| bits(*page) == 0).map(|page| 1 << page).sum()
}
