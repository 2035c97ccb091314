//! The PARTITION BY clause, read and written.

use std::fmt::Write;

use sqlparser::tokenizer::Token;

use super::error::DdlError;
use super::source::Source;
use crate::spec::calendar::{
    DAY_MICROS, DAY_SECONDS, date_text, from_to_days, parse_date, parse_instant, to_days,
};
use crate::spec::table::{Bound, Column, ColumnKind, Partition, PartitionMethod, Partitioning, Table};

const ONLY_RANGE: &str = "partition by RANGE over a day: RANGE COLUMNS(event_day), RANGE (TO_DAYS(c)), \
                          RANGE (UNIX_TIMESTAMP(c)) or RANGE over an integer";

/// Reads what follows `PARTITION BY`.
pub(super) fn read_partitioning(
    source: &mut Source<'_>,
    columns: &[Column],
) -> Result<Partitioning, DdlError> {
    let line = source.line();
    if !source.word("RANGE") {
        let what = match source.peek() {
            Some(token) => format!("PARTITION BY {token}"),
            None => return Err(source.unexpected("RANGE")),
        };
        return Err(DdlError::Unsupported { line, what, reason: ONLY_RANGE });
    }
    let by_columns = source.word("COLUMNS");
    let (function, name) = read_expression(source)?;
    let column =
        columns.iter().position(|column| column.name.eq_ignore_ascii_case(&name)).ok_or_else(|| {
            DdlError::UnknownColumn { line, column: name.clone(), place: "the partitioning".to_owned() }
        })?;
    let method = method(by_columns, function.as_deref(), &columns[column].kind)
        .map_err(|(what, reason)| DdlError::Unsupported { line, what, reason })?;
    if source.words(&["SUBPARTITION", "BY"]) {
        return Err(DdlError::Unsupported { line, what: "SUBPARTITION BY".to_owned(), reason: ONLY_RANGE });
    }
    if source.word("PARTITIONS") {
        source.number();
    }
    let partitions = read_partitions(source, method)?;
    Ok(Partitioning { method, column, partitions })
}

/// `(c)` or `(FUNCTION(c))`: the function in upper case, and the column.
fn read_expression(source: &mut Source<'_>) -> Result<(Option<String>, String), DdlError> {
    source.expect_token(&Token::LParen, "`(`")?;
    let line = source.line();
    let word = source.name("a column")?;
    let read = if source.token(&Token::LParen) {
        let column = source.name("a column")?;
        source.expect_token(&Token::RParen, "`)`")?;
        (Some(word.to_ascii_uppercase()), column)
    } else {
        (None, word)
    };
    if !source.token(&Token::RParen) {
        let what = "partitioning by more than one column or by an expression".to_owned();
        return Err(DdlError::Unsupported { line, what, reason: ONLY_RANGE });
    }
    Ok(read)
}

fn method(
    by_columns: bool,
    function: Option<&str>,
    kind: &ColumnKind,
) -> Result<PartitionMethod, (String, &'static str)> {
    match (by_columns, function, kind) {
        (true, None, ColumnKind::Date | ColumnKind::DateTime { .. }) => Ok(PartitionMethod::RangeColumns),
        (_, None, ColumnKind::Integer { .. }) => Ok(PartitionMethod::Integer),
        (false, Some("TO_DAYS"), ColumnKind::Date | ColumnKind::DateTime { .. }) => {
            Ok(PartitionMethod::ToDays)
        }
        (false, Some("UNIX_TIMESTAMP"), ColumnKind::Timestamp { fraction: 0 }) => {
            Ok(PartitionMethod::UnixTimestamp)
        }
        (false, Some("UNIX_TIMESTAMP"), ColumnKind::Timestamp { .. }) => Err((
            "UNIX_TIMESTAMP over a TIMESTAMP with fractions (MySQL: 1491, its value is no integer)"
                .to_owned(),
            "use TIMESTAMP without fractions, or better a DATE column that carries the day",
        )),
        (true, None, ColumnKind::Timestamp { .. }) => Err((
            "RANGE COLUMNS over a TIMESTAMP (MySQL: 1659)".to_owned(),
            "use RANGE (UNIX_TIMESTAMP(c)), or better a DATE column that carries the day",
        )),
        (false, Some("TO_DAYS"), ColumnKind::Timestamp { .. }) => Err((
            "TO_DAYS over a TIMESTAMP (MySQL: 1486, its value depends on the time zone)".to_owned(),
            "use RANGE (UNIX_TIMESTAMP(c)), or better a DATE column that carries the day",
        )),
        (_, Some(function), _) => Err((format!("RANGE by {function}() over such a column"), ONLY_RANGE)),
        (_, None, _) => Err(("RANGE over such a column".to_owned(), ONLY_RANGE)),
    }
}

fn read_partitions(source: &mut Source<'_>, method: PartitionMethod) -> Result<Vec<Partition>, DdlError> {
    let mut partitions = Vec::new();
    if !source.token(&Token::LParen) {
        return Ok(partitions);
    }
    loop {
        source.expect_word("PARTITION")?;
        let name = source.name("a partition's name")?;
        if !source.words(&["VALUES", "LESS", "THAN"]) {
            return Err(source.unexpected("VALUES LESS THAN"));
        }
        let less_than = if source.word("MAXVALUE") { Bound::MaxValue } else { read_bound(source, method)? };
        partitions.push(Partition { name, less_than });
        while !matches!(source.peek(), None | Some(Token::Comma | Token::RParen)) {
            source.take(); // ENGINE = InnoDB, COMMENT = '…'
        }
        if source.token(&Token::RParen) {
            return Ok(partitions);
        }
        source.expect_token(&Token::Comma, "`,` or `)`")?;
    }
}

fn read_bound(source: &mut Source<'_>, method: PartitionMethod) -> Result<Bound, DdlError> {
    source.expect_token(&Token::LParen, "`(` before the bound")?;
    let bound = if source.word("MAXVALUE") {
        Some(Bound::MaxValue)
    } else if source.word("TO_DAYS") || source.word("UNIX_TIMESTAMP") {
        source.expect_token(&Token::LParen, "`(`")?;
        let bound = source.string().and_then(|text| dated_bound(&text, method));
        source.expect_token(&Token::RParen, "`)`")?;
        bound
    } else {
        source.word("DATE"); // DATE'2026-01-02'
        source.word("TIMESTAMP");
        match source.string() {
            Some(text) if method == PartitionMethod::RangeColumns => dated_bound(&text, method),
            Some(_) => None,
            None => source.number().and_then(|number| numeric_bound(number, method)),
        }
    };
    let bound = bound.ok_or_else(|| {
        source.unexpected("a bound that fits the partitioning, such as ('2026-01-02'); days end at midnight")
    })?;
    source.expect_token(&Token::RParen, "`)` behind the bound")?;
    Ok(bound)
}

fn dated_bound(text: &str, method: PartitionMethod) -> Option<Bound> {
    let micros = parse_instant(text)?;
    match method {
        PartitionMethod::UnixTimestamp => Some(Bound::Integer(micros.div_euclid(1_000_000))),
        // A bound within a day would cut it in two: refused.
        _ if micros.rem_euclid(DAY_MICROS) != 0 => None,
        _ => parse_date(&text.trim()[..10]).map(Bound::Day),
    }
}

fn numeric_bound(number: i64, method: PartitionMethod) -> Option<Bound> {
    match method {
        PartitionMethod::ToDays => from_to_days(number).map(Bound::Day),
        PartitionMethod::UnixTimestamp | PartitionMethod::Integer => Some(Bound::Integer(number)),
        PartitionMethod::RangeColumns => None,
    }
}

impl Table {
    /// The CREATE TABLE statement with its partitions, fit for any MySQL from 8.0.
    pub fn create_sql(&self) -> String {
        let mut sql = self.sql_without_partitions.clone();
        if let Some(partitioning) = &self.partitioning {
            self.write_partitioning(partitioning, &mut sql);
        }
        sql
    }

    fn write_partitioning(&self, partitioning: &Partitioning, sql: &mut String) {
        let column = quote_name(&self.columns[partitioning.column].name);
        let by = match partitioning.method {
            PartitionMethod::RangeColumns => format!("RANGE COLUMNS({column})"),
            PartitionMethod::ToDays => format!("RANGE (TO_DAYS({column}))"),
            PartitionMethod::UnixTimestamp => format!("RANGE (UNIX_TIMESTAMP({column}))"),
            PartitionMethod::Integer => format!("RANGE ({column})"),
        };
        // Writing into a String cannot fail.
        let _ = write!(sql, "\nPARTITION BY {by}\n(");
        for (position, partition) in partitioning.partitions.iter().enumerate() {
            let separator = if position == 0 { "" } else { ",\n " };
            let bound = bound_sql(partition.less_than, partitioning.method);
            let name = quote_name(&partition.name);
            let _ = write!(sql, "{separator}PARTITION {name} VALUES LESS THAN {bound}");
        }
        sql.push(')');
    }
}

/// The bound as SQL, brackets included.
pub fn bound_sql(bound: Bound, method: PartitionMethod) -> String {
    match (bound, method) {
        (Bound::MaxValue, PartitionMethod::RangeColumns) => "(MAXVALUE)".to_owned(),
        (Bound::MaxValue, _) => "MAXVALUE".to_owned(),
        (Bound::Day(day), PartitionMethod::RangeColumns) => format!("('{}')", date_text(day)),
        (Bound::Day(day), PartitionMethod::UnixTimestamp) => format!("({})", i64::from(day) * DAY_SECONDS),
        (Bound::Day(day), _) => format!("({})", to_days(day)),
        (Bound::Integer(number), _) => format!("({number})"),
    }
}

/// A name in backticks, for SQL.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
