//! Reads a finished tablespace file and believes nothing that it says about itself. Shares no code and no
//! constants with the writer: what both get wrong would have to be got wrong twice.
//!
//! One pass over the file in physical order checks every page by itself (`frame`, `content`) and
//! keeps a few bytes about each; then come the extents and segments (`extents`) and the trees
//! (`tree`). It is meant for files as a load leaves them: nothing deleted, no gaps, unused pages zero.
//! Such a file has no byte that may change unseen.

mod ahead;
mod content;
mod extents;
mod frame;
mod order;
mod shape;
mod tree;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use order::{LeafOrder, OrderSummary};
pub use shape::Shape;

use ahead::ReadAhead;
use content::IndexPages;
use extents::Extents;
use frame::{PAGE, Place};
use tree::Trees;

/// The first thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("page {page}: {reason}")]
pub struct Fault {
    /// The page at which it shows.
    pub page: u32,
    /// What is wrong.
    pub reason: String,
}

impl Fault {
    fn at<T>(page: u32, reason: impl Into<String>) -> Result<T, Fault> {
        Err(Fault { page, reason: reason.into() })
    }
}

/// Why a file did not pass.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It could not be read.
    #[error("read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not right.
    #[error("{path}: {fault} (the file is not put into place)")]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The first fault.
        fault: Fault,
    },
}

/// What a file that is right holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Id of the tablespace.
    pub space_id: u32,
    /// Bytes of the file.
    pub bytes: u64,
    /// The largest LSN on a page.
    pub lsn_max: u64,
    /// Its indexes, the clustered one first.
    pub indexes: Vec<VerifiedIndex>,
}

/// One index of a file that is right.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifiedIndex {
    /// Its id.
    pub id: u64,
    /// Records in leaves.
    pub rows: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Pages above them.
    pub inner_pages: u64,
    /// Levels.
    pub levels: u16,
    /// How full its leaves are and in which order they lie.
    pub order: LeafOrder,
}

/// Verifies one file.
pub fn file(path: &Path, shape: &Shape) -> Result<Verified, VerifyError> {
    let unread = |source| VerifyError::Read { path: path.to_owned(), source };
    let mut input = ReadAhead::open(path).map_err(unread)?;
    match read(&mut input, shape) {
        Ok(verified) => Ok(verified),
        Err(ReadError::Input(source)) => Err(unread(source)),
        Err(ReadError::Wrong(fault)) => Err(VerifyError::Wrong { path: path.to_owned(), fault }),
    }
}

/// Verifies several files, so many at a time; the result of each in the order of `paths`, or the fault of
/// the first file that has one.
pub fn files(paths: &[PathBuf], shape: &Shape, at_a_time: usize) -> Result<Vec<Verified>, VerifyError> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Verified, VerifyError>>>> =
        Mutex::new(paths.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..at_a_time.clamp(1, paths.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = paths.get(number) else { break };
                    let result = file(path, shape);
                    if let Ok(mut results) = results.lock() {
                        results[number] = Some(result);
                    }
                }
            });
        }
    });
    // A thread that panicked has ended the scope with its panic.
    results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).into_iter().flatten().collect()
}

/// Verifies a file's bytes.
pub fn bytes(file: &[u8], shape: &Shape) -> Result<Verified, Fault> {
    read(&mut &*file, shape).map_err(|error| match error {
        ReadError::Wrong(fault) => fault,
        // Memory does not fail to be read.
        ReadError::Input(error) => Fault { page: 0, reason: error.to_string() },
    })
}

enum ReadError {
    Input(io::Error),
    Wrong(Fault),
}

impl From<Fault> for ReadError {
    fn from(fault: Fault) -> ReadError {
        ReadError::Wrong(fault)
    }
}

/// A file's bytes from its first page to its last.
trait Pages {
    /// How many there are in all.
    fn bytes(&self) -> u64;
    /// The next of them, whole pages; nothing after the last.
    fn next_pages(&mut self) -> io::Result<&[u8]>;
}

impl Pages for &[u8] {
    fn bytes(&self) -> u64 {
        self.len() as u64
    }

    fn next_pages(&mut self) -> io::Result<&[u8]> {
        Ok(std::mem::take(self))
    }
}

fn read(input: &mut impl Pages, shape: &Shape) -> Result<Verified, ReadError> {
    let bytes = input.bytes();
    let pages = frame::pages_of(bytes)?;
    let mut scan = Scan::new(pages, shape);
    let mut next = 0;
    while next < pages {
        let piece = input.next_pages().map_err(ReadError::Input)?;
        if piece.len() < PAGE {
            return Err(ReadError::Input(io::ErrorKind::UnexpectedEof.into()));
        }
        // The first page describes its whole file; the inodes tell whose the roots are.
        for page in piece.chunks_exact(PAGE) {
            scan.page(next, page)?;
            next += 1;
        }
    }
    Ok(scan.finish(bytes)?)
}

/// One pass over a file.
struct Scan {
    extents: Extents,
    content: IndexPages,
    trees: Trees,
    space_id: u32,
    lsn_max: u64,
}

impl Scan {
    fn new(pages: u32, shape: &Shape) -> Scan {
        Scan {
            extents: Extents::new(pages),
            content: IndexPages::new(shape),
            trees: Trees::new(shape.indexes.len()),
            space_id: 0,
            lsn_max: 0,
        }
    }

    fn page(&mut self, number: u32, page: &[u8]) -> Result<(), Fault> {
        let place = frame::place(number);
        // A descriptor page says itself that it is used; it is looked at first.
        if matches!(place, Place::SpaceHeader | Place::Descriptors) {
            self.frame(number, page)?;
            return self.extents.descriptors(number, page);
        }
        if !self.extents.is_used(number)? {
            return frame::check_unused(number, page);
        }
        self.frame(number, page)?;
        match place {
            Place::Bitmap => frame::check_bitmap(number, page),
            Place::Inodes => self.extents.inodes(page),
            _ if frame::is_index(page) => {
                let edge = self.content.check(number, page)?;
                self.trees.add(number, edge, &self.content)
            }
            _ => frame::check_other(number, page),
        }
    }

    fn frame(&mut self, number: u32, page: &[u8]) -> Result<(), Fault> {
        if number == 0 {
            self.space_id = frame::space_id(page);
        }
        let lsn = frame::check(number, page, self.space_id)?;
        self.lsn_max = self.lsn_max.max(lsn);
        Ok(())
    }

    fn finish(self, bytes: u64) -> Result<Verified, Fault> {
        let roots = self.content.roots();
        let owners = self.extents.check(&roots)?;
        let indexes = self.trees.check(&roots, &owners)?;
        Ok(Verified { space_id: self.space_id, bytes, lsn_max: self.lsn_max, indexes })
    }
}
