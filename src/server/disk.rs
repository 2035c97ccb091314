//! The disk under the data directory: how much is free, and how fast it is.

use std::io;
use std::path::Path;

use crate::units::Bytes;

/// Bytes that an ordinary user may still write on the file system of this path.
pub fn free_space(path: &Path) -> io::Result<Bytes> {
    let found = rustix::fs::statvfs(path)?;
    Ok(Bytes(found.f_bavail.saturating_mul(found.f_frsize)))
}
