//! Who uses an owned server's folder.
//!
//! One file, locked by the kernel, which lets go when its holder dies however it dies:
//! - **alone**: a command that starts, stops or owns the server;
//! - **shared**: commands that use a server which `server up` left running.
//!
//! So two programs never share a server that one of them will stop.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::files::Files;

/// How long another command may need to look around before it is called a holder.
const PATIENCE: Duration = Duration::from_secs(3);

/// A hold on the folder; let go when dropped.
#[derive(Debug)]
pub struct Claim {
    file: File,
    alone: bool,
}

/// Why the folder could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another program has it.
    #[error(
        "use the server in {root}: {holders} — wait for it, or give this command its own server with \
         --data-directory DIR; `idembench server up` starts one that several commands can use"
    )]
    Held {
        /// The server's folder.
        root: PathBuf,
        /// `process 4711 (idembench load …) is using it`.
        holders: String,
    },
    /// The file system said no.
    #[error("lock {path}: {source} — is the disk full, read-only or without locks? Use --data-directory DIR")]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Claim {
    /// Takes the folder alone if nobody has it, else shares it with commands that share it.
    pub async fn take(files: &Files) -> Result<Claim, LockError> {
        Claim::try_for(files, PATIENCE, true).await
    }

    /// Takes the folder alone or not at all.
    pub async fn take_alone(files: &Files) -> Result<Claim, LockError> {
        Claim::try_for(files, PATIENCE, false).await
    }

    async fn try_for(files: &Files, patience: Duration, may_share: bool) -> Result<Claim, LockError> {
        let path = files.lock();
        let failed = |source| LockError::Lock { path: path.clone(), source };
        let file = File::options().create(true).append(true).open(&path).map_err(failed)?;
        let deadline = Instant::now() + patience;
        loop {
            if granted(file.try_lock()).map_err(failed)? {
                return Ok(Claim { file, alone: true });
            }
            if may_share && granted(file.try_lock_shared()).map_err(failed)? {
                return Ok(Claim { file, alone: false });
            }
            if Instant::now() >= deadline {
                return Err(LockError::Held { root: files.root().to_owned(), holders: holders(&path) });
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Whether nobody else can be using the folder.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Lets others share it. In between the kernel may give it to somebody who wants it alone: look again
    /// at what runs there afterwards.
    pub fn share(&mut self) -> io::Result<()> {
        self.file.lock_shared()?;
        self.alone = false;
        Ok(())
    }
}

fn granted(answer: Result<(), TryLockError>) -> io::Result<bool> {
    match answer {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Who holds a lock on the file, in words, as far as the kernel tells.
fn holders(path: &Path) -> String {
    let inode = path.metadata().map(|metadata| metadata.ino()).unwrap_or(0);
    let table = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    let named: Vec<_> = pids_in(&table, inode).into_iter().map(named).collect();
    match named.as_slice() {
        [] => "another program is using it".to_owned(),
        [one] => format!("{one} is using it"),
        several => format!("{} are using it", several.join(" and ")),
    }
}

/// The processes that hold (not wait for) a lock on an inode, from the text of `/proc/locks`:
/// `1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF`.
fn pids_in(table: &str, inode: u64) -> Vec<u32> {
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.get(1) == Some(&"FLOCK"))
        .filter(|words| words.get(5).and_then(|file| file.rsplit(':').next()) == Some(&inode.to_string()))
        .filter_map(|words| words.get(4)?.parse().ok())
        .filter(|pid| *pid != 0)
        .collect()
}

fn named(pid: u32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = line.split(|byte| *byte == 0).take(3).map(String::from_utf8_lossy).collect();
    match words.join(" ").trim() {
        "" => format!("process {pid}"),
        command => format!("process {pid} ({command})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_are_read_from_the_kernels_table() {
        let table = "1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 4712 fe:00:1234 0 EOF\n\
                     2: POSIX  ADVISORY  WRITE 4713 fe:00:1234 0 EOF\n\
                     3: FLOCK  ADVISORY  READ  4714 fe:00:99 0 EOF\n";
        assert_eq!(pids_in(table, 1234), [4711]);
        assert_eq!(pids_in("", 1234), [0u32; 0]);
    }
}
