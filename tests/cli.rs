//! The program as a user meets it: bad input gets one clear line and exit code 2, with nothing half done.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in an empty folder, with no server anywhere.
fn idembench(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_idembench"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("HOME", folder)
        .env("PATH", "/usr/bin:/bin")
        .output()
        .expect("the program starts")
}

/// The program says one line with all of `expected` in it, exits with `code`, and leaves nothing behind.
#[track_caller]
fn check(files: &[(&str, &str)], arguments: &[&str], code: i32, expected: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let output = idembench(folder.path(), arguments);
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in expected {
        assert!(said.contains(part), "`{part}` is missing in:\n{said}");
    }
    if code == 2 {
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(errors.trim_end().lines().count(), 1, "more than one line:\n{errors}");
    }
    assert!(!said.contains("panicked") && !said.contains("backtrace"), "{said}");
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), files.len(), "something was left behind: {left:?}");
}

const GOOD_TABLE: &str = "CREATE TABLE `t` (
  `k` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `day` date NOT NULL,
  PRIMARY KEY (`k`,`day`)
) ENGINE=InnoDB
PARTITION BY RANGE COLUMNS(`day`)
(PARTITION p0 VALUES LESS THAN ('2026-01-02'),
 PARTITION p1 VALUES LESS THAN ('2026-01-03'));
";

#[test]
fn a_good_table_passes_the_schema_check() {
    check(&[("t.sql", GOOD_TABLE)], &["schema", "check", "t.sql"], 0, &[]);
}

#[test]
fn a_unique_key_without_the_partition_column_is_explained() {
    let table =
        GOOD_TABLE.replace("PRIMARY KEY (`k`,`day`)", "PRIMARY KEY (`k`,`day`),\n  UNIQUE KEY `uk` (`k`)");
    check(
        &[("t.sql", &table)],
        &["schema", "check", "t.sql"],
        1,
        &["uk", "lacks the partition column", "1503"],
    );
}

#[test]
fn partition_bounds_that_do_not_increase_are_refused_by_name() {
    let table = GOOD_TABLE.replace("2026-01-03", "2026-01-01");
    check(&[("t.sql", &table)], &["schema", "check", "t.sql"], 1, &["p1", "1493"]);
}

#[test]
fn two_maxvalue_partitions_are_refused_by_name() {
    let table = GOOD_TABLE
        .replace("LESS THAN ('2026-01-02')", "LESS THAN (MAXVALUE)")
        .replace("LESS THAN ('2026-01-03')", "LESS THAN (MAXVALUE)");
    check(&[("t.sql", &table)], &["schema", "check", "t.sql"], 1, &["p1", "1493"]);
}

#[test]
fn text_that_is_no_table_is_refused_with_its_place() {
    check(&[("t.sql", "CREATE TABEL x (")], &["schema", "check", "t.sql"], 2, &["t.sql"]);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    check(&[], &["schema", "check", "nowhere.sql"], 2, &["nowhere.sql"]);
}

#[test]
fn an_unknown_key_in_a_suite_is_refused_with_file_and_line() {
    let suite = "dataset = \"t_idem\"\n[[step]]\nname = \"x\"\nworkload = \"claim\"\nspeed = 3\n";
    check(&[("s.toml", suite)], &["run", "s.toml"], 2, &["s.toml", "line 5", "speed"]);
}

#[test]
fn an_unknown_suite_or_dataset_is_refused_with_the_known_ones() {
    check(&[], &["run", "nosuch"], 2, &["nosuch", "quickstart"]);
    check(&[], &["load", "nosuch"], 2, &["nosuch", "t_idem"]);
}

#[test]
fn a_password_on_the_command_line_is_refused() {
    check(
        &[],
        &["run", "quickstart", "--server", "mysql://root:hunter2@127.0.0.1:1/x"],
        2,
        &["password", "IDEMBENCH_PASSWORD"],
    );
}

#[test]
fn a_result_file_from_the_future_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run-x");
    std::fs::create_dir(&run).unwrap();
    std::fs::write(run.join("run.json"), "{\"schema_version\": \"7.3\", \"anything\": 1}").unwrap();
    let output = idembench(folder.path(), &["report", "run-x"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("7.3") && errors.contains("later idembench"), "{errors}");
}

#[test]
fn a_server_that_is_nowhere_is_answered_with_the_ways_out() {
    check(&[], &["load", "t_idem", "--rows", "1000"], 2, &["mysqld", "idembench server install"]);
}

#[test]
fn wrong_figures_are_refused_with_an_example() {
    for (flag, value, example) in
        [("--rows", "many", "700M"), ("--rows", "-1", "700M"), ("--buffer-pool", "8 parsecs", "8GiB")]
    {
        let folder = tempfile::tempdir().unwrap();
        let output = idembench(folder.path(), &["load", "t_idem", &format!("{flag}={value}")]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(example), "{errors}");
    }
}

#[test]
fn help_comes_with_an_example_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["quickstart", "doctor", "server", "load", "run", "list", "report", "schema"] {
        let output = idembench(folder.path(), &[command, "--help"]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("Example"), "{command}: {said}");
    }
}

#[test]
fn a_file_with_further_statements_is_refused_with_the_line() {
    let file = format!("{GOOD_TABLE}\nDROP TABLE t;\nINSERT INTO t VALUES ('a', '2026-01-01');\n");
    let expected = ["t.sql", "line 10", "`DROP TABLE`", "one CREATE TABLE"];
    check(&[("t.sql", &file)], &["schema", "check", "t.sql"], 2, &expected);
    check(&[("t.sql", &file)], &["load", "t.sql"], 2, &expected);
}

#[test]
fn figures_of_zero_are_refused_before_a_server_is_started() {
    for (flag, zero) in [("--rows", "0"), ("--days", "0"), ("--connections", "0"), ("--duration", "0s")] {
        check(&[], &["run", "claim", flag, zero], 2, &[flag, "above zero"]);
    }
    check(&[], &["run", "claim", "--rate", "0"], 2, &["--rate", "above zero"]);
    check(&[], &["quickstart", "--rows", "0"], 2, &["--rows", "above zero"]);
    check(&[], &["quickstart", "--duration", "0s"], 2, &["--duration", "above zero"]);
    check(&[], &["load", "t_idem", "--rows", "0"], 2, &["rows must be at least 1"]);
    check(&[], &["load", "t_idem", "--days", "0"], 2, &["days must be at least 1"]);
}

#[test]
fn an_unknown_step_is_answered_with_the_names_that_exist() {
    check(&[], &["run", "quickstart", "--step", "zzz"], 2, &["zzz", "`claim, full key`", "no partition key"]);
}

#[test]
fn a_document_without_markers_is_told_which_lines_to_add() {
    let quoted = "Write `<!-- idembench report --splice x -->` into it.\n";
    let expected = ["doc.md", "<!-- idembench report --splice results/RUN -->", "<!-- /idembench -->"];
    for text in ["no marker\n", quoted] {
        check(&[("doc.md", text)], &["report", "--splice", "doc.md", "--check"], 2, &expected);
        check(&[("doc.md", text)], &["report", "--splice", "doc.md"], 2, &expected);
    }
}

#[test]
fn a_check_without_a_document_is_a_usage_error() {
    check(&[], &["report", "--check"], 2, &["--check goes with --splice"]);
    check(&[], &["report", "results", "--check"], 2, &["--check goes with --splice"]);
}

#[test]
fn an_error_says_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.sql"), "CREATE TABLE t (a JSON);").unwrap();
    std::fs::write(folder.path().join("bad.toml"), "x = ").unwrap();
    for arguments in [
        &["report", "/nowhere"][..],
        &["report", "--splice", "/nowhere.md"],
        &["schema", "check", "/nowhere.sql"],
        &["load", "bad.sql"],
        &["run", "bad.toml"],
        &["run", "/nowhere.toml"],
        &["run", "claim", "--dataset", "/nowhere", "--rate", "fast"],
        &["load", "t_idem", "--server", "mysql://u@127.0.0.1:1/x"],
        &["load", "t_idem", "--server", "nonsense"],
        &["load", "t_idem", "--data-directory", "/proc/nowhere"],
        &["server", "up"],
    ] {
        let output = idembench(folder.path(), arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        let words: Vec<&str> = said.split_whitespace().collect();
        let phrases: Vec<&[&str]> = words.windows(4).collect();
        for (position, phrase) in phrases.iter().enumerate() {
            assert!(!phrases[position + 1..].contains(phrase), "{phrase:?} comes twice in: {said}");
        }
    }
}

#[test]
fn the_suite_in_the_help_and_every_built_in_one_can_be_pasted() {
    let folder = tempfile::tempdir().unwrap();
    let help = idembench(folder.path(), &["run", "--help"]);
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    let from = help.find("  description = ").expect("an example");
    let until = help.find("The built-in suites").expect("its end");
    let mut files = vec![help[from..until].to_owned()];
    for suite in ["quickstart", "claim"] {
        let printed = idembench(folder.path(), &["list", "--source", suite]);
        files.push(String::from_utf8_lossy(&printed.stdout).into_owned());
    }
    for file in files {
        check(&[("mine.toml", &file)], &["list", "mine.toml"], 0, &["claim, ", "rows in 7 days"]);
    }
    let dataset = ["table.sql", "CREATE TABLE `t_idem`", "[columns"];
    check(&[], &["list", "--source", "t_idem"], 0, &dataset);
    check(&[], &["list", "--source", "nosuch"], 2, &["nosuch", "quickstart", "t_idem_hash"]);
    check(&[], &["list"], 0, &["t_idem, 10M rows in 7 days", "list --source"]);
}

#[test]
fn a_step_that_lacks_a_key_or_says_it_wrongly_is_named_with_its_line() {
    let head = "description = \"d\"\ndataset = \"t_idem\"\n[[step]]\nname = \"x\"\nworkload = \"claim\"\n";
    check(&[("s.toml", head)], &["run", "s.toml"], 2, &["s.toml, line 3", "step `x`", "statement"]);
    let warm_up = format!("{head}warm_up = \"1s\"\n");
    check(&[("s.toml", &warm_up)], &["run", "s.toml"], 2, &["line 6", "{ at_least = \"3s\", at_most"]);
}

/// Names and descriptions come from files that others wrote: a screen shows them and does nothing that they say.
#[test]
fn hostile_names_neither_move_the_cursor_nor_make_lines() {
    let folder = tempfile::tempdir().unwrap();
    let evil = r"\u001b[2Jx\nsource    forged\u202e\u009b31m<!-- /idembench -->";
    let suite = format!(
        "description = \"{evil}\"\ndataset = \"t_idem\"\n[[step]]\nname = \"{evil}\"\nworkload = \"claim\"\n\
         statement = \"full_key\"\nrate = \"1/s\"\nduration = \"1s\"\n"
    );
    std::fs::write(folder.path().join("s.toml"), suite).unwrap();
    for arguments in [&["list", "s.toml"][..], &["run", "s.toml", "--step", "\u{1b}[2J\nnone"]] {
        let output = idembench(folder.path(), arguments);
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("[2Jx source    forged"), "{said:?}");
        assert!(!said.contains(|c: char| idembench::units::is_unprintable(c) && c != '\n'), "{said:?}");
        assert!(!said.lines().any(|line| line.starts_with("source")), "{said}");
    }
}

#[test]
fn rows_and_days_stand_beside_every_suite() {
    check(&[], &["list", "claim"], 0, &["on t_idem, ", "rows in 7 days"]);
    let loaded = ["\"rows\": 10000000", "\"days\": 7"];
    check(&[], &["list", "quickstart", "--json"], 0, &loaded);
    check(&[], &["list", "--json"], 0, &loaded);
}
