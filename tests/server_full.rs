//! Disks that are full in the middle: what is said, and that nothing half-written passes for whole.

#[path = "support/program.rs"]
mod program;
mod support;

use std::path::Path;

use idembench::results::{RunStatus, store};

use program::{
    NO_WARM_UP, check_said, finish, folder, program, run_directory, said, servers_on, start, suite, wait_for,
};

#[test]
fn a_load_on_a_full_disk_says_so_and_goes_on_when_there_is_space() {
    if !support::has_mysqld() {
        return;
    }
    let Some(disk) = support::SmallDisk::mount(700 << 10) else { return };
    let folder = folder("full-load-");
    let place = folder.path();
    let server = disk.path().join("server");
    let directory = server.display().to_string();
    let load = [
        "load",
        "t_idem",
        "--rows",
        "800000",
        "--days",
        "2",
        "--method",
        "sql",
        "--data-directory",
        &directory,
    ];
    let command = start(place, &load);
    // More than one chunk of a partition: the first was committed.
    let has_rows = |files: std::fs::ReadDir| {
        files.flatten().any(|file| file.metadata().is_ok_and(|data| data.len() > 20 << 20))
    };
    let tables = server.join("data/idembench");
    wait_for("rows", || std::fs::read_dir(&tables).is_ok_and(has_rows));
    disk.fill();
    let output = command.wait_with_output().expect("it ends");
    check_said(&output, 2, &["disk is full", "1114", "free space", "the same command goes on"]);
    assert_eq!(servers_on(&server.join("data")), [0u32; 0]);
    disk.empty();
    let again = start(place, &load).wait_with_output().expect("it ends");
    check_said(&again, 0, &["goes on at row", "checksum"]);
}

/// The files of a run's directory.
fn names(run: &Path) -> Vec<String> {
    let files = std::fs::read_dir(run).expect("a directory").flatten();
    files.map(|file| file.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_run_whose_results_find_no_space_leaves_whole_files_or_none() {
    if !support::has_mysqld() {
        return;
    }
    let Some(disk) = support::SmallDisk::mount(1_024) else { return };
    let folder = folder("full-run-");
    let place = folder.path();
    let out = disk.path().join("results");
    let arguments = ["run", &suite(place, "3s", NO_WARM_UP), "--out", &out.display().to_string()];
    let command = start(place, &arguments);
    wait_for("a log", || {
        run_directory(&out)
            .is_some_and(|run| run.join("01-claim.hlog").metadata().is_ok_and(|log| log.len() > 0))
    });
    disk.fill();
    let output = command.wait_with_output().expect("it ends");
    check_said(&output, 2, &["No space left on device", "run.json", "free some space", "--out"]);
    let run = std::fs::read_dir(&out).expect("there").flatten().next().expect("a run").path();
    assert_eq!(names(&run), ["run.json"], "{}", said(&output));
    // The run as it began: a reader sees that it was cut off.
    assert_eq!(store::read(&run).expect("whole").status, RunStatus::Running);
    let report = finish(&mut program(place, &["report", &run.display().to_string()]));
    check_said(&report, 2, &["No space left on device"]);
    assert_eq!(names(&run), ["run.json"], "{}", said(&report));
    disk.empty();
    let report = finish(&mut program(place, &["report", &run.display().to_string()]));
    check_said(&report, 0, &[]);

    // Full from the beginning: known before the first row is loaded.
    disk.fill();
    let refused = start(place, &arguments).wait_with_output().expect("it ends");
    check_said(&refused, 2, &["write results under", "--out"]);
    assert!(!said(&refused).contains("verify"), "{}", said(&refused));
    assert_eq!(std::fs::read_dir(&out).expect("there").count(), 1, "no second run and no probe");
}
