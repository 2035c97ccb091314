//! What the server should say about rows that are made from a seed: counts and sums of CRC-32.
//!
//! The row checksum is the sum, over all rows, of the CRC-32 of the row's columns joined by `|`: it ties
//! the columns of a row together, so that two values swapped between rows are seen. Column checksums are
//! sums of single columns' CRC-32, to say where rows differ. Both sides render every type in the same way:
//! numbers in decimal, dates and instants as the server prints them in UTC with the column's fraction, ENUM
//! by label, CHAR without its trailing spaces, binary and latin1 text by their raw bytes; a NULL is empty
//! in the join and told apart from an empty text by a flag for each nullable column at the row's end.

use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row as _};

use super::text::{DateText, Form};
use crate::keys::{Cell, Row};
use crate::spec::ddl::quote_name;
use crate::spec::table::{Charset, Column, ColumnKind, Table};

/// What both sides agree to compute for one table.
#[derive(Debug, Clone)]
pub struct Checksum {
    table: String,
    /// `None` for generated columns, whose values are the server's.
    columns: Vec<Option<(Column, Form)>>,
}

/// Counts and checksums of some rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sums {
    /// Rows.
    pub rows: u64,
    /// Sum of the rows' CRC-32.
    pub row_sum: u64,
    /// For each loaded column the sum of its values' CRC-32 and how many are not NULL; empty unless asked for.
    pub columns: Vec<(u64, u64)>,
}

impl Checksum {
    /// For a table.
    pub fn new(table: &Table) -> Checksum {
        let columns = table
            .columns
            .iter()
            .map(|column| (!column.generated).then(|| (column.clone(), Form::of(column))))
            .collect();
        Checksum { table: table.name.clone(), columns }
    }

    /// The loaded columns' names, in the order of [`Sums::columns`].
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.loaded().map(|(column, _)| column.name.as_str())
    }

    fn loaded(&self) -> impl Iterator<Item = &(Column, Form)> {
        self.columns.iter().flatten()
    }

    /// The query for the whole table or one partition, with or without the columns' own sums.
    pub fn sql(&self, partition: Option<&str>, by_column: bool) -> String {
        let texts: Vec<_> = self.loaded().map(|(column, _)| text_of(column)).collect();
        let mut joined: Vec<_> = self
            .loaded()
            .zip(&texts)
            .map(|((column, _), text)| match column.nullable {
                true => format!("IFNULL({text},'')"),
                false => text.clone(),
            })
            .collect();
        let flags: Vec<_> = self
            .loaded()
            .filter(|(column, _)| column.nullable)
            .map(|(column, _)| format!("ISNULL({})", quote_name(&column.name)))
            .collect();
        if !flags.is_empty() {
            joined.push(format!("CONCAT({})", flags.join(",")));
        }
        let mut selected = vec!["COUNT(*)".to_owned(), sum(&format!("CONCAT_WS('|',{})", joined.join(",")))];
        if by_column {
            for ((column, _), text) in self.loaded().zip(&texts) {
                selected.push(sum(text));
                selected.push(format!("COUNT({})", quote_name(&column.name)));
            }
        }
        let partition =
            partition.map_or_else(String::new, |name| format!(" PARTITION ({})", quote_name(name)));
        format!("SELECT {} FROM {}{partition}", selected.join(", "), quote_name(&self.table))
    }

    /// Asks the server. The session's time zone must be `+00:00`, as sqlx sets it.
    pub async fn read(
        &self,
        connection: &mut MySqlConnection,
        partition: Option<&str>,
        by_column: bool,
    ) -> Result<Sums, sqlx::Error> {
        let row = connection.fetch_one(AssertSqlSafe(self.sql(partition, by_column))).await?;
        let count = |index: usize| row.try_get::<i64, _>(index).map(i64::unsigned_abs);
        let mut columns = Vec::new();
        if by_column {
            for index in 0..self.loaded().count() {
                columns.push((row.try_get(2 + 2 * index)?, count(3 + 2 * index)?));
            }
        }
        Ok(Sums { rows: count(0)?, row_sum: row.try_get(1)?, columns })
    }

    /// Sums up rows as they are made; see [`Summer`].
    pub fn summer(&self, by_column: bool) -> Summer {
        let columns = if by_column { vec![(0, 0); self.loaded().count()] } else { Vec::new() };
        Summer {
            columns: self.columns.clone(),
            sums: Sums { rows: 0, row_sum: 0, columns },
            text: Vec::new(),
            date: DateText::default(),
        }
    }
}

/// A column as text. latin1 would be converted to the other columns' character set when they are joined.
fn text_of(column: &Column) -> String {
    let name = quote_name(&column.name);
    match &column.kind {
        ColumnKind::Char(text) | ColumnKind::VarChar(text) if text.charset == Charset::Latin1 => {
            format!("CAST({name} AS BINARY)")
        }
        _ => name,
    }
}

fn sum(text: &str) -> String {
    // SUM is a DECIMAL: wide enough for any table, and its value fits 64 bits up to 4 billion rows.
    format!("CAST(COALESCE(SUM(CRC32({text})),0) AS UNSIGNED)")
}

/// The client's side of a [`Checksum`].
#[derive(Debug, Clone)]
pub struct Summer {
    columns: Vec<Option<(Column, Form)>>,
    sums: Sums,
    text: Vec<u8>,
    date: DateText,
}

impl Summer {
    /// Adds one row.
    #[inline]
    pub fn add(&mut self, row: &Row) {
        self.text.clear();
        let mut loaded = 0;
        let mut has_nullable = false;
        for (column, cell) in self.columns.iter().zip(row.cells()) {
            let Some((column, form)) = column else { continue };
            let start = self.text.len();
            form.write(*cell, row, &mut self.date, &mut self.text);
            if let Some((sum, values)) = self.sums.columns.get_mut(loaded)
                && *cell != Cell::Null
            {
                *sum += u64::from(crc32fast::hash(&self.text[start..]));
                *values += 1;
            }
            self.text.push(b'|');
            has_nullable |= column.nullable;
            loaded += 1;
        }
        if has_nullable {
            self.write_flags(row);
        } else {
            self.text.pop();
        }
        self.sums.row_sum += u64::from(crc32fast::hash(&self.text));
        self.sums.rows += 1;
    }

    fn write_flags(&mut self, row: &Row) {
        for (column, cell) in self.columns.iter().zip(row.cells()) {
            if matches!(column, Some((column, _)) if column.nullable) {
                self.text.push(if *cell == Cell::Null { b'1' } else { b'0' });
            }
        }
    }

    /// The sums of all rows added.
    pub fn finish(self) -> Sums {
        self.sums
    }
}
