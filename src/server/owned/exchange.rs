//! Files of a table exchanged while the server is down, so that a crash at any point leaves either the old
//! or the new ones: a note beside the data directory says how far it has come, and no server of ours starts
//! before the note has been settled.
//!
//! | the note says | what is there | settled by |
//! |---|---|---|
//! | `building` | old files, and new ones beside them, perhaps half written | throwing the new ones away |
//! | `exchanging` | new files whole; some in their place, some not | putting the rest into their place |
//! | `exchanged` | new files in their place, the old ones kept beside | nothing; the load goes on from here |

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::files::{Files, remove_if_there, write_private};

/// The note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The note's own format.
    version: u32,
    /// The table.
    pub table: String,
    /// The fingerprint of its new rows.
    pub fingerprint: String,
    state: State,
    /// The server's LSN at its clean stop: whoever runs it in between moves it.
    clean_lsn: u64,
    /// The table's files, below the data directory.
    files: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Building,
    Exchanging,
    Exchanged,
}

const VERSION: u32 = 1;
const NOTE: &str = "exchange.json";

/// Why an exchange of files cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// A file operation failed.
    #[error("{act} {path}: {source} — the same command goes on when that is repaired")]
    File {
        /// What was done.
        act: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The note makes no sense.
    #[error("read {path}: {reason} — if no load of a table is wanted any more, remove it")]
    Note {
        /// The note.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Somebody started the server in between.
    #[error(
        "go on exchanging the files of {table}: the server has run since (LSN {found}, {expected} when its files \
         were made) — remove {note}, start the server and load with --replace {table}"
    )]
    Moved {
        /// The table.
        table: String,
        /// The server's LSN.
        found: u64,
        /// The LSN at the clean stop.
        expected: u64,
        /// The note.
        note: PathBuf,
    },
}

fn failed(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ExchangeError {
    let path = path.to_owned();
    move |source| ExchangeError::File { act, path, source }
}

/// The LSN at which the server was last stopped cleanly: the system tablespace's first page says so.
pub fn clean_lsn(data: &Path) -> Result<u64, ExchangeError> {
    let path = data.join("ibdata1");
    let mut bytes = [0; 8];
    let mut read = || {
        let mut file = File::open(&path)?;
        file.seek(SeekFrom::Start(26))?;
        file.read_exact(&mut bytes)
    };
    read().map_err(failed("read", &path))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Where the new file is made that will take the place of `path`.
pub fn new_file(path: &Path) -> PathBuf {
    path.with_extension("ibd.new")
}

fn kept_file(path: &Path) -> PathBuf {
    path.with_extension("ibd.orig")
}

impl Exchange {
    /// The note in a server's folder, if there is one.
    pub(super) fn noted(files: &Files) -> Result<Option<Exchange>, ExchangeError> {
        let path = files.root().join(NOTE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path)(error)),
        };
        let note: Result<Exchange, _> = serde_json::from_str(&text);
        match note {
            Ok(note) if note.version == VERSION => Ok(Some(note)),
            Ok(note) => {
                let reason = format!("its version is {}, this release knows {VERSION}", note.version);
                Err(ExchangeError::Note { path, reason })
            }
            Err(error) => Err(ExchangeError::Note { path, reason: error.to_string() }),
        }
    }

    /// Notes that new files are being made for a table of a stopped server.
    pub(super) fn begin(
        files: &Files,
        table: &str,
        fingerprint: &str,
        paths: &[PathBuf],
    ) -> Result<Exchange, ExchangeError> {
        let data = files.data();
        let below = |path: &PathBuf| path.strip_prefix(&data).unwrap_or(path).to_owned();
        let note = Exchange {
            version: VERSION,
            table: table.to_owned(),
            fingerprint: fingerprint.to_owned(),
            state: State::Building,
            clean_lsn: clean_lsn(&data)?,
            files: paths.iter().map(below).collect(),
        };
        note.save(files)?;
        Ok(note)
    }

    /// The LSN at the server's clean stop.
    pub fn clean_lsn(&self) -> u64 {
        self.clean_lsn
    }

    /// Whether the new files are in their place.
    pub fn is_exchanged(&self) -> bool {
        self.state == State::Exchanged
    }

    /// Puts all new files into their places; they must be whole and durable.
    pub(super) fn exchange(&mut self, files: &Files) -> Result<(), ExchangeError> {
        let data = files.data();
        let found = clean_lsn(&data)?;
        if found != self.clean_lsn {
            let (table, note) = (self.table.clone(), files.root().join(NOTE));
            return Err(ExchangeError::Moved { table, found, expected: self.clean_lsn, note });
        }
        self.state = State::Exchanging;
        self.save(files)?;
        let mut folders: Vec<PathBuf> = Vec::new();
        for path in self.files.iter().map(|path| data.join(path)) {
            put_in_place(&path)?;
            folders.extend(path.parent().map(Path::to_owned));
        }
        folders.sort();
        folders.dedup();
        for folder in folders {
            sync_folder(&folder)?;
        }
        self.state = State::Exchanged;
        self.save(files)
    }

    /// Throws away what was begun.
    pub(super) fn abandon(self, files: &Files) -> Result<(), ExchangeError> {
        for path in &self.files {
            let new = new_file(&files.data().join(path));
            remove_if_there(&new).map_err(failed("remove", &new))?;
        }
        forget(files)
    }

    /// The new files are accepted: the old ones go.
    pub(super) fn end(self, files: &Files) -> Result<(), ExchangeError> {
        for path in &self.files {
            let kept = kept_file(&files.data().join(path));
            remove_if_there(&kept).map_err(failed("remove", &kept))?;
        }
        forget(files)
    }

    fn save(&self, files: &Files) -> Result<(), ExchangeError> {
        let path = files.root().join(NOTE);
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| failed("write", &path)(io::Error::other(error)))?;
        let fresh = path.with_extension("json.new");
        write_private(&fresh, &text).map_err(failed("write", &fresh))?;
        File::open(&fresh).and_then(|file| file.sync_all()).map_err(failed("write", &fresh))?;
        fs::rename(&fresh, &path).map_err(failed("write", &path))?;
        sync_folder(files.root())
    }
}

/// Settles what an earlier program left: called before every start of a server.
pub(super) fn settle(files: &Files) -> Result<(), ExchangeError> {
    match Exchange::noted(files)? {
        Some(note) if note.state == State::Building => note.abandon(files),
        Some(mut note) if note.state == State::Exchanging => note.exchange(files),
        _ => Ok(()),
    }
}

/// At every instant the place holds the old file or the new one. What has been done already is left alone.
fn put_in_place(path: &Path) -> Result<(), ExchangeError> {
    let (new, kept) = (new_file(path), kept_file(path));
    if !new.exists() {
        return Ok(());
    }
    match fs::hard_link(path, &kept) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(failed("keep", path)(error));
        }
        _ => {}
    }
    fs::rename(&new, path).map_err(failed("put into place", &new))
}

fn forget(files: &Files) -> Result<(), ExchangeError> {
    let path = files.root().join(NOTE);
    remove_if_there(&path).map_err(failed("remove", &path))?;
    sync_folder(files.root())
}

fn sync_folder(folder: &Path) -> Result<(), ExchangeError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("make durable", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server's folder with two tables' files, each old and new.
    fn folder() -> (tempfile::TempDir, Files, Vec<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::create(folder.path()).unwrap();
        fs::create_dir_all(files.data().join("d")).unwrap();
        let mut system = vec![0; 64];
        system[26..34].copy_from_slice(&4711u64.to_be_bytes());
        fs::write(files.data().join("ibdata1"), system).unwrap();
        let paths: Vec<PathBuf> = ["a.ibd", "b#p#c.ibd"].map(|name| files.data().join("d").join(name)).into();
        for path in &paths {
            fs::write(path, "old").unwrap();
        }
        (folder, files, paths)
    }

    fn contents(paths: &[PathBuf]) -> Vec<String> {
        paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
    }

    #[test]
    fn whatever_the_point_of_a_crash_the_files_are_all_old_or_all_new() {
        for crash in ["building", "exchanging, none", "exchanging, one", "exchanging, both", "exchanged"] {
            let (_folder, files, paths) = folder();
            let mut note = Exchange::begin(&files, "t", "f", &paths).unwrap();
            paths.iter().for_each(|path| fs::write(new_file(path), "new").unwrap());
            if crash.starts_with("exchanging") {
                note.state = State::Exchanging;
                note.save(&files).unwrap();
                let done = match crash {
                    "exchanging, none" => 0,
                    "exchanging, one" => 1,
                    _ => 2,
                };
                paths[..done].iter().for_each(|path| put_in_place(path).unwrap());
            } else if crash == "exchanged" {
                note.exchange(&files).unwrap();
            }
            settle(&files).unwrap();
            let expected = if crash == "building" { "old" } else { "new" };
            assert_eq!(contents(&paths), [expected, expected], "{crash}");
            assert!(paths.iter().all(|path| !new_file(path).exists()), "{crash}");
            let noted = Exchange::noted(&files).unwrap();
            assert_eq!(noted.is_some(), crash != "building");
            if let Some(note) = noted {
                assert!(note.is_exchanged());
                note.end(&files).unwrap();
            }
            assert_eq!(fs::read_dir(files.data().join("d")).unwrap().count(), 2);
            assert_eq!(Exchange::noted(&files).unwrap(), None);
        }
    }

    #[test]
    fn files_are_not_exchanged_when_the_server_has_run_in_between() {
        let (_folder, files, paths) = folder();
        let mut note = Exchange::begin(&files, "t", "f", &paths).unwrap();
        let mut system = fs::read(files.data().join("ibdata1")).unwrap();
        system[33] += 1;
        fs::write(files.data().join("ibdata1"), system).unwrap();
        assert!(matches!(
            note.exchange(&files),
            Err(ExchangeError::Moved { found: 4712, expected: 4711, .. })
        ));
    }
}
