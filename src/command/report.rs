//! `idembench report`: a saved run drawn again, or spliced into a document.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use crate::cli::ReportArgs;
use crate::report::{self, splice};
use crate::results::{Run, store};

/// Runs the command. With `--check`: exit code 1 when the document is out of step.
pub fn run(args: &ReportArgs) -> anyhow::Result<ExitCode> {
    let run = store::read(&args.run)?;
    match &args.splice {
        Some(document) => into_document(&run, document, args.check),
        None => {
            report::write(&run, &args.run)?;
            println!("{}", args.run.join("report.html").display());
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn into_document(run: &Run, document: &Path, check: bool) -> anyhow::Result<ExitCode> {
    let name = document.display();
    let old = std::fs::read_to_string(document).with_context(|| format!("read {name}"))?;
    let new = splice::splice(&old, run).with_context(|| format!("splice {} into {name}", run.run_id))?;
    if new == old {
        println!("{name}: in step with {}", run.run_id);
        return Ok(ExitCode::SUCCESS);
    }
    if check {
        println!("{name}: out of step with {} — run the same command without --check", run.run_id);
        return Ok(ExitCode::from(1));
    }
    std::fs::write(document, new).with_context(|| format!("write {name}"))?;
    println!("{name}: brought up to {}", run.run_id);
    Ok(ExitCode::SUCCESS)
}
