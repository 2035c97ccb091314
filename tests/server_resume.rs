//! A suite that is killed or stopped between its steps goes on where it was cut off, and keeps what it had.

#[path = "support/program.rs"]
mod program;
mod support;

use std::path::{Path, PathBuf};

use idembench::results::{Run, RunStatus, store};

use program::{
    NO_WARM_UP, SMALL, check_said, finish, folder, program, said, servers, signal, start, wait_for,
};

/// Three steps of claims, two seconds each.
fn three_steps(place: &Path, name: &str) {
    let mut text = "description = \"x\"\ndataset = \"t_idem\"\nrows = \"20k\"\ndays = 2\n".to_owned();
    for step in ["first", "second", "third"] {
        text += &format!(
            "[[step]]\nname = \"{step}\"\nworkload = \"claim\"\nstatement = \"full_key\"\nrate = \"200/s\"\n\
             connections = 2\nduration = \"2s\"\nwarm_up = {NO_WARM_UP}\n"
        );
    }
    std::fs::write(place.join(name), text).expect("a suite");
}

fn the_run(place: &Path) -> Option<PathBuf> {
    Some(std::fs::read_dir(place.join("results")).ok()?.flatten().next()?.path())
}

fn names(run: &Run) -> Vec<&str> {
    run.steps.iter().map(|step| step.name.as_str()).collect()
}

#[test]
fn a_suite_that_was_cut_off_goes_on_and_measures_nothing_twice() {
    if !support::has_mysqld() {
        return;
    }
    let folder = folder("resume-");
    let place = folder.path();
    three_steps(place, "three.toml");
    three_steps(place, "other.toml");
    let resume = |suite: &str, run: &Path, more: &[&str]| {
        let run = run.to_str().expect("a name");
        let arguments = [&["run", suite, "--resume", run], more].concat();
        finish(program(place, &arguments).args(SMALL))
    };
    for name in ["SIGKILL", "SIGINT"] {
        let _ = std::fs::remove_dir_all(place.join("results"));
        let mut command = start(place, &["run", "three.toml"]);
        let in_second = || the_run(place).is_some_and(|run| run.join("02-second.hlog").exists());
        wait_for("the second step", in_second);
        signal(command.id(), name);
        command.wait().expect("it ends");
        // Killed, the program leaves its server; the next command takes it over.
        assert_eq!(servers(place).is_empty(), name == "SIGINT", "{name}");
        let directory = the_run(place).expect("a run");
        let before = store::read(&directory).expect("what was saved");
        let log = std::fs::read(directory.join("01-first.hlog")).expect("a log");
        assert_eq!(names(&before)[0], "first", "{name}");
        assert_ne!(before.status, RunStatus::Done, "{name}");

        // Whatever does not fit is refused before a server is touched, and changes nothing.
        check_said(&resume("other.toml", &directory, &[]), 2, &["three", "other"]);
        check_said(&resume("three.toml", &directory, &["--duration", "9s"]), 2, &["first", "9 s"]);
        check_said(&resume("three.toml", &directory, &["--rate", "9/s"]), 2, &["first", "this load"]);
        check_said(&resume("three.toml", Path::new("nowhere"), &[]), 2, &["nowhere"]);
        assert_eq!(store::read(&directory).expect("the same"), before, "{name}");

        let output = resume("three.toml", Path::new(&before.run_id), &[]);
        assert!(output.status.success(), "{name}: {}", said(&output));
        let after = store::read(&directory).expect("a run");
        assert_eq!(names(&after), ["first", "second", "third"], "{name}");
        assert_eq!(after.steps[0], before.steps[0], "{name}");
        assert_eq!(std::fs::read(directory.join("01-first.hlog")).expect("a log"), log, "{name}");
        assert_eq!((after.status, &after.run_id), (RunStatus::Done, &before.run_id), "{name}");
        assert!(after.warnings.iter().any(|warning| warning.contains("resumed")), "{:?}", after.warnings);
        let aside = directory.join("cut-off-1");
        assert_eq!(store::read(&aside).expect("as it was"), before, "{name}");
        assert!(aside.join("02-second.hlog").exists(), "{name}");
        let report = std::fs::read_to_string(directory.join("report.md")).expect("a report");
        assert!(report.contains("resumed"), "{name}: {report}");
        check_said(&resume("three.toml", &directory, &[]), 2, &["all its steps have run"]);
        assert_eq!(servers(place), [0u32; 0], "{name}");
    }
}
