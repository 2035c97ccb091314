//! The program started as a person starts it, its server found among the processes.
#![allow(dead_code)] // each test program uses its own part

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use idembench::server::locate_mysqld;

use crate::support;

pub const SMALL: [&str; 4] = ["--buffer-pool", "128MiB", "--redo", "64MiB"];
/// For a machine on which others build: a new server took over a minute on one.
const PATIENCE: Duration = Duration::from_secs(240);

/// The program in that folder, with the server that the tests use.
pub fn program(folder: &Path, arguments: &[&str]) -> Command {
    dressed(Command::new(env!("CARGO_BIN_EXE_idembench")), folder, arguments)
}

/// The same through a shell script that is to run `"$@"`.
pub fn program_by_shell(script: &str, folder: &Path, arguments: &[&str]) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-c", script, "bash", env!("CARGO_BIN_EXE_idembench")]);
    dressed(shell, folder, arguments)
}

fn dressed(mut command: Command, folder: &Path, arguments: &[&str]) -> Command {
    command
        .args(arguments)
        .current_dir(folder)
        .env("IDEMBENCH_MYSQLD", locate_mysqld(&support::product_home()).expect("a mysqld").path)
        .env_remove("IDEMBENCH_SERVER")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Starts the program on a small server of its own.
pub fn start(folder: &Path, arguments: &[&str]) -> Child {
    program(folder, arguments).args(SMALL).spawn().expect("the program starts")
}

/// Runs the program to its end.
pub fn finish(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &pid.to_string()]).status().expect("kill");
    assert!(status.success(), "kill -s {name} {pid}");
}

#[track_caller]
pub fn wait_for(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processes on the data directory under this folder.
pub fn servers(folder: &Path) -> Vec<u32> {
    servers_on(&folder.canonicalize().expect("a folder").join(".idembench/server/data"))
}

/// The processes on this data directory.
pub fn servers_on(data: &Path) -> Vec<u32> {
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

/// The state letter of a process: `T` when it is stopped.
pub fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

pub fn log(folder: &Path) -> String {
    std::fs::read_to_string(folder.join(".idembench/server/error.log")).unwrap_or_default()
}

pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Expects that exit code and every part in what was said.
#[track_caller]
pub fn check_said(output: &Output, code: i32, parts: &[&str]) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// A folder on the project's disk in which the program finds its server.
pub fn folder(name: &str) -> tempfile::TempDir {
    support::home(name).0
}

/// Stops a server that `server up` has left.
pub fn down(folder: &Path) {
    let down = finish(&mut program(folder, &["server", "down"]));
    assert!(down.status.success(), "{}", said(&down));
    assert_eq!(servers(folder), [0u32; 0]);
}

/// One step of claims at 500/s over four connections.
pub fn suite(place: &Path, duration: &str, warm_up: &str) -> String {
    let text = format!(
        "description = \"x\"\ndataset = \"t_idem\"\nrows = \"20k\"\ndays = 2\n[[step]]\nname = \"claim\"\nworkload = \"claim\"\nstatement = \"full_key\"\n\
         rate = \"500/s\"\nconnections = 4\nduration = \"{duration}\"\nwarm_up = {warm_up}\n"
    );
    std::fs::write(place.join("s.toml"), text).expect("a suite");
    "s.toml".to_owned()
}

pub const NO_WARM_UP: &str = "{ at_least = \"0s\", at_most = \"0s\" }";

/// The directory of the run under way or done in that folder, once its step has begun.
pub fn run_directory(results: &Path) -> Option<std::path::PathBuf> {
    let run = std::fs::read_dir(results).ok()?.flatten().next()?.path();
    run.join("01-claim.hlog").exists().then_some(run)
}
