//! The house's rules, kept by reading the source: which room may look into which, one door per
//! dependency, no file without bounds. `docs/ARCHITECTURE.md` says why.
#![allow(clippy::unwrap_used)] // A test that cannot set up its files should stop right there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Importer and what it may import, bottom first. Whatever is not listed may not be imported.
const ARROWS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("spec", &["units"]),
    ("results", &["spec", "units"]),
    // The measuring wing.
    ("keys", &["spec", "units"]),
    ("table", &["keys", "results", "spec", "units"]),
    ("server", &["results", "spec", "units"]),
    ("recorder", &["results", "spec", "units"]),
    ("pages", &["spec", "units"]),
    ("load", &["keys", "pages", "server", "spec", "table", "units"]),
    ("retention", &["server", "spec", "table", "units"]),
    ("drive", &["recorder", "results", "server", "spec", "units"]),
    ("workload", &["drive", "keys", "recorder", "results", "retention", "server", "spec", "table", "units"]),
    // The reading wing.
    ("report", &["results", "spec", "units"]),
    // Where the wings meet.
    ("cli", &["spec", "units"]),
    (
        "command",
        &[
            "cli",
            "drive",
            "keys",
            "load",
            "pages",
            "report",
            "results",
            "retention",
            "server",
            "spec",
            "table",
            "units",
            "workload",
        ],
    ),
];

/// A dependency and the only places that may name it.
const DOORS: &[(&str, &[&str])] = &[
    ("clap", &["cli.rs", "cli/", "main.rs"]),
    ("anyhow", &["command/", "main.rs"]),
    ("toml", &["spec/"]),
    ("sqlparser", &["spec/ddl/"]),
    ("sqlx", &["server/", "table/", "load/", "retention/", "drive/", "workload/"]),
    ("mysql_async", &["load/"]),
    ("hdrhistogram", &["recorder/", "results/histogram.rs"]),
    ("plotters", &["report/plot/"]),
    ("epaint_default_fonts", &["report/plot/"]),
    ("maud", &["report/html"]),
    ("testcontainers", &["server/container"]),
    ("indicatif", &["command/screen"]),
    ("console", &["command/screen"]),
    ("humantime", &["units/"]),
    ("crc32c", &["pages/format.rs", "pages/verify/"]),
];

/// Lines of code (tests and comments left out) that a file may have.
const FILE_LINES_MAX: usize = 400;

/// Files that may be longer, each with its reason.
const LONG_FILES: &[(&str, &str)] = &[];

struct Source {
    /// Path below `src`, with forward slashes.
    path: String,
    /// The text without comments and without its trailing `mod tests`.
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    paths
        .iter()
        .map(|path| Source {
            path: path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"),
            code: code_of(&fs::read_to_string(path).unwrap()),
        })
        .collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

fn code_of(text: &str) -> String {
    let body = text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or(text);
    body.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

/// The top-level rooms that a text names after `crate::` (or, in `main.rs`, after `idembench::`).
fn rooms_named(code: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for start in ["crate::", "idembench::"] {
        for (position, _) in code.match_indices(start) {
            let rest = &code[position + start.len()..];
            match rest.strip_prefix('{') {
                Some(group) => rooms.extend(heads_of_group(group)),
                None => rooms.push(identifier(rest)),
            }
        }
    }
    rooms.retain(|room| !room.is_empty());
    rooms
}

/// The first identifiers of a `{a::b, c::{d, e}}` group, given the text behind its opening brace.
fn heads_of_group(group: &str) -> Vec<String> {
    let (mut depth, mut at_head, mut heads) = (0usize, true, Vec::new());
    for (position, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_head = true,
            c if c.is_whitespace() => {}
            _ if at_head && depth == 0 => {
                heads.push(identifier(&group[position..]));
                at_head = false;
            }
            _ => {}
        }
    }
    heads
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

fn room_of(path: &str) -> &str {
    path.split('/').next().unwrap().trim_end_matches(".rs")
}

#[test]
fn arrows_point_down() {
    let allowed: BTreeMap<_, _> = ARROWS.iter().copied().collect();
    let mut wrong = Vec::new();
    for source in sources() {
        let room = room_of(&source.path);
        if matches!(room, "main" | "lib") {
            continue;
        }
        let Some(may) = allowed.get(room) else {
            wrong.push(format!("{}: the room `{room}` is not in ARROWS", source.path));
            continue;
        };
        for named in rooms_named(&source.code) {
            if named != room && !may.contains(&named.as_str()) && allowed.contains_key(named.as_str()) {
                wrong.push(format!("{}: `{room}` must not look into `{named}`", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_dependency_has_one_door() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (dependency, doors) in DOORS {
            let named = source.code.match_indices(&format!("{dependency}::")).any(|(position, _)| {
                !source.code[..position].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':')
            });
            if named && !doors.iter().any(|door| source.path.starts_with(door)) {
                wrong.push(format!("{}: `{dependency}` has its door in {doors:?}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_stay_readable() {
    let mut wrong = Vec::new();
    for source in sources() {
        let lines = source.code.lines().filter(|line| !line.trim().is_empty()).count();
        let excused = LONG_FILES.iter().any(|(path, _)| *path == source.path);
        if lines > FILE_LINES_MAX && !excused {
            wrong.push(format!("{}: {lines} lines of code", source.path));
        }
        if source.path.contains("util") || source.path == "error.rs" || source.path == "errors.rs" {
            wrong.push(format!("{}: name it by what it does; errors stand beside what fails", source.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_tests_of_this_file_can_fail() {
    assert_eq!(
        rooms_named("use crate::{spec::table, units::{Rows, Bytes}, results};"),
        ["spec", "units", "results"]
    );
    assert_eq!(rooms_named("let x = crate::server::open(spec);"), ["server"]);
    assert_eq!(code_of("a\n// crate::x\n#[cfg(test)]\nmod tests {\n b }"), "a\n");
}
