//! New files for all partitions that have rows: one writer each, as many at a time as there are processors.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::files;
use super::made::{MadeRows, ROWS_AT_A_TIME};
use crate::keys::{RowBatch, RowMaker};
use crate::load::{LoadedIndex, Progress};
use crate::pages::donor::{Donor, DonorError};
use crate::pages::encode::Rows as _;
use crate::pages::file::{BuildError, FileBuilder, FileOptions};
use crate::pages::fill::FillProfile;
use crate::pages::plan::{IndexPlan, TablePlan};
use crate::pages::record::RecordMaker;
use crate::pages::verify::{self, LeafOrder, Shape, Verified, VerifyError};
use crate::pages::write::FileSink;
use crate::server::new_file;
use crate::spec::table::Table;
use crate::units::Rows;

/// Why a file was not built or is not right.
#[derive(Debug, thiserror::Error)]
pub enum BuildFileError {
    /// The empty file is not one.
    #[error("use {path} as it is: {source}")]
    Donor {
        /// The file.
        path: PathBuf,
        /// Why.
        source: DonorError,
    },
    /// The empty file is younger than the server's clean stop.
    #[error(
        "use {path} as it is: it was changed at LSN {lsn}, after the server's clean stop at {clean_lsn} — the server was not stopped cleanly; start and stop it once more"
    )]
    NotClean {
        /// The file.
        path: PathBuf,
        /// Its youngest page.
        lsn: u64,
        /// The server's.
        clean_lsn: u64,
    },
    /// Reading or writing failed.
    #[error("{act} {path}: {source} — free space or repair the disk, then run the same command")]
    File {
        /// What was done.
        act: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The rows do not become a file.
    #[error("build {path}")]
    Build {
        /// The file.
        path: PathBuf,
        /// Why.
        source: BuildError<io::Error>,
    },
    /// The file is not right.
    #[error("verify the new file")]
    Verify(#[from] VerifyError),
    /// The file holds other rows than it should.
    #[error("verify {path}: it holds {found} rows and should hold {expected}")]
    Count {
        /// The file.
        path: PathBuf,
        /// Rows that it holds.
        found: Rows,
        /// Rows that it should hold.
        expected: Rows,
    },
    /// [`Progress::stop`] was called.
    #[error("stopped")]
    Stopped,
}

/// One file and the rows that go into it.
#[derive(Debug, Clone)]
pub(super) struct Job {
    /// The empty file.
    pub(super) path: PathBuf,
    pub(super) rows: Range<u64>,
}

/// What all files have in common.
pub(super) struct Workshop {
    pub(super) plan: TablePlan,
    pub(super) table: Table,
    pub(super) maker: Arc<RowMaker>,
    /// How old each index is to look.
    pub(super) profiles: Vec<FillProfile>,
    pub(super) seed: u64,
    /// Where sorted runs go.
    pub(super) scratch: PathBuf,
    /// No page of an empty file may be younger.
    pub(super) lsn_max: u64,
    pub(super) progress: Arc<Progress>,
}

/// Memory for sorting, all files that are built at a time together.
const SORT_BYTES: usize = 256 << 20;
/// How often progress is told and a stop is heard.
const ROWS_BETWEEN_LOOKS: u64 = 16_384;
/// So many rows are looked at to find out whether they come in key order.
const ORDER_SAMPLE_ROWS: u64 = 4096;

/// Files to each processor that are under way at a time, at most: while one waits for the disk others go on, and
/// when files are no multiple of the processors none stands idle at the end.
const FILES_PER_PROCESSOR: usize = 4;

/// Files that are built, or read, at a time.
pub(super) fn files_at_a_time(files: usize) -> usize {
    (at_a_time(usize::MAX) * FILES_PER_PROCESSOR).min(files.max(1))
}

/// How much of so much work goes on at a time, one to a processor.
pub(super) fn at_a_time(works: usize) -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(works.max(1))
}

impl Workshop {
    /// Builds all new files; the first failure ends the others. Gives back their bytes.
    pub(super) fn build(&self, jobs: &[Job]) -> Result<u64, BuildFileError> {
        let (next, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
        let failure = Mutex::new(None);
        let failed =
            || failure.lock().is_ok_and(|failure: std::sync::MutexGuard<'_, Option<_>>| failure.is_some());
        std::thread::scope(|scope| {
            for _ in 0..files_at_a_time(jobs.len()) {
                scope.spawn(|| {
                    while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let built = if failed() {
                            return;
                        } else {
                            self.build_file(job, files_at_a_time(jobs.len()), &failed)
                        };
                        match (built, failure.lock()) {
                            (Ok(built), _) => _ = bytes.fetch_add(built, Ordering::Relaxed),
                            (Err(error), Ok(mut failure)) => _ = failure.get_or_insert(error),
                            // Somebody has panicked, which ends the scope.
                            (Err(_), Err(_)) => {}
                        }
                    }
                });
            }
        });
        failure
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .map_or(Ok(bytes.into_inner()), Err)
    }

    /// Gives back the new file's bytes.
    fn build_file(
        &self,
        job: &Job,
        at_a_time: usize,
        failed: &dyn Fn() -> bool,
    ) -> Result<u64, BuildFileError> {
        let new = new_file(&job.path);
        let file_error = |act, path: &Path| {
            let path = path.to_owned();
            move |source| BuildFileError::File { act, path, source }
        };
        let donor = self.donor(&job.path)?;
        let options = FileOptions {
            rows_sorted: self.rows_come_sorted(&job.rows),
            sort_bytes: SORT_BYTES / at_a_time,
            spill_folder: self.scratch.clone(),
            profiles: self.profiles.clone(),
            // Partitions differ in which leaf is how full.
            seed: self.seed ^ job.rows.start,
            rows: job.rows.end - job.rows.start,
        };
        let mut sink = FileSink::create(&new).map_err(file_error("create", &new))?;
        let mut builder = FileBuilder::new(&self.plan, donor, &options);
        let build_error = |source| BuildFileError::Build { path: new.clone(), source };
        let mut batch = RowBatch::default();
        let (mut next, mut told) = (job.rows.start, job.rows.start);
        while next < job.rows.end {
            self.maker.fill_batch(next..job.rows.end.min(next + ROWS_AT_A_TIME), &mut batch);
            builder.push_rows(&MadeRows(&batch), &mut sink).map_err(build_error)?;
            next = batch.rows().end;
            if next - told >= ROWS_BETWEEN_LOOKS || next == job.rows.end {
                self.progress.add_rows(next - told);
                told = next;
                if self.progress.is_stopped() || failed() {
                    return Err(BuildFileError::Stopped);
                }
            }
        }
        self.progress.reached("building");
        let summary = builder.finish(&mut sink).map_err(build_error)?;
        sink.finish(summary.bytes).map_err(file_error("write", &new))?;
        // As the server made it.
        let like = std::fs::metadata(&job.path).map_err(file_error("read", &job.path))?;
        std::fs::set_permissions(&new, like.permissions()).map_err(file_error("set permissions of", &new))?;
        files::give_to(&new, &like).map_err(file_error("give the server", &new))?;
        Ok(summary.bytes)
    }

    fn donor(&self, path: &Path) -> Result<Donor, BuildFileError> {
        let bytes = std::fs::read(path).map_err(|source| BuildFileError::File {
            act: "read",
            path: path.to_owned(),
            source,
        })?;
        let donor = Donor::read(bytes, self.plan.indexes().count())
            .map_err(|source| BuildFileError::Donor { path: path.to_owned(), source })?;
        if donor.lsn > self.lsn_max {
            let (path, lsn) = (path.to_owned(), donor.lsn);
            return Err(BuildFileError::NotClean { path, lsn, clean_lsn: self.lsn_max });
        }
        Ok(donor)
    }

    /// Looks at the first rows and at every change of day. Where that is wrong, building fails later with
    /// the row's number.
    fn rows_come_sorted(&self, rows: &Range<u64>) -> bool {
        let mut maker = RecordMaker::new(&self.plan.clustered);
        let mut batch = RowBatch::default();
        let mut key = |number: u64| {
            self.maker.fill_batch(number..number + 1, &mut batch);
            let row = MadeRows(&batch);
            // A row that cannot be made is reported when its turn comes.
            maker.make_row(&|column| row.value(0, column)).ok().map(|()| maker.sort_key().to_vec())
        };
        let mut rises = |first: u64| match (key(first), key(first + 1)) {
            (Some(a), Some(b)) => a < b,
            _ => true,
        };
        let sample = rows.start..rows.end.min(rows.start + ORDER_SAMPLE_ROWS).saturating_sub(1);
        let days = self.maker.days();
        let last_rows = (0..days.count()).map(|day| days.day(day)).map(|day| day.first_row + day.rows);
        let changes = last_rows.filter(|end| *end > rows.start && *end < rows.end).map(|end| end - 1);
        sample.chain(changes).all(&mut rises)
    }

    /// Verifies all new files.
    pub(super) fn verify(&self, paths: &[PathBuf], rows: &[u64]) -> Result<Vec<LoadedIndex>, BuildFileError> {
        let verified = verify::files(paths, &Shape::of(&self.table), files_at_a_time(paths.len()))?;
        for ((path, verified), expected) in paths.iter().zip(&verified).zip(rows) {
            let found = verified.indexes.first().map_or(0, |index| index.rows);
            if found != *expected {
                let (path, found, expected) = (path.clone(), Rows(found), Rows(*expected));
                return Err(BuildFileError::Count { path, found, expected });
            }
            self.progress.add_rows(*expected);
        }
        Ok(self.plan.indexes().enumerate().map(|(place, index)| summary(place, index, &verified)).collect())
    }
}

/// One index in all files.
fn summary(place: usize, plan: &IndexPlan, files: &[Verified]) -> LoadedIndex {
    let mut order = LeafOrder::default();
    let mut loaded = LoadedIndex { name: plan.name.clone(), ..LoadedIndex::default() };
    for index in files.iter().filter_map(|file| file.indexes.get(place)) {
        loaded.levels = loaded.levels.max(index.levels);
        loaded.inner_pages += index.inner_pages;
        order.merge(&index.order);
    }
    loaded.leaves = order.summary();
    loaded
}
