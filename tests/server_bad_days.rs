//! Bad days of a command: a second signal, a terminal that goes away, a server without room or that does not
//! come back. What it says, leaves behind and exits with.

#[path = "support/program.rs"]
mod program;
mod support;

use std::time::Duration;

use idembench::results::{RunStatus, store};

use program::{
    NO_WARM_UP, SMALL, check_said, down, finish, folder, program, program_by_shell, run_directory, said,
    servers, servers_on, signal, start, state, suite, wait_for,
};

/// The server stands still, so that nothing can end in order: the first signal waits for it, the second one
/// does not. The server is left, as after SIGKILL, and the next command takes it over.
#[test]
fn a_second_signal_ends_a_command_that_cannot_end_in_order() {
    if !support::has_mysqld() {
        return;
    }
    let folder = folder("second-");
    let place = folder.path();
    let command = start(place, &["run", &suite(place, "300s", NO_WARM_UP)]);
    wait_for("a step", || run_directory(&place.join("results")).is_some());
    let server = servers(place)[0];
    signal(server, "STOP");
    signal(command.id(), "INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(state(command.id()).is_some_and(|state| state != 'Z'), "it waits for its server");
    signal(command.id(), "TERM");
    let output = command.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(143), "{}", said(&output));
    let run = run_directory(&place.join("results")).expect("it has begun");
    assert_eq!(store::read(&run).expect("whole").status, RunStatus::Running, "as the first save left it");
    assert_eq!(servers(place), [server]);
    let next = start(place, &["server", "up"]).wait_with_output().expect("the next command");
    check_said(&next, 0, &[&format!("process {server}")]);
    down(place);
}

/// Nobody reads what it says any more, as when a terminal is closed.
#[test]
fn a_hangup_ends_a_run_in_order_although_nobody_listens() {
    if !support::has_mysqld() {
        return;
    }
    let folder = folder("hangup-");
    let place = folder.path();
    let mut command = start(place, &["run", &suite(place, "300s", NO_WARM_UP), "--json"]);
    wait_for("a step", || run_directory(&place.join("results")).is_some());
    drop((command.stdout.take(), command.stderr.take()));
    signal(command.id(), "HUP");
    assert_eq!(command.wait().expect("it ends").code(), Some(129));
    let run = run_directory(&place.join("results")).expect("it has begun");
    assert_eq!(store::read(&run).expect("whole").status, RunStatus::Interrupted);
    assert!(run.join("report.html").exists());
    assert_eq!(servers(place), [0u32; 0]);
}

/// As `nohup` starts it: SIGHUP was ignored before, and stays so.
#[test]
fn a_run_that_was_started_to_outlive_its_terminal_does() {
    if !support::has_mysqld() {
        return;
    }
    let folder = folder("nohup-");
    let place = folder.path();
    let suite = suite(place, "2s", NO_WARM_UP);
    let mut command = program_by_shell("trap '' HUP; exec \"$@\"", place, &["run", &suite]);
    let command = command.args(SMALL).spawn().expect("the program starts");
    wait_for("a step", || run_directory(&place.join("results")).is_some());
    signal(command.id(), "HUP");
    let output = command.wait_with_output().expect("it ends");
    check_said(&output, 0, &[]);
    let run = run_directory(&place.join("results")).expect("it has begun");
    let run = store::read(&run).expect("whole");
    assert_eq!((run.status, run.steps[0].outcomes.values().sum::<u64>()), (RunStatus::Done, 1_000));
}

/// Somebody else's server that takes 60 connections, nearly all of them in use or wanted; and files that this
/// process may not open.
#[test]
fn connections_that_are_not_to_be_had_are_refused_before_anything_is_loaded() {
    if !support::has_mysqld() {
        return;
    }
    let folder = folder("no-room-");
    let place = folder.path();
    let up = start(place, &["server", "up", "--json", "--mysqld-option", "max-connections=60"]);
    let up = up.wait_with_output().expect("up");
    let status: serde_json::Value = serde_json::from_slice(&up.stdout).expect("JSON");
    let url =
        format!("mysql://root@localhost/idembench?socket={}", status["socket"].as_str().expect("a socket"));
    let password = std::fs::read_to_string(place.join(".idembench/server/password")).expect("a password");
    let refused = |script: &str, connections: &str, parts: &[&str]| {
        let arguments = ["run", "claim", "--server", &url, "--connections", connections];
        let mut command = program_by_shell(script, place, &arguments);
        let output = finish(command.env("IDEMBENCH_PASSWORD", password.trim()));
        check_said(&output, 2, parts);
        assert!(!said(&output).contains("verify"), "nothing is loaded before: {}", said(&output));
        assert!(!said(&output).contains(password.trim()), "{}", said(&output));
    };
    refused(
        "\"$@\"",
        "2000",
        &["the server takes 60 in all", "--connections 52", "SET GLOBAL max_connections"],
    );
    refused("ulimit -n 500; \"$@\"", "200", &["ulimit -n 1064", "--connections 87"]);
    down(place);
}

/// As many connections as a large consumer group has: the server of ours is started with room for them.
#[test]
fn two_thousand_connections_on_a_server_of_ours_do_their_work() {
    if !support::has_mysqld() {
        return;
    }
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    if files < 10_100 {
        return support::skip("2,000 connections need `ulimit -n 10100`");
    }
    let folder = folder("many-");
    let place = folder.path();
    let arguments = ["run", &suite(place, "2s", NO_WARM_UP), "--connections", "2000"];
    let output = start(place, &arguments).wait_with_output().expect("it ends");
    check_said(&output, 0, &[]);
    let run = store::read(&run_directory(&place.join("results")).expect("a run")).expect("whole");
    assert_eq!((run.steps[0].connections, run.steps[0].outcomes.values().sum::<u64>()), (2_000, 1_000));
}

/// The files are exchanged; then the server cannot start, or is killed while it does. The next command, the
/// same one or another, finds all rows.
#[test]
fn a_server_that_does_not_come_back_with_new_files_is_told_of_and_the_next_command_goes_on() {
    if !support::has_mysqld() {
        return;
    }
    let folder = folder("swap-dies-");
    let place = folder.path();
    let load = ["load", "t_idem", "--rows", "20000", "--days", "2", "--method", "swap"];
    let run = ["run", &suite(place, "1s", NO_WARM_UP)];
    let data = place.canonicalize().expect("a folder").join(".idembench/server/data");
    let (system, away) = (data.join("mysql.ibd"), data.join("mysql.ibd.away"));
    for (dies, next) in [("at once", &load[..]), ("while it starts", &run[..])] {
        let mut first = program(place, &load);
        first.args(SMALL).args(["--replace", "t_idem"]).env("IDEMBENCH_HALT_AT", "exchanged");
        let command = first.spawn().expect("the program starts");
        wait_for("the exchange", || state(command.id()) == Some('T'));
        if dies == "at once" {
            std::fs::rename(&system, &away).expect("taken away");
        }
        signal(command.id(), "CONT");
        if dies != "at once" {
            wait_for("a starting server", || !servers_on(&data).is_empty());
            signal(servers_on(&data)[0], "KILL");
        }
        let output = command.wait_with_output().expect("it ends");
        check_said(&output, 2, &["new files of t_idem", "error.log", "the same command goes on"]);
        assert_eq!(servers(place), [0u32; 0]);
        if dies == "at once" {
            std::fs::rename(&away, &system).expect("put back");
        }
        let output = start(place, next).wait_with_output().expect("the next command");
        check_said(&output, 0, &["checksum"]);
        let left = std::fs::read_dir(data.join("idembench")).expect("a folder").flatten();
        let left: Vec<_> =
            left.filter(|file| file.path().extension().is_none_or(|end| end != "ibd")).collect();
        assert!(left.is_empty() && !data.with_file_name("exchange.json").exists(), "{left:?}");
    }
}
