//! A suite on a server, from loading to the drawn report: what `run` and `quickstart` share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use super::resume::{self, CutOff};
use super::screen::{Bar, Screen};
use super::{doctor, load, server_choice};
use crate::drive::{Options, Progress, Stop, Target};
use crate::load::{LoadRequest, Loaded, Method, Verify};
use crate::report::{self, text};
use crate::results::{self, DatasetDescription, Interval, Run, RunStatus, StepResult, Tool, store};
use crate::server::{Server, attend_signals, machine, stop_signal};
use crate::spec::dataset::Dataset;
use crate::spec::suite::{Step, Suite};
use crate::table::{inspect, ledger, row_counts};
use crate::units::{Micros, grouped, three_digits};
use crate::workload;

/// The driver and the flags that decide how its answers are read.
const DRIVER: &str = "sqlx 0.9, prepared statements, CLIENT_FOUND_ROWS";

/// What is measured, on which rows, and where the result goes.
pub struct Plan {
    /// The steps.
    pub suite: Suite,
    /// The rows.
    pub dataset: Dataset,
    /// The folder of runs.
    pub out: PathBuf,
    /// A run that was cut off and goes on.
    pub resume: Option<CutOff>,
}

impl Plan {
    /// The most connections that a step takes.
    pub fn connections(&self) -> u32 {
        let sessions = |step: &Step| step.load.connections().saturating_mul(step.workload.sessions());
        self.suite.steps.iter().map(sessions).max().unwrap_or(0)
    }
}

/// A saved run.
pub struct Measured {
    /// The run.
    pub run: Run,
    /// Its directory.
    pub directory: PathBuf,
}

/// Loads what is missing, drives every step, saves after each, draws the report.
///
/// Once the run has a directory it is saved as failed with what it has, whatever happens.
pub async fn run(server: &mut Server, plan: &Plan, screen: &Screen) -> anyhow::Result<Measured> {
    probe(&plan.out)?;
    for step in &plan.suite.steps {
        workload::check(step, &plan.dataset).with_context(|| format!("run step `{}`", step.name))?;
    }
    let _attending = attend_signals();
    server.room_for(plan.connections()).await?;
    let loaded = match load::fill(server, &load_request(plan), screen).await {
        Ok(loaded) => loaded,
        Err(error) => return Err(server_choice::explained(server, error).await),
    };
    let mut run = begin(server, plan, &loaded).await?;
    let directory = match &plan.resume {
        None => store::create(&plan.out, &mut run)?,
        Some(cut_off) => {
            let directory = cut_off.directory.clone();
            run = cut_off.go_on(&run, &plan.suite)?;
            store::save(&directory, &run)?;
            directory
        }
    };
    let stop = Stop::default();
    let watch_signals = tokio::spawn(stop_on_signal(stop.clone()));
    let driven = drive_steps(server, plan, &mut run, &directory, &stop, screen).await;
    watch_signals.abort();
    end(&mut run, &driven, &stop);
    store::save(&directory, &run)?;
    if let Some(failure) = &run.failure {
        screen.warn(&format!("the run failed: {failure}"));
    }
    report::write(&run, &directory)?;
    say_where(&directory, screen);
    Ok(Measured { run, directory })
}

/// Rows are what a run asks for; what pages they lie on is the loaded table's to say, and the run tells it.
pub async fn adopt_fill(server: &Server, dataset: &mut Dataset) -> anyhow::Result<()> {
    let mut connection = server.connect().await?;
    if let Some(noted) = ledger::fill(&mut connection, &dataset.table.name).await? {
        dataset.fill = serde_json::from_str(&noted)
            .with_context(|| format!("read from the load's ledger what pages {} has", dataset.table.name))?;
    }
    Ok(())
}

/// A folder that takes no file should be known before hours of loading, not after.
fn probe(out: &Path) -> anyhow::Result<()> {
    let file = out.join(".idembench-probe");
    let written = std::fs::create_dir_all(out).and_then(|()| std::fs::write(&file, "probe"));
    if written.is_err() {
        let _ = std::fs::remove_file(&file);
    }
    written
        .with_context(|| format!("write results under {} — name another folder with --out", out.display()))?;
    std::fs::remove_file(&file).with_context(|| format!("remove {}", file.display()))
}

fn load_request(plan: &Plan) -> LoadRequest {
    LoadRequest {
        dataset: plan.dataset.clone(),
        method: Method::Auto,
        verify: Verify::Quick,
        streams: None,
        replace: None,
    }
}

async fn stop_on_signal(stop: Stop) {
    stop_signal().await;
    stop.request();
}

/// A run without steps: everything that is needed to judge the numbers that will come.
async fn begin(server: &Server, plan: &Plan, loaded: &Loaded) -> anyhow::Result<Run> {
    let folder = server.data_directory();
    let disk = folder.map(|folder| doctor::disk_speed(folder.to_owned())).transpose()?;
    let mut connection = server.connect().await?;
    let row_counts = row_counts::try_row_counts(&mut connection).await?;
    let create_table = inspect::show_create(&mut connection, &plan.dataset.table.name).await?;
    let now = now();
    Ok(Run {
        schema_version: results::version::CURRENT,
        run_id: String::new(),
        suite: plan.suite.name.clone(),
        started_at: now.clone(),
        finished_at: now,
        status: RunStatus::Running,
        failure: None,
        tool: Tool {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            git_revision: git_revision(),
            driver: DRIVER.to_owned(),
            row_counts: row_counts.to_string(),
        },
        server: server.describe().await?,
        machine: machine::describe(folder, disk.as_ref()),
        dataset: describe(&plan.dataset, loaded, create_table),
        warnings: Vec::new(),
        steps: Vec::new(),
    })
}

fn describe(dataset: &Dataset, loaded: &Loaded, create_table: String) -> DatasetDescription {
    DatasetDescription {
        name: dataset.name.clone(),
        rows: loaded.rows,
        days: dataset.days,
        fingerprint: loaded.fingerprint.clone(),
        seed: dataset.seed,
        fill: dataset.fill.to_string(),
        bytes: loaded.bytes,
        create_table,
    }
}

/// Drives the steps in order. A failed step does not keep the later ones from running, unless the server is
/// gone; what was measured is saved after each.
async fn drive_steps(
    server: &mut Server,
    plan: &Plan,
    run: &mut Run,
    directory: &Path,
    stop: &Stop,
    screen: &Screen,
) -> anyhow::Result<()> {
    let name_width = text::name_width(plan.suite.steps.iter().map(|step| step.name.as_str()));
    let target = Target { options: server.connect_options(), server_pid: server.pid() };
    let mut label = "run";
    for (position, step) in plan.suite.steps.iter().enumerate() {
        if stop.is_requested() {
            break;
        }
        if plan.resume.is_some() && resume::is_measured(run, step) {
            continue;
        }
        let bar = Arc::new(step_bar(screen, label, step));
        let options = Options {
            log: Some(store::log_path(directory, position, &step.name)),
            stop: stop.clone(),
            progress: Arc::new({
                let bar = Arc::clone(&bar);
                move |progress: &Progress| show(&bar, progress)
            }),
            ..Options::default()
        };
        let result = workload::run(step, &plan.dataset, &target, &options).await;
        drop(options);
        let result = result.with_context(|| format!("run step `{}`", step.name))?;
        bar.finish(&text::step_line(&result, name_width));
        label = "";
        // All before it have run; of a resumed run some after it may have, too.
        run.steps.insert(position, result);
        run.finished_at = now();
        // The run first: percentiles can be made again from its histograms.
        store::save(directory, run)?;
        store::save_percentiles(directory, position, &run.steps[position])?;
        if run.steps[position].failure.is_some()
            && let Err(gone) = server.connect().await
        {
            let gone = server_choice::explained(server, gone.into()).await;
            return Err(gone.context(format!("run step `{}`: the server is gone", step.name)));
        }
    }
    Ok(())
}

fn step_bar(screen: &Screen, label: &'static str, step: &Step) -> Bar {
    screen.bar(label, &text::planned_step(step), step.duration.0.as_secs().max(1))
}

/// What the last second was like: `1,998/s  p99 2.4 ms`, and the backlog if there is one.
fn interval_line(interval: &Interval) -> String {
    let per_second = interval.completed as f64 / interval.length_s.max(0.001);
    let phase = if interval.phase == "measure" { "" } else { interval.phase.as_str() };
    let backlog = match interval.backlog {
        0 => String::new(),
        due => format!("  {} due, backlog age {} s", grouped(due), three_digits(interval.backlog_age_s)),
    };
    let p99 = Micros(interval.service_us.p99);
    format!("{}/s  p99 {p99}{backlog}  {phase}", grouped(per_second.round() as u64))
}

fn show(bar: &Bar, progress: &Progress) {
    let at = progress.interval.start_s + progress.interval.length_s;
    bar.set(at.max(0.0) as u64, interval_line(&progress.interval));
}

fn end(run: &mut Run, driven: &anyhow::Result<()>, stop: &Stop) {
    run.finished_at = now();
    let broken = run.steps.iter().find(|step| is_broken(step));
    run.failure = match (driven, broken) {
        (Err(error), _) => Some(super::one_line(error)),
        (Ok(()), Some(step)) => Some(format!("step `{}`: {}", step.name, why_broken(step))),
        (Ok(()), None) => None,
    };
    run.status = match (&run.failure, stop.is_requested()) {
        (Some(_), _) => RunStatus::Failed,
        (None, true) => RunStatus::Interrupted,
        (None, false) => RunStatus::Done,
    };
}

/// A step that failed, or whose rows are not what its answers said.
fn is_broken(step: &StepResult) -> bool {
    step.failure.is_some() || step.checks.iter().any(|check| !check.held)
}

fn why_broken(step: &StepResult) -> String {
    let check = step.checks.iter().find(|check| !check.held);
    match (&step.failure, check) {
        (Some(failure), _) => failure.clone(),
        (None, Some(check)) => format!("{} did not hold: {}", check.name, check.detail),
        (None, None) => String::new(),
    }
}

fn say_where(directory: &Path, screen: &Screen) {
    let page = directory.join("report.html");
    screen.line("report", &format!("{}   (also report.md, run.json, *.svg, *.png, *.hgrm)", page.display()));
}

/// RFC 3339, UTC, whole seconds.
pub fn now() -> String {
    let format = time::format_description::well_known::Rfc3339;
    let now = time::OffsetDateTime::now_utc().replace_nanosecond(0);
    // A time of this century has an RFC 3339 form; should it not, the run says so instead of stopping.
    now.ok().and_then(|now| now.format(&format).ok()).unwrap_or_else(|| "unknown".to_owned())
}

/// The revision of the checkout that the command runs in.
fn git_revision() -> String {
    let asked =
        std::process::Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
    match asked {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        _ => "unknown".to_owned(),
    }
}
