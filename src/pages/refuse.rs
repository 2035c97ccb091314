//! What cannot be written as pages safely, each with the reason. The way out is always the same: the SQL
//! loader takes every table.

use super::format::RECORD_BYTES_LIMIT;
use super::plan::TablePlan;
use crate::spec::table::{ColumnKind, KeyPart, Table};

/// One thing that stands against writing a table's pages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No primary key.
    #[error(
        "table {table} has no primary key: its rows would need hidden row numbers that only the server can count (add a primary key, or use --method sql)"
    )]
    NoPrimaryKey {
        /// The table.
        table: String,
    },
    /// A generated column.
    #[error("column {column} is generated: only the server can compute its value (use --method sql)")]
    Generated {
        /// The column.
        column: String,
    },
    /// A key column whose collation does not compare bytes.
    #[error(
        "column {column} is part of {index} and sorts by {collation}: its order needs the server's weights (make it a _bin collation or binary, or use --method sql)"
    )]
    Collation {
        /// The column.
        column: String,
        /// The index.
        index: String,
        /// The collation.
        collation: String,
    },
    /// A prefix in the primary key.
    #[error(
        "the primary key holds only a prefix of {column}: such keys have not been tried (use --method sql)"
    )]
    PrimaryKeyPrefix {
        /// The column.
        column: String,
    },
    /// Records that would need pages of their own.
    #[error(
        "a record of {index} may take {bytes} bytes, more than the {RECORD_BYTES_LIMIT} that fit twice on a page: longer values go to pages of their own (use --method sql)"
    )]
    RecordTooLong {
        /// The index.
        index: String,
        /// The longest record.
        bytes: usize,
    },
    /// A table option that changes the format.
    #[error("the table is defined with {option}: its pages have another format (use --method sql)")]
    Option {
        /// The option as written.
        option: String,
    },
    /// An index kind that is no B-tree.
    #[error("the table has a {kind} index: only B-trees are written (use --method sql)")]
    IndexKind {
        /// FULLTEXT or SPATIAL.
        kind: String,
    },
}

/// Collations that compare bytes.
const BYTE_COLLATIONS: [&str; 5] = ["ascii_bin", "latin1_bin", "utf8mb4_bin", "utf8mb4_0900_bin", "binary"];

/// Table options under which pages look different: option and values, in the words of CREATE TABLE.
const OPTIONS: [(&str, &[&str]); 7] = [
    ("ROW_FORMAT", &["COMPRESSED", "COMPACT", "REDUNDANT", "FIXED"]),
    ("KEY_BLOCK_SIZE", &[""]),
    ("COMPRESSION", &["ZLIB", "LZ4"]),
    ("ENCRYPTION", &["Y"]),
    ("TABLESPACE", &[""]),
    ("ENGINE", &["MYISAM", "MEMORY", "ARCHIVE", "CSV", "BLACKHOLE", "NDB", "NDBCLUSTER"]),
    ("DATA", &["DIRECTORY"]),
];

/// Everything in a table's definition that stands against writing its pages.
pub fn refusals(table: &Table) -> Vec<Refusal> {
    let mut found = Vec::new();
    if table.primary_key.is_empty() {
        found.push(Refusal::NoPrimaryKey { table: table.name.clone() });
    }
    for column in &table.columns {
        if column.generated {
            found.push(Refusal::Generated { column: column.name.clone() });
        }
    }
    for part in table.primary_key.iter().filter(|part| part.prefix.is_some()) {
        found.push(Refusal::PrimaryKeyPrefix { column: table.columns[part.column].name.clone() });
    }
    found.extend(collations("PRIMARY", &table.primary_key, table));
    for index in &table.indexes {
        found.extend(collations(&index.name, &index.parts, table));
    }
    found.extend(options(&table.sql_without_partitions));
    found
}

fn collations<'a>(
    index: &'a str,
    parts: &'a [KeyPart],
    table: &'a Table,
) -> impl Iterator<Item = Refusal> + 'a {
    parts.iter().filter_map(move |part| {
        let column = &table.columns[part.column];
        match &column.kind {
            ColumnKind::Char(text) | ColumnKind::VarChar(text)
                if !BYTE_COLLATIONS.contains(&text.collation.as_str()) =>
            {
                Some(Refusal::Collation {
                    column: column.name.clone(),
                    index: index.to_owned(),
                    collation: text.collation.clone(),
                })
            }
            _ => None,
        }
    })
}

/// Options stand behind the closing parenthesis of the column list; comments and strings before it do
/// not count. The server judges the finished file's flags once more (see `donor`).
fn options(sql: &str) -> Vec<Refusal> {
    let tail = sql.rsplit_once(')').map_or("", |(_, tail)| tail).to_ascii_uppercase();
    let words: Vec<&str> = tail
        .split(|c: char| c.is_whitespace() || matches!(c, '=' | ',' | '\'' | '"' | '`' | ';'))
        .filter(|word| !word.is_empty())
        .collect();
    let mut found: Vec<Refusal> = words
        .windows(2)
        .filter(|pair| {
            OPTIONS
                .iter()
                .any(|(name, values)| pair[0] == *name && (values.contains(&"") || values.contains(&pair[1])))
        })
        .map(|pair| Refusal::Option { option: format!("{} {}", pair[0], pair[1]) })
        .collect();
    for kind in ["FULLTEXT", "SPATIAL"] {
        let definition = sql.to_ascii_uppercase();
        if definition.contains(&format!("{kind} KEY")) || definition.contains(&format!("{kind} INDEX")) {
            found.push(Refusal::IndexKind { kind: kind.to_owned() });
        }
    }
    found
}

/// Indexes whose records may grow out of their pages.
pub fn too_long(plan: &TablePlan) -> Vec<Refusal> {
    plan.indexes()
        .filter(|index| index.record_bytes_max >= RECORD_BYTES_LIMIT)
        .map(|index| Refusal::RecordTooLong { index: index.name.clone(), bytes: index.record_bytes_max })
        .collect()
}
