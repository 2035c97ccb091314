//! What stands on a page of a B-tree: headers, the chain of records, the directory, the order of keys.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Fault;
use super::frame::{PAGE, u16_at, u32_at, u64_at};
use super::shape::{FieldShape, IndexShape, Length, Shape};

/// Origins of the two records that every page has, and where the others begin.
const LOWEST: usize = 99;
const HIGHEST: usize = 112;
const HEAP: usize = 120;
/// The first root; one follows for each further index.
const FIRST_ROOT: u32 = 4;
/// "No page".
pub const NONE: u32 = 0xFFFF_FFFF;

/// Checks pages one after the other.
pub struct IndexPages {
    shape: Shape,
    roots: Vec<Root>,
    /// Fields of the record at hand and of the one before it.
    fields: Vec<Option<(u16, u16)>>,
    before: Vec<Option<(u16, u16)>>,
}

/// What the root of an index says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    pub page: u32,
    pub id: u64,
    /// Offsets of the inodes of the leaf segment and of the one above.
    pub inodes: [u16; 2],
}

/// What a page is to its neighbours.
pub struct Edge {
    pub index: usize,
    pub level: u16,
    pub previous: u32,
    pub next: u32,
    pub records: u16,
    pub record_bytes: u32,
    pub first: Key,
    pub last: Key,
    /// Of an inner page: its children, each with a hash of the key that is said to be its first.
    pub children: Vec<(u32, u64)>,
}

/// The key fields of a record, in one piece: of a shuffled file very many are kept at a time. Each field
/// is its length plus one in two bytes, or 0 for NULL, and its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Key(Box<[u8]>);

impl Key {
    pub fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        hasher.finish()
    }

    fn fields(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut rest = &self.0[..];
        std::iter::from_fn(move || {
            let (length, after) = rest.split_at_checked(2)?;
            let length = usize::from(u16_at(length, 0));
            let (field, after) = after.split_at(length.saturating_sub(1));
            rest = after;
            Some((length > 0).then_some(field))
        })
    }
}

/// The header of an index page.
struct Header {
    slots: usize,
    heap_top: usize,
    records: usize,
    level: u16,
    is_root: bool,
}

impl IndexPages {
    pub fn new(shape: &Shape) -> IndexPages {
        IndexPages { shape: shape.clone(), roots: Vec::new(), fields: Vec::new(), before: Vec::new() }
    }

    /// The roots that were seen.
    pub fn roots(&self) -> Vec<Root> {
        self.roots.clone()
    }

    /// Checks that two records may follow one another in an index.
    pub fn check_order(&self, number: u32, index: usize, a: &Key, b: &Key) -> Result<(), Fault> {
        let shape = &self.shape.indexes[index];
        let pairs = || a.fields().zip(b.fields());
        check_pair(number, shape, pairs)
    }

    /// Checks a page of an index.
    pub fn check(&mut self, number: u32, page: &[u8]) -> Result<Edge, Fault> {
        let index = self.index_of(number, page)?;
        let header = self.header(number, page, index)?;
        let (previous, next) = (u32_at(page, 8), u32_at(page, 12));
        let mut edge = Edge {
            index,
            level: header.level,
            previous,
            next,
            records: header.records as u16,
            record_bytes: (header.heap_top - HEAP) as u32,
            first: Key::default(),
            last: Key::default(),
            children: Vec::new(),
        };
        self.chain(number, page, &header, &mut edge)?;
        let gap = header.heap_top..slot_place(header.slots - 1);
        if page[gap].iter().any(|byte| *byte != 0) {
            return Fault::at(number, "has bytes set between its records and its directory");
        }
        Ok(edge)
    }

    fn index_of(&mut self, number: u32, page: &[u8]) -> Result<usize, Fault> {
        let id = u64_at(page, 66);
        let is_root = number.wrapping_sub(FIRST_ROOT) < self.shape.indexes.len() as u32;
        if is_root {
            if number - FIRST_ROOT != self.roots.len() as u32 || self.roots.iter().any(|root| root.id == id) {
                return Fault::at(number, format!("is not the root of index number {}", self.roots.len()));
            }
            let inode = |at: usize| {
                let named = u32_at(page, at) == u32_at(page, 34) && u32_at(page, at + 4) == 2;
                if named {
                    Ok(u16_at(page, at + 8))
                } else {
                    Fault::at(number, "names no inode of its segments")
                }
            };
            self.roots.push(Root { page: number, id, inodes: [inode(74)?, inode(84)?] });
        } else if page[74..94].iter().any(|byte| *byte != 0) {
            return Fault::at(number, "names segments, which only a root does");
        }
        match self.roots.iter().position(|root| root.id == id) {
            Some(index) => Ok(index),
            None => Fault::at(number, format!("belongs to index {id}, which has no root in this file")),
        }
    }

    fn header(&self, number: u32, page: &[u8], index: usize) -> Result<Header, Fault> {
        let shape = &self.shape.indexes[index];
        let header = Header {
            slots: usize::from(u16_at(page, 38)),
            heap_top: usize::from(u16_at(page, 40)),
            records: usize::from(u16_at(page, 54)),
            level: u16_at(page, 64),
            is_root: number == self.roots[index].page,
        };
        let heap_fits = header.heap_top >= HEAP
            && header.slots >= 2
            && header.slots <= PAGE / 4
            && header.heap_top <= slot_place(header.slots - 1);
        if !heap_fits {
            return Fault::at(number, "has records and directory that overlap");
        }
        if usize::from(u16_at(page, 42)) != 0x8000 + header.records + 2 {
            return Fault::at(number, format!("counts {} records but another heap", header.records));
        }
        if header.records == 0 && !header.is_root {
            return Fault::at(number, "is empty");
        }
        if u32_at(page, 44) != 0 {
            return Fault::at(number, "has deleted records");
        }
        let filled = header.records > 0;
        if u16_at(page, 50) != if filled { 2 } else { 5 } || u16_at(page, 52) != 0 {
            return Fault::at(number, "was not filled from left to right");
        }
        let youngest = u64_at(page, 56);
        if (youngest != 0) != (header.level == 0 && !shape.clustered) {
            return Fault::at(
                number,
                format!("bears the transaction {youngest}, which does not belong there"),
            );
        }
        if page[94..97] != [1, 0, 2] || &page[99..107] != b"infimum\0" || &page[112..120] != b"supremum" {
            return Fault::at(number, "has no infimum or supremum");
        }
        if page[108..112] != [0, 0x0B, 0, 0] {
            return Fault::at(number, "has a wrong header at its supremum");
        }
        Ok(header)
    }

    /// Follows the records from the lowest to the highest and the directory beside them.
    fn chain(&mut self, number: u32, page: &[u8], header: &Header, edge: &mut Edge) -> Result<(), Fault> {
        let mut directory = Directory { page, number, slot: 1, owned: 0 };
        if slot(page, 0) != LOWEST || slot(page, header.slots - 1) != HIGHEST {
            return Fault::at(number, "has a directory without ends");
        }
        let (mut at, mut heap_end) = (LOWEST, HEAP);
        for position in 0..header.records {
            at = following(page, at);
            if at <= heap_end || at >= header.heap_top {
                return Fault::at(number, format!("record {position} lies outside of the heap"));
            }
            directory.record(at)?;
            heap_end = self.record(page, at, heap_end, position, header, edge).map_err(|reason| Fault {
                page: number,
                reason: format!("record {position} of {}: {reason}", self.shape.indexes[edge.index].name),
            })?;
            if position > 0 {
                let shape = &self.shape.indexes[edge.index];
                let pairs =
                    || self.before.iter().zip(&self.fields).map(|(a, b)| (value(page, *a), value(page, *b)));
                check_pair(number, shape, pairs)?;
            } else {
                edge.first = self.key(page);
            }
            std::mem::swap(&mut self.fields, &mut self.before);
        }
        if header.records > 0 {
            std::mem::swap(&mut self.fields, &mut self.before);
            edge.last = self.key(page);
        }
        if following(page, at) != HIGHEST || heap_end != header.heap_top {
            return Fault::at(number, "has more records than it counts, or gaps between them");
        }
        if usize::from(u16_at(page, 48)) != if header.records > 0 { at } else { 0 } {
            return Fault::at(number, "does not know its last record");
        }
        directory.end(header.slots)
    }

    /// Checks one record; where it ends.
    fn record(
        &mut self,
        page: &[u8],
        at: usize,
        heap_end: usize,
        position: usize,
        header: &Header,
        edge: &mut Edge,
    ) -> Result<usize, String> {
        let shape = &self.shape.indexes[edge.index];
        let inner = header.level > 0;
        let kind = u16_at(page, at - 4);
        if usize::from(kind >> 3) != position + 2 || kind & 7 != u16::from(inner) {
            return Err("its heap number or type is wrong".to_owned());
        }
        let leftmost = inner && position == 0 && edge.previous == NONE;
        if page[at - 5] & 0xF0 != if leftmost { 0x10 } else { 0 } {
            return Err(format!("its flags are {:#04x}", page[at - 5] & 0xF0));
        }
        let count = if inner { shape.key_fields } else { shape.leaf.len() };
        let bitmap_end = at - 5;
        let Some(bitmap) = bitmap_end.checked_sub(shape.null_bytes).filter(|start| *start >= heap_end) else {
            return Err("it begins inside of the record before it".to_owned());
        };
        let mut reader =
            FieldReader { page, bitmap_end, null_bit: 0, lengths: bitmap, floor: heap_end, data: at };
        self.fields.clear();
        for (place, field) in shape.leaf[..count].iter().enumerate() {
            let span = reader.field(field)?;
            if place < shape.key_fields {
                self.fields.push(span);
            }
            if shape.clustered && !inner && place == shape.key_fields {
                check_system(&page[reader.data - 13..reader.data])?;
            }
        }
        // Bits behind the last nullable field, and all of them in a clustered node pointer, say nothing.
        reader.check_spare_bits(shape.null_bytes)?;
        if reader.lengths != heap_end {
            return Err("it does not begin where the record before it ends".to_owned());
        }
        let mut end = reader.data;
        if inner {
            end += 4;
            if end > header.heap_top {
                return Err("it reaches beyond the heap".to_owned());
            }
            let child = u32_at(page, end - 4);
            edge.children.push((child, self.key(page).hash()));
        }
        if end > header.heap_top {
            return Err("it reaches beyond the heap".to_owned());
        }
        Ok(end)
    }

    fn key(&self, page: &[u8]) -> Key {
        let mut bytes = Vec::new();
        for span in &self.fields {
            let field = value(page, *span);
            // Fields are shorter than a page.
            let length = field.map_or(0, |field| field.len() as u16 + 1);
            bytes.extend_from_slice(&length.to_be_bytes());
            bytes.extend_from_slice(field.unwrap_or_default());
        }
        Key(bytes.into())
    }
}

/// A freshly loaded row was written by some transaction and has nothing to undo.
fn check_system(columns: &[u8]) -> Result<(), String> {
    let (transaction, roll) = columns.split_at(6);
    if transaction == [0; 6] || roll != [0x80, 0, 0, 0, 0, 0, 0] {
        return Err("its transaction id or roll pointer is not that of a loaded row".to_owned());
    }
    Ok(())
}

/// Reads the fields of one record.
struct FieldReader<'p> {
    page: &'p [u8],
    bitmap_end: usize,
    null_bit: usize,
    /// Lengths stand below this place, growing downwards.
    lengths: usize,
    /// Nothing of the record may lie below this place.
    floor: usize,
    data: usize,
}

impl FieldReader<'_> {
    #[inline]
    fn field(&mut self, field: &FieldShape) -> Result<Option<(u16, u16)>, String> {
        if field.nullable {
            let byte = self.page[self.bitmap_end - 1 - self.null_bit / 8];
            self.null_bit += 1;
            if byte >> ((self.null_bit - 1) % 8) & 1 == 1 {
                return Ok(None);
            }
        }
        let length = match field.length {
            Length::Fixed(bytes) => bytes,
            Length::Variable { at_most, long } => {
                let mut length = self.length_byte()?;
                if long && length >= 0x80 {
                    if length & 0x40 != 0 {
                        return Err("a value lies on pages of its own".to_owned());
                    }
                    length = (length & 0x3F) << 8 | self.length_byte()?;
                }
                if length > at_most {
                    return Err(format!("a value has {length} bytes where {at_most} are allowed"));
                }
                length
            }
        };
        let start = self.data;
        self.data += length;
        if self.data > PAGE - 8 {
            return Err("it reaches beyond the page".to_owned());
        }
        // Both are below 16384.
        Ok(Some((start as u16, self.data as u16)))
    }

    fn length_byte(&mut self) -> Result<usize, String> {
        if self.lengths <= self.floor {
            return Err("its lengths reach into the record before it".to_owned());
        }
        self.lengths -= 1;
        Ok(usize::from(self.page[self.lengths]))
    }

    fn check_spare_bits(&self, null_bytes: usize) -> Result<(), String> {
        let set = |bit: usize| self.page[self.bitmap_end - 1 - bit / 8] >> (bit % 8) & 1 == 1;
        match (self.null_bit..8 * null_bytes).find(|bit| set(*bit)) {
            None => Ok(()),
            Some(bit) => Err(format!("NULL bit {bit} is set for no field")),
        }
    }
}

#[inline]
fn value(page: &[u8], span: Option<(u16, u16)>) -> Option<&[u8]> {
    span.map(|(start, end)| &page[usize::from(start)..usize::from(end)])
}

/// Keys rise; in a unique index their unique part differs unless it holds a NULL.
#[inline]
fn check_pair<'a, I>(number: u32, shape: &IndexShape, pairs: impl Fn() -> I) -> Result<(), Fault>
where
    I: Iterator<Item = (Option<&'a [u8]>, Option<&'a [u8]>)>,
{
    let mut null = false;
    for (place, (field, (a, b))) in shape.leaf.iter().zip(pairs()).enumerate() {
        if shape.unique == Some(place) && !null {
            return Fault::at(number, format!("two records of {} have the same unique key", shape.name));
        }
        null |= a.is_none();
        match field.compare(a, b) {
            Ordering::Less => return Ok(()),
            Ordering::Equal => {}
            Ordering::Greater => return Fault::at(number, format!("the keys of {} do not rise", shape.name)),
        }
    }
    Fault::at(number, format!("two records of {} have the same key", shape.name))
}

/// The page directory, followed along with the records.
struct Directory<'p> {
    page: &'p [u8],
    number: u32,
    slot: usize,
    /// Records since the last owner.
    owned: u8,
}

impl Directory<'_> {
    #[inline]
    fn record(&mut self, at: usize) -> Result<(), Fault> {
        self.owned = self.owned.saturating_add(1);
        let owns = self.page[at - 5] & 0x0F;
        if owns == 0 {
            return Ok(());
        }
        if owns != self.owned || !(4..=8).contains(&owns) || slot(self.page, self.slot) != at {
            return Fault::at(self.number, format!("directory slot {} does not fit its group", self.slot));
        }
        self.slot += 1;
        self.owned = 0;
        Ok(())
    }

    fn end(&self, slots: usize) -> Result<(), Fault> {
        if self.page[HIGHEST - 5] != self.owned + 1 || self.owned > 7 || self.slot + 1 != slots {
            return Fault::at(self.number, "its directory does not end with its records");
        }
        Ok(())
    }
}

fn slot_place(slot: usize) -> usize {
    PAGE - 8 - 2 * (slot + 1)
}

fn slot(page: &[u8], number: usize) -> usize {
    // More slots than fit were refused with the header; one that does not exist is no record's place.
    if number > PAGE / 4 { 0 } else { usize::from(u16_at(page, slot_place(number))) }
}

fn following(page: &[u8], at: usize) -> usize {
    (at + usize::from(u16_at(page, at - 2))) & 0xFFFF
}
