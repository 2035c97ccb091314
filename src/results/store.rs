//! A run's directory: made, saved after every step, read again.
//!
//! A save is a temporary file, flushed to disk and renamed, so that a reader sees the last whole state
//! whatever happens in between.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::version::{FromTheFuture, SchemaVersion};
use super::{Run, StepResult, histogram};

/// The file in a run's directory that holds everything.
pub const RUN_FILE: &str = "run.json";
/// How often another name is tried when a run's directory exists already.
const NAMES_TRIED: u32 = 64;

/// Why a run could not be saved or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No directory.
    #[error("failed to make the run's directory {}: {source}", path.display())]
    MakeDirectory {
        /// The directory.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// Not written.
    #[error("failed to save {}: {source} — free some space, or write elsewhere with --out", path.display())]
    Save {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// Not there, or not readable.
    #[error("failed to read {}: {source} — give a run's directory, such as one under results/", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// Not a run.
    #[error("failed to read {}: it is not a run: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Written by a later release.
    #[error("failed to read {}: {source}", path.display())]
    FromTheFuture {
        /// The file.
        path: PathBuf,
        /// Its version.
        source: FromTheFuture,
    },
    /// A histogram in it cannot be read.
    #[error("failed to write percentiles of {series}: {source}")]
    Histogram {
        /// `response`, …
        series: String,
        /// What is wrong with it.
        source: histogram::DecodeHistogramError,
    },
}

/// Makes `<out>/<date>-<suite>-<4 hex digits>` and gives the run that name.
fn create_directory(out: &Path, run: &mut Run) -> Result<PathBuf, StoreError> {
    let made = |path: &Path, source| StoreError::MakeDirectory { path: path.to_owned(), source };
    fs::create_dir_all(out).map_err(|source| made(out, source))?;
    let date = run.started_at.split('T').next().unwrap_or("undated").to_owned();
    let mut path = out.to_owned();
    for _ in 0..NAMES_TRIED {
        run.run_id = format!("{date}-{}-{:04x}", slug(&run.suite), rand::random::<u16>());
        path = out.join(&run.run_id);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(made(&path, source)),
        }
    }
    Err(made(&path, io::ErrorKind::AlreadyExists.into()))
}

/// Makes the run's directory with the run in it. Where the disk has no room for it nothing is left.
///
/// # Errors
/// [`StoreError`].
pub fn create(out: &Path, run: &mut Run) -> Result<PathBuf, StoreError> {
    let directory = create_directory(out, run)?;
    save(&directory, run).inspect_err(|_| {
        // It is empty: a save leaves the whole file or none.
        let _ = fs::remove_dir(&directory);
    })?;
    Ok(directory)
}

/// Saves the run as it is now.
pub fn save(directory: &Path, run: &Run) -> Result<(), StoreError> {
    let path = directory.join(RUN_FILE);
    let failed = |source| StoreError::Save { path: path.clone(), source };
    let mut text = serde_json::to_vec_pretty(run).map_err(io::Error::from).map_err(failed)?;
    text.push(b'\n');
    replace(&path, &text).map_err(failed)
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("json.new");
    let put = write_whole(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = put {
        // What the disk did not take in full is of no use to anybody.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    // The rename itself is on disk when the directory is.
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// The version alone: what must be read before the rest can be trusted.
#[derive(Deserialize)]
struct VersionOnly {
    schema_version: SchemaVersion,
}

/// Reads a run from its directory, or from the path of its `run.json`.
pub fn read(path: &Path) -> Result<Run, StoreError> {
    let path = if path.is_dir() { path.join(RUN_FILE) } else { path.to_owned() };
    let text = fs::read(&path).map_err(|source| StoreError::Read { path: path.clone(), source })?;
    let parse = |source| StoreError::Parse { path: path.clone(), source };
    let version: VersionOnly = serde_json::from_slice(&text).map_err(parse)?;
    version
        .schema_version
        .check_readable()
        .map_err(|source| StoreError::FromTheFuture { path: path.clone(), source })?;
    serde_json::from_slice(&text).map_err(parse)
}

/// Where the step at `position` writes its interval log.
pub fn log_path(directory: &Path, position: usize, step: &str) -> PathBuf {
    directory.join(format!("{}.hlog", file_stem(position, step)))
}

/// Writes one `.hgrm` for each series of the step.
pub fn save_percentiles(directory: &Path, position: usize, step: &StepResult) -> Result<(), StoreError> {
    for (series, text) in &step.histograms {
        let decoded = histogram::decode(text)
            .map_err(|source| StoreError::Histogram { series: series.clone(), source })?;
        let path = directory.join(format!("{}-{}.hgrm", file_stem(position, &step.name), slug(series)));
        if let Err(source) = fs::write(&path, histogram::percentiles_text(&decoded)) {
            let _ = fs::remove_file(&path);
            return Err(StoreError::Save { path, source });
        }
    }
    Ok(())
}

/// Puts what there is of a run that goes on into a folder of its own within the run's directory: a copy of
/// [`RUN_FILE`], and the files of the steps that are to come, given by position and name. Hands out the folder's name.
pub fn set_aside(directory: &Path, steps: &[(usize, &str)]) -> Result<String, StoreError> {
    let name = (1u32..).map(|number| format!("cut-off-{number}")).find(|name| !directory.join(name).exists());
    // There is no directory with so many folders.
    let name = name.unwrap_or_default();
    let folder = directory.join(&name);
    fs::create_dir(&folder).map_err(|source| StoreError::MakeDirectory { path: folder.clone(), source })?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Save { path, source }
    };
    fs::copy(directory.join(RUN_FILE), folder.join(RUN_FILE)).map_err(failed(&folder.join(RUN_FILE)))?;
    let stems: Vec<String> = steps.iter().map(|(position, step)| file_stem(*position, step)).collect();
    for entry in fs::read_dir(directory).map_err(failed(directory))?.flatten() {
        let file = entry.file_name();
        let file = file.to_string_lossy();
        let is_data = file.ends_with(".hlog") || file.ends_with(".hgrm");
        if is_data && stems.iter().any(|stem| file.starts_with(stem.as_str())) {
            let moved = folder.join(&*file);
            fs::rename(entry.path(), &moved).map_err(failed(&moved))?;
        }
    }
    Ok(name)
}

fn file_stem(position: usize, step: &str) -> String {
    format!("{:02}-{}", position + 1, slug(step))
}

/// A name as a part of a file name: lower-case letters, digits and hyphens.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        match character.is_ascii_alphanumeric() || character == '_' {
            true => slug.push(character),
            false if !slug.ends_with('-') && !slug.is_empty() => slug.push('-'),
            false => {}
        }
    }
    let trimmed = slug.trim_end_matches('-');
    if trimmed.is_empty() { "unnamed".to_owned() } else { trimmed.chars().take(60).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_parts_of_file_names() {
        for (name, expected) in [
            ("claim, full key", "claim-full-key"),
            ("t_idem", "t_idem"),
            ("../..//x", "x"),
            ("", "unnamed"),
            ("é!", "unnamed"),
        ] {
            assert_eq!(slug(name), expected);
        }
    }
}
