//! `idembench quickstart`: from nothing to a plotted claim P99.

use std::process::ExitCode;

use super::measure::{self, Plan};
use super::screen::Screen;
use super::{doctor, server_choice};
use crate::cli::QuickstartArgs;
use crate::results::RunStatus;
use crate::server::attend_signals;
use crate::spec::dataset::Dataset;
use crate::spec::suite::{Overrides, Suite};

/// Runs the command.
pub async fn run(args: QuickstartArgs) -> anyhow::Result<ExitCode> {
    let screen = Screen::new(false);
    let plan = plan(&args)?;
    let mut server = server_choice::open(&args.server, &screen).await?;
    if let Some(folder) = server.data_directory() {
        let disk = doctor::disk_speed(folder.to_owned())?;
        screen.line("disk", &format!("{}   idembench doctor says more", doctor::disk_line(&disk)));
    }
    let _attending = attend_signals();
    let measured = measure::run(&mut server, &plan, &screen).await;
    let closed = server.close().await;
    let measured = measured?;
    server_choice::closed_after(&measured.run, closed, &screen);
    screen.line("next", "idembench run claim   ·   idembench load t_idem --rows 100M --replace t_idem");
    let good = measured.run.status == RunStatus::Done;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn plan(args: &QuickstartArgs) -> anyhow::Result<Plan> {
    let overrides =
        Overrides { rows: args.rows, days: args.days, duration: args.duration, ..Overrides::default() };
    let suite = Suite::read("quickstart")?.with_overrides(&overrides)?;
    let dataset = Dataset::read(&suite.dataset)?.scaled(suite.rows, suite.days, None, None)?;
    Ok(Plan { suite, dataset, out: args.out.clone(), resume: None })
}
