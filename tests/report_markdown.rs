//! `report.md` of simulated runs, as golden files, and what the first lines must never hide.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support_run;

use std::path::Path;

use idembench::report::{self, splice, text};
use idembench::results::Run;
use idembench::units::is_unprintable;
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

/// The backlog's age when measuring ended and its largest age are two figures: each has its one name everywhere.
#[test]
fn the_ages_of_a_backlog_have_one_name_each() {
    let run = support_run::quickstart();
    let step = &run.steps[2];
    let largest = step.intervals.iter().map(|interval| interval.backlog_age_s).fold(0.0, f64::max);
    assert!(largest > step.overload.unwrap().backlog_age_s + 0.5);
    let text = format!("{}\n{}", markdown(&run), text::summary(&run));
    for (place, _) in text.match_indices("oldest") {
        assert!(
            text[place..].starts_with("oldest waiting at the end 5.25 s"),
            "{}",
            &text[place..place + 60]
        );
    }
    assert_eq!(text.matches("oldest waiting at the end").count(), 3);
    assert!(text.contains("largest backlog age 6.68 s"), "{text}");
}

#[test]
fn the_pool_is_told_and_where_it_is_small_how_much_of_it_is_leased() {
    let (large, small) = (support_run::quickstart(), support_run::closed_loop());
    let expect = "pool: 3,000,000 rows can be won; up to 30,000 (1 %) leased at a time";
    assert!(markdown(&large).contains(expect));
    assert!(text::summary(&large).contains("pool 3M rows\n"), "{}", text::summary(&large));
    assert!(markdown(&small).contains("as good as 413 aimed at alike"));
    assert!(text::summary(&small).contains("pool 3M rows, over 100 % leased"), "{}", text::summary(&small));
}

#[test]
fn runs_of_earlier_versions_are_read() {
    let run: Run = serde_json::from_str(include_str!("golden/run-1.0.json")).unwrap();
    assert_eq!(run.steps[0].pool, None);
    assert!(first_lines(&markdown(&run)).contains("quickstart on t_idem"));
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
    let hostile = support_run::hostile();
    for text in [text::summary(&hostile), text::list_line(&hostile)] {
        assert!(!text.chars().any(|c| is_unprintable(c) && c != '\n'), "{text:?}");
    }
    assert_eq!(text::list_line(&hostile).lines().count(), 1);
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
fn hostile_names_leave_a_spliced_region_whole() {
    let readme = "before\n<!-- idembench report --splice results/x -->\n<!-- /idembench -->\nafter\n";
    let spliced = splice::splice(readme, |_| Ok(support_run::hostile())).unwrap();
    for marker in ["<!-- idembench report --splice", "<!-- /idembench -->"] {
        assert_eq!(spliced.matches(marker).count(), 1, "{spliced}");
    }
    assert!(spliced.starts_with("before\n") && spliced.ends_with("\nafter\n"), "{spliced}");
    assert_eq!(splice::splice(&spliced, |_| Ok(support_run::hostile())).unwrap(), spliced);
}

/// A document that shows markers as text, in blocks of several kinds, has none.
#[test]
fn markers_in_fenced_blocks_are_text() {
    let marker = "<!-- idembench report --splice results/x -->\n<!-- /idembench -->\n";
    let fenced = |open: &str, inner: &str, close: &str| format!("{open}\n{inner}\n{marker}{close}\n");
    for text in [
        fenced("```text", "", "```"),
        fenced("````", "```", "````"),
        fenced("~~~", "```", "~~~"),
        fenced("````sql", "CREATE TABLE t (`a` int COMMENT '\n```\n", "````"),
    ] {
        let read = |_: &str| Ok(support_run::stalled());
        assert_eq!(splice::splice(&text, read), Err(splice::SpliceError::NoMarkers), "{text}");
        let spliced = splice::splice(&format!("{text}{marker}"), read).unwrap();
        assert!(spliced.starts_with(&text) && spliced.contains("| 1 | claim, full key |"), "{spliced}");
    }
    let after_inline = format!("```one line```\n{marker}");
    assert!(splice::splice(&after_inline, |_| Ok(support_run::stalled())).is_ok());
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
