//! What a server would accept and its users would regret, found in the CREATE TABLE alone.
//!
//! Each rule is a function from a table to findings; what MySQL itself refuses (`rules`) comes
//! first, as errors. The facts behind the rules stand in `docs/METHODOLOGY.md` and in the manual pages
//! on partitioning limitations, pruning and InnoDB locks.

use super::error::DdlError;
use crate::spec::calendar::DAY_SECONDS;
use crate::spec::table::{Bound, ColumnKind, Index, KeyPart, PartitionMethod, Table, Text};

/// Something about a table that a person should know before creating it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// Whether MySQL or the loaders refuse it.
    pub severity: Severity,
    /// The table's name, or empty when it could not be read.
    pub table: String,
    /// What is so.
    pub what: String,
    /// What to do.
    pub advice: String,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// MySQL refuses the table, or it cannot be loaded.
    Error,
    /// It works, at a price or at a risk.
    Warning,
}

/// InnoDB's limit of a key's bytes in the DYNAMIC row format (error 1071).
const KEY_BYTES_MAX: u64 = 3072;
/// From here on a primary key that every secondary index repeats is worth a word.
const KEY_BYTES_WIDE: u64 = 256;

/// InnoDB's limit of columns in a table, generated ones included (error 1117).
const COLUMNS_MAX: usize = 1017;
/// MySQL's limit of a row's bytes, lengths of text included (error 1118).
const ROW_BYTES_MAX: u64 = 65_535;

type Rule = fn(&Table) -> Vec<Finding>;

const RULES: &[Rule] = &[
    too_many_columns,
    row_too_long,
    key_too_long,
    no_primary_key,
    instant_in_the_dedupe_key,
    duplicates_found_in_a_secondary_index,
    collation_that_folds_keys,
    to_days_reads_the_first_partition,
    bounds_off_midnight,
    maxvalue_must_be_split,
    clean_up_scans_everything,
    status_in_an_index,
    wide_primary_key,
];

/// Judges the CREATE TABLE of a text.
///
/// # Errors
/// Text that is no SQL, holds no CREATE TABLE that can be read, or holds further statements.
pub fn audit(sql: &str) -> Result<Vec<Finding>, DdlError> {
    match super::read_only_table(sql)? {
        Ok(table) => Ok(audit_table(&table)),
        Err(unreadable @ (DdlError::NotSql { .. } | DdlError::Unexpected { .. })) => Err(unreadable),
        Err(refused) => Ok(vec![refusal("", &refused)]),
    }
}

/// Judges one table.
pub fn audit_table(table: &Table) -> Vec<Finding> {
    let refused = super::rules::faults(table);
    let mut findings: Vec<Finding> = refused.iter().map(|fault| refusal(&table.name, fault)).collect();
    findings.extend(RULES.iter().flat_map(|rule| rule(table)));
    findings
}

fn refusal(table: &str, fault: &DdlError) -> Finding {
    Finding { severity: Severity::Error, table: table.to_owned(), what: fault.what(), advice: fault.advice() }
}

fn error(table: &Table, what: String, advice: String) -> Finding {
    Finding { severity: Severity::Error, table: table.name.clone(), what, advice }
}

fn warning(table: &Table, what: String, advice: &str) -> Finding {
    Finding { severity: Severity::Warning, table: table.name.clone(), what, advice: advice.to_owned() }
}

fn too_many_columns(table: &Table) -> Vec<Finding> {
    let columns = table.columns.len();
    let advice = format!(
        "MySQL refuses this table (1117): InnoDB takes at most {COLUMNS_MAX} columns; split the table"
    );
    let what = format!("the table has {columns} columns");
    (columns > COLUMNS_MAX).then(|| error(table, what, advice)).into_iter().collect()
}

/// Every column at its longest, as the server's record has it; NULL bits are left out, so that nothing is refused
/// that MySQL takes.
fn row_too_long(table: &Table) -> Vec<Finding> {
    let bytes: u64 = table
        .columns
        .iter()
        .map(|column| part_bytes_max(&column.kind, None) + length_bytes(&column.kind))
        .sum();
    let what = format!("a row may be {bytes} bytes long");
    let advice = format!(
        "MySQL refuses this table (1118): a row holds at most {ROW_BYTES_MAX} bytes; use shorter columns"
    );
    (bytes > ROW_BYTES_MAX).then(|| error(table, what, advice)).into_iter().collect()
}

/// The bytes that say how long a value is.
fn length_bytes(kind: &ColumnKind) -> u64 {
    match kind {
        ColumnKind::VarChar(_) | ColumnKind::VarBinary(_) => 1 + u64::from(part_bytes_max(kind, None) > 255),
        _ => 0,
    }
}

fn key_too_long(table: &Table) -> Vec<Finding> {
    named_keys(table)
        .filter_map(|(name, parts)| {
            let bytes = key_bytes_max(table, parts);
            (bytes > KEY_BYTES_MAX).then(|| Finding {
                severity: Severity::Error,
                table: table.name.clone(),
                what: format!("{name} may be {bytes} bytes long"),
                advice: format!(
                    "MySQL refuses this table (1071): a key holds at most {KEY_BYTES_MAX} bytes; use ascii instead \
                     of utf8mb4, shorter columns, or a hash in BINARY(16)"
                ),
            })
        })
        .collect()
}

fn no_primary_key(table: &Table) -> Vec<Finding> {
    if !table.primary_key.is_empty() {
        return Vec::new();
    }
    vec![warning(
        table,
        "there is no primary key".to_owned(),
        "InnoDB then adds a hidden row id that no statement can use: make the dedupe key the primary key",
    )]
}

/// The partition column stands in the dedupe key; if it is an instant, equality means equal to the fraction.
fn instant_in_the_dedupe_key(table: &Table) -> Vec<Finding> {
    let Some(partitioning) = &table.partitioning else { return Vec::new() };
    let column = &table.columns[partitioning.column];
    let is_instant = matches!(column.kind, ColumnKind::DateTime { .. } | ColumnKind::Timestamp { .. });
    let in_key =
        unique_keys(table).any(|(_, parts)| parts.iter().any(|part| part.column == partitioning.column));
    if !is_instant || !in_key {
        return Vec::new();
    }
    vec![warning(
        table,
        format!("the dedupe key contains the instant {}", column.name),
        "two deliveries of one message are told apart unless both carry the same instant: take it from the message, \
         never from the clock, or use a DATE that the message carries",
    )]
}

fn duplicates_found_in_a_secondary_index(table: &Table) -> Vec<Finding> {
    let surrogate = table.primary_key.first().is_some_and(|part| {
        matches!(table.columns[part.column].kind, ColumnKind::Integer { bytes: 4 | 8, .. })
    });
    let Some(unique) = table.indexes.iter().find(|index| index.unique).filter(|_| surrogate) else {
        return Vec::new();
    };
    vec![warning(
        table,
        format!("duplicates are found through the secondary UNIQUE KEY {}", unique.name),
        "a duplicate then takes gap locks even under READ COMMITTED, and concurrent inserts deadlock on them; with \
         the dedupe key as primary key it takes one record lock, and saves an index",
    )]
}

fn collation_that_folds_keys(table: &Table) -> Vec<Finding> {
    let mut columns: Vec<usize> =
        unique_keys(table).flat_map(|(_, parts)| parts.iter().map(|part| part.column)).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
        .into_iter()
        .filter_map(|column| {
            let text = text_of(&table.columns[column].kind)?;
            text.collation.ends_with("_ci").then(|| {
                warning(
                    table,
                    format!("{} is compared by {}", table.columns[column].name, text.collation),
                    "keys that differ in case or accents only are one key there, so the second message is taken for a \
                     duplicate of the first; use CHARACTER SET ascii COLLATE ascii_bin, or BINARY(16)",
                )
            })
        })
        .collect()
}

fn to_days_reads_the_first_partition(table: &Table) -> Vec<Finding> {
    let Some(partitioning) = &table.partitioning else { return Vec::new() };
    if partitioning.method != PartitionMethod::ToDays {
        return Vec::new();
    }
    let column = &table.columns[partitioning.column].name;
    let first = partitioning.partitions.first().map_or("the first", |partition| partition.name.as_str());
    vec![warning(
        table,
        format!("a range of {column} over a month's end also reads the first partition {first}"),
        "TO_DAYS is NULL for an invalid date and NULL lies in the first partition: use RANGE COLUMNS over a DATE, or \
         keep an empty first partition",
    )]
}

fn bounds_off_midnight(table: &Table) -> Vec<Finding> {
    let Some(partitioning) = &table.partitioning else { return Vec::new() };
    if partitioning.method != PartitionMethod::UnixTimestamp {
        return Vec::new();
    }
    let column = &table.columns[partitioning.column].name;
    let offsets: Vec<(i64, &str)> = partitioning
        .partitions
        .iter()
        .filter_map(|partition| match partition.less_than {
            Bound::Integer(seconds) => Some((seconds.rem_euclid(DAY_SECONDS), partition.name.as_str())),
            _ => None,
        })
        .collect();
    let Some((first_offset, first)) = offsets.first().copied() else { return Vec::new() };
    if let Some((_, other)) = offsets.iter().find(|(offset, _)| *offset != first_offset) {
        return vec![warning(
            table,
            format!("the bounds of {first} and {other} are midnights of different time zones"),
            "one day is then longer and one shorter, and rows land in a neighbour's partition: compute all bounds in \
             one declared zone, best UTC",
        )];
    }
    if first_offset == 0 {
        return Vec::new();
    }
    vec![warning(
        table,
        format!("the bounds of {column} are not midnights in UTC (off by {} s)", first_offset),
        "names by UTC date and bounds by local midnight leave hours without a partition (error 1526): compute both in \
         one declared zone, and create partitions days ahead",
    )]
}

fn maxvalue_must_be_split(table: &Table) -> Vec<Finding> {
    let Some(partitioning) = &table.partitioning else { return Vec::new() };
    let last = partitioning.partitions.last().filter(|partition| partition.less_than == Bound::MaxValue);
    last.map(|partition| {
        warning(
            table,
            format!("partition {} ends at MAXVALUE", partition.name),
            "the next day can then only be added by REORGANIZE, which copies rows and blocks writers: create days ahead \
             and watch the head-room instead",
        )
    })
    .into_iter()
    .collect()
}

fn clean_up_scans_everything(table: &Table) -> Vec<Finding> {
    let time = table.columns.iter().enumerate().find(|(_, column)| is_time(&column.kind, &column.name));
    let Some((time, column)) = time.filter(|_| table.partitioning.is_none()) else { return Vec::new() };
    let leads = named_keys(table).any(|(_, parts)| parts.first().is_some_and(|part| part.column == time));
    if leads {
        return vec![warning(
            table,
            "the table has no partitions".to_owned(),
            "old rows can only go by DELETE, row by row, with undo, purge and redo for each; a partition a day goes by \
             DROP PARTITION",
        )];
    }
    vec![warning(
        table,
        format!("DELETE by {} is a full table scan", column.name),
        "no key begins with it and there are no partitions: partition by the message's day, or delete along the primary \
         key in chunks",
    )]
}

fn status_in_an_index(table: &Table) -> Vec<Finding> {
    let changes = |part: &KeyPart| {
        let name = table.columns[part.column].name.to_ascii_lowercase();
        ["status", "state", "lease", "locked_until", "owner"].iter().any(|word| name.contains(word))
    };
    table
        .indexes
        .iter()
        .filter(|index| index.parts.iter().any(changes))
        .map(|index: &Index| {
            warning(
                table,
                format!("KEY {} contains columns that every claim changes", index.name),
                "each claim then also marks one entry deleted, inserts another and leaves purge work; a scan of it with \
                 SKIP LOCKED can deadlock with finishers that come by primary key",
            )
        })
        .collect()
}

fn wide_primary_key(table: &Table) -> Vec<Finding> {
    let bytes = key_bytes_max(table, &table.primary_key);
    if bytes <= KEY_BYTES_WIDE {
        return Vec::new();
    }
    vec![warning(
        table,
        format!("the primary key may be {bytes} bytes long"),
        "every secondary index repeats it and every page holds fewer keys; actual lengths count, so check them, use \
         ascii for ids, or a hash in BINARY(16)",
    )]
}

fn unique_keys(table: &Table) -> impl Iterator<Item = (String, &[KeyPart])> {
    let primary = (!table.primary_key.is_empty()).then(|| ("PRIMARY KEY".to_owned(), &table.primary_key[..]));
    let others = table.indexes.iter().filter(|index| index.unique);
    primary.into_iter().chain(others.map(|index| (format!("UNIQUE KEY {}", index.name), &index.parts[..])))
}

fn named_keys(table: &Table) -> impl Iterator<Item = (String, &[KeyPart])> {
    let plain = table.indexes.iter().filter(|index| !index.unique);
    unique_keys(table).chain(plain.map(|index| (format!("KEY {}", index.name), &index.parts[..])))
}

fn text_of(kind: &ColumnKind) -> Option<&Text> {
    match kind {
        ColumnKind::Char(text) | ColumnKind::VarChar(text) => Some(text),
        _ => None,
    }
}

fn is_time(kind: &ColumnKind, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_instant =
        matches!(kind, ColumnKind::Date | ColumnKind::DateTime { .. } | ColumnKind::Timestamp { .. });
    let is_count = matches!(kind, ColumnKind::Integer { bytes: 4 | 8, .. });
    let reads_as_creation = ["creat", "insert", "received", "event"].iter().any(|word| name.contains(word));
    reads_as_creation && (is_instant || is_count && (name.contains("time") || name.ends_with("_at")))
}

/// The most bytes that a key's own parts take.
fn key_bytes_max(table: &Table, parts: &[KeyPart]) -> u64 {
    parts.iter().map(|part| part_bytes_max(&table.columns[part.column].kind, part.prefix)).sum()
}

fn part_bytes_max(kind: &ColumnKind, prefix: Option<u16>) -> u64 {
    let characters = |text: &Text| {
        u64::from(prefix.unwrap_or(text.characters)) * u64::from(text.charset.bytes_per_character_max())
    };
    match kind {
        ColumnKind::Char(text) | ColumnKind::VarChar(text) => characters(text),
        ColumnKind::Binary(bytes) | ColumnKind::VarBinary(bytes) => u64::from(prefix.unwrap_or(*bytes)),
        other => crate::spec::footprint::fixed_bytes(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings' `what`, with `!` before errors.
    #[track_caller]
    fn check(sql: &str, expected: &[&str]) {
        let findings = audit(sql).expect(sql);
        let found: Vec<String> = findings
            .iter()
            .map(|finding| match finding.severity {
                Severity::Error => format!("!{}", finding.what),
                Severity::Warning => finding.what.clone(),
            })
            .collect();
        assert_eq!(found, expected);
        assert!(findings.iter().all(|finding| !finding.advice.is_empty()));
    }

    #[test]
    fn the_recommended_table_has_nothing_to_regret() {
        check(include_str!("../../../datasets/t_idem/table.sql"), &[]);
        check(include_str!("../../../datasets/t_idem_hash/table.sql"), &[]);
    }

    #[test]
    fn a_surrogate_key_and_a_status_index_are_named_with_their_price() {
        let surrogate = audit(include_str!("../../../datasets/t_idem_surrogate/table.sql")).unwrap();
        assert!(
            surrogate.iter().any(|finding| finding.what.contains("secondary UNIQUE KEY")),
            "{surrogate:?}"
        );
        let indexed = audit(include_str!("../../../datasets/t_idem_status_index/table.sql")).unwrap();
        assert!(indexed.iter().any(|finding| finding.what.contains("every claim changes")), "{indexed:?}");
    }

    #[test]
    fn to_days_is_said_to_read_the_first_partition_too() {
        check(
            "CREATE TABLE t (id int NOT NULL, d date NOT NULL, PRIMARY KEY (id, d))
             PARTITION BY RANGE (TO_DAYS(d)) (PARTITION p734074 VALUES LESS THAN (734075),
             PARTITION p734075 VALUES LESS THAN (734076))",
            &["a range of d over a month's end also reads the first partition p734074"],
        );
    }

    #[test]
    fn bounds_at_local_midnight_are_found() {
        // sipcapture/heplify-server issue 28: midnight at +03:00.
        let table = |bounds: [i64; 2]| {
            format!(
                "CREATE TABLE t (id int NOT NULL, t timestamp NOT NULL, PRIMARY KEY (id))
                 PARTITION BY RANGE (UNIX_TIMESTAMP(t)) (PARTITION p1 VALUES LESS THAN ({}),
                 PARTITION p2 VALUES LESS THAN ({}))",
                bounds[0], bounds[1]
            )
        };
        let what = |bounds| audit(&table(bounds)).unwrap().pop().unwrap().what;
        assert_eq!(
            what([1_522_789_200, 1_522_875_600]),
            "the bounds of t are not midnights in UTC (off by 75600 s)"
        );
        assert_eq!(
            what([1_522_789_200, 1_522_886_400]),
            "the bounds of p1 and p2 are midnights of different time zones"
        );
    }

    #[test]
    fn a_clean_up_without_an_index_is_a_full_scan() {
        // Eventuate's received_messages.
        check(
            "CREATE TABLE received_messages (
               consumer_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
               message_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
               creation_time BIGINT, published SMALLINT DEFAULT 0, PRIMARY KEY (consumer_id, message_id))",
            &["DELETE by creation_time is a full table scan", "the primary key may be 2040 bytes long"],
        );
    }

    #[test]
    fn a_case_insensitive_dedupe_key_is_found() {
        check(
            "CREATE TABLE t (k varchar(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL,
             PRIMARY KEY (k))",
            &["k is compared by utf8mb4_0900_ai_ci"],
        );
    }

    #[test]
    fn a_key_that_mysql_refuses_for_its_length_is_an_error() {
        let found = audit(
            "CREATE TABLE t (k varchar(1000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, PRIMARY KEY (k))",
        );
        assert_eq!(found.unwrap()[0].severity, Severity::Error);
    }

    #[test]
    fn more_columns_or_bytes_than_a_table_holds_are_errors() {
        let table = |columns: usize, kind: &str| {
            let columns: Vec<_> = (0..columns).map(|number| format!("c{number} {kind}")).collect();
            format!(
                "CREATE TABLE t ({}, PRIMARY KEY (c0)) CHARSET=ascii COLLATE=ascii_bin",
                columns.join(", ")
            )
        };
        check(&table(1_200, "INT NOT NULL"), &["!the table has 1200 columns"]);
        check(&table(1_017, "INT NOT NULL"), &[]);
        check(&table(256, "VARCHAR(255) NOT NULL"), &["!a row may be 65536 bytes long"]);
        check(&table(255, "VARCHAR(255) NOT NULL"), &[]);
    }

    #[test]
    fn brackets_however_deep_are_read() {
        let (open, close) = ("(".repeat(200_000), ")".repeat(200_000));
        check(&format!("CREATE TABLE t (a INT NOT NULL, CHECK {open}a > 0{close}, PRIMARY KEY (a))"), &[]);
    }
}
