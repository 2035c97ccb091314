//! A page by itself, whatever it holds: number, tablespace, checksum, type, and nothing where nothing
//! belongs.

use super::Fault;

/// Bytes of a page.
pub const PAGE: usize = 0x4000;
/// Pages to the mebibyte: files end on it.
const PAGES_PER_MIB: u32 = 64;
/// Descriptor pages and bitmap pages come round with this period.
const PERIOD: u32 = 0x4000;

/// What belongs at a page number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Page 0.
    SpaceHeader,
    /// Every 16384 pages after it.
    Descriptors,
    /// The page behind either.
    Bitmap,
    /// Page 2.
    Inodes,
    /// Any other.
    Anything,
}

/// What belongs there.
pub fn place(number: u32) -> Place {
    match (number, number % PERIOD) {
        (0, _) => Place::SpaceHeader,
        (_, 0) => Place::Descriptors,
        (_, 1) => Place::Bitmap,
        (2, _) => Place::Inodes,
        _ => Place::Anything,
    }
}

pub fn u16_at(page: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([page[at], page[at + 1]])
}

pub fn u32_at(page: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}

pub fn u64_at(page: &[u8], at: usize) -> u64 {
    u64::from(u32_at(page, at)) << 32 | u64::from(u32_at(page, at + 4))
}

/// Pages of a file of that length.
pub fn pages_of(bytes: u64) -> Result<u32, Fault> {
    let mib = u64::from(PAGES_PER_MIB) * PAGE as u64;
    match u32::try_from(bytes / PAGE as u64) {
        Ok(pages) if bytes > 0 && bytes.is_multiple_of(mib) => Ok(pages),
        _ => Fault::at(0, format!("the file's {bytes} bytes are no whole number of mebibytes")),
    }
}

/// The tablespace id in a page's header.
pub fn space_id(page: &[u8]) -> u32 {
    u32_at(page, 34)
}

/// Whether the page says that it is part of a B-tree of rows.
pub fn is_index(page: &[u8]) -> bool {
    u16_at(page, 24) == 17855
}

/// Checks what every used page has; its LSN.
pub fn check(number: u32, page: &[u8], space: u32) -> Result<u64, Fault> {
    let sum = crc32c::crc32c(&page[4..26]) ^ crc32c::crc32c(&page[38..PAGE - 8]);
    let (head, tail) = (u32_at(page, 0), u32_at(page, PAGE - 8));
    if head != sum || tail != sum {
        return Fault::at(number, format!("checksum {head:#010x} and {tail:#010x}, computed {sum:#010x}"));
    }
    if u32_at(page, 4) != number {
        return Fault::at(number, format!("bears the number {}", u32_at(page, 4)));
    }
    if u64_at(page, 26) != 0 {
        return Fault::at(number, "bears a flush LSN, which only the system tablespace does");
    }
    if space_id(page) != space {
        return Fault::at(number, format!("belongs to tablespace {}, not {space}", space_id(page)));
    }
    let lsn = u64_at(page, 16);
    if lsn as u32 != u32_at(page, PAGE - 4) {
        return Fault::at(number, "the LSN in its trailer is another than in its header");
    }
    check_type(number, page)?;
    Ok(lsn)
}

fn check_type(number: u32, page: &[u8]) -> Result<(), Fault> {
    let found = u16_at(page, 24);
    let expected = match place(number) {
        Place::SpaceHeader => found == 8,
        Place::Descriptors => found == 9,
        Place::Bitmap => found == 5,
        Place::Inodes => found == 3,
        // B-trees; and serialised dictionary information, its tree and its long values.
        Place::Anything => matches!(found, 17855 | 17853 | 18),
    };
    if !expected {
        return Fault::at(number, format!("is of type {found}, which does not belong there"));
    }
    let siblings = matches!(found, 17855 | 17853 | 8);
    if !siblings && (u32_at(page, 8) != 0 || u32_at(page, 12) != 0) && found != 18 {
        return Fault::at(number, "has siblings, which its type does not");
    }
    Ok(())
}

/// A page that nobody uses is zero throughout.
pub fn check_unused(number: u32, page: &[u8]) -> Result<(), Fault> {
    match page.iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(at) => Fault::at(number, format!("is marked free but has a byte set at {at}")),
    }
}

/// Nothing is buffered for any page and none belongs to the change buffer.
pub fn check_bitmap(number: u32, page: &[u8]) -> Result<(), Fault> {
    match page[94..94 + 8192].iter().position(|byte| *byte & 0xCC != 0) {
        None => Ok(()),
        Some(at) => Fault::at(
            number,
            format!("says that changes wait for a page near {}", number - 1 + 2 * at as u32),
        ),
    }
}

/// Serialised dictionary information: copied from the server's own file, all of it in the first extent.
pub fn check_other(number: u32, page: &[u8]) -> Result<(), Fault> {
    if number >= PAGES_PER_MIB {
        return Fault::at(
            number,
            format!("is of type {}, which belongs to the first extent", u16_at(page, 24)),
        );
    }
    Ok(())
}
