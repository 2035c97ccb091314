//! Whether the disk holds the rows, before the first one is written.

use super::LoadError;
use crate::server::Server;
use crate::server::disk::free_space;
use crate::spec::dataset::Dataset;
use crate::spec::footprint::Footprint;
use crate::units::{Bytes, Rows};

/// Compares what `rows` rows will take with what is free; silent where the disk is not ours to see.
pub(super) fn check(server: &Server, dataset: &Dataset, rows: u64) -> Result<(), LoadError> {
    let Some(directory) = server.data_directory() else { return Ok(()) };
    // What cannot be asked cannot be refused: the load itself will tell.
    let Ok(free) = free_space(directory) else { return Ok(()) };
    let footprint = Footprint::new(dataset);
    let needed = footprint.bytes(Rows(rows));
    if needed <= free {
        return Ok(());
    }
    Err(LoadError::DiskTooSmall {
        dataset: dataset.name.clone(),
        needed,
        free,
        place: directory.display().to_string(),
        rows_that_fit: rows_that_fit(&footprint, free).short(),
    })
}

/// The most rows that fit, in two digits, rounded down.
fn rows_that_fit(footprint: &Footprint, free: Bytes) -> Rows {
    let rows = footprint.rows_in(free).0;
    let unit = 10u64.pow(rows.max(1).ilog10().saturating_sub(1));
    Rows(rows / unit * unit)
}
