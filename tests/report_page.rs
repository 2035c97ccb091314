//! `report.html` in headless Chromium: nothing runs over the page's edge, at 1280 and at 400 pixels.
//!
//! Skipped, loudly, where there is no Chromium; under `CI=true` that is a failure.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support_run;

use std::path::{Path, PathBuf};
use std::process::Command;

use idembench::report;
use idembench::results::Run;

/// The browser: `IDEMBENCH_TEST_CHROMIUM`, else the first that is on PATH.
fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("IDEMBENCH_TEST_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path)
        .flat_map(|folder| ["chromium", "chromium-browser", "google-chrome"].map(|name| folder.join(name)));
    let found = named.into_iter().chain(on_path).find(|browser| browser.is_file());
    if found.is_none() {
        let reason = "no Chromium in IDEMBENCH_TEST_CHROMIUM or on PATH: the page was not looked at";
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{reason}");
        eprintln!("SKIPPED: {reason}");
    }
    found
}

fn page(run: &Run, dir: &Path) -> String {
    let written = report::write(run, dir).unwrap();
    std::fs::read_to_string(written.page).unwrap()
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

/// Lays the page out in a frame of so many pixels, everything unfolded, and returns the names of elements
/// that stick out of it: a box that scrolls within itself does not.
fn sticking_out(browser: &Path, dir: &Path, page: &str, width_px: u32) -> Vec<String> {
    let script = "onload = () => {
        const page = document.querySelector('iframe').contentDocument;
        page.querySelectorAll('details').forEach(details => details.open = true);
        const width = page.documentElement.clientWidth;
        const out = [...page.body.querySelectorAll('*')].filter(element => {
            const box = element.getBoundingClientRect();
            const inside = element.parentElement.closest('.scroll, svg');
            return !inside && box.width > 0 && box.right > width + 0.5 && !element.closest('.skip, caption');
        });
        const names = out.map(element => element.tagName + '.' + element.className);
        if (page.documentElement.scrollWidth > width) names.push('the page itself');
        document.body.dataset.drawn = page.querySelectorAll('svg').length;
        document.body.dataset.out = names.join(' ');
    }";
    let harness = format!(
        "<!doctype html><body><iframe style=\"width:{width_px}px;height:900px;border:0\" srcdoc=\"{}\"></iframe>\
         <script>{script}</script>",
        attribute(page)
    );
    let file = dir.join("harness.html");
    std::fs::write(&file, harness).unwrap();
    let quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-component-update", "--disable-sync"])
        .args(quiet)
        .arg(format!("--user-data-dir={}", dir.join("profile").display()))
        .args(["--window-size=1400,1000", "--dump-dom"])
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let value = |name: &str| {
        let (_, rest) = dom.split_once(&format!("data-{name}=\""))?;
        rest.split('"').next().map(str::to_owned)
    };
    let drawn: usize = value("drawn")
        .and_then(|n| n.parse().ok())
        .unwrap_or_else(|| panic!("the harness did not run: {}", String::from_utf8_lossy(&output.stderr)));
    assert!(drawn > 0, "no figure stands in the page");
    value("out").unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn check(run: &Run) {
    let dir = tempfile::tempdir().unwrap();
    let page = page(run, dir.path());
    let Some(browser) = chromium() else { return };
    for width_px in [1280, 400] {
        let out = sticking_out(&browser, dir.path(), &page, width_px);
        assert!(out.is_empty(), "at {width_px} px: {out:?}");
    }
}

#[test]
fn the_check_finds_what_sticks_out() {
    let Some(browser) = chromium() else { return };
    let dir = tempfile::tempdir().unwrap();
    let page = "<!doctype html><body><svg></svg><p class=\"wide\" style=\"width:500px\">x</p>";
    assert_eq!(sticking_out(&browser, dir.path(), page, 400).first().map(String::as_str), Some("P.wide"));
    assert_eq!(sticking_out(&browser, dir.path(), page, 1280), Vec::<String>::new());
}

#[test]
fn an_overloaded_run_fits_its_page() {
    check(&support_run::quickstart());
}

#[test]
fn a_failed_run_fits_its_page() {
    check(&support_run::failed());
}

#[test]
fn hostile_names_fit_the_page_and_run_nothing() {
    check(&support_run::hostile());
}

#[test]
fn the_page_asks_the_network_for_nothing() {
    for run in [support_run::stalled(), support_run::hostile()] {
        let dir = tempfile::tempdir().unwrap();
        let page = page(&run, dir.path());
        let page = page.replace("http://www.w3.org/2000/svg", "");
        for asks in ["http://", "https://", "<script", "<link", "<img", "<iframe", "src=", "url(", "@import"]
        {
            assert!(!page.contains(asks), "the page has {asks:?}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}

/// Writes the reports where somebody can look at them: `IDEMBENCH_REPORT_OUT=DIR cargo test -- --ignored`.
#[test]
#[ignore = "for eyes, not for machines"]
fn write_reports_to_look_at() {
    let Some(out) = std::env::var_os("IDEMBENCH_REPORT_OUT").map(PathBuf::from) else { return };
    for run in [
        support_run::quickstart(),
        support_run::stalled(),
        support_run::failed(),
        support_run::hostile(),
        support_run::closed_loop(),
    ] {
        page(&run, &out.join(&run.run_id));
    }
}
