//! `idembench load`: a dataset's table filled and verified.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::bail;
use rustix::process::{Signal, getpid, kill_process};

use super::screen::{Bar, Screen, print_json};
use super::{age, server_choice};
use crate::cli::{FillArg, LoadArgs, MethodArg, VerifyArg};
use crate::load::{self, BuiltFiles, By, Choice, LoadRequest, Loaded, Method, Phase, Progress, Verify};
use crate::server::{Server, attend_signals, stop_signal};
use crate::spec::dataset::{Dataset, Fill};
use crate::spec::server::{OwnedSpec, ServerSpec};
use crate::units::{Bytes, Rows, Span, grouped, three_digits};

/// Where a load as files stops itself, as SIGSTOP does, the first time that it gets there: for tests that
/// kill it or the server at a chosen point ([`load::POINTS`]; `scripts/crash-matrix`).
const HALT_AT: &str = "IDEMBENCH_HALT_AT";

/// Runs the command.
pub async fn run(args: LoadArgs) -> anyhow::Result<ExitCode> {
    let screen = Screen::new(args.json);
    let request = request(&args, age_like(&args, &screen).await?)?;
    let spec = server_choice::spec(&args.server)?;
    if args.method == MethodArg::Swap && !matches!(spec, ServerSpec::Owned(_)) {
        bail!(
            "load {} by swap: the server is not ours to stop — use --method import or sql, or leave --server out",
            request.dataset.name
        );
    }
    let mut server = server_choice::open(&args.server, &screen).await?;
    let _attending = attend_signals();
    let choice = match choose(args.method, &server, &request, &screen).await {
        Ok(choice) => choice,
        Err(error) => {
            server.close().await?;
            return Err(error);
        }
    };
    let mut loaded = match (choice.by, spec) {
        (By::Swap, ServerSpec::Owned(spec)) => swap(server, &spec, &request, &screen).await?,
        (by, _) => {
            let loaded = match by {
                By::Import => import(&server, &request, &screen).await,
                _ => fill(&server, &request, &screen).await,
            };
            let loaded = match loaded {
                Ok(loaded) => loaded,
                Err(error) => {
                    let error = server_choice::explained(&mut server, error).await;
                    // It failed already: that the server cannot be closed either is no news.
                    let _ = server.close().await;
                    return Err(error);
                }
            };
            server.close().await?;
            loaded
        }
    };
    if args.method == MethodArg::Auto {
        loaded.reason = match choice.by {
            By::Sql => format!("{}; {}", choice.reason, loaded.reason),
            By::Import | By::Swap => choice.reason,
        };
    }
    if args.json {
        print_json(&loaded)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The measured age of the table that `--age-like` names.
async fn age_like(args: &LoadArgs, screen: &Screen) -> anyhow::Result<Option<Fill>> {
    let Some(source) = &args.age_like else { return Ok(None) };
    if !matches!(args.method, MethodArg::Swap | MethodArg::Import) {
        bail!(
            "load {} like {source}: only pages that we write can be as we like — add --method swap or import",
            args.dataset
        );
    }
    let sample = age::take(source, &args.server, screen).await?;
    age::say(&sample, screen);
    Ok(Some(Fill::Like(sample.age())))
}

/// The way that the user named, or the best one, said in a line.
async fn choose(
    method: MethodArg,
    server: &Server,
    request: &LoadRequest,
    screen: &Screen,
) -> anyhow::Result<Choice> {
    let by = match method {
        MethodArg::Sql => By::Sql,
        MethodArg::Import => By::Import,
        MethodArg::Swap => By::Swap,
        MethodArg::Auto => {
            let choice = load::choose(server, request).await?;
            let name = match choice.by {
                By::Sql => "sql",
                By::Import => "import",
                By::Swap => "swap",
            };
            screen.line("method", &format!("{name}: {}", choice.reason));
            return Ok(choice);
        }
    };
    Ok(Choice { by, reason: "asked for".to_owned() })
}

fn request(args: &LoadArgs, age: Option<Fill>) -> anyhow::Result<LoadRequest> {
    let fill = args.fill.map(|fill| match fill {
        FillArg::Fresh => Fill::Fresh,
        FillArg::Aged => Fill::Aged,
    });
    let dataset = Dataset::read(&args.dataset)?.scaled(args.rows, args.days, args.seed, age.or(fill))?;
    Ok(LoadRequest {
        dataset,
        method: match args.method {
            MethodArg::Auto | MethodArg::Sql | MethodArg::Swap | MethodArg::Import => Method::Auto,
        },
        verify: match args.verify {
            VerifyArg::Quick => Verify::Quick,
            VerifyArg::Full => Verify::Full,
            VerifyArg::Off => Verify::Off,
        },
        streams: args.streams,
        replace: args.replace.clone(),
    })
}

/// Loads with a bar, and stops in order on a signal: what was changed on the server is restored.
pub async fn fill(server: &Server, request: &LoadRequest, screen: &Screen) -> anyhow::Result<Loaded> {
    let _attending = attend_signals();
    let progress = Arc::new(Progress::default());
    let loading = load::load(server, request, &progress);
    let (loaded, bar) = stoppable(loading, &request.dataset, &progress, screen).await?;
    say(&loaded, &request.dataset, bar, screen);
    Ok(loaded)
}

/// Builds the table's files, which the running server takes.
async fn import(server: &Server, request: &LoadRequest, screen: &Screen) -> anyhow::Result<Loaded> {
    let progress = progress()?;
    let loading = load::import(server, request, &progress);
    let (loaded, bar) = stoppable(loading, &request.dataset, &progress, screen).await?;
    say(&loaded, &request.dataset, bar, screen);
    Ok(loaded)
}

/// Builds the table's files while the server stands still.
async fn swap(
    server: Server,
    spec: &OwnedSpec,
    request: &LoadRequest,
    screen: &Screen,
) -> anyhow::Result<Loaded> {
    let home = server_choice::home()?;
    let progress = progress()?;
    let loading = load::swap(server, spec, &home, request, &progress);
    let ((server, loaded), bar) = stoppable(loading, &request.dataset, &progress, screen).await?;
    say(&loaded, &request.dataset, bar, screen);
    server.close().await?;
    Ok(loaded)
}

fn progress() -> anyhow::Result<Arc<Progress>> {
    let Ok(halt_at) = std::env::var(HALT_AT) else { return Ok(Arc::default()) };
    if !load::POINTS.contains(&halt_at.as_str()) {
        bail!("read {HALT_AT}: there is no point `{halt_at}` — there are {}", load::POINTS.join(", "));
    }
    let halted = AtomicBool::new(false);
    Ok(Arc::new(Progress::with_witness(move |point| {
        if point == halt_at && !halted.swap(true, Ordering::Relaxed) {
            // Whoever asked for it sees whether it came about.
            let _ = kill_process(getpid(), Signal::STOP);
        }
    })))
}

async fn stoppable<F, T>(
    loading: F,
    dataset: &Dataset,
    progress: &Arc<Progress>,
    screen: &Screen,
) -> anyhow::Result<(T, Bar)>
where
    F: Future<Output = Result<T, load::LoadError>>,
{
    let stop_on_signal = tokio::spawn(stop_on_signal(Arc::clone(progress)));
    let loaded = watched(loading, dataset, progress, screen).await;
    stop_on_signal.abort();
    loaded
}

async fn stop_on_signal(progress: Arc<Progress>) {
    stop_signal().await;
    progress.stop();
}

async fn watched<F, T>(
    loading: F,
    dataset: &Dataset,
    progress: &Progress,
    screen: &Screen,
) -> anyhow::Result<(T, Bar)>
where
    F: Future<Output = Result<T, load::LoadError>>,
{
    let bar = screen.bar("load", &dataset_line(dataset), dataset.rows.0);
    let begun = std::time::Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_millis(250));
    let mut resumed = false;
    tokio::pin!(loading);
    loop {
        let loaded = tokio::select! {
            loaded = &mut loading => Some(loaded),
            _ = ticks.tick() => None,
        };
        // Said once, at the latest when a load ends that was quicker than a tick.
        if !resumed && progress.rows_at_start() > 0 {
            resumed = true;
            bar.line(&resumed_line(progress.rows_at_start(), dataset));
        }
        match loaded {
            Some(loaded) => return Ok((loaded?, bar)),
            None => bar.set(progress.rows(), progress_line(progress, begun.elapsed())),
        }
    }
}

/// Rows of all partitions count, in whatever order streams have taken them.
fn resumed_line(rows_there: u64, dataset: &Dataset) -> String {
    format!("goes on at row {} of {}", grouped(rows_there), dataset.rows)
}

fn dataset_line(dataset: &Dataset) -> String {
    let place = match dataset.table.partitioning {
        Some(_) => format!("in {} day partitions", dataset.days),
        None => "without partitions".to_owned(),
    };
    format!("{} · {} rows {place}", dataset.name, dataset.rows)
}

fn progress_line(progress: &Progress, elapsed: Duration) -> String {
    match progress.phase() {
        Phase::Filling => fill_line(progress, elapsed),
        Phase::Importing => {
            format!("importing {}/{}", Rows(progress.rows()).short(), Rows(progress.total()).short())
        }
        Phase::Verifying => "reading back".to_owned(),
        Phase::Analyzing => "analyzing".to_owned(),
        _ => "preparing".to_owned(),
    }
}

fn fill_line(progress: &Progress, elapsed: Duration) -> String {
    let added = progress.rows().saturating_sub(progress.rows_at_start());
    let per_second = added as f64 / elapsed.as_secs_f64().max(0.001);
    let left = progress.total().saturating_sub(progress.rows());
    let eta = match per_second > 0.0 {
        true => Span(Duration::from_secs_f64((left as f64 / per_second).min(1e7).round())).to_string(),
        false => "?".to_owned(),
    };
    let (done, all) = (Rows(progress.rows()).short(), Rows(progress.total()).short());
    format!("{done}/{all}  {} rows/s  {eta} left", Rows(per_second as u64).short())
}

fn say(loaded: &Loaded, dataset: &Dataset, bar: Bar, screen: &Screen) {
    let added = (loaded.rows - loaded.rows_resumed) as f64;
    let took = Span(Duration::from_secs_f64(added / loaded.rows_per_second.max(1.0)));
    let rate = Rows(loaded.rows_per_second as u64).short();
    let how = match loaded.rows_per_second > 0.0 {
        true => format!("{rate} rows/s  {took}  {}", loaded.method),
        false => loaded.method.clone(),
    };
    bar.finish(&format!("{}  {how}", dataset_line(dataset)));
    let size = loaded.bytes.map_or(String::new(), |bytes| {
        let per_row = three_digits(bytes as f64 / loaded.rows.max(1) as f64);
        format!(" · {} ({per_row} B/row, index pages included)", Bytes(bytes))
    });
    screen.line("verify", &format!("{}{size}", loaded.verified));
    if let Some(files) = &loaded.files {
        screen.line("files", &files_line(files, loaded.peak_memory_bytes));
    }
    for index in &loaded.indexes {
        let leaves = &index.leaves;
        screen.line(
            "",
            &format!(
                "{}: {} leaves, {} % full, {} % followed by the next page",
                index.name,
                grouped(leaves.leaf_pages),
                three_digits(100.0 * leaves.mean_fill),
                three_digits(100.0 * leaves.consecutive_share),
            ),
        );
    }
}

fn files_line(files: &BuiltFiles, peak_memory_bytes: Option<u64>) -> String {
    let rate = |bytes_per_second: f64| format!("{}/s", Bytes(bytes_per_second as u64));
    let verified =
        files.verified_bytes_per_second.map_or(String::new(), |it| format!(", verified at {}", rate(it)));
    let memory =
        peak_memory_bytes.map_or(String::new(), |peak| format!(" · {} of memory at most", Bytes(peak)));
    let (count, bytes) = (files.count, Bytes(files.bytes));
    format!("{count} · {bytes} written at {}{verified}{memory}", rate(files.written_bytes_per_second))
}
