//! The CREATE TABLE statement: columns, keys and table options.

use sqlparser::tokenizer::Token;

use super::column::{ReadColumn, WrittenCharset, read_column};
use super::error::DdlError;
use super::partition::read_partitioning;
use super::source::Source;
use crate::spec::table::{Index, KeyPart, Table};

/// A key as read: its parts still by name.
struct ReadKey {
    line: u64,
    name: Option<String>,
    kind: KeyKind,
    parts: Vec<(String, Option<u16>, bool)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Primary,
    Unique,
    Plain,
}

/// Reads one statement whose `CREATE TABLE` starts at the next token, to its end or its `;`.
pub(super) fn read_table(source: &mut Source<'_>) -> Result<Table, DdlError> {
    let start = source.offset();
    source.expect_word("CREATE")?;
    source.expect_word("TABLE")?;
    source.words(&["IF", "NOT", "EXISTS"]);
    let name = source.name("the table's name")?;
    if source.peek() == Some(&Token::Period) {
        let reason = "write the table's name alone: it is made in the schema that the server is opened with";
        return Err(DdlError::Unsupported {
            line: source.line(),
            what: format!("the schema {name}"),
            reason,
        });
    }
    source.expect_token(&Token::LParen, "`(` before the columns (LIKE and SELECT are not read)")?;
    let (columns, mut keys) = read_elements(source)?;
    let charset = read_options(source)?;
    let sql_without_partitions = source.slice(start, source.offset()).trim_end().to_owned();
    keys.extend(columns.iter().filter_map(key_behind_column));
    let primary = keys.iter().find(|key| key.kind == KeyKind::Primary);
    let in_primary = |name: &str| {
        primary.is_some_and(|key| key.parts.iter().any(|(part, ..)| part.eq_ignore_ascii_case(name)))
    };
    let columns = columns
        .into_iter()
        .map(|column| {
            let in_primary = in_primary(&column.name);
            column.finish(&charset, in_primary)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let partitioning = match source.words(&["PARTITION", "BY"]) {
        true => Some(read_partitioning(source, &columns)?),
        false => None,
    };
    if !matches!(source.peek(), None | Some(Token::SemiColon)) {
        return Err(source.unexpected("`;` or the end of the statement"));
    }
    let mut table = Table {
        name,
        columns,
        primary_key: Vec::new(),
        indexes: Vec::new(),
        partitioning,
        sql_without_partitions,
    };
    for key in keys {
        add_key(&mut table, key)?;
    }
    Ok(table)
}

fn read_elements(source: &mut Source<'_>) -> Result<(Vec<ReadColumn>, Vec<ReadKey>), DdlError> {
    let (mut columns, mut keys) = (Vec::new(), Vec::new());
    loop {
        let quoted = matches!(source.peek(), Some(Token::Word(word)) if word.quote_style.is_some());
        match if quoted { None } else { read_key(source)? } {
            Some(Element::Key(key)) => keys.push(key),
            Some(Element::Nothing) => {}
            None => columns.push(read_column(source)?),
        }
        if source.token(&Token::RParen) {
            return Ok((columns, keys));
        }
        source.expect_token(&Token::Comma, "`,` or `)`")?;
    }
}

enum Element {
    Key(ReadKey),
    /// A CHECK: the server's business.
    Nothing,
}

/// A key or a constraint, if the next element is one.
fn read_key(source: &mut Source<'_>) -> Result<Option<Element>, DdlError> {
    let line = source.line();
    if source.word("CONSTRAINT") && !is_constraint(source) {
        source.name("a constraint's name")?;
    }
    let kind = if source.words(&["PRIMARY", "KEY"]) {
        KeyKind::Primary
    } else if source.word("UNIQUE") {
        let _ = source.word("KEY") || source.word("INDEX");
        KeyKind::Unique
    } else if source.word("KEY") || source.word("INDEX") {
        KeyKind::Plain
    } else if source.word("CHECK") {
        source.skip_brackets()?;
        let _ = source.words(&["NOT", "ENFORCED"]) || source.word("ENFORCED");
        return Ok(Some(Element::Nothing));
    } else if source.word("FOREIGN") {
        let what = "a foreign key".to_owned();
        return Err(DdlError::Unsupported { line, what, reason: super::NO_FOREIGN_KEYS });
    } else if source.word("FULLTEXT") || source.word("SPATIAL") {
        let what = "a FULLTEXT or SPATIAL index".to_owned();
        return Err(DdlError::Unsupported { line, what, reason: "leave it out" });
    } else {
        return Ok(None);
    };
    let has_name =
        matches!(source.peek(), Some(Token::Word(word)) if !word.value.eq_ignore_ascii_case("USING"));
    let name = if has_name { Some(source.name("a key's name")?) } else { None };
    skip_using(source);
    let parts = read_parts(source)?;
    while !matches!(source.peek(), None | Some(Token::Comma | Token::RParen)) {
        source.take(); // USING BTREE, COMMENT '…', INVISIBLE
    }
    Ok(Some(Element::Key(ReadKey { line, name, kind, parts })))
}

fn is_constraint(source: &Source<'_>) -> bool {
    matches!(source.peek(), Some(Token::Word(word)) if word.quote_style.is_none()
        && ["PRIMARY", "UNIQUE", "CHECK", "FOREIGN"].iter().any(|name| word.value.eq_ignore_ascii_case(name)))
}

fn skip_using(source: &mut Source<'_>) {
    if source.word("USING") {
        source.take();
    }
}

fn read_parts(source: &mut Source<'_>) -> Result<Vec<(String, Option<u16>, bool)>, DdlError> {
    source.expect_token(&Token::LParen, "`(` before the key's columns")?;
    let mut parts = Vec::new();
    loop {
        if source.peek() == Some(&Token::LParen) {
            let what = "a key over an expression".to_owned();
            let reason = "use a generated column and a key over it";
            return Err(DdlError::Unsupported { line: source.line(), what, reason });
        }
        let column = source.name("a key's column")?;
        let mut prefix = None;
        if source.token(&Token::LParen) {
            let characters = source.number().and_then(|number| u16::try_from(number).ok());
            prefix = Some(characters.ok_or_else(|| source.unexpected("a prefix length"))?);
            source.expect_token(&Token::RParen, "`)`")?;
        }
        let descending = source.word("DESC");
        source.word("ASC");
        parts.push((column, prefix, descending));
        if source.token(&Token::RParen) {
            return Ok(parts);
        }
        source.expect_token(&Token::Comma, "`,` or `)`")?;
    }
}

/// Reads the table options, to PARTITION BY or the end.
fn read_options(source: &mut Source<'_>) -> Result<WrittenCharset, DdlError> {
    let mut written = WrittenCharset::default();
    loop {
        let line = source.line();
        let at_partitions = matches!(source.peek(), Some(Token::Word(word))
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("PARTITION"));
        if at_partitions || matches!(source.peek(), None | Some(Token::SemiColon)) {
            return Ok(written);
        } else if source.words(&["CHARACTER", "SET"]) || source.word("CHARSET") {
            source.token(&Token::Eq);
            written.charset = Some(source.name_or_string("a character set")?);
        } else if source.word("COLLATE") {
            source.token(&Token::Eq);
            written.collation = Some(source.name_or_string("a collation")?);
        } else if source.word("ENGINE") {
            source.token(&Token::Eq);
            let engine = source.name_or_string("an engine")?;
            if !engine.eq_ignore_ascii_case("InnoDB") {
                let what = format!("ENGINE={engine}");
                return Err(DdlError::Unsupported { line, what, reason: "use ENGINE=InnoDB" });
            }
        } else if ["CREATE", "DROP", "INSERT", "ALTER", "SELECT", "AS", "SET"]
            .iter()
            .any(|next| source.word(next))
        {
            source.step_back(1);
            return Err(source.unexpected("a table option, or `;` before the next statement"));
        } else {
            source.take(); // ROW_FORMAT, COMMENT, AUTO_INCREMENT and the like.
        }
    }
}

fn key_behind_column(column: &ReadColumn) -> Option<ReadKey> {
    let kind = match (column.primary, column.unique) {
        (true, _) => KeyKind::Primary,
        (false, true) => KeyKind::Unique,
        (false, false) => return None,
    };
    let parts = vec![(column.name.clone(), None, false)];
    Some(ReadKey { line: column.line, name: None, kind, parts })
}

fn add_key(table: &mut Table, key: ReadKey) -> Result<(), DdlError> {
    let mut parts = Vec::with_capacity(key.parts.len());
    for (name, prefix, descending) in &key.parts {
        let column = table.column_index(name).ok_or_else(|| DdlError::UnknownColumn {
            line: key.line,
            column: name.clone(),
            place: "a key".to_owned(),
        })?;
        parts.push(KeyPart { column, prefix: *prefix, descending: *descending });
    }
    if key.kind == KeyKind::Primary {
        table.primary_key = parts;
    } else {
        // MySQL names a key after its first column.
        let name = key.name.unwrap_or_else(|| key.parts[0].0.clone());
        table.indexes.push(Index { name, unique: key.kind == KeyKind::Unique, parts });
    }
    Ok(())
}
