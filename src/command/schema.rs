//! `idembench schema check`: what is wrong with a table before it is created.

use std::process::ExitCode;

use anyhow::Context;

use super::screen::{print_json, print_out};
use crate::cli::{SchemaAction, SchemaArgs, SchemaCheckArgs};
use crate::spec::ddl::audit::{Finding, Severity, audit};
use crate::units::one_line;

/// Runs the command: exit code 1 when MySQL or the loaders would refuse the table.
pub fn run(args: SchemaArgs) -> anyhow::Result<ExitCode> {
    match args.action {
        SchemaAction::Check(args) => check(&args),
    }
}

fn check(args: &SchemaCheckArgs) -> anyhow::Result<ExitCode> {
    let file = args.file.display();
    let sql = std::fs::read_to_string(&args.file).with_context(|| format!("read {file}"))?;
    let findings = audit(&sql).with_context(|| format!("read {file}"))?;
    match args.json {
        true => print_json(&findings)?,
        false => print(&file.to_string(), &findings),
    }
    let refused = findings.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if refused { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn print(file: &str, findings: &[Finding]) {
    if findings.is_empty() {
        print_out(&format!("{file}: nothing to say against it"));
    }
    for finding in findings {
        let mark = match finding.severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
        };
        print_out(&format!("{file}: {mark}{}\n  {}", one_line(&finding.what), one_line(&finding.advice)));
    }
}
