//! The files of an owned server, and the notes that its states are kept in.
//!
//! | file | says |
//! |---|---|
//! | `lock` | who uses the folder: see [`super::lock`] |
//! | `data/` | the server's own files |
//! | `initializing`, `initialized` | a data directory of ours, half made or whole; the second holds its version |
//! | `password` | root's, readable by its owner only |
//! | `detached` | the running server was started by `server up` and outlives commands |
//! | `socket-path` | where the socket is, when the folder's own path is too long for one |
//! | `error.log`, `error.previous.log` | the server's words since its last start, and before |

use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rand::RngExt;

/// The longest path that a socket can have: `sun_path` holds 108 bytes, its closing zero among them.
const SOCKET_PATH_MAX: usize = 107;

/// The folder of an owned server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    root: PathBuf,
}

impl Files {
    /// Makes the folder if it is not there; links in its path are resolved, for a process is recognised by
    /// its data directory's name.
    pub fn create(root: &Path) -> io::Result<Files> {
        // Closed to others: the password lies here, and whatever is exported or spilled.
        let create = |folder: &Path| fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        create(root)?;
        let files = Files { root: root.canonicalize()? };
        create(&files.exported())?;
        create(&files.scratch())?;
        Ok(files)
    }

    /// The folder as it is, if it is there.
    pub fn existing(root: &Path) -> Option<Files> {
        root.canonicalize().ok().map(|root| Files { root })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `--datadir`.
    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// `--secure-file-priv`.
    pub fn exported(&self) -> PathBuf {
        self.root.join("files")
    }

    /// `--tmpdir`: big sorts go to the same disk as the data.
    pub fn scratch(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// `--pid-file`.
    pub fn pid(&self) -> PathBuf {
        self.root.join("mysqld.pid")
    }

    /// What the server says.
    pub fn error_log(&self) -> PathBuf {
        self.root.join("error.log")
    }

    /// See [`super::lock`].
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    pub(super) fn password(&self) -> PathBuf {
        self.root.join("password")
    }

    pub(super) fn initializing(&self) -> PathBuf {
        self.root.join("initializing")
    }

    pub(super) fn initialized(&self) -> PathBuf {
        self.root.join("initialized")
    }

    pub(super) fn detached(&self) -> PathBuf {
        self.root.join("detached")
    }

    pub(super) fn first_statements(&self) -> PathBuf {
        self.root.join("first-statements.sql")
    }

    fn socket_path_note(&self) -> PathBuf {
        self.root.join("socket-path")
    }

    /// Begins a new error log and keeps one old one.
    pub(super) fn begin_error_log(&self) -> io::Result<fs::File> {
        let log = self.error_log();
        if log.exists() {
            fs::rename(&log, self.root.join("error.previous.log"))?;
        }
        fs::OpenOptions::new().create(true).append(true).open(log)
    }

    /// A path for the socket: in the folder, or, when that is too long, in a new folder of our own in
    /// `$XDG_RUNTIME_DIR` or `/tmp`, which is noted and removed by [`Files::forget_socket`].
    pub(super) fn new_socket(&self) -> io::Result<PathBuf> {
        self.forget_socket();
        let near = self.root.join("mysqld.sock");
        if near.as_os_str().as_bytes().len() <= SOCKET_PATH_MAX {
            return Ok(near);
        }
        let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
        let name = format!("idembench-{:08x}", rand::rng().random::<u32>());
        let folder = runtime.unwrap_or_else(|| PathBuf::from("/tmp")).join(name);
        // Fails when somebody else made it first; mode 700, so that nobody else can put a socket there.
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let socket = folder.join("mysqld.sock");
        fs::write(self.socket_path_note(), socket.as_os_str().as_bytes())?;
        Ok(socket)
    }

    /// Removes what a socket in a folder of its own has left.
    pub(super) fn forget_socket(&self) {
        let note = self.socket_path_note();
        let Ok(bytes) = fs::read(&note) else { return };
        let socket = PathBuf::from(std::ffi::OsStr::from_bytes(&bytes));
        let _ = fs::remove_file(&socket);
        let _ = fs::remove_file(socket.with_added_extension("lock"));
        if let Some(folder) = socket.parent() {
            let _ = fs::remove_dir(folder);
        }
        let _ = fs::remove_file(note);
    }
}

/// Writes a file that only its owner can read, and sees to it that it is on the disk.
pub(super) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Removes a file that may be missing.
pub(super) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
