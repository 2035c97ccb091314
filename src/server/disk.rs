//! The disk under the data directory: how much is free, and how fast it is.
//!
//! Speeds are measured as a server uses a disk: large writes in order (a load), small appends each followed
//! by fdatasync (commits), 16 KiB reads at random (claims that miss the pool). All go past the page cache
//! where the file system can do that; where it cannot, reads are not measured, for they would be memory's.

mod in_order;

pub use in_order::{InOrder, in_order};

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::home::Home;
use crate::units::Bytes;

/// What direct I/O wants of addresses, offsets and lengths on every disk.
const ALIGNMENT: usize = 4096;
/// As InnoDB and a load write: large.
const WRITE_BYTES: usize = 1 << 20;
/// InnoDB's page.
const PAGE_BYTES: usize = 16 << 10;
/// A commit's redo, roughly.
const APPEND_BYTES: usize = 4 << 10;
/// Long enough for a disk's own cache to fill, short enough for a quickstart.
pub const MEASURED: Bytes = Bytes::mib(512);
/// How long appends and reads are each measured.
const SPAN: Duration = Duration::from_secs(2);
/// Readers at a time: an SSD needs many.
const READERS: usize = 16;

/// Bytes that an ordinary user may still write on the file system of this path.
pub fn free_space(path: &Path) -> io::Result<Bytes> {
    let found = rustix::fs::statvfs(path)?;
    Ok(Bytes(found.f_bavail.saturating_mul(found.f_frsize)))
}

/// How fast a disk is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskSpeed {
    /// Large writes in order, with the fsync at their end.
    pub write_mib_per_s: f64,
    /// 4 KiB appends, each with fdatasync, one after the other.
    pub fsync_per_s: f64,
    /// 16 KiB reads at random, 16 at a time; `None` where the page cache cannot be passed by.
    pub read_16k_per_s: Option<f64>,
    /// When, in seconds since 1970.
    pub measured_at_s: u64,
}

impl DiskSpeed {
    /// How long ago that was.
    pub fn age(&self) -> Duration {
        now_s().checked_sub(self.measured_at_s).map_or(Duration::ZERO, Duration::from_secs)
    }
}

/// Why a disk could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// It is too full for that.
    #[error("measure the disk under {path}: {free} are free (df), at least 64 MiB are needed")]
    NoSpace {
        /// The folder.
        path: PathBuf,
        /// Free space.
        free: Bytes,
    },
    /// It is too full for so much.
    #[error("measure the disk under {path} with {bytes}: {free} are free (df) — ask for less")]
    TooMuch {
        /// The folder.
        path: PathBuf,
        /// What was asked for.
        bytes: Bytes,
        /// Free space.
        free: Bytes,
    },
    /// It failed.
    #[error("measure the disk under {path}: {act}: {source}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// What was done.
        act: &'static str,
        /// Why it failed.
        source: io::Error,
    },
}

/// The speed of the disk under `folder`, from the home's note if that is younger than `max_age`, else
/// measured now, which takes about 5 s. Blocks.
pub fn speed(home: &Home, folder: &Path, max_age: Duration) -> Result<DiskSpeed, DiskError> {
    remembered(home, folder, max_age, || measure(folder, MEASURED, SPAN))
}

fn remembered(
    home: &Home,
    folder: &Path,
    max_age: Duration,
    measure: impl FnOnce() -> Result<DiskSpeed, DiskError>,
) -> Result<DiskSpeed, DiskError> {
    let note = home.path().join("disk.json");
    let key = folder.display().to_string();
    let mut notes: BTreeMap<String, DiskSpeed> =
        fs::read(&note).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    if let Some(known) = notes.get(&key).filter(|known| known.age() < max_age) {
        return Ok(*known);
    }
    let speed = measure()?;
    notes.insert(key, speed);
    // Without the note it is measured again next time, no more.
    let _ = fs::create_dir_all(home.path());
    let _ = fs::write(&note, serde_json::to_vec_pretty(&notes).unwrap_or_default());
    Ok(speed)
}

/// Measures the disk under `folder`: writes a file of up to `bytes`, a quarter of what is free at most, reads
/// it for `span`, and appends for as long. The files are removed afterwards. Blocks.
pub fn measure(folder: &Path, bytes: Bytes, span: Duration) -> Result<DiskSpeed, DiskError> {
    let failed = |act| move |source| DiskError::Io { path: folder.to_owned(), act, source };
    let free = free_space(folder).map_err(failed("ask for free space"))?;
    let bytes = bytes.0.min(free.0 / 4);
    if bytes < WRITE_BYTES as u64 * 16 {
        return Err(DiskError::NoSpace { path: folder.to_owned(), free });
    }
    let file = Scratch::new(folder, "big");
    let write_mib_per_s = write_in_order(&file.0, bytes).map_err(failed("write"))?;
    let read_16k_per_s = read_at_random(&file.0, bytes, span).map_err(failed("read"))?;
    drop(file);
    let file = Scratch::new(folder, "small");
    let fsync_per_s = append_and_sync(&file.0, span).map_err(failed("append and fdatasync"))?;
    Ok(DiskSpeed { write_mib_per_s, fsync_per_s, read_16k_per_s, measured_at_s: now_s() })
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A file that goes when it is no longer needed.
struct Scratch(PathBuf);

impl Scratch {
    fn new(folder: &Path, name: &str) -> Scratch {
        Scratch(folder.join(format!(".idembench-disk-{name}-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A buffer whose used part begins at an address that direct I/O takes.
struct Aligned {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(length: usize) -> Aligned {
        let bytes = vec![0; length + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Aligned { bytes, start, length }
    }

    fn get(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

/// Opens a file past the page cache. The flag says whether that was possible: tmpfs and some network file
/// systems refuse.
fn open_direct(options: &mut OpenOptions, path: &Path) -> io::Result<(File, bool)> {
    #[cfg(target_os = "linux")]
    {
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        if let Ok(file) = options.clone().custom_flags(direct).open(path) {
            return Ok((file, true));
        }
    }
    options.open(path).map(|file| (file, false))
}

fn write_in_order(path: &Path, bytes: u64) -> io::Result<f64> {
    let (mut file, _) = open_direct(OpenOptions::new().write(true).create(true).truncate(true), path)?;
    let blocks = bytes / WRITE_BYTES as u64;
    let begun = Instant::now();
    write_blocks(&mut file, blocks)?;
    let mib = (blocks * WRITE_BYTES as u64) as f64 / f64::from(1 << 20);
    Ok(mib / begun.elapsed().as_secs_f64())
}

/// Writes so many blocks and makes them durable.
fn write_blocks(file: &mut File, blocks: u64) -> io::Result<()> {
    let mut buffer = Aligned::new(WRITE_BYTES);
    // Not zeros: some disks and file systems do not write those.
    rand::rng().fill(buffer.get());
    for _ in 0..blocks {
        file.write_all(buffer.get())?;
    }
    file.sync_all()
}

fn read_at_random(path: &Path, bytes: u64, span: Duration) -> io::Result<Option<f64>> {
    let (file, direct) = open_direct(OpenOptions::new().read(true), path)?;
    if !direct {
        return Ok(None);
    }
    let pages = bytes / WRITE_BYTES as u64 * WRITE_BYTES as u64 / PAGE_BYTES as u64;
    let begun = Instant::now();
    let read = || -> io::Result<u64> {
        let (mut buffer, mut random, mut count) = (Aligned::new(PAGE_BYTES), rand::rng(), 0);
        while begun.elapsed() < span {
            let page = random.random_range(0..pages);
            file.read_exact_at(buffer.get(), page * PAGE_BYTES as u64)?;
            count += 1;
        }
        Ok(count)
    };
    let counts: io::Result<Vec<u64>> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        let ended = |_| io::Error::other("a reader panicked");
        readers.into_iter().map(|reader| reader.join().map_err(ended)?).collect()
    });
    Ok(Some(counts?.iter().sum::<u64>() as f64 / begun.elapsed().as_secs_f64()))
}

fn append_and_sync(path: &Path, span: Duration) -> io::Result<f64> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    let block = [0x5a; APPEND_BYTES];
    let (begun, mut count) = (Instant::now(), 0u32);
    while begun.elapsed() < span {
        file.write_all(&block)?;
        file.sync_data()?;
        count += 1;
    }
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_measured_and_nothing_is_left_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        let speed = measure(folder.path(), Bytes::mib(16), Duration::from_millis(50)).expect("measured");
        assert!(speed.write_mib_per_s > 0.0 && speed.fsync_per_s > 0.0);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
        let missing = measure(Path::new("/no/such/folder"), MEASURED, SPAN).expect_err("nothing there");
        assert!(missing.to_string().starts_with("measure the disk under /no/such/folder"), "{missing}");
    }

    #[test]
    fn a_speed_is_remembered_by_folder_until_it_is_too_old() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = Home::at(folder.path()).expect("a path");
        let of = |write: f64| DiskSpeed {
            write_mib_per_s: write,
            fsync_per_s: 2.0,
            read_16k_per_s: None,
            measured_at_s: now_s() - 60,
        };
        let ask = |name: &str, max_age: u64, write: f64| {
            let max_age = Duration::from_secs(max_age);
            remembered(&home, Path::new(name), max_age, || Ok(of(write))).expect("known").write_mib_per_s
        };
        assert_eq!(ask("/a", 3600, 1.0), 1.0);
        assert_eq!(ask("/a", 3600, 2.0), 1.0);
        assert_eq!(ask("/b", 3600, 3.0), 3.0);
        assert_eq!(ask("/a", 30, 4.0), 4.0);
        fs::write(folder.path().join("disk.json"), "not JSON").expect("written");
        assert_eq!(ask("/a", 3600, 5.0), 5.0);
    }

    #[test]
    fn a_buffer_begins_where_direct_reads_may_write() {
        let mut buffer = Aligned::new(PAGE_BYTES);
        assert_eq!(buffer.get().len(), PAGE_BYTES);
        assert_eq!(buffer.get().as_ptr().addr() % ALIGNMENT, 0);
    }
}
