//! Commands that are interrupted, and commands whose server dies: what they say, leave behind and exit with.

#[path = "support/program.rs"]
mod program;
mod support;

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use idembench::results::{RunStatus, store};
use idembench::server::{self, Home};
use idembench::spec::server::OwnedSpec;

use program::{down, folder, log, run_directory, said, servers, signal, start, suite, wait_for};

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
    down(place);
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
        let command = start(place, &["run", &suite(place, "300s", warm_up)]);
        wait_for("a step", || run_directory(&place.join("results")).is_some());
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
    let suite = suite(place, "300s", "{ at_least = \"0s\", at_most = \"0s\" }");
    let command = start(place, &["run", &suite]);
    wait_for("a step", || run_directory(&place.join("results")).is_some());
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
