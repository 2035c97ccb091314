//! Entries into key order within a memory bound: sorted in memory, and when that is used up, sorted runs
//! go to nameless files in the spill folder and are merged at the end.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// A key and what it brings along.
pub type Entry<'a> = (&'a [u8], &'a [u8]);

/// Collects entries, then gives them back in order.
#[derive(Debug)]
pub struct Sorter {
    arena: Vec<u8>,
    places: Vec<Place>,
    memory_bytes: usize,
    spill_folder: PathBuf,
    runs: Vec<File>,
}

/// Where an entry lies in the arena, and the first bytes of its key: they decide most comparisons.
#[derive(Debug, Clone, Copy)]
struct Place {
    head: u64,
    at: u32,
}

/// Why entries could not be sorted.
#[derive(Debug, thiserror::Error)]
pub enum SortError {
    /// A run could not be written.
    #[error("spill sorted entries to {folder}")]
    Spill {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A run could not be read back.
    #[error("read spilled entries back")]
    Merge(#[source] io::Error),
}

/// In front of an entry: lengths of its key and of its payload.
const LENGTHS: usize = 4;
/// A run is read and written in pieces of this size.
const RUN_BUFFER_BYTES: usize = 256 << 10;
/// More runs than this are not opened at once: the bound on files and buffers.
pub const RUNS_MAX: usize = 512;

impl Sorter {
    /// With room for about `memory_bytes` of entries; what is more goes to files in `spill_folder`.
    pub fn new(memory_bytes: usize, spill_folder: &Path) -> Sorter {
        Sorter {
            arena: Vec::new(),
            places: Vec::new(),
            memory_bytes: memory_bytes.clamp(1 << 16, u32::MAX as usize),
            spill_folder: spill_folder.to_owned(),
            runs: Vec::new(),
        }
    }

    /// Adds an entry; key and payload are below 64 KiB, as records are.
    #[inline]
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<(), SortError> {
        let bytes = LENGTHS + key.len() + payload.len() + size_of::<Place>();
        if self.arena.len() + self.places.len() * size_of::<Place>() + bytes > self.memory_bytes {
            self.spill()?;
        }
        self.places.push(Place { head: head(key), at: self.arena.len() as u32 });
        self.arena.extend_from_slice(&(key.len() as u16).to_le_bytes());
        self.arena.extend_from_slice(&(payload.len() as u16).to_le_bytes());
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(payload);
        Ok(())
    }

    /// The entries in order.
    pub fn finish(mut self) -> Result<Sorted, SortError> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted(Source::Memory { arena: self.arena, places: self.places.into_iter() }));
        }
        self.spill()?;
        (self.arena, self.places) = (Vec::new(), Vec::new());
        Merge::new(self.runs).map(|merge| Sorted(Source::Files(merge))).map_err(SortError::Merge)
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        self.places.sort_unstable_by(|a, b| {
            a.head.cmp(&b.head).then_with(|| entry(arena, a.at).0.cmp(entry(arena, b.at).0))
        });
    }

    fn spill(&mut self) -> Result<(), SortError> {
        self.sort();
        let failed = |source| SortError::Spill { folder: self.spill_folder.clone(), source };
        if self.runs.len() == RUNS_MAX {
            return Err(failed(io::Error::other("too many sorted runs: give the sort more memory")));
        }
        let run = self.write_run().map_err(failed)?;
        self.runs.push(run);
        self.arena.clear();
        self.places.clear();
        Ok(())
    }

    fn write_run(&self) -> io::Result<File> {
        let mut out = BufWriter::with_capacity(RUN_BUFFER_BYTES, nameless(&self.spill_folder)?);
        for place in &self.places {
            let (key, payload) = entry(&self.arena, place.at);
            let at = place.at as usize;
            out.write_all(&self.arena[at..at + LENGTHS + key.len() + payload.len()])?;
        }
        let mut file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

/// A file that vanishes with its handle, however the program ends.
fn nameless(folder: &Path) -> io::Result<File> {
    let name = folder.join(format!(".sort-{}-{:p}", std::process::id(), &folder));
    for attempt in 0..1000 {
        let path = name.with_extension(attempt.to_string());
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[inline]
fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(8);
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

#[inline]
fn entry(arena: &[u8], at: u32) -> Entry<'_> {
    let at = at as usize;
    let key = usize::from(u16::from_le_bytes([arena[at], arena[at + 1]]));
    let payload = usize::from(u16::from_le_bytes([arena[at + 2], arena[at + 3]]));
    arena[at + LENGTHS..at + LENGTHS + key + payload].split_at(key)
}

/// Entries in order.
#[derive(Debug)]
pub struct Sorted(Source);

#[derive(Debug)]
enum Source {
    Memory { arena: Vec<u8>, places: std::vec::IntoIter<Place> },
    Files(Merge),
}

impl Sorted {
    /// The next one.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>, SortError> {
        match &mut self.0 {
            Source::Memory { arena, places } => Ok(places.next().map(|place| entry(arena, place.at))),
            Source::Files(merge) => merge.next().map_err(SortError::Merge),
        }
    }
}

/// Several sorted runs as one.
#[derive(Debug)]
struct Merge {
    heap: BinaryHeap<Run>,
    /// The run whose entry was given out last.
    current: Option<Run>,
}

#[derive(Debug)]
struct Run {
    input: BufReader<File>,
    head: u64,
    entry: Vec<u8>,
}

impl Merge {
    fn new(files: Vec<File>) -> io::Result<Merge> {
        let mut heap = BinaryHeap::with_capacity(files.len());
        for file in files {
            let input = BufReader::with_capacity(RUN_BUFFER_BYTES, file);
            let mut run = Run { input, head: 0, entry: Vec::new() };
            if run.advance()? {
                heap.push(run);
            }
        }
        Ok(Merge { heap, current: None })
    }

    fn next(&mut self) -> io::Result<Option<Entry<'_>>> {
        if let Some(mut run) = self.current.take()
            && run.advance()?
        {
            // Runs of a nearly sorted input follow one another: then the heap need not move.
            match self.heap.peek() {
                Some(best) if *best > run => self.heap.push(run),
                _ => self.current = Some(run),
            }
        }
        if self.current.is_none() {
            self.current = self.heap.pop();
        }
        Ok(self.current.as_ref().map(|run| entry(&run.entry, 0)))
    }
}

impl Run {
    /// Reads the next entry; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        let mut lengths = [0; LENGTHS];
        match self.input.read_exact(&mut lengths) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
        let bytes = |at: usize| usize::from(u16::from_le_bytes([lengths[at], lengths[at + 1]]));
        self.entry.resize(LENGTHS + bytes(0) + bytes(2), 0);
        self.entry[..LENGTHS].copy_from_slice(&lengths);
        self.input.read_exact(&mut self.entry[LENGTHS..])?;
        self.head = head(entry(&self.entry, 0).0);
        Ok(true)
    }

    fn key(&self) -> &[u8] {
        entry(&self.entry, 0).0
    }
}

/// The smallest key is the greatest run: a heap gives out its greatest.
impl Ord for Run {
    fn cmp(&self, other: &Run) -> Ordering {
        other.head.cmp(&self.head).then_with(|| other.key().cmp(self.key()))
    }
}

impl PartialOrd for Run {
    fn partial_cmp(&self, other: &Run) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Run {
    fn eq(&self, other: &Run) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Run {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(entries: &[(Vec<u8>, Vec<u8>)], memory_bytes: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(memory_bytes, folder.path());
        for (key, payload) in entries {
            sorter.push(key, payload).unwrap();
        }
        let mut sorted = sorter.finish().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "runs have no names");
        let mut out = Vec::new();
        while let Some((key, payload)) = sorted.next_entry().unwrap() {
            out.push((key.to_vec(), payload.to_vec()));
        }
        out
    }

    proptest! {
        #[test]
        fn entries_come_back_in_key_order(keys in prop::collection::btree_set(prop::collection::vec(any::<u8>(), 0..20), 0..200)) {
            let mut entries: Vec<_> = keys.iter().map(|key| (key.clone(), key.iter().rev().copied().collect::<Vec<u8>>())).collect();
            let expected = entries.clone();
            entries.sort_by_key(|(key, _)| crc32fast::hash(key));
            prop_assert_eq!(sorted(&entries, 1 << 20), expected);
        }
    }

    #[test]
    fn what_does_not_fit_in_memory_is_merged_from_files() {
        let entries: Vec<_> = (0u64..20_000)
            .map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().to_vec(), vec![7; 30]))
            .collect();
        let mut expected = entries.clone();
        expected.sort();
        assert_eq!(sorted(&entries, 0), expected);
    }
}
