//! Where the program keeps its things: `.idembench/` below the current directory, or `$IDEMBENCH_HOME`.

use std::io;
use std::path::{Path, PathBuf};

/// The program's own folder. Paths in it are absolute, for the server runs in another directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home(PathBuf);

impl Home {
    /// `$IDEMBENCH_HOME`, else `.idembench` below the current directory. Nothing is created.
    pub fn find() -> io::Result<Home> {
        let named = std::env::var_os("IDEMBENCH_HOME").filter(|path| !path.is_empty());
        Home::at(named.map_or_else(|| PathBuf::from(".idembench"), PathBuf::from))
    }

    /// This folder.
    pub fn at(path: impl Into<PathBuf>) -> io::Result<Home> {
        std::path::absolute(path.into()).map(Home)
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What an owned server writes.
    pub fn server(&self) -> PathBuf {
        self.0.join("server")
    }

    /// The launchers of an unpacked MySQL.
    pub fn bin(&self) -> PathBuf {
        self.0.join("bin")
    }
}
