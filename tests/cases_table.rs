//! `docs/CASES.md` names tests that exist.
#![allow(clippy::unwrap_used)] // A test that cannot read its files should stop right there.

use std::fs;
use std::path::Path;

#[test]
fn every_test_that_the_table_of_cases_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(root.join("docs/CASES.md")).unwrap();
    let mut checked = 0;
    for row in table.lines().filter(|line| line.starts_with("| ") && line.contains(".rs`")) {
        let mut waiting: Vec<&str> = Vec::new();
        // Tests stand before the file that they are in.
        for quoted in row.rsplit(" | ").next().unwrap().split('`').skip(1).step_by(2) {
            if !quoted.ends_with(".rs") {
                waiting.push(quoted);
                continue;
            }
            let code = fs::read_to_string(root.join(quoted)).unwrap_or_else(|_| panic!("{quoted} of: {row}"));
            for test in waiting.drain(..) {
                assert!(code.contains(&format!("fn {test}()")), "{quoted} has no test {test}");
                checked += 1;
            }
        }
        assert!(waiting.is_empty(), "no file is named for {waiting:?}");
    }
    assert!(checked > 15, "the table's form has changed: {checked} tests found");
}
