//! The numbers of the file format that the writer needs: 16 KiB pages, file per table, DYNAMIC rows.
//! The verifier has its own, on purpose.

/// Bytes of a page.
pub const PAGE_BYTES: usize = 16384;
/// Pages of an extent, the unit in which segments own space.
pub const EXTENT_PAGES: u32 = 64;
/// Bytes of an extent.
pub const EXTENT_BYTES: usize = EXTENT_PAGES as usize * PAGE_BYTES;
/// Every so many pages an extent descriptor page comes round, followed by a change buffer bitmap page.
pub const DESCRIBED_PAGES: u32 = 16384;
/// Extents that one descriptor page describes.
pub const DESCRIBED_EXTENTS: u32 = DESCRIBED_PAGES / EXTENT_PAGES;
/// "No page".
pub const NO_PAGE: u32 = u32::MAX;

/// Page header: checksum.
pub const CHECKSUM: usize = 0;
/// Page header: its own number.
pub const PAGE_NUMBER: usize = 4;
/// Page header: left sibling; on page 0 the version of the server that made the file.
pub const PREVIOUS: usize = 8;
/// Page header: right sibling.
pub const NEXT: usize = 12;
/// Page header: log sequence number of the last change.
pub const PAGE_LSN: usize = 16;
/// Page header: type.
pub const PAGE_TYPE: usize = 24;
/// Page header: tablespace id; not covered by the checksum.
pub const SPACE_ID: usize = 34;
/// Where the page's content begins.
pub const BODY: usize = 38;
/// Where the trailer (checksum again, low half of the LSN) begins.
pub const TRAILER: usize = PAGE_BYTES - 8;

/// Page type of B-tree pages.
pub const TYPE_INDEX: u16 = 17855;
/// Page type of extent descriptor pages other than page 0.
pub const TYPE_DESCRIPTORS: u16 = 9;
/// Page type of change buffer bitmaps.
pub const TYPE_BITMAP: u16 = 5;
/// Page type of page 0.
pub const TYPE_SPACE_HEADER: u16 = 8;
/// Page type of segment inode pages.
pub const TYPE_INODES: u16 = 3;

/// Index page: segment headers of a root (leaf segment, then the segment of inner pages).
pub const ROOT_SEGMENTS: usize = 74;
/// Index page: id of the index.
pub const INDEX_ID: usize = 66;
/// Index page: where the first record of the user may begin.
pub const FIRST_RECORD: usize = 120;
/// Origin of the record that is smaller than all others.
pub const INFIMUM: usize = 99;
/// Origin of the record that is larger than all others.
pub const SUPREMUM: usize = 112;
/// Bytes that records and their directory slots share on a page.
pub const PAGE_CAPACITY: usize = PAGE_BYTES - FIRST_RECORD - 8 - 4;
/// A record of this size no longer fits twice on a page and would need pages of its own.
pub const RECORD_BYTES_LIMIT: usize = PAGE_CAPACITY / 2;
/// Bytes of a record's header.
pub const RECORD_HEADER: usize = 5;
/// What the server keeps free on the pages of a clustered index when it fills them in order.
pub const CLUSTERED_RESERVE: usize = PAGE_BYTES / 16;

/// Page 0: size in pages.
pub const SPACE_SIZE: usize = 46;
/// Page 0: first page that no initialised descriptor describes.
pub const FREE_LIMIT: usize = 50;
/// Page 0: flags of the tablespace.
pub const SPACE_FLAGS: usize = 54;
/// Page 0: pages used in extents that are shared by single pages.
pub const FRAGMENT_PAGES_USED: usize = 58;
/// Page 0: list of extents that belong to nobody.
pub const FREE_LIST: usize = 62;
/// Page 0: list of extents shared by single pages, with room.
pub const FREE_FRAGMENT_LIST: usize = 78;
/// Page 0: list of extents shared by single pages, without room.
pub const FULL_FRAGMENT_LIST: usize = 94;
/// Page 0 and other descriptor pages: the descriptors.
pub const DESCRIPTORS: usize = 150;
/// Bytes of a descriptor.
pub const DESCRIPTOR_BYTES: usize = 40;
/// A descriptor's list node.
pub const DESCRIPTOR_NODE: usize = 8;
/// A descriptor's state.
pub const DESCRIPTOR_STATE: usize = 20;
/// A descriptor's page bitmap, two bits a page: free, clean.
pub const DESCRIPTOR_BITMAP: usize = 24;
/// State of an extent that belongs to nobody.
pub const STATE_FREE: u32 = 1;
/// State of an extent shared by single pages, with room.
pub const STATE_FREE_FRAGMENT: u32 = 2;
/// State of an extent shared by single pages, without room.
pub const STATE_FULL_FRAGMENT: u32 = 3;
/// State of an extent that a segment owns.
pub const STATE_SEGMENT: u32 = 4;

/// The page of segment inodes.
pub const INODE_PAGE: u32 = 2;
/// The first inode on it.
pub const FIRST_INODE: usize = 50;
/// Bytes of an inode.
pub const INODE_BYTES: usize = 192;
/// Inode: pages used in extents that are not full.
pub const INODE_NOT_FULL_USED: usize = 8;
/// Inode: list of owned extents without a used page.
pub const INODE_FREE: usize = 12;
/// Inode: list of partly used extents.
pub const INODE_NOT_FULL: usize = 28;
/// Inode: list of full extents.
pub const INODE_FULL: usize = 44;
/// Inode: magic number's place.
pub const INODE_MAGIC: usize = 60;
/// Inode: magic number.
pub const INODE_MAGIC_VALUE: u32 = 97_937_874;
/// Inode: 32 single pages.
pub const INODE_FRAGMENTS: usize = 64;
/// Root of the clustered index; those of the secondary indexes follow.
pub const CLUSTERED_ROOT: u32 = 4;

/// The transaction that is said to have written every row: below whatever any reader considers open.
pub const ROW_TRANSACTION: [u8; 6] = [0, 0, 0, 0, 0, 1];
/// "Freshly inserted, nothing to undo".
pub const ROW_ROLL_POINTER: [u8; 7] = [0x80, 0, 0, 0, 0, 0, 0];
/// The youngest transaction that changed a secondary leaf page: nonzero, long finished.
pub const PAGE_MAX_TRANSACTION: u64 = 5;

/// Writes a big-endian 16-bit number.
#[inline]
pub fn put_u16(page: &mut [u8], at: usize, value: u16) {
    page[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Writes a big-endian 32-bit number.
#[inline]
pub fn put_u32(page: &mut [u8], at: usize, value: u32) {
    page[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// Writes a big-endian 64-bit number.
#[inline]
pub fn put_u64(page: &mut [u8], at: usize, value: u64) {
    page[at..at + 8].copy_from_slice(&value.to_be_bytes());
}

/// Reads a big-endian 16-bit number.
#[inline]
pub fn get_u16(page: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([page[at], page[at + 1]])
}

/// Reads a big-endian 32-bit number.
#[inline]
pub fn get_u32(page: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

/// Reads a big-endian 64-bit number.
#[inline]
pub fn get_u64(page: &[u8], at: usize) -> u64 {
    u64::from(get_u32(page, at)) << 32 | u64::from(get_u32(page, at + 4))
}

/// The checksum of a page: two CRC-32C, over what stands before and behind the fields that the server
/// may change without touching the page.
pub fn page_checksum(page: &[u8]) -> u32 {
    crc32c::crc32c(&page[PAGE_NUMBER..26]) ^ crc32c::crc32c(&page[BODY..TRAILER])
}

/// Stores the checksum in both places and the LSN's low half in the trailer: a page's last touch.
pub fn seal(page: &mut [u8], lsn: u64) {
    put_u64(page, PAGE_LSN, lsn);
    let checksum = page_checksum(page);
    put_u32(page, CHECKSUM, checksum);
    put_u32(page, TRAILER, checksum);
    // The low half, as the format has it.
    put_u32(page, TRAILER + 4, lsn as u32);
}
