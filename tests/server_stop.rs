//! Nothing is omitted: a server that stands still, and one that dies, in the middle of a step.

mod support;
mod support_run;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use idembench::drive::{Options, Progress as DriveProgress, Stop, Target};
use idembench::report;
use idembench::results::{Run, StepResult, histogram};
use idembench::server::{self, Home, Server};
use idembench::spec::dataset::Dataset;
use idembench::spec::server::ServerSpec;
use idembench::spec::suite::{ClaimSpec, ClaimStatement, Load, Step, Targets, WarmUp, Workload};
use idembench::units::{Micros, PerSecond, Span};
use idembench::workload;

/// A server of its own with a loaded table: it is stopped and killed here.
async fn own_server(home: &Home) -> (Server, Dataset) {
    let server = server::open(&ServerSpec::Owned(support::small()), home).await.expect("an owned server");
    let dataset = support::loaded(&server, "t_idem", 50_000, 3).await;
    (server, dataset)
}

/// 1,000 claims a second, 500 ms of lease, measured from the first second on.
fn step(duration: Span) -> Step {
    Step {
        name: "claim".to_owned(),
        workload: Workload::Claim(ClaimSpec {
            statement: ClaimStatement::FullKey,
            targets: Targets::Uniform,
            losing_share: 0.0,
            duplicate_share: 0.0,
            lease: Span(Duration::from_millis(500)),
        }),
        load: Load::Open { rate: PerSecond::new(1000.0).expect("a rate"), connections: 16 },
        duration,
        warm_up: WarmUp { at_least: Span::seconds(1), at_most: Span::seconds(2) },
    }
}

/// Calls back once, when the given second of measuring is over.
fn after_second(
    second: usize,
    act: impl Fn() + Send + Sync + 'static,
) -> Arc<dyn Fn(&DriveProgress) + Send + Sync> {
    Arc::new(move |progress: &DriveProgress| {
        let interval = &progress.interval;
        if interval.phase == "measure" && (interval.start_s - second as f64).abs() < 0.01 {
            act();
        }
    })
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &pid.to_string()]).status().expect("kill");
    assert!(status.success(), "kill -s {name} {pid}");
}

async fn run(server: &Server, dataset: &Dataset, step: &Step, options: &Options) -> StepResult {
    let target = Target { options: server.connect_options(), server_pid: server.pid() };
    workload::run(step, dataset, &target, options).await.expect("a step that can be built")
}

/// All histograms of a tag in an interval log, added up.
fn logged(path: &Path, tag: &str) -> Histogram<u64> {
    let text = std::fs::read(path).expect("an interval log");
    let mut sum = Histogram::<u64>::new(3).expect("three digits");
    for entry in IntervalLogIterator::new(&text) {
        if let LogEntry::Interval(line) = entry.expect("a line that can be read")
            && line.tag().map(|tag| tag.as_str()) == Some(tag)
        {
            use base64::Engine;
            let bytes =
                base64::engine::general_purpose::STANDARD.decode(line.encoded_histogram()).expect("base64");
            let part: Histogram<u64> =
                Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
            sum.add(part).expect("it resizes");
        }
    }
    sum
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_for_five_seconds_leaves_five_thousand_late_claims() {
    if !support::has_mysqld() {
        return;
    }
    let (folder, home) = support::home("stop-");
    let (server, dataset) = own_server(&home).await;
    let pid = server.pid().expect("an owned server has a process");
    let log = folder.path().join("claim.hlog");
    let progress = after_second(1, move || {
        std::thread::spawn(move || {
            signal(pid, "STOP");
            std::thread::sleep(Duration::from_secs(5));
            signal(pid, "CONT");
        });
    });
    let options = Options { log: Some(log.clone()), progress, ..Options::default() };
    let result = run(&server, &dataset, &step(Span::seconds(10)), &options).await;
    server.close().await.expect("stopped");

    assert_eq!(result.failure, None, "{:?}", result.checks);
    assert_eq!(result.outcomes.values().sum::<u64>(), 10_000, "{:?}", result.outcomes);
    // In the merged histogram: from five seconds to nothing, evenly.
    let responses = histogram::decode(&result.histograms["response"]).expect("a histogram");
    assert_eq!(responses.len(), 10_000);
    let slower_than = |ms: u64| responses.len() - responses.count_between(0, ms * 1_000);
    assert!(slower_than(100) >= 4_900, "{}", slower_than(100));
    for second in 1..5 {
        let expected = 1_000 * (5 - second);
        assert!(slower_than(second * 1_000) >= expected - 50, "{second} s: {}", slower_than(second * 1_000));
    }
    assert!(responses.max() >= 4_990_000);
    // Service alone would have hidden them: one claim a connection was under way.
    let services = histogram::decode(&result.histograms["service"]).expect("a histogram");
    assert!(services.len() - services.count_between(0, 1_000_000) <= 16);
    // In the timeline: each second holds all that was intended in it, and its own share of the wait.
    let measured: Vec<_> = result.intervals.iter().filter(|interval| interval.phase == "measure").collect();
    assert_eq!(measured.len(), 10);
    assert!(measured.iter().all(|interval| interval.response_us.count == 1_000), "{measured:?}");
    assert!(measured.iter().all(|interval| interval.intended == 1_000));
    let slowest: Vec<u64> = measured.iter().map(|interval| interval.response_us.max).collect();
    let peak = (0..10).max_by_key(|second| slowest[*second]).expect("ten seconds");
    for behind in 1..4 {
        assert!(slowest[peak + behind] >= 4_900_000 - 1_000_000 * behind as u64, "{slowest:?}");
    }
    let still = measured.iter().filter(|interval| interval.completed == 0).count();
    assert!(still >= 3, "whole seconds without an answer: {still}");
    assert!(measured.iter().any(|interval| interval.backlog > 3_000 && interval.backlog_age_s > 3.0));
    // And on disk.
    assert_eq!(logged(&log, "response"), responses);
    the_report_shows_the_stall(result);
}

/// What a reader sees of it: the largest response and the backlog in words, and a timeline without a gap.
fn the_report_shows_the_stall(step: StepResult) {
    let response = step.latency_us["response"];
    assert!(response.max >= 4_990_000 && response.p99 >= 4_500_000, "{response:?}");
    let run = Run { steps: vec![step], ..support_run::empty_run("2026-12-03-stall-0001", "stall") };
    let folder = tempfile::tempdir().expect("a folder");
    let written = report::write(&run, folder.path()).expect("a report");
    let read = |path: &Path| std::fs::read_to_string(path).expect("text");
    let longest = Micros(response.max).to_string();
    for text in [read(&written.markdown), read(&written.page)] {
        for words in [longest.as_str(), "largest backlog age 4.", "the longest response"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
    let timelines = written.plots.iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.contains("timeline") && name.ends_with(".svg")
    });
    let timelines: Vec<String> = timelines.map(|path| read(path)).collect();
    assert_eq!(timelines.len(), 1, "{:?}", written.plots);
    let drawn = &timelines[0];
    assert!(drawn.contains("backlog age: how long the oldest of it has been due"), "{drawn}");
    // p50, p99, maximum, completed and backlog, each in one line over all seconds: a gap would break it.
    assert_eq!(points_of_lines(drawn).iter().filter(|points| **points >= 10).count(), 5, "{drawn}");
}

fn points_of_lines(svg: &str) -> Vec<usize> {
    let lines = svg.split("<polyline").skip(1);
    let points = lines.filter_map(|line| line.split("points=\"").nth(1)?.split('"').next());
    points.map(|points| points.split_whitespace().count()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_dies_leaves_a_failed_step_with_what_it_has() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("kill-");
    let (server, dataset) = own_server(&home).await;
    let pid = server.pid().expect("an owned server has a process");
    let options = Options {
        progress: after_second(1, move || signal(pid, "KILL")),
        reconnect_for: Duration::from_secs(1),
        ..Options::default()
    };
    // Far longer than the test may take: it ends because the server is gone.
    let result = run(&server, &dataset, &step(Span::seconds(3_000)), &options).await;
    assert_eq!(result.verdict, "failed");
    let failure = result.failure.expect("a reason");
    assert!(failure.contains("lost the server"), "{failure}");
    assert!(result.outcomes["ok"] >= 1_500, "{:?}", result.outcomes);
    assert!(result.outcomes["error"] >= 1, "{:?}", result.outcomes);
    assert_eq!(result.errors[0].code, 0);
    assert!(!result.errors[0].message.is_empty());
    assert_eq!(result.latency_us["response"].count, result.outcomes.values().sum::<u64>());
    assert!(result.intervals.iter().any(|interval| interval.completed > 500));
    assert!(result.checks.iter().any(|check| !check.held));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_stop_ends_the_step_and_keeps_what_was_measured() {
    if !support::has_mysqld() {
        return;
    }
    let (_folder, home) = support::home("signal-");
    let (server, dataset) = own_server(&home).await;
    let stop = Stop::default();
    let request = stop.clone();
    let options =
        Options { progress: after_second(2, move || request.request()), stop, ..Options::default() };
    let result = run(&server, &dataset, &step(Span::seconds(3_000)), &options).await;
    server.close().await.expect("stopped");
    assert_eq!((result.verdict.as_str(), result.failure), ("interrupted", None));
    assert!(result.measured_s >= 3.0 && result.measured_s < 100.0, "{}", result.measured_s);
    let intended = (result.measured_s * 1_000.0).ceil() as u64;
    assert_eq!(result.outcomes.values().sum::<u64>(), intended, "{:?}", result.outcomes);
}
