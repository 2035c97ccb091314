//! What commands say on a server that runs already and holds rows already.

mod support;

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use idembench::server::locate_mysqld;

fn start(folder: &Path, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_idembench"))
        .args(arguments)
        .current_dir(folder)
        .env("IDEMBENCH_MYSQLD", locate_mysqld(&support::product_home()).expect("a mysqld").path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Runs a command to its end, and expects its exit code and all of these words; returns its standard output.
#[track_caller]
fn check(folder: &Path, arguments: &[&str], code: i32, expected: &[&str]) -> String {
    said(&start(folder, arguments).wait_with_output().expect("it ends"), code, expected)
}

#[track_caller]
fn said(output: &Output, code: i32, expected: &[&str]) -> String {
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in expected {
        assert!(said.contains(part), "`{part}` is missing in:\n{said}");
    }
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// More than one chunk of a partition, so that the first was committed.
fn has_rows(tables: &Path) -> bool {
    std::fs::read_dir(tables).is_ok_and(|files| {
        files.flatten().any(|file| file.metadata().is_ok_and(|data| data.len() > 20 << 20))
    })
}

#[test]
fn a_server_and_rows_that_are_there_are_told_of_and_the_way_on_is_named() {
    if !support::has_mysqld() {
        return;
    }
    let folder = support::home("there-").0;
    let place = folder.path();
    check(place, &["server", "up", "--buffer-pool", "128MiB", "--redo", "64MiB"], 0, &["up"]);

    let load = ["load", "t_idem", "--rows", "1200000", "--days", "3", "--method", "sql"];
    let command = start(place, &load);
    let begun = Instant::now();
    while !has_rows(&place.join(".idembench/server/data/idembench")) {
        assert!(begun.elapsed() < Duration::from_secs(120), "no rows came");
        std::thread::sleep(Duration::from_millis(10));
    }
    let interrupt = Command::new("kill").args(["-s", "INT", &command.id().to_string()]).status();
    assert!(interrupt.expect("kill").success());
    said(&command.wait_with_output().expect("it ends"), 130, &["found running"]);
    let resumed = check(place, &load, 0, &["goes on at row ", " of 1,200,000"]);
    assert_eq!(resumed.matches("goes on at row").count(), 1, "{resumed}");

    let there =
        ["t_idem holds other rows (1,200,000 of t_idem", "--rows 1200000 --days 3", "--replace t_idem"];
    check(place, &["load", "t_idem", "--rows", "5000"], 2, &there);
    let run = ["run", "claim", "--step", "uniform", "--rate", "50/s", "--duration", "2s"];
    check(place, &run, 2, &there);
    // What is offered works.
    let offered =
        check(place, &[&run[..], &["--rows", "1200000", "--days", "3"]].concat(), 0, &["pool 240k rows"]);
    let report =
        place.join(offered.trim_end().lines().last().expect("the run's directory")).join("report.md");
    let report = std::fs::read_to_string(report).expect("a report");
    assert!(report.contains("pool: 240,000 rows can be won; up to "), "{report}");
    check(place, &["server", "down"], 0, &["stopped"]);
}
