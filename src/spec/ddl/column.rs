//! One column's definition: its type and its attributes.

use sqlparser::tokenizer::Token;

use super::error::DdlError;
use super::source::Source;
use crate::spec::table::{Charset, Column, ColumnKind, Text};

/// A column as read, before the table's default character set is known.
pub(super) struct ReadColumn {
    pub(super) line: u64,
    pub(super) name: String,
    kind: ReadKind,
    nullable: Option<bool>,
    generated: bool,
    default: Option<String>,
    charset: Option<String>,
    collation: Option<String>,
    /// `PRIMARY KEY` written behind the column.
    pub(super) primary: bool,
    /// `UNIQUE` written behind the column.
    pub(super) unique: bool,
}

/// A kind whose text columns still lack their character set.
enum ReadKind {
    Done(ColumnKind),
    Char(u16),
    VarChar(u16),
}

/// The table's or the column's character set and collation, as written.
#[derive(Default, Clone)]
pub(super) struct WrittenCharset {
    pub(super) charset: Option<String>,
    pub(super) collation: Option<String>,
}

pub(super) fn read_column(source: &mut Source<'_>) -> Result<ReadColumn, DdlError> {
    let line = source.line();
    let name = source.name("a column's name")?;
    let kind = read_kind(source, &name)?;
    let mut column = ReadColumn {
        line,
        name,
        kind,
        nullable: None,
        generated: false,
        default: None,
        charset: None,
        collation: None,
        primary: false,
        unique: false,
    };
    while !matches!(source.peek(), None | Some(Token::Comma | Token::RParen)) {
        read_attribute(source, &mut column)?;
    }
    Ok(column)
}

fn read_attribute(source: &mut Source<'_>, column: &mut ReadColumn) -> Result<(), DdlError> {
    if source.words(&["NOT", "NULL"]) {
        column.nullable = Some(false);
    } else if source.word("NULL") {
        column.nullable = Some(true);
    } else if source.word("DEFAULT") {
        column.default = Some(read_default(source)?);
    } else if source.words(&["GENERATED", "ALWAYS", "AS"]) || source.word("AS") {
        column.generated = true;
        source.skip_brackets()?;
    } else if source.words(&["CHARACTER", "SET"]) || source.word("CHARSET") {
        column.charset = Some(source.name_or_string("a character set")?);
    } else if source.word("COLLATE") {
        column.collation = Some(source.name_or_string("a collation")?);
    } else if source.words(&["PRIMARY", "KEY"]) || source.word("KEY") {
        column.primary = true;
    } else if source.words(&["UNIQUE", "KEY"]) || source.word("UNIQUE") {
        column.unique = true;
    } else if source.words(&["ON", "UPDATE"]) {
        read_default(source)?;
    } else if source.word("REFERENCES") {
        let what = format!("the foreign key of {}", column.name);
        return Err(DdlError::Unsupported { line: source.line(), what, reason: super::NO_FOREIGN_KEYS });
    } else if source.peek() == Some(&Token::LParen) {
        source.skip_brackets()?; // CHECK (…), SRID and the like: the server's business.
    } else {
        source.take(); // AUTO_INCREMENT, COMMENT '…', INVISIBLE, STORED: nothing that a loader needs.
    }
    Ok(())
}

/// A literal, a call such as `CURRENT_TIMESTAMP(3)`, or an expression in brackets; as written.
fn read_default<'a>(source: &mut Source<'a>) -> Result<String, DdlError> {
    let start = source.offset();
    if source.peek() == Some(&Token::LParen) {
        source.skip_brackets()?;
    } else {
        source.token(&Token::Minus);
        let introducer = matches!(source.peek(), Some(Token::Word(word)) if word.value.starts_with('_'));
        source.take();
        if introducer {
            source.string(); // _utf8mb4'x'
        }
        if source.peek() == Some(&Token::LParen) {
            source.skip_brackets()?;
        }
    }
    Ok(source.slice(start, source.offset()).trim_end().trim_end_matches(',').trim_end().to_owned())
}

fn read_kind(source: &mut Source<'_>, column: &str) -> Result<ReadKind, DdlError> {
    let line = source.line();
    let written = source.name("a column type")?.to_ascii_uppercase();
    let refuse = |reason| DdlError::UnsupportedColumn {
        line,
        column: column.to_owned(),
        kind: written.clone(),
        reason,
    };
    let kind = match written.as_str() {
        "TINYINT" => integer(source, 1)?,
        "BOOL" | "BOOLEAN" => ColumnKind::Integer { bytes: 1, unsigned: false },
        "SMALLINT" => integer(source, 2)?,
        "MEDIUMINT" => integer(source, 3)?,
        "INT" | "INTEGER" => integer(source, 4)?,
        "BIGINT" => integer(source, 8)?,
        "DATE" => ColumnKind::Date,
        "DATETIME" => ColumnKind::DateTime { fraction: fraction(source)? },
        "TIMESTAMP" => ColumnKind::Timestamp { fraction: fraction(source)? },
        "CHAR" | "CHARACTER" if source.word("VARYING") => return Ok(ReadKind::VarChar(length(source)?)),
        "CHAR" | "CHARACTER" => return Ok(ReadKind::Char(length_or_one(source)?)),
        "VARCHAR" => return Ok(ReadKind::VarChar(length(source)?)),
        "BINARY" => ColumnKind::Binary(length_or_one(source)?),
        "VARBINARY" => ColumnKind::VarBinary(length(source)?),
        "ENUM" => ColumnKind::Enum(labels(source)?),
        "DECIMAL" | "NUMERIC" | "DEC" | "FIXED" => decimal(source)?,
        "TEXT" | "TINYTEXT" | "MEDIUMTEXT" | "LONGTEXT" | "BLOB" | "TINYBLOB" | "MEDIUMBLOB" | "LONGBLOB"
        | "JSON" | "GEOMETRY" | "VECTOR" => {
            return Err(refuse(
                "such values may lie outside the row's page, and no figure of this program holds for them; \
                 use VARCHAR or VARBINARY, or leave the column out",
            ));
        }
        "FLOAT" | "DOUBLE" | "REAL" => {
            return Err(refuse(
                "floating point values do not survive their way as text exactly, so a checksum could not \
                 tell a lost bit; use DECIMAL or BIGINT",
            ));
        }
        _ => {
            return Err(refuse(
                "use integers, DATE, DATETIME, TIMESTAMP, CHAR, VARCHAR, BINARY, VARBINARY, ENUM or DECIMAL",
            ));
        }
    };
    Ok(ReadKind::Done(kind))
}

fn integer(source: &mut Source<'_>, bytes: u8) -> Result<ColumnKind, DdlError> {
    if source.peek() == Some(&Token::LParen) {
        source.skip_brackets()?; // The display width: no effect on the values.
    }
    let mut unsigned = false;
    loop {
        if source.word("UNSIGNED") || source.word("ZEROFILL") {
            unsigned = true;
        } else if !source.word("SIGNED") {
            return Ok(ColumnKind::Integer { bytes, unsigned });
        }
    }
}

/// Numbers in brackets, `(10, 2)`; nothing when there are no brackets.
fn numbers(source: &mut Source<'_>) -> Result<Vec<i64>, DdlError> {
    let mut numbers = Vec::new();
    if !source.token(&Token::LParen) {
        return Ok(numbers);
    }
    loop {
        numbers.push(source.number().ok_or_else(|| source.unexpected("a number"))?);
        if source.token(&Token::RParen) {
            return Ok(numbers);
        }
        source.expect_token(&Token::Comma, "`,` or `)`")?;
    }
}

fn length_or_one(source: &mut Source<'_>) -> Result<u16, DdlError> {
    if source.peek() == Some(&Token::LParen) { length(source) } else { Ok(1) }
}

fn length(source: &mut Source<'_>) -> Result<u16, DdlError> {
    match numbers(source)?.as_slice() {
        [length] => u16::try_from(*length).map_err(|_| source.unexpected("a length of 0 to 65535")),
        _ => Err(source.unexpected("a length such as (32)")),
    }
}

fn fraction(source: &mut Source<'_>) -> Result<u8, DdlError> {
    match numbers(source)?.as_slice() {
        [] => Ok(0),
        [digits @ 0..=6] => Ok(*digits as u8),
        _ => Err(source.unexpected("0 to 6 fractional digits")),
    }
}

fn decimal(source: &mut Source<'_>) -> Result<ColumnKind, DdlError> {
    let (precision, scale) = match numbers(source)?.as_slice() {
        [] => (10, 0),
        [precision] => (*precision, 0),
        [precision, scale] => (*precision, *scale),
        _ => return Err(source.unexpected("a precision and a scale")),
    };
    source.word("UNSIGNED");
    if !(1..=65).contains(&precision) || !(0..=30).contains(&scale) || scale > precision {
        return Err(source.unexpected("a precision of 1 to 65 and a scale of 0 to 30, not above it"));
    }
    Ok(ColumnKind::Decimal { precision: precision as u8, scale: scale as u8 })
}

fn labels(source: &mut Source<'_>) -> Result<Vec<String>, DdlError> {
    source.expect_token(&Token::LParen, "`(` before the labels")?;
    let mut labels = Vec::new();
    loop {
        labels.push(source.string().ok_or_else(|| source.unexpected("a label in quotes"))?);
        if source.token(&Token::RParen) {
            return Ok(labels);
        }
        source.expect_token(&Token::Comma, "`,` or `)`")?;
    }
}

impl ReadColumn {
    /// The column, once the table's defaults are known and it is known whether a primary key holds it.
    pub(super) fn finish(self, table: &WrittenCharset, in_primary_key: bool) -> Result<Column, DdlError> {
        let kind = match self.kind {
            ReadKind::Done(kind) => kind,
            ReadKind::Char(characters) => ColumnKind::Char(self.text(characters, table)?),
            ReadKind::VarChar(characters) => ColumnKind::VarChar(self.text(characters, table)?),
        };
        Ok(Column {
            name: self.name,
            kind,
            nullable: !in_primary_key && self.nullable.unwrap_or(true),
            generated: self.generated,
            default: self.default,
        })
    }

    fn text(&self, characters: u16, table: &WrittenCharset) -> Result<Text, DdlError> {
        let own = WrittenCharset { charset: self.charset.clone(), collation: self.collation.clone() };
        let written = if own.charset.is_some() || own.collation.is_some() { &own } else { table };
        let collation = written.collation.as_ref().map(|name| name.to_ascii_lowercase());
        let charset = match (&written.charset, &collation) {
            (Some(charset), _) => charset.to_ascii_lowercase(),
            (None, Some(collation)) => collation.split('_').next().unwrap_or_default().to_owned(),
            (None, None) => "utf8mb4".to_owned(),
        };
        let (charset, default_collation) = match charset.as_str() {
            "ascii" => (Charset::Ascii, "ascii_general_ci"),
            "latin1" => (Charset::Latin1, "latin1_swedish_ci"),
            "utf8mb4" => (Charset::Utf8mb4, "utf8mb4_0900_ai_ci"),
            _ => {
                return Err(DdlError::UnsupportedColumn {
                    line: self.line,
                    column: self.name.clone(),
                    kind: format!("text in {charset}"),
                    reason: "use ascii, latin1 or utf8mb4",
                });
            }
        };
        let collation = collation.unwrap_or_else(|| default_collation.to_owned());
        Ok(Text { characters, charset, collation })
    }
}
