//! The disk read and written in order with as much as a load writes: a short measurement sees a disk's cache.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use super::{Aligned, DiskError, Scratch, WRITE_BYTES, free_space, open_direct, write_blocks};
use crate::units::Bytes;

/// What stays free beside the files that are measured with.
const LEFT_FREE: Bytes = Bytes::gib(1);

/// How fast a disk is in order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct InOrder {
    /// Bytes written and read each time.
    pub bytes: u64,
    /// Files at a time: one a processor, as a load has.
    pub files: usize,
    /// Written past the page cache where that is possible, fsync included.
    pub write_mib_per_s: f64,
    /// Written through the page cache, fsync included.
    pub write_buffered_mib_per_s: f64,
    /// Read past the page cache; `None` where that is not possible.
    pub read_mib_per_s: Option<f64>,
}

/// Measures with so many bytes: they are written, read, removed, and written again the other way. Blocks.
pub fn in_order(folder: &Path, bytes: Bytes) -> Result<InOrder, DiskError> {
    let failed = |act| move |source| DiskError::Io { path: folder.to_owned(), act, source };
    let free = free_space(folder).map_err(failed("ask for free space"))?;
    if bytes.0.saturating_add(LEFT_FREE.0) > free.0 {
        return Err(DiskError::TooMuch { path: folder.to_owned(), bytes, free });
    }
    let files = std::thread::available_parallelism().map_or(1, usize::from);
    let blocks = (bytes.0 / files as u64 / WRITE_BYTES as u64).max(1);
    let bytes = blocks * WRITE_BYTES as u64 * files as u64;
    let scratch = || (0..files).map(|file| Scratch::new(folder, &format!("in-order-{file}"))).collect();

    let direct: Vec<Scratch> = scratch();
    let write_mib_per_s = timed(&direct, bytes, |path| write(path, blocks, true)).map_err(failed("write"))?;
    let all_direct = paths(&direct)
        .map(|path| is_direct(path))
        .collect::<io::Result<Vec<bool>>>()
        .map_err(failed("open"))?;
    let read_mib_per_s = match all_direct.iter().all(|direct| *direct) {
        true => Some(timed(&direct, bytes, |path| read(path, blocks)).map_err(failed("read"))?),
        false => None,
    };
    drop(direct);
    let buffered: Vec<Scratch> = scratch();
    let write_buffered_mib_per_s =
        timed(&buffered, bytes, |path| write(path, blocks, false)).map_err(failed("write"))?;
    Ok(InOrder { bytes, files, write_mib_per_s, write_buffered_mib_per_s, read_mib_per_s })
}

fn paths(files: &[Scratch]) -> impl Iterator<Item = &PathBuf> {
    files.iter().map(|file| &file.0)
}

/// MiB a second of work on all files at the same time.
fn timed(files: &[Scratch], bytes: u64, work: impl Fn(&Path) -> io::Result<()> + Sync) -> io::Result<f64> {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = paths(files).map(|path| scope.spawn(move || work(path))).collect();
        let ended = |_| Err(io::Error::other("a thread panicked"));
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or_else(ended))
    })?;
    Ok(bytes as f64 / f64::from(1 << 20) / begun.elapsed().as_secs_f64())
}

fn write(path: &Path, blocks: u64, direct: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = match direct {
        true => open_direct(&mut options, path)?.0,
        false => options.open(path)?,
    };
    write_blocks(&mut file, blocks)
}

fn is_direct(path: &Path) -> io::Result<bool> {
    open_direct(OpenOptions::new().read(true), path).map(|(_, direct)| direct)
}

fn read(path: &Path, blocks: u64) -> io::Result<()> {
    let (mut file, _): (File, bool) = open_direct(OpenOptions::new().read(true), path)?;
    let mut buffer = Aligned::new(WRITE_BYTES);
    (0..blocks).try_for_each(|_| file.read_exact(buffer.get()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_written_and_read_in_order_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().unwrap();
        let speed = in_order(folder.path(), Bytes::mib(16)).unwrap();
        assert!(speed.write_mib_per_s > 0.0 && speed.write_buffered_mib_per_s > 0.0);
        assert!(speed.bytes <= 16 << 20 && speed.bytes >= 8 << 20, "{speed:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let error = in_order(folder.path(), Bytes(u64::MAX)).unwrap_err().to_string();
        assert!(error.contains("ask for less"), "{error}");
    }
}
