//! `idembench run`: a suite's steps driven against a loaded table, saved and drawn.

use std::process::ExitCode;

use anyhow::Context;

use super::measure::{self, Plan};
use super::screen::{Screen, print_json, print_out};
use super::{resume, server_choice};
use crate::cli::RunArgs;
use crate::results::RunStatus;
use crate::server::attend_signals;
use crate::spec::dataset::Dataset;
use crate::spec::suite::{Overrides, Suite};

/// Runs the command. Exit code 1 when a step failed or a check on its rows did not hold.
pub async fn run(args: RunArgs) -> anyhow::Result<ExitCode> {
    let screen = Screen::new(args.json);
    let mut plan = plan(&args)?;
    let mut server = server_choice::open_for(&args.server, plan.connections(), &screen).await?;
    let _attending = attend_signals();
    measure::adopt_fill(&server, &mut plan.dataset).await?;
    let measured = measure::run(&mut server, &plan, &screen).await;
    let closed = server.close().await;
    let measured = measured?;
    server_choice::closed_after(&measured.run, closed, &screen);
    match args.json {
        true => print_json(&measured.run)?,
        false => print_out(&format!("{}", measured.directory.display())),
    }
    let good = measured.run.status == RunStatus::Done;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn plan(args: &RunArgs) -> anyhow::Result<Plan> {
    let rate = args.rate.as_deref().map(str::parse).transpose().map_err(anyhow::Error::msg);
    let overrides = Overrides {
        dataset: args.dataset.clone(),
        rows: args.rows,
        days: args.days,
        rate: rate.context("read --rate")?,
        connections: args.connections,
        duration: args.duration,
        step: args.step.clone(),
    };
    let suite = Suite::read(&args.suite)?.with_overrides(&overrides)?;
    let dataset = Dataset::read(&suite.dataset)?.scaled(suite.rows, suite.days, None, None)?;
    let resume = args.resume.as_ref().map(|given| resume::read(given, &args.out, &suite)).transpose()?;
    Ok(Plan { suite, dataset, out: args.out.clone(), resume })
}
