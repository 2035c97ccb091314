//! `idembench list`: what travels in the binary.

use std::process::ExitCode;

use super::screen::{Screen, print_json, print_out};
use crate::cli::ListArgs;
use crate::report::text;
use crate::spec::dataset::{self, Dataset};
use crate::spec::suite::{self, Suite};

/// Runs the command.
pub fn run(args: &ListArgs) -> anyhow::Result<ExitCode> {
    match (&args.suite, &args.source) {
        (_, Some(name)) => source(name)?,
        (Some(suite), None) => steps(&Suite::read(suite)?, args.json)?,
        (None, None) => everything(args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The files behind a built-in name, to begin one's own with.
fn source(name: &str) -> anyhow::Result<()> {
    if let Some(found) = suite::built_in().iter().find(|found| found.name == name) {
        print_out(found.toml.trim_end());
        return Ok(());
    }
    let Some(found) = dataset::built_in().iter().find(|found| found.name == name) else {
        let suites = suite::built_in().iter().map(|found| found.name);
        let known: Vec<_> = suites.chain(dataset::built_in().iter().map(|found| found.name)).collect();
        anyhow::bail!(
            "print the source of {name}: nothing built in has that name — use one of {}",
            known.join(", ")
        );
    };
    print_out(&format!("# {name}/dataset.toml\n{}", found.toml.trim_end()));
    print_out(&format!("\n# {name}/table.sql\n{}", found.table_sql.trim_end()));
    Ok(())
}

/// What a suite loads: its own figures, or those of its dataset.
fn loaded(suite: &Suite) -> anyhow::Result<Dataset> {
    Ok(Dataset::read(&suite.dataset)?.scaled(suite.rows, suite.days, None, None)?)
}

/// `t_idem, 10M rows in 7 days`.
fn loads(suite: &Suite) -> anyhow::Result<String> {
    let dataset = loaded(suite)?;
    Ok(format!("{}, {} rows in {} days", dataset.name, dataset.rows.short(), dataset.days))
}

fn steps(suite: &Suite, json: bool) -> anyhow::Result<()> {
    let lines: Vec<String> = suite.steps.iter().map(text::planned_step).collect();
    if json {
        let loaded = loaded(suite)?;
        return print_json(&serde_json::json!({
            "suite": suite.name,
            "dataset": suite.dataset,
            "rows": loaded.rows.0,
            "days": loaded.days,
            "steps": lines,
        }));
    }
    let screen = Screen::new(false);
    screen.line("suite", &format!("{} · {}", suite.name, suite.description));
    screen.line("", &format!("on {}", loads(suite)?));
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
        let named = |name: &str, description: &str, loaded: &Dataset| {
            serde_json::json!({
                "name": name, "description": description, "rows": loaded.rows.0, "days": loaded.days,
            })
        };
        let suites: Vec<_> = suites
            .iter()
            .map(|suite| Ok(named(&suite.name, &suite.description, &loaded(suite)?)))
            .collect::<anyhow::Result<_>>()?;
        return print_json(&serde_json::json!({
            "datasets": datasets.iter().map(|d| named(&d.name, &d.description, d)).collect::<Vec<_>>(),
            "suites": suites,
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
            &format!("{:<22}{} ({})", suite.name, suite.description, loads(suite)?),
        );
    }
    screen.line(
        "source",
        "idembench list --source NAME prints a suite's or dataset's file, to begin your own with",
    );
    Ok(())
}
