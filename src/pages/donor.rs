//! What is taken from the empty partition's own file: everything that the server's dictionary knows about
//! it, and the pages that are not ours to make (the serialised dictionary information).

use super::format::*;

/// An empty partition's file.
#[derive(Debug, Clone)]
pub struct Donor {
    /// Id of the tablespace.
    pub space_id: u32,
    /// The largest LSN of its pages: new pages bear it, so that the redo log never skips them.
    pub lsn: u64,
    /// Its indexes in the order of their roots.
    pub indexes: Vec<IndexIds>,
    /// Which of the first 64 pages are used.
    used: u64,
    bytes: Vec<u8>,
}

/// What the dictionary knows about an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexIds {
    /// Its id, on every page of it.
    pub index_id: u64,
    /// Its root.
    pub root_page: u32,
    /// Where the leaf segment's inode lies on the inode page.
    pub leaf_inode: u16,
    /// Where the inode of the segment above lies.
    pub inner_inode: u16,
    /// Ids of the two segments: leaves, then the one above.
    pub segment_ids: [u64; 2],
}

/// Why a file is no donor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DonorError {
    /// Too short or cut within a page.
    #[error("the file has {bytes} bytes, which is no whole number of pages or too few of them")]
    Length {
        /// Its length.
        bytes: usize,
    },
    /// A page that contradicts itself or its place.
    #[error(
        "page {page} {fault} (the table's files are not as the server leaves them after a clean shutdown)"
    )]
    Page {
        /// Its number.
        page: u32,
        /// What is wrong.
        fault: &'static str,
    },
    /// Flags of a format that is not written here.
    #[error(
        "the tablespace's flags are {flags:#x}: compressed, encrypted, shared or of another page size (use --method sql)"
    )]
    Flags {
        /// As found on page 0.
        flags: u32,
    },
    /// Rows are or were in it.
    #[error(
        "index number {ordinal} is not empty or not freshly made (truncate the partition, shut down cleanly, and try again)"
    )]
    NotEmpty {
        /// 0 is the clustered index.
        ordinal: usize,
    },
    /// The definition and the file disagree.
    #[error("the file has {found} indexes, the table {expected}")]
    IndexCount {
        /// Roots in the file.
        found: usize,
        /// Indexes in the definition.
        expected: usize,
    },
}

/// DYNAMIC, file per table, with serialised dictionary information.
const FLAGS: u32 = 0x4021;
/// The same under DATA DIRECTORY.
const FLAGS_ELSEWHERE: u32 = FLAGS | 0x400;
/// What stands where the first secondary index would have its root, at the least.
const PAGES_MIN: usize = 6;

impl Donor {
    /// Reads the whole file of an empty partition of a table with so many indexes.
    pub fn read(bytes: Vec<u8>, index_count: usize) -> Result<Donor, DonorError> {
        if !bytes.len().is_multiple_of(PAGE_BYTES) || bytes.len() < PAGES_MIN * PAGE_BYTES {
            return Err(DonorError::Length { bytes: bytes.len() });
        }
        let flags = get_u32(&bytes, SPACE_FLAGS);
        if flags != FLAGS && flags != FLAGS_ELSEWHERE {
            return Err(DonorError::Flags { flags });
        }
        let mut donor = Donor {
            space_id: get_u32(&bytes, SPACE_ID),
            lsn: 0,
            indexes: Vec::new(),
            used: used_pages(&bytes[DESCRIPTORS + DESCRIPTOR_BITMAP..DESCRIPTORS + DESCRIPTOR_BYTES]),
            bytes,
        };
        donor.check_pages()?;
        donor.lsn = donor.used_pages().map(|page| get_u64(donor.page(page), PAGE_LSN)).max().unwrap_or(0);
        let roots = donor.used_pages().filter(|page| donor.is_root(*page)).count();
        if roots != index_count {
            return Err(DonorError::IndexCount { found: roots, expected: index_count });
        }
        donor.indexes = (0..index_count).map(|ordinal| donor.index(ordinal)).collect::<Result<_, _>>()?;
        Ok(donor)
    }

    /// Numbers of the used pages, all within the first extent.
    pub fn used_pages(&self) -> impl Iterator<Item = u32> + use<> {
        let used = self.used;
        (0..EXTENT_PAGES).filter(move |page| used >> page & 1 == 1)
    }

    /// A used page's bytes.
    pub fn page(&self, number: u32) -> &[u8] {
        // `check_pages` saw that all used pages are in the file.
        &self.bytes[number as usize * PAGE_BYTES..][..PAGE_BYTES]
    }

    fn check_pages(&self) -> Result<(), DonorError> {
        let expected = [
            (0, TYPE_SPACE_HEADER),
            (1, TYPE_BITMAP),
            (INODE_PAGE, TYPE_INODES),
            (CLUSTERED_ROOT, TYPE_INDEX),
        ];
        for (page, page_type) in expected {
            if self.used >> page & 1 == 0 || get_u16(self.page(page), PAGE_TYPE) != page_type {
                return Err(DonorError::Page { page, fault: "is not of the type that belongs there" });
            }
        }
        let pages = self.bytes.len() / PAGE_BYTES;
        for number in self.used_pages() {
            let fail = |fault| Err(DonorError::Page { page: number, fault });
            if number as usize >= pages {
                return fail("is marked used but lies behind the end of the file");
            }
            let page = self.page(number);
            if get_u32(page, CHECKSUM) != page_checksum(page) || get_u32(page, TRAILER) != page_checksum(page)
            {
                return fail("has a wrong checksum");
            }
            if get_u32(page, PAGE_NUMBER) != number || get_u32(page, SPACE_ID) != self.space_id {
                return fail("bears another page's number or another tablespace's id");
            }
        }
        let only_extent = get_u32(&self.bytes, DESCRIPTORS + DESCRIPTOR_STATE) == STATE_FREE_FRAGMENT
            && get_u32(&self.bytes, FREE_FRAGMENT_LIST) == 1
            && get_u32(&self.bytes, FREE_LIST) == 0;
        if !only_extent || get_u32(&self.bytes, BODY) != self.space_id {
            return Err(DonorError::Page {
                page: 0,
                fault: "describes more than a fresh file's first extent",
            });
        }
        Ok(())
    }

    fn is_root(&self, number: u32) -> bool {
        get_u16(self.page(number), PAGE_TYPE) == TYPE_INDEX
    }

    fn index(&self, ordinal: usize) -> Result<IndexIds, DonorError> {
        let root_page = CLUSTERED_ROOT + ordinal as u32;
        if self.used >> root_page & 1 == 0 || !self.is_root(root_page) {
            return Err(DonorError::Page { page: root_page, fault: "is no root although one belongs there" });
        }
        let root = self.page(root_page);
        // Level and record count.
        if get_u16(root, 64) != 0 || get_u16(root, 54) != 0 {
            return Err(DonorError::NotEmpty { ordinal });
        }
        let inode = |at: usize| {
            let on_inode_page = get_u32(root, at) == self.space_id && get_u32(root, at + 4) == INODE_PAGE;
            let offset = usize::from(get_u16(root, at + 8));
            let aligned = offset >= FIRST_INODE && (offset - FIRST_INODE).is_multiple_of(INODE_BYTES);
            (on_inode_page && aligned && offset + INODE_BYTES <= TRAILER).then_some(offset)
        };
        let (Some(leaf), Some(inner)) = (inode(ROOT_SEGMENTS), inode(ROOT_SEGMENTS + 10)) else {
            return Err(DonorError::Page { page: root_page, fault: "names no inode of its segments" });
        };
        let inodes = self.page(INODE_PAGE);
        let fresh = |inode: usize, first_page: u32| {
            get_u32(inodes, inode + INODE_MAGIC) == INODE_MAGIC_VALUE
                && [INODE_FREE, INODE_NOT_FULL, INODE_FULL]
                    .iter()
                    .all(|list| get_u32(inodes, inode + list) == 0)
                && get_u32(inodes, inode + INODE_FRAGMENTS) == first_page
                && (1..32).all(|slot| get_u32(inodes, inode + INODE_FRAGMENTS + 4 * slot) == NO_PAGE)
        };
        if !fresh(leaf, NO_PAGE) || !fresh(inner, root_page) {
            return Err(DonorError::NotEmpty { ordinal });
        }
        Ok(IndexIds {
            index_id: get_u64(root, INDEX_ID),
            root_page,
            leaf_inode: leaf as u16,
            inner_inode: inner as u16,
            segment_ids: [get_u64(inodes, leaf), get_u64(inodes, inner)],
        })
    }
}

/// One bit a page from the descriptor's two.
fn used_pages(bitmap: &[u8]) -> u64 {
    (0..EXTENT_PAGES as usize)
        .filter(|page| bitmap[page / 4] >> (page % 4 * 2) & 1 == 0)
        .map(|page| 1 << page)
        .sum()
}
