//! Rows as multi-row INSERTs, for servers that take no LOAD DATA LOCAL.

use super::literal::write_literal;
use super::text::Form;
use crate::keys::Row;
use crate::spec::ddl::quote_name;
use crate::spec::table::{Column, Table};

/// Placeholders that a prepared statement may have (the protocol counts them in 16 bits; error 1390).
pub const PLACEHOLDERS_MAX: usize = 65_535;

/// The most rows of a prepared multi-row statement: 65,535 placeholders shared by its columns.
pub fn rows_per_prepared_statement(columns: usize) -> usize {
    PLACEHOLDERS_MAX / columns.max(1)
}

/// Writes one INSERT after another, each as long as the server takes it.
#[derive(Debug, Clone)]
pub struct InsertText {
    head: Vec<u8>,
    columns: Vec<Option<(Column, Form)>>,
    bytes_max: usize,
    sql: Vec<u8>,
    rows: u64,
}

/// The longest statement that is sent: longer ones gain nothing and cost the server memory.
const STATEMENT_BYTES_MAX: usize = 1 << 20;

impl InsertText {
    /// For a server with that `max_allowed_packet`, into one partition (or the whole table).
    pub fn new(table: &Table, partition: Option<&str>, max_allowed_packet: usize) -> InsertText {
        let partition =
            partition.map_or_else(String::new, |name| format!(" PARTITION ({})", quote_name(name)));
        let names: Vec<_> = table.loaded_columns().map(|(_, column)| quote_name(&column.name)).collect();
        let head =
            format!("INSERT INTO {}{partition} ({}) VALUES ", quote_name(&table.name), names.join(","));
        let columns = table
            .columns
            .iter()
            .map(|column| (!column.generated).then(|| (column.clone(), Form::of(column))))
            .collect();
        // The packet's own header and the command byte come on top.
        let bytes_max = max_allowed_packet.saturating_sub(64).min(STATEMENT_BYTES_MAX);
        InsertText { head: head.into_bytes(), columns, bytes_max, sql: Vec::new(), rows: 0 }
    }

    /// Adds a row; gives the statement before it back when the row no longer fits.
    pub fn add(&mut self, row: &Row) -> Option<(String, u64)> {
        let before = self.sql.len();
        self.write_row(row);
        if self.sql.len() <= self.bytes_max || self.rows == 1 {
            return None;
        }
        let overflow = self.sql.split_off(before);
        self.rows -= 1;
        let full = self.take();
        self.sql.extend_from_slice(&self.head);
        self.sql.extend_from_slice(&overflow[1..]); // without the comma
        self.rows = 1;
        full
    }

    /// The last statement, if it has rows.
    pub fn take(&mut self) -> Option<(String, u64)> {
        let sql = std::mem::take(&mut self.sql);
        let rows = std::mem::take(&mut self.rows);
        // Literals are ASCII: other bytes are written in hex.
        (rows > 0).then(|| (String::from_utf8_lossy(&sql).into_owned(), rows))
    }

    fn write_row(&mut self, row: &Row) {
        if self.rows == 0 {
            self.sql.extend_from_slice(&self.head);
            self.sql.push(b'(');
        } else {
            self.sql.extend_from_slice(b",(");
        }
        for (column, cell) in self.columns.iter().zip(row.cells()) {
            let Some((column, form)) = column else { continue };
            write_literal(column, form, *cell, row, &mut self.sql);
            self.sql.push(b',');
        }
        self.sql.pop();
        self.sql.push(b')');
        self.rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::RowMaker;
    use crate::spec::dataset::Dataset;
    use crate::units::Rows;

    #[test]
    fn case_19_placeholders_are_clamped_to_what_the_protocol_counts() {
        assert_eq!(rows_per_prepared_statement(6), 10_922);
        assert_eq!(rows_per_prepared_statement(0), 65_535);
    }

    #[test]
    fn statements_stay_below_the_packet_and_lose_no_row() {
        let dataset =
            Dataset::read("t_idem").unwrap().scaled(Some(Rows(1_000)), Some(1), None, None).unwrap();
        let maker = RowMaker::new(&dataset).unwrap();
        let mut insert = InsertText::new(&dataset.table, Some("p20260107"), 4_096);
        let mut row = Row::default();
        let mut statements = Vec::new();
        for number in 0..1_000 {
            maker.fill(number, &mut row);
            statements.extend(insert.add(&row));
        }
        statements.extend(insert.take());
        assert_eq!(statements.iter().map(|(_, rows)| rows).sum::<u64>(), 1_000);
        for (sql, rows) in &statements {
            assert!(sql.len() <= 4_032);
            assert!(sql.starts_with("INSERT INTO `t_idem` PARTITION (`p20260107`) (`biz_key`,"));
            assert_eq!(sql.matches("DATE'2026-01-07'").count() as u64, *rows);
            assert!(sql.ends_with(')') && !sql.contains("VALUES ,"));
        }
    }
}
