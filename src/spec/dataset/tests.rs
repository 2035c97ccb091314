use std::fs;

use super::*;
use crate::spec::calendar::date_text;

#[test]
fn every_built_in_dataset_reads_and_says_what_it_is() {
    for built_in in built_in() {
        let dataset = Dataset::read(built_in.name).unwrap();
        assert!(!dataset.description.is_empty());
        assert_eq!(dataset.companions[0].name, "t_settle_bill");
        assert_eq!(dataset.claim.is_none(), built_in.name == "seed");
        // Every column is made on purpose, none by inference.
        assert!(built_in.toml.matches("[columns.").count() == dataset.recipes.len(), "{}", built_in.name);
    }
}

#[test]
fn partitions_follow_the_days_and_the_newest_day_stays() {
    let dataset = Dataset::read("t_idem").unwrap().scaled(None, Some(3), None, None).unwrap();
    let partitions = &dataset.table.partitioning.as_ref().unwrap().partitions;
    let names: Vec<_> = partitions.iter().map(|partition| partition.name.as_str()).collect();
    assert_eq!(names, ["p20260105", "p20260106", "p20260107", "p20260108"]);
    assert_eq!(date_text(dataset.first_day), "2026-01-05");
    assert_eq!(dataset.partition_of_day(2), Some(2));
    assert!(dataset.create_table_sql().ends_with(
        "ENGINE=InnoDB\nPARTITION BY RANGE COLUMNS(`event_day`)\n\
         (PARTITION `p20260105` VALUES LESS THAN ('2026-01-06'),\n \
         PARTITION `p20260106` VALUES LESS THAN ('2026-01-07'),\n \
         PARTITION `p20260107` VALUES LESS THAN ('2026-01-08'),\n \
         PARTITION `p20260108` VALUES LESS THAN ('2026-01-09'))"
    ));
}

#[test]
fn a_fingerprint_changes_with_everything_that_rows_depend_on() {
    let base = || Dataset::read("t_idem").unwrap();
    let mut prints = vec![
        base().fingerprint(),
        base().scaled(Some(Rows(5)), None, None, None).unwrap().fingerprint(),
        base().scaled(None, Some(6), None, None).unwrap().fingerprint(),
        base().scaled(None, None, Some(43), None).unwrap().fingerprint(),
        base().scaled(None, None, None, Some(Fill::Aged)).unwrap().fingerprint(),
        Dataset::read("t_idem_hash").unwrap().fingerprint(),
    ];
    assert_eq!(prints[0], base().fingerprint());
    assert_eq!(prints[0].len(), 32);
    prints.sort();
    prints.dedup();
    assert_eq!(prints.len(), 6);
}

fn read_folder(toml: &str, table: &str) -> Result<Dataset, DatasetError> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("dataset.toml"), toml).unwrap();
    fs::write(folder.path().join("table.sql"), table).unwrap();
    Dataset::read(folder.path().to_str().unwrap())
}

#[test]
fn mistakes_in_a_dataset_file_are_told_with_file_and_line() {
    let table = "CREATE TABLE t (k VARCHAR(32) PRIMARY KEY, n INT NOT NULL)";
    for (toml, line, part) in [
        ("rows = 5\nrowz = 6\n", 2, "rowz"),
        ("rows = \"ten\"\n", 1, "number of rows"),
        ("days = 1\nlast_day = \"2026-02-30\"\n", 2, "2026-02-30"),
        (
            "[columns.k]\nmake = \"sorted_key\"\n[columns.m]\nmake = \"day\"\n",
            3,
            "`m` is no column of table t",
        ),
        ("[columns.n]\nmake = \"constant\"\n", 1, "`value` is missing"),
        ("[columns.n]\nmake = \"constant\"\nvalue = \"1\"\nbelow = 5\n", 1, "`below` does not go with"),
        ("[columns.n]\nmake = \"constant\"\nvalu = \"1\"\n", 3, "valu"),
        ("[columns.n]\nmake = \"magic\"\n", 2, "magic"),
        ("[claim]\nstatus = \"s\"\n", 1, "pending"),
    ] {
        let error = read_folder(toml, table).unwrap_err().to_string();
        assert!(error.contains(&format!("dataset.toml, line {line}: ")), "{error}");
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_bare_create_table_is_a_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.sql");
    let read = |sql: &str| {
        fs::write(&file, sql).unwrap();
        Dataset::read(file.to_str().unwrap()).unwrap()
    };
    let dataset = read(
        "CREATE TABLE claims (k VARCHAR(40) COLLATE ascii_bin, d DATE, status ENUM('PENDING','DONE') NOT NULL,
           token INT NOT NULL DEFAULT 0, owner BIGINT, lease_until DATETIME(6), g INT AS (token+1), PRIMARY KEY (k, d))
         PARTITION BY RANGE COLUMNS(d) (PARTITION a VALUES LESS THAN ('2024-03-01'),
           PARTITION b VALUES LESS THAN ('2024-03-02'), PARTITION m VALUES LESS THAN (MAXVALUE))",
    );
    assert_eq!(
        (dataset.name.as_str(), dataset.days, date_text(dataset.first_day)),
        ("mine", 2, "2024-02-29".into())
    );
    assert!(matches!(dataset.recipes[0], Some(Recipe::SortedKey(_))));
    assert_eq!(dataset.recipes[1], Some(Recipe::Day));
    assert_eq!(dataset.recipes[3], Some(Recipe::Constant("0".to_owned())));
    assert_eq!(dataset.recipes[6], None);
    assert!(dataset.claim.is_some());
    // Its partitions stay as they were written.
    let three = dataset.scaled(None, Some(30), None, None).unwrap();
    assert_eq!(three.table.partitioning.as_ref().unwrap().partitions.len(), 3);
    assert_eq!(three.partition_of_day(20), Some(2));
}

#[test]
fn days_without_a_partition_are_refused() {
    let table = "CREATE TABLE t (k VARCHAR(32), d DATE, PRIMARY KEY (k, d)) PARTITION BY RANGE COLUMNS(d)
        (PARTITION a VALUES LESS THAN ('2024-03-01'), PARTITION b VALUES LESS THAN ('2024-03-02'))";
    let error = read_folder("days = 5\n", table).unwrap_err().to_string();
    assert!(error.contains("no partition for 2024-03-02"), "{error}");
    assert!(error.contains("--days 2"), "{error}");
    let scaled = Dataset::read("t_idem").unwrap().scaled(None, Some(9_000), None, None);
    assert!(matches!(scaled, Err(DatasetError::TooManyDays { days: 9_000 })));
    let zero = Dataset::read("t_idem").unwrap().scaled(Some(Rows(0)), None, None, None);
    assert!(matches!(zero, Err(DatasetError::Zero { what: "rows" })));
    let unknown = Dataset::read("t_idme").unwrap_err().to_string();
    assert!(unknown.contains("use one of t_idem, seed"), "{unknown}");
}
