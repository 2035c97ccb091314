//! `report.md` of simulated runs, as golden files, and what the first lines must never hide.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support_run;

use std::path::Path;

use idembench::report::{self, splice, text};
use idembench::results::Run;
use pulldown_cmark::{Event, Options, Parser, Tag};

/// `report.md` of a run, written the way the program writes it.
fn markdown(run: &Run) -> String {
    let dir = tempfile::tempdir().unwrap();
    let written = report::write(run, dir.path()).unwrap();
    for plot in &written.plots {
        check_picture(plot);
    }
    std::fs::read_to_string(&written.markdown).unwrap()
}

fn check_picture(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    let name = path.display();
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("png") => assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"), "{name}"),
        _ => assert!(bytes.starts_with(b"<svg ") && bytes.ends_with(b"</svg>"), "{name}"),
    }
    // A run is meant to be committed.
    assert!(bytes.len() < 150_000, "{name} has {} bytes", bytes.len());
}

/// Everything before the step table.
fn first_lines(markdown: &str) -> &str {
    markdown.split("\n| ").next().unwrap()
}

fn check_golden(name: &str, run: &Run, first: &[&str]) {
    let markdown = markdown(run);
    for expect in first {
        assert!(first_lines(&markdown).contains(expect), "{expect:?} is not in {:?}", first_lines(&markdown));
    }
    insta::assert_snapshot!(name, markdown);
}

#[test]
fn a_run_with_an_overloaded_step_says_so_first() {
    let first = ["is overloaded at 4,000/s", "❌ Step 3", "oldest waiting", "unsent"];
    check_golden("quickstart", &support_run::quickstart(), &first);
}

#[test]
fn a_stalled_server_shows_in_the_headline() {
    check_golden("stalled", &support_run::stalled(), &["was not steady", "p99 4.7", "⚠️ Step 1"]);
}

#[test]
fn a_failed_run_says_so_first() {
    let first =
        ["FAILED: step 2: the server went away", "❌ Step 2", "broke its check", "error 2013 16 times"];
    check_golden("failed", &support_run::failed(), &first);
}

#[test]
fn a_closed_loop_has_no_response_time() {
    check_golden("closed_loop", &support_run::closed_loop(), &["in a closed loop", "service p99"]);
}

/// What a Markdown reader makes of a text, beyond words: HTML, links, pictures, and cells by table row.
#[derive(Debug, Default)]
struct Read {
    html: Vec<String>,
    links: Vec<String>,
    pictures: Vec<String>,
    headings: usize,
    cells_by_table: Vec<Vec<usize>>,
}

fn read(markdown: &str) -> Read {
    let mut read = Read::default();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Html(html) | Event::InlineHtml(html) => read.html.push(html.trim().to_owned()),
            Event::Start(Tag::Link { dest_url, .. }) => read.links.push(dest_url.into_string()),
            Event::Start(Tag::Image { dest_url, .. }) => read.pictures.push(dest_url.into_string()),
            Event::Start(Tag::Heading { .. }) => read.headings += 1,
            Event::Start(Tag::Table(_)) => read.cells_by_table.push(Vec::new()),
            Event::Start(Tag::TableHead | Tag::TableRow) => read.cells_by_table.last_mut().unwrap().push(0),
            Event::Start(Tag::TableCell) => {
                *read.cells_by_table.last_mut().and_then(|rows| rows.last_mut()).unwrap() += 1;
            }
            _ => {}
        }
    }
    read
}

#[test]
fn hostile_names_stay_words() {
    let hostile = markdown(&support_run::hostile());
    let read = read(&hostile);
    let ours =
        |html: &String| ["<details", "</details>", "<summary>"].iter().any(|tag| html.starts_with(tag));
    assert!(read.html.iter().all(|html| ours(html) && !html.contains("<script")), "{:?}", read.html);
    assert_eq!(read.links, Vec::<String>::new());
    assert!(
        read.pictures.iter().all(|url| url.ends_with(".svg") && !url.contains(':')),
        "{:?}",
        read.pictures
    );
    // The same run with harmless names has the same headings and tables.
    let harmless = self::read(&markdown(&support_run::failed()));
    assert_eq!(read.headings, harmless.headings);
    for rows in &read.cells_by_table {
        assert!(rows.iter().all(|cells| *cells == rows[0]), "{rows:?}");
    }
    insta::assert_snapshot!("hostile", hostile);
}

#[test]
fn a_run_without_steps_has_a_report() {
    let markdown = markdown(&support_run::empty_run("2026-12-01-none-0000", "none"));
    assert!(first_lines(&markdown).contains("no step was measured"), "{markdown}");
}

#[test]
fn a_cut_off_run_says_so() {
    let mut run = support_run::empty_run("2026-12-01-cut-0000", "cut");
    run.status = idembench::results::RunStatus::Running;
    assert!(first_lines(&markdown(&run)).contains("CUT OFF"));
}

#[test]
fn lines_for_a_terminal_stand_in_columns_and_hide_nothing() {
    let lines: Vec<String> = [
        support_run::quickstart(),
        support_run::stalled(),
        support_run::failed(),
        support_run::closed_loop(),
    ]
    .iter()
    .flat_map(|run| [text::summary(run), text::list_line(run)])
    .collect();
    insta::assert_snapshot!("terminal", lines.join("\n"));
    let hostile = text::summary(&support_run::hostile());
    assert!(!hostile.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn a_marked_region_is_replaced_by_the_runs_table() {
    let readme = "before\n<!-- idembench report --splice results/x -->\nold\n<!-- /idembench -->\nafter\n";
    let spliced = splice::splice(readme, |path| {
        assert_eq!(path, "results/x");
        Ok(support_run::stalled())
    })
    .unwrap();
    insta::assert_snapshot!("spliced", spliced);
    let again = splice::splice(&spliced, |_| Ok(support_run::stalled())).unwrap();
    assert_eq!(again, spliced, "a second splice changes nothing");
}

#[test]
fn a_region_that_does_not_end_is_named() {
    let open = "a\n\n<!-- idembench report --splice results/x -->\n";
    let error = splice::splice(open, |_| Ok(support_run::stalled())).unwrap_err();
    assert_eq!(error, splice::SpliceError::FindEnd { line: 3, run: "results/x".to_owned() });
    let unread = format!("{open}<!-- /idembench -->");
    let error = splice::splice(&unread, |_| Err("no such run".to_owned())).unwrap_err();
    assert_eq!(error.to_string(), "failed to splice line 3: no such run");
}
