//! `idembench list`: what travels in the binary.

use std::process::ExitCode;

use super::screen::{Screen, print_json};
use crate::cli::ListArgs;
use crate::report::text;
use crate::spec::dataset::{self, Dataset};
use crate::spec::suite::{self, Suite};

/// Runs the command.
pub fn run(args: &ListArgs) -> anyhow::Result<ExitCode> {
    match &args.suite {
        Some(suite) => steps(&Suite::read(suite)?, args.json)?,
        None => everything(args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn steps(suite: &Suite, json: bool) -> anyhow::Result<()> {
    let lines: Vec<String> = suite.steps.iter().map(text::planned_step).collect();
    if json {
        return print_json(
            &serde_json::json!({ "suite": suite.name, "dataset": suite.dataset, "steps": lines }),
        );
    }
    let screen = Screen::new(false);
    screen.line("suite", &format!("{} · {}", suite.name, suite.description));
    for line in lines {
        screen.line("", &line);
    }
    Ok(())
}

fn everything(json: bool) -> anyhow::Result<()> {
    let datasets =
        dataset::built_in().iter().map(|found| Dataset::read(found.name)).collect::<Result<Vec<_>, _>>()?;
    let suites =
        suite::built_in().iter().map(|found| Suite::read(found.name)).collect::<Result<Vec<_>, _>>()?;
    if json {
        let named =
            |name: &str, description: &str| serde_json::json!({ "name": name, "description": description });
        return print_json(&serde_json::json!({
            "datasets": datasets.iter().map(|d| named(&d.name, &d.description)).collect::<Vec<_>>(),
            "suites": suites.iter().map(|s| named(&s.name, &s.description)).collect::<Vec<_>>(),
        }));
    }
    let screen = Screen::new(false);
    for (position, dataset) in datasets.iter().enumerate() {
        screen.line(
            if position == 0 { "datasets" } else { "" },
            &format!("{:<22}{}", dataset.name, dataset.description),
        );
    }
    for (position, suite) in suites.iter().enumerate() {
        screen.line(
            if position == 0 { "suites" } else { "" },
            &format!("{:<22}{}", suite.name, suite.description),
        );
    }
    Ok(())
}
