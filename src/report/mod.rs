//! The reading wing: a run as figures, Markdown, a page and terminal lines.
//!
//! The way of a report: [`plot::figures`] draws what the run has data for, `contents` puts result, figures
//! and details into a `document`, and `markdown` and `html` render the same document. Everything is made from
//! the [`Run`] alone.

mod contents;
mod costs;
mod decision;
mod details;
mod document;
mod facts;
mod headline;
mod html;
mod markdown;
pub mod plot;
mod shown;
pub mod splice;
mod step_table;
pub mod text;

use std::io;
use std::path::{Path, PathBuf};

use crate::results::Run;

/// Why a report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A figure could not be drawn.
    #[error(transparent)]
    Plot(#[from] plot::PlotError),
    /// The directory could not be made.
    #[error("failed to make the report's directory {}: {source}", path.display())]
    MakeDirectory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("failed to write {} of the report: {source} — free some space; `idembench report` draws it again from the run", path.display())]
    WriteFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What [`write()`] left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// `report.md`.
    pub markdown: PathBuf,
    /// `report.html`.
    pub page: PathBuf,
    /// SVG and PNG files, each figure's two beside one another.
    pub plots: Vec<PathBuf>,
}

/// Writes figures, `report.md` and `report.html` of a run into a directory, over those of an earlier call.
pub fn write(run: &Run, dir: &Path) -> Result<Written, ReportError> {
    let plots = plot::figures(run)?;
    let document = contents::document(run, &plots);
    let make = |source| ReportError::MakeDirectory { path: dir.to_owned(), source };
    std::fs::create_dir_all(dir).map_err(make)?;
    let save = |name: &str, content: &[u8]| {
        let path = dir.join(name);
        match std::fs::write(&path, content) {
            Ok(()) => Ok(path),
            Err(source) => {
                // Half a file would pass for a whole one.
                let _ = std::fs::remove_file(&path);
                Err(ReportError::WriteFile { path, source })
            }
        }
    };
    let mut files = Vec::new();
    for plot in &plots {
        files.push(save(&format!("{}.svg", plot.name), plot.svg.as_bytes())?);
        files.push(save(&format!("{}.png", plot.name), &plot.png)?);
    }
    Ok(Written {
        markdown: save("report.md", markdown::render(&document, &plots).as_bytes())?,
        page: save("report.html", html::render(run, &document, &plots).as_bytes())?,
        plots: files,
    })
}

#[cfg(test)]
mod tests {
    use crate::results::{StepResult, WarmUpResult};

    /// A step without anything in it.
    pub(super) fn bare_step() -> StepResult {
        StepResult {
            name: "claim, full key".to_owned(),
            workload: "claim".to_owned(),
            parameters: Default::default(),
            rate_per_s: Some(1000.0),
            connections: 4,
            pool: None,
            throughput_per_s: 1000.0,
            measured_s: 30.0,
            warm_up: WarmUpResult { seconds: 5.0, operations: 5_000, steady: true },
            outcomes: Default::default(),
            errors: Vec::new(),
            latency_us: Default::default(),
            histograms: Default::default(),
            intervals: Vec::new(),
            counters: Default::default(),
            per_operation: Default::default(),
            statements: Vec::new(),
            overload: None,
            verdict: "steady".to_owned(),
            checks: Vec::new(),
            warnings: Vec::new(),
            failure: None,
        }
    }
}
