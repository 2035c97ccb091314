//! `idembench report`: a saved run drawn again, or runs spliced into a document.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use super::screen::print_out;
use crate::cli::ReportArgs;
use crate::report::{self, splice};
use crate::results::store;

/// Runs the command. With `--check`: exit code 1 when the document is out of step.
pub fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    if let Some(document) = &args.splice {
        return into_document(document, args.check);
    }
    anyhow::ensure!(
        !args.check,
        "check a document: --check goes with --splice, as in `idembench report --splice README.md --check`"
    );
    if let Some(directory) = &args.run {
        report::write(&store::read(directory)?, directory)?;
        print_out(&format!("{}", directory.join("report.html").display()));
    }
    Ok(ExitCode::SUCCESS)
}

fn into_document(document: &Path, check: bool) -> anyhow::Result<ExitCode> {
    let name = document.display();
    let old = std::fs::read_to_string(document).with_context(|| format!("read {name}"))?;
    let beside = document.parent().unwrap_or(Path::new(""));
    let read = |run: &str| store::read(&beside.join(run)).map_err(|error| error.to_string());
    let new = splice::splice(&old, read).with_context(|| format!("splice runs into {name}"))?;
    if new == old {
        print_out(&format!("{name}: in step with its runs"));
        return Ok(ExitCode::SUCCESS);
    }
    if check {
        print_out(&format!("{name}: out of step with its runs — run the same command without --check"));
        return Ok(ExitCode::from(1));
    }
    std::fs::write(document, new).with_context(|| format!("write {name}"))?;
    print_out(&format!("{name}: brought up to its runs"));
    Ok(ExitCode::SUCCESS)
}
