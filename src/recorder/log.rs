//! The `.hlog`: interval histograms on disk while the step runs (HdrHistogram interval log, V2-deflate).
//!
//! Tags are `response`, `wait` and `service`, with `warm_up-` in front for what was cut off. Response and
//! wait stand at the interval in which operations were intended. One that is answered late comes when it
//! is known, so that a tag and a start may stand on several lines: readers add them up.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, IntervalLogWriterError, Tag};

use super::Series;

/// Why the interval log could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteLogError {
    /// The file could not be made.
    #[error("failed to create the interval log {path}: {source}", path = path.display())]
    Create {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A line could not be written.
    #[error("failed to write to the interval log {path}: {source}", path = path.display())]
    Append {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// What could not be written in full could not be taken away either.
    #[error("failed to remove the interval log {path}, which is not complete: {source}", path = path.display())]
    Discard {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// An interval log that is being written.
#[derive(Debug)]
pub struct IntervalLog {
    path: PathBuf,
    file: BufWriter<File>,
}

impl IntervalLog {
    /// Starts the file; `started` is the instant at which the step's clock stands at zero.
    pub fn create(path: &Path, step: &str, started: SystemTime) -> Result<IntervalLog, WriteLogError> {
        let failed = |source| WriteLogError::Create { path: path.to_owned(), source };
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment(&format!("idembench, step `{step}`, microseconds"))
            .with_start_time(started)
            .with_base_time(started)
            .begin_log_with(&mut file, &mut V2DeflateSerializer::new())
            .map_err(failed)?;
        Ok(IntervalLog { path: path.to_owned(), file })
    }

    /// Adds a line, unless the series is empty.
    pub fn append(
        &mut self,
        tag: &str,
        start: Duration,
        length: Duration,
        series: &Series,
    ) -> Result<(), WriteLogError> {
        if series.is_empty() {
            return Ok(());
        }
        let mut serializer = V2DeflateSerializer::new();
        let written = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut self.file, &mut serializer)
            .map_err(IntervalLogWriterError::IoError)
            .and_then(|mut log| log.write_histogram(series.histogram(), start, length, Tag::new(tag)));
        written.map_err(|error| match error {
            IntervalLogWriterError::IoError(source) => self.failed(source),
            IntervalLogWriterError::SerializeError(error) => self.failed(io::Error::other(error.to_string())),
        })
    }

    /// Hands everything to the system, so that a crash of the program loses nothing of it.
    pub fn flush(&mut self) -> Result<(), WriteLogError> {
        self.file.flush().map_err(|source| self.failed(source))
    }

    /// Takes the file away: what the disk did not take in full would pass for a whole log.
    ///
    /// # Errors
    /// It is still there.
    pub fn discard(self) -> Result<(), WriteLogError> {
        // Without the attempt to write what is left, which a dropped buffer makes.
        drop(self.file.into_parts());
        std::fs::remove_file(&self.path).map_err(|source| WriteLogError::Discard { path: self.path, source })
    }

    fn failed(&self, source: io::Error) -> WriteLogError {
        WriteLogError::Append { path: self.path.clone(), source }
    }
}
