//! Figures in a README come from committed runs: a marked region is replaced by the run's table.
//!
//! ```text
//! <!-- idembench report --splice results/2026-12-01-quickstart-4f2a -->
//! …whatever stands here is replaced…
//! <!-- /idembench -->
//! ```
//!
//! Pure: who calls it reads the runs and writes the file, or compares (the check of a test).

use crate::results::Run;

use super::{facts, headline, markdown, step_table};

const OPENING: &str = "<!-- idembench report --splice ";
const CLOSING: &str = "<!-- /idembench -->";

/// Why a text could not be spliced.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SpliceError {
    /// There is nothing to fill.
    #[error(
        "it has no marked region — add these two lines where a run's table should stand: `{OPENING}results/RUN -->` \
         and `{CLOSING}`"
    )]
    NoMarkers,
    /// A region does not end.
    #[error("failed to splice line {line}: the region of {run} has no `{CLOSING}` before the next one")]
    FindEnd {
        /// Line of the opening marker, from 1.
        line: usize,
        /// The run that it names.
        run: String,
    },
    /// The run of a region could not be read.
    #[error("failed to splice line {line}: {reason}")]
    ReadRun {
        /// Line of the opening marker, from 1.
        line: usize,
        /// What the reader of runs said.
        reason: String,
    },
}

/// The text with every marked region filled anew; `read` finds a run by the path that a marker names,
/// relative to the text's own place. Equal to the input if everything was in step. A marker stands at the start
/// of a line; one within a line or a fenced block only talks of markers.
pub fn splice(text: &str, mut read: impl FnMut(&str) -> Result<Run, String>) -> Result<String, SpliceError> {
    let mut spliced = String::with_capacity(text.len());
    let mut rest = text;
    let mut regions = 0;
    while let Some(at) = next_marker(rest) {
        let (before, from_marker) = (&rest[..at], &rest[at + OPENING.len()..]);
        regions += 1;
        spliced.push_str(before);
        let line = spliced.matches('\n').count() + 1;
        let (path, body) = from_marker.split_once("-->").unwrap_or((from_marker, ""));
        let path = path.trim();
        let ends = || SpliceError::FindEnd { line, run: path.to_owned() };
        let (old, after) = body.split_once(CLOSING).ok_or_else(ends)?;
        if old.contains(OPENING) {
            return Err(ends());
        }
        let run = read(path).map_err(|reason| SpliceError::ReadRun { line, reason })?;
        spliced.push_str(&format!("{OPENING}{path} -->\n{}\n{CLOSING}", region(&run, path)));
        rest = after;
    }
    if regions == 0 {
        return Err(SpliceError::NoMarkers);
    }
    spliced.push_str(rest);
    Ok(spliced)
}

/// Where the next opening marker stands: at the start of a line outside fenced blocks.
fn next_marker(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut open: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        match (open, fence(line)) {
            (None, _) if line.starts_with(OPENING) => return Some(at),
            (None, Some((marks, info))) if !info.contains('`') => open = Some(marks),
            // Only a fence of the same marks, at least as long, ends a block: shorter ones are its text.
            (Some(begun), Some((marks, ""))) if marks.starts_with(begun) => open = None,
            _ => {}
        }
        at += line.len();
    }
    None
}

/// The marks of a line that begins or ends a fenced block, and what stands behind them.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let behind = line.trim_start_matches(if line.starts_with('~') { '~' } else { '`' });
    let (marks, info) = line.split_at(line.len() - behind.len());
    (marks.len() >= 3).then_some((marks, info))
}

/// What stands between the markers: the step table, what must not be missed, and where it comes from.
fn region(run: &Run, path: &str) -> String {
    let mut text = markdown::table(&step_table::steps(run));
    for notice in headline::notices(run) {
        text.push_str(&format!("\n- {}", markdown::escaped(&notice.text)));
    }
    let settings = facts::settings(run).join(", ");
    let made = format!(
        "{}, {}, {settings}, {}, {}",
        facts::server(run),
        facts::dataset(run),
        facts::machine(run),
        run.started_at.split('T').next().unwrap_or_default()
    );
    text.push_str(&format!("\n\n{}. [The whole report]({path}/report.md).", markdown::escaped(&made)));
    text
}
