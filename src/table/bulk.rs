//! Rows as the text that LOAD DATA reads, and the statement that reads it.
//!
//! Columns whose value is the same for all rows of a day are not sent with every row: the statement sets
//! them once (`SET event_day = DATE'2026-01-01'`). The server then neither receives nor parses them, which
//! is where a bulk load spends much of its time.

use super::literal::write_literal;
use super::text::{DateText, Form};
use crate::keys::{Cell, Row, RowMaker};
use crate::spec::ddl::quote_name;
use crate::spec::table::{Column, Table};

/// A table's way into LOAD DATA text.
#[derive(Debug, Clone)]
pub struct BulkText {
    table: String,
    columns: Vec<BulkColumn>,
    date: DateText,
}

#[derive(Debug, Clone)]
struct BulkColumn {
    column: Column,
    form: Form,
    way: Way,
}

/// How a column's values get to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// In every row's text, as it is.
    Text,
    /// In every row's text, with escapes.
    Escaped,
    /// Once in the statement.
    Set,
    /// Not at all: the server computes it.
    Generated,
}

impl BulkText {
    /// For files that hold every column of every row, as a dump does.
    pub fn whole_rows(table: &Table, maker: &RowMaker) -> BulkText {
        BulkText::with_ways(table, maker, |_| false)
    }

    /// For the rows that the maker makes of the table.
    pub fn new(table: &Table, maker: &RowMaker) -> BulkText {
        BulkText::with_ways(table, maker, |index| maker.is_constant_within_a_day(index))
    }

    fn with_ways(table: &Table, maker: &RowMaker, is_set: impl Fn(usize) -> bool) -> BulkText {
        let mut columns: Vec<BulkColumn> = table
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| BulkColumn {
                column: column.clone(),
                form: escaped_labels(Form::of(column)),
                way: match column {
                    column if column.generated => Way::Generated,
                    _ if is_set(index) => Way::Set,
                    _ => Way::Text,
                },
            })
            .collect();
        // LOAD DATA wants at least one column in its rows.
        if !columns.iter().any(|column| column.way == Way::Text)
            && let Some(first) = columns.iter_mut().find(|column| column.way == Way::Set)
        {
            first.way = Way::Text;
        }
        for (index, column) in columns.iter_mut().enumerate() {
            if column.way == Way::Text && !maker.is_plain_text(index) {
                column.way = Way::Escaped;
            }
        }
        BulkText { table: table.name.clone(), columns, date: DateText::default() }
    }

    /// The statement for rows of one day, any of which is given, into one partition (or the whole table).
    pub fn load_data_sql(&self, partition: Option<&str>, row: &Row) -> String {
        let partition =
            partition.map_or_else(String::new, |name| format!(" PARTITION ({})", quote_name(name)));
        let names = |way: fn(Way) -> bool| {
            self.columns.iter().zip(row.cells()).filter(move |(column, _)| way(column.way))
        };
        let sent: Vec<_> = names(|way| matches!(way, Way::Text | Way::Escaped))
            .map(|(column, _)| quote_name(&column.column.name))
            .collect();
        let set: Vec<_> = names(|way| way == Way::Set)
            .map(|(column, cell)| {
                let mut literal = Vec::new();
                write_literal(&column.column, &column.form, *cell, row, &mut literal);
                format!("{}={}", quote_name(&column.column.name), String::from_utf8_lossy(&literal))
            })
            .collect();
        let set = if set.is_empty() { String::new() } else { format!(" SET {}", set.join(", ")) };
        // The file name only has to be there: the text comes from the client's own stream.
        format!(
            "LOAD DATA LOCAL INFILE 'idembench' INTO TABLE {}{partition} CHARACTER SET binary \
             FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({}){set}",
            quote_name(&self.table),
            sent.join(",")
        )
    }

    /// Appends one row's line.
    #[inline]
    pub fn write(&mut self, row: &Row, out: &mut Vec<u8>) {
        let start = out.len();
        for (column, cell) in self.columns.iter().zip(row.cells()) {
            match column.way {
                Way::Text => {
                    if *cell == Cell::Null {
                        out.extend_from_slice(b"\\N");
                    } else {
                        column.form.write(*cell, row, &mut self.date, out);
                    }
                }
                Way::Escaped => match *cell {
                    Cell::Null => out.extend_from_slice(b"\\N"),
                    Cell::Bytes { .. } => write_escaped(row.bytes_of(*cell), out),
                    cell => column.form.write(cell, row, &mut self.date, out),
                },
                Way::Set | Way::Generated => continue,
            }
            out.push(b'\t');
        }
        // The last field ends with the line, not with a tab.
        if out.len() > start {
            out.pop();
        }
        out.push(b'\n');
    }
}

/// ENUM labels are escaped once, not in every row.
fn escaped_labels(form: Form) -> Form {
    let Form::Enum(labels) = form else { return form };
    let escaped = |label: &Vec<u8>| {
        let mut out = Vec::new();
        write_escaped(label, &mut out);
        out
    };
    Form::Enum(labels.iter().map(escaped).collect())
}

/// What LOAD DATA would take for something else: its terminators, its escape, and NUL.
fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(*byte),
        }
    }
}
