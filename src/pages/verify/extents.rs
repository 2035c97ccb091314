//! Who owns what: extent descriptors and their lists, segment inodes, single pages.

use std::collections::BTreeMap;

use super::Fault;
use super::content::{NONE, Root};
use super::frame::{PAGE, Place, place, u16_at, u32_at, u64_at};

/// Pages of an extent.
const EXTENT: u32 = 64;
/// Descriptors on a page, where they begin, how long one is, and where its list node is in it.
const PER_PAGE: u32 = 256;
const ENTRIES: usize = 150;
const ENTRY: usize = 40;
const NODE: usize = 8;
/// Inodes on the inode page.
const INODES: usize = 85;
const INODE: usize = 192;
const INODES_START: usize = 50;

/// An extent's number, or nothing.
type Link = Option<u32>;

#[derive(Debug, Clone, Copy)]
struct Descriptor {
    owner: u64,
    previous: Link,
    next: Link,
    state: u32,
    used: u64,
}

#[derive(Debug, Clone, Copy)]
struct List {
    length: u32,
    first: Link,
    last: Link,
}

#[derive(Debug, Clone)]
struct Inode {
    id: u64,
    offset: u16,
    not_full_used: u32,
    /// Free, not full, full.
    lists: [List; 3],
    fragments: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct SpaceHeader {
    fragment_pages_used: u32,
    /// Free, shared with room, shared without.
    lists: [List; 3],
    next_segment: u64,
}

/// All that a file says about its extents.
pub struct Extents {
    pages: u32,
    descriptors: Vec<Descriptor>,
    header: Option<SpaceHeader>,
    inodes: Vec<Inode>,
}

/// Which segment a page belongs to.
pub struct Owners {
    /// By extent: the owner or 0.
    extents: Vec<u64>,
    fragments: BTreeMap<u32, u64>,
    /// By index: the leaf segment and the one above.
    segments: Vec<[u64; 2]>,
}

impl Owners {
    /// Whether a page belongs to that index, to its leaves or to the pages above.
    pub fn owns(&self, index: usize, leaf: bool, page: u32) -> bool {
        let fragment = self.fragments.get(&page).copied();
        let owner = fragment.or(self.extents.get((page / EXTENT) as usize).copied());
        owner == Some(self.segments[index][usize::from(!leaf)])
    }
}

impl Extents {
    pub fn new(pages: u32) -> Extents {
        Extents { pages, descriptors: Vec::new(), header: None, inodes: Vec::new() }
    }

    fn total(&self) -> u32 {
        self.pages / EXTENT
    }

    /// Whether the page is marked used.
    pub fn is_used(&self, page: u32) -> Result<bool, Fault> {
        match self.descriptors.get((page / EXTENT) as usize) {
            Some(descriptor) => Ok(descriptor.used >> (page % EXTENT) & 1 == 1),
            None => Fault::at(page, "is described nowhere"),
        }
    }

    /// Reads a descriptor page, the space header among them.
    pub fn descriptors(&mut self, number: u32, page: &[u8]) -> Result<(), Fault> {
        if number == 0 {
            self.header = Some(self.space_header(page)?);
        }
        let first = number / EXTENT;
        for extent in first..first + PER_PAGE {
            let entry = &page[ENTRIES + (extent - first) as usize * ENTRY..][..ENTRY];
            if extent < self.total() {
                self.descriptors.push(descriptor(number, extent, entry)?);
            } else if entry.iter().any(|byte| *byte != 0) {
                return Fault::at(number, format!("describes extent {extent}, which is behind the end"));
            }
        }
        // It cannot have been read without being used.
        if self.descriptors[first as usize].used & 3 != 3 {
            return Fault::at(number, "calls itself or the bitmap page behind it free");
        }
        Ok(())
    }

    fn space_header(&self, page: &[u8]) -> Result<SpaceHeader, Fault> {
        if u32_at(page, 38) != u32_at(page, 34) {
            return Fault::at(
                0,
                format!(
                    "is of tablespace {} by one field, {} by another",
                    u32_at(page, 34),
                    u32_at(page, 38)
                ),
            );
        }
        if u32_at(page, 46) != self.pages || u32_at(page, 50) != self.pages {
            return Fault::at(
                0,
                format!("says {} pages, {} described, of {}", u32_at(page, 46), u32_at(page, 50), self.pages),
            );
        }
        // DYNAMIC, file per table, dictionary information; DATA DIRECTORY or not.
        if u32_at(page, 54) & !0x400 != 0x4021 {
            return Fault::at(0, format!("has the flags {:#x}", u32_at(page, 54)));
        }
        let inode_pages = (u32_at(page, 118), u32_at(page, 134), u32_at(page, 138), u16_at(page, 142));
        if inode_pages != (0, 1, 2, 38) {
            return Fault::at(0, "does not have page 2 as its only inode page");
        }
        Ok(SpaceHeader {
            fragment_pages_used: u32_at(page, 58),
            lists: [list(0, page, 62)?, list(0, page, 78)?, list(0, page, 94)?],
            next_segment: u64_at(page, 110),
        })
    }

    /// Reads the inode page.
    pub fn inodes(&mut self, page: &[u8]) -> Result<(), Fault> {
        for slot in 0..INODES {
            let offset = INODES_START + slot * INODE;
            let inode = &page[offset..offset + INODE];
            if u64_at(inode, 0) == 0 {
                continue;
            }
            if u32_at(inode, 60) != 97_937_874 {
                return Fault::at(2, format!("inode {slot} lacks its magic number"));
            }
            let fragments =
                (0..32).map(|slot| u32_at(inode, 64 + 4 * slot)).filter(|page| *page != NONE).collect();
            self.inodes.push(Inode {
                id: u64_at(inode, 0),
                offset: offset as u16,
                not_full_used: u32_at(inode, 8),
                lists: [list(2, inode, 12)?, list(2, inode, 28)?, list(2, inode, 44)?],
                fragments,
            });
        }
        Ok(())
    }

    /// Checks that every extent is in the one list in which it belongs, and every single page in one
    /// segment.
    pub fn check(&self, roots: &[Root]) -> Result<Owners, Fault> {
        let Some(header) = self.header else { return Fault::at(0, "is not there") };
        let mut listed = vec![false; self.descriptors.len()];
        self.check_shared(&header, &mut listed)?;
        let mut fragments = BTreeMap::new();
        for (number, inode) in self.inodes.iter().enumerate() {
            if inode.id >= header.next_segment
                || self.inodes[..number].iter().any(|other| other.id == inode.id)
            {
                return Fault::at(2, format!("segment {} exists twice or not yet", inode.id));
            }
            self.check_inode(inode, &mut listed)?;
            for page in &inode.fragments {
                if fragments.insert(*page, inode.id).is_some() {
                    return Fault::at(*page, "belongs to two segments");
                }
            }
        }
        if let Some(extent) = listed.iter().position(|listed| !listed) {
            return Fault::at(extent as u32 * EXTENT, "its extent is in no list");
        }
        self.check_fragments(&fragments)?;
        let segments = roots.iter().map(|root| self.segments_of(root)).collect::<Result<_, _>>()?;
        let extents = self.descriptors.iter().map(|descriptor| descriptor.owner).collect();
        Ok(Owners { extents, fragments, segments })
    }

    fn check_shared(&self, header: &SpaceHeader, listed: &mut [bool]) -> Result<(), Fault> {
        // State and used pages of the three lists' members.
        let kinds = [(1, 0..=0), (2, 1..=EXTENT - 1), (3, EXTENT..=EXTENT)];
        for (place, (list, (state, used))) in header.lists.iter().zip(kinds).enumerate() {
            let members = self.walk(0, list, listed)?;
            for extent in &members {
                let descriptor = self.descriptors[*extent as usize];
                if descriptor.state != state
                    || descriptor.owner != 0
                    || !used.contains(&descriptor.used.count_ones())
                {
                    return Fault::at(extent * EXTENT, "its extent is in a list in which it does not belong");
                }
            }
            if place == 1 && self.used(&members) != header.fragment_pages_used {
                return Fault::at(0, "counts the pages used in shared extents wrongly");
            }
        }
        Ok(())
    }

    fn check_inode(&self, inode: &Inode, listed: &mut [bool]) -> Result<(), Fault> {
        let kinds = [0..=0, 1..=EXTENT - 1, EXTENT..=EXTENT];
        for (place, (list, used)) in inode.lists.iter().zip(kinds).enumerate() {
            let members = self.walk(2, list, listed)?;
            for extent in &members {
                let descriptor = self.descriptors[*extent as usize];
                let ours = descriptor.state == 4 && descriptor.owner == inode.id;
                if !ours || !used.contains(&descriptor.used.count_ones()) {
                    return Fault::at(
                        extent * EXTENT,
                        format!("its extent is in a wrong list of segment {}", inode.id),
                    );
                }
            }
            if place == 1 && self.used(&members) != inode.not_full_used {
                return Fault::at(2, format!("counts the used pages of segment {} wrongly", inode.id));
            }
        }
        Ok(())
    }

    fn used(&self, extents: &[u32]) -> u32 {
        extents.iter().map(|extent| self.descriptors[*extent as usize].used.count_ones()).sum()
    }

    /// Follows a list and marks its members.
    fn walk(&self, page: u32, list: &List, listed: &mut [bool]) -> Result<Vec<u32>, Fault> {
        let mut members = Vec::new();
        let (mut previous, mut at) = (None, list.first);
        while let Some(extent) = at {
            let Some(descriptor) = self.descriptors.get(extent as usize) else {
                return Fault::at(page, format!("a list leads to extent {extent}, which does not exist"));
            };
            if std::mem::replace(&mut listed[extent as usize], true) {
                return Fault::at(extent * EXTENT, "its extent is in two lists");
            }
            if descriptor.previous != previous {
                return Fault::at(extent * EXTENT, "its extent's list does not lead back");
            }
            members.push(extent);
            (previous, at) = (Some(extent), descriptor.next);
        }
        if members.len() as u64 != u64::from(list.length) || list.last != previous {
            return Fault::at(page, format!("a list says {} extents and has {}", list.length, members.len()));
        }
        Ok(members)
    }

    /// In shared extents every used page belongs to exactly one segment or describes the file.
    fn check_fragments(&self, fragments: &BTreeMap<u32, u64>) -> Result<(), Fault> {
        let shared = |page: u32| {
            self.descriptors.get((page / EXTENT) as usize).is_some_and(|extent| matches!(extent.state, 2 | 3))
        };
        for page in fragments.keys() {
            if !shared(*page) || !self.is_used(*page)? || place(*page) != Place::Anything {
                return Fault::at(*page, "is a segment's single page but free, or not in a shared extent");
            }
        }
        for extent in (0..self.total()).filter(|extent| shared(extent * EXTENT)) {
            for page in extent * EXTENT..(extent + 1) * EXTENT {
                if self.is_used(page)? && place(page) == Place::Anything && !fragments.contains_key(&page) {
                    return Fault::at(page, "is marked used but belongs to no segment");
                }
            }
        }
        Ok(())
    }

    fn segments_of(&self, root: &Root) -> Result<[u64; 2], Fault> {
        let id = |offset: u16| match self.inodes.iter().find(|inode| inode.offset == offset) {
            Some(inode) => Ok(inode.id),
            None => Fault::at(root.page, format!("names an inode at {offset}, where none is")),
        };
        Ok([id(root.inodes[0])?, id(root.inodes[1])?])
    }
}

fn descriptor(number: u32, extent: u32, entry: &[u8]) -> Result<Descriptor, Fault> {
    let mut used = 0;
    for page in 0..EXTENT as usize {
        let bits = entry[24 + page / 4] >> (page % 4 * 2) & 3;
        if bits & 2 == 0 {
            return Fault::at(number, format!("calls page {} unclean", extent * EXTENT + page as u32));
        }
        used |= u64::from(bits & 1 == 0) << page;
    }
    Ok(Descriptor {
        owner: u64_at(entry, 0),
        previous: link(number, entry, NODE)?,
        next: link(number, entry, NODE + 6)?,
        state: u32_at(entry, 20),
        used,
    })
}

fn list(number: u32, page: &[u8], at: usize) -> Result<List, Fault> {
    Ok(List {
        length: u32_at(page, at),
        first: link(number, page, at + 4)?,
        last: link(number, page, at + 10)?,
    })
}

/// An address of a descriptor's list node as the extent's number.
fn link(number: u32, bytes: &[u8], at: usize) -> Result<Link, Fault> {
    let (page, offset) = (u32_at(bytes, at), usize::from(u16_at(bytes, at + 4)));
    if page == NONE && offset == 0 {
        return Ok(None);
    }
    let into = offset.wrapping_sub(ENTRIES + NODE);
    let valid =
        page % (EXTENT * PER_PAGE) == 0 && into < PER_PAGE as usize * ENTRY && into.is_multiple_of(ENTRY);
    if !valid || offset >= PAGE {
        return Fault::at(number, format!("a list leads to byte {offset} of page {page}, where no list is"));
    }
    Ok(Some(page / EXTENT + (into / ENTRY) as u32))
}
