//! Commands that are interrupted, and commands whose server dies: what they say, leave behind and exit with.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use idembench::results::{RunStatus, store};
use idembench::server::{self, Home, locate_mysqld};
use idembench::spec::server::OwnedSpec;

const SMALL: [&str; 4] = ["--buffer-pool", "128MiB", "--redo", "64MiB"];
const PATIENCE: Duration = Duration::from_secs(60);

fn start(folder: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_idembench"))
        .args(arguments)
        .args(SMALL)
        .current_dir(folder)
        .env("IDEMBENCH_MYSQLD", locate_mysqld(&support::product_home()).expect("a mysqld").path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &pid.to_string()]).status().expect("kill");
    assert!(status.success(), "kill -s {name} {pid}");
}

#[track_caller]
fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processes on the data directory under this folder.
fn servers(folder: &Path) -> Vec<u32> {
    let data = folder.canonicalize().expect("a folder").join(".idembench/server/data");
    let wanted = format!("--datadir={}", data.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("processes").flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if line.split(|byte| *byte == 0).any(|word| word == wanted.as_bytes()) {
            found.extend(entry.file_name().to_string_lossy().parse::<u32>());
        }
    }
    found
}

fn log(folder: &Path) -> String {
    std::fs::read_to_string(folder.join(".idembench/server/error.log")).unwrap_or_default()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A folder on the project's disk in which the program finds its server.
fn folder(name: &str) -> tempfile::TempDir {
    support::home(name).0
}

/// Signals the command once `when` holds, and expects that nothing is left and the next command works.
fn check_interrupted_start(name: &str, arguments: &[&str], signal_name: &str, code: i32, starting: bool) {
    let folder = folder(name);
    let place = folder.path();
    if starting {
        let made = start(place, &["doctor"]).wait_with_output().expect("doctor");
        assert!(made.status.code().is_some_and(|code| code < 2), "{}", said(&made));
    }
    let command = start(place, arguments);
    match starting {
        true => wait_for("a starting server", || !servers(place).is_empty()),
        false => wait_for("the making of the data", || place.join(".idembench/server/data/ibdata1").exists()),
    }
    signal(command.id(), signal_name);
    let output = command.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(code), "{}", said(&output));
    assert!(said(&output).contains(signal_name), "{}", said(&output));
    assert_eq!(servers(place), [0u32; 0], "left behind: {}", log(place));
    let up = start(place, &["server", "up"]).wait_with_output().expect("the next command");
    assert!(up.status.success(), "{}", said(&up));
    let down = Command::new(env!("CARGO_BIN_EXE_idembench"))
        .args(["server", "down"])
        .current_dir(place)
        .output()
        .expect("down");
    assert!(down.status.success(), "{}", said(&down));
    assert_eq!(servers(place), [0u32; 0]);
}

#[test]
fn a_signal_while_a_server_is_made_or_starts_leaves_none_behind() {
    if !support::has_mysqld() {
        return;
    }
    check_interrupted_start("up-made-", &["server", "up"], "SIGINT", 130, false);
    check_interrupted_start("up-starts-", &["server", "up"], "SIGTERM", 143, true);
    let load = ["load", "t_idem", "--rows", "50000"];
    check_interrupted_start("load-made-", &load, "SIGINT", 130, false);
    check_interrupted_start("load-starts-", &load, "SIGINT", 130, true);
}

fn suite(place: &Path, warm_up: &str) -> String {
    let text = format!(
        "description = \"x\"\ndataset = \"t_idem\"\nrows = \"20k\"\ndays = 2\n[[step]]\nname = \"claim\"\nworkload = \"claim\"\nstatement = \"full_key\"\n\
         rate = \"500/s\"\nconnections = 4\nduration = \"300s\"\nwarm_up = {warm_up}\n"
    );
    std::fs::write(place.join("s.toml"), text).expect("a suite");
    "s.toml".to_owned()
}

fn run_file(place: &Path) -> Option<PathBuf> {
    let run = std::fs::read_dir(place.join("results")).ok()?.flatten().next()?.path();
    run.join("01-claim.hlog").exists().then_some(run)
}

#[track_caller]
fn last_line_is_the_run(output: &Output, place: &Path) -> PathBuf {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let run = place.join(text.trim_end().lines().last().expect("a line"));
    assert!(run.join("run.json").exists(), "{}", said(output));
    for file in ["report.md", "report.html"] {
        assert!(run.join(file).exists(), "{file}: {}", said(output));
    }
    run
}

#[test]
fn a_run_that_is_interrupted_says_when_and_keeps_what_it_has() {
    if !support::has_mysqld() {
        return;
    }
    let folder = folder("interrupted-");
    let place = folder.path();
    let before = "interrupted before anything was measured";
    let cases = [
        ("{ at_least = \"60s\", at_most = \"60s\" }", before, "SIGINT", 130),
        ("{ at_least = \"0s\", at_most = \"0s\" }", "cut short", "SIGTERM", 143),
    ];
    for (warm_up, words, name, code) in cases {
        let _ = std::fs::remove_dir_all(place.join("results"));
        let command = start(place, &["run", &suite(place, warm_up)]);
        wait_for("a step", || run_file(place).is_some());
        std::thread::sleep(Duration::from_secs(2));
        signal(command.id(), name);
        let output = command.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
        let directory = last_line_is_the_run(&output, place);
        let run = store::read(&directory).expect("a run");
        assert_eq!(run.status, RunStatus::Interrupted);
        assert!(run.steps[0].verdict.starts_with("interrupted"), "{}", run.steps[0].verdict);
        for file in ["report.md", "report.html"] {
            let report = std::fs::read_to_string(directory.join(file)).expect("a report");
            assert!(report.contains(words), "{file}");
            assert!(words != before || !report.contains("never became steady"), "{file}");
        }
        assert_eq!(servers(place), [0u32; 0]);
    }
}

#[test]
fn a_server_that_is_killed_is_named_and_a_run_on_it_is_saved_as_failed() {
    if !support::has_mysqld() {
        return;
    }
    let folder = folder("killed-");
    let place = folder.path();
    let words = ["signal 9", "error.log", "the same command"];

    let load = ["load", "t_idem", "--rows", "3000000", "--days", "3"];
    let command = start(place, &load);
    let has_rows = |files: std::fs::ReadDir| {
        files.flatten().any(|file| file.metadata().is_ok_and(|data| data.len() > 12 << 20))
    };
    let tables = place.join(".idembench/server/data/idembench");
    wait_for("rows", || std::fs::read_dir(&tables).is_ok_and(has_rows));
    let pid = servers(place)[0];
    signal(pid, "SIGKILL");
    let output = command.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    for word in words.iter().copied().chain([format!("process {pid}").as_str()]) {
        assert!(said(&output).contains(word), "{word}: {}", said(&output));
    }

    let other = support::home("killed-run-").0;
    let place = other.path();
    let suite = suite(place, "{ at_least = \"0s\", at_most = \"0s\" }");
    let command = start(place, &["run", &suite]);
    wait_for("a step", || run_file(place).is_some());
    std::thread::sleep(Duration::from_secs(2));
    let pid = servers(place)[0];
    signal(pid, "SIGKILL");
    let output = command.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    for word in words.iter().copied().chain([format!("process {pid}").as_str()]) {
        assert!(said(&output).contains(word), "{word}: {}", said(&output));
    }
    let directory = last_line_is_the_run(&output, place);
    let run = store::read(&directory).expect("a run");
    assert_eq!(run.status, RunStatus::Failed);
    assert!(run.steps[0].outcomes["ok"] > 100, "{:?}", run.steps[0].outcomes);
    assert!(directory.join("01-claim-response.hgrm").exists());
}

#[test]
fn options_that_a_running_server_lacks_and_connections_that_it_has_no_room_for_are_refused() {
    if !support::has_mysqld() {
        return;
    }
    let folder = folder("differs-");
    let place = folder.path();
    let up = start(place, &["server", "up", "--mysqld-option", "max-connections=50"]);
    assert!(up.wait_with_output().expect("up").status.success());
    let asked = ["load", "t_idem", "--rows", "1000", "--binlog", "--mysqld-option", "innodb-io-capacity=500"];
    let refused = start(place, &asked).wait_with_output().expect("it ends");
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    for part in
        ["--log-bin=binlog", "--innodb-io-capacity=500 (it has --innodb-io-capacity=2000)", "server down"]
    {
        assert!(said(&refused).contains(part), "{part}: {}", said(&refused));
    }
    assert!(!said(&refused).contains("buffer-pool"), "{}", said(&refused));
    let refused =
        start(place, &["run", "claim", "--connections", "100"]).wait_with_output().expect("it ends");
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    for part in ["--connections 42", "SET GLOBAL max_connections"] {
        assert!(said(&refused).contains(part), "{part}: {}", said(&refused));
    }
    assert!(!said(&refused).contains("verify"), "nothing is loaded before: {}", said(&refused));
    let home = Home::at(place.join(".idembench")).expect("a home");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(server::down(&OwnedSpec::default(), &home)).expect("down");
}
