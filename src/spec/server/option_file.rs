//! The `[client]` group of an option file, as MySQL's own clients read it: `name=value` lines, comments
//! after `#` or `;`, values in quotes where they hold such characters, `-` and `_` alike in names.
//!
//! Groups other than `[client]` and options that say nothing about where to connect are passed over, for
//! the same file may serve `mysql` and `mysqldump`.

use std::path::{Path, PathBuf};

use super::Secret;

/// What an option file says about the connection.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ClientOptions {
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) socket: Option<PathBuf>,
}

/// Why an option file could not be used. No text here holds a value.
#[derive(Debug, thiserror::Error)]
pub enum OptionFileError {
    /// The file could not be read.
    #[error("read the option file {path}: {source} — $IDEMBENCH_OPTION_FILE names it")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is wrong.
    #[error("read the option file {path}, line {line}: {reason}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        reason: &'static str,
    },
}

/// Reads an option file.
pub(super) fn read(path: &Path) -> Result<ClientOptions, OptionFileError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| OptionFileError::Read { path: path.to_owned(), source })?;
    parse(&text).map_err(|(line, reason)| OptionFileError::Line { path: path.to_owned(), line, reason })
}

/// Reads an option file's text; an error is its line, counted from 1, and what is wrong there.
fn parse(text: &str) -> Result<ClientOptions, (usize, &'static str)> {
    let mut options = ClientOptions::default();
    let mut in_client = false;
    for (index, line) in text.lines().enumerate() {
        let wrong = |reason| (index + 1, reason);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('!') {
            return Err(wrong("`!include` is not followed here — name the file that holds [client] itself"));
        }
        if let Some(group) = line.strip_prefix('[') {
            let group = group.split(']').next().unwrap_or_default();
            in_client = group.trim() == "client";
        } else if in_client {
            set(&mut options, line).map_err(wrong)?;
        }
    }
    Ok(options)
}

fn set(options: &mut ClientOptions, line: &str) -> Result<(), &'static str> {
    let (name, value) = line.split_once('=').unwrap_or((line, ""));
    let text = unquoted(value.trim());
    match name.trim().replace('_', "-").as_str() {
        "user" => options.user = Some(text),
        "password" => options.password = Some(Secret::new(text)),
        "host" => options.host = Some(text),
        "port" => options.port = Some(text.parse().map_err(|_| "the port is not a number up to 65535")?),
        "socket" => options.socket = Some(PathBuf::from(text)),
        _ => {}
    }
    Ok(())
}

/// A value without its quotes, its comment and its backslash escapes.
fn unquoted(value: &str) -> String {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let inner = match quote {
        Some(quote) => value[1..].split_once(quote).map_or(&value[1..], |(inner, _)| inner),
        // Only `#` begins a comment within a line.
        None => value.split_once('#').map_or(value, |(inner, _)| inner.trim_end()),
    };
    let mut text = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match characters.next() {
            Some('b') => text.push('\u{8}'),
            Some('t') => text.push('\t'),
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('s') => text.push(' '),
            Some('\\') | None => text.push('\\'),
            Some(other) => text.extend(['\\', other]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_client_group_counts() {
        let options =
            parse("[mysqld]\nuser=mysql\nport=1\n[client]\nuser=me # comment\n\n[mysql]\nuser=other\n");
        assert_eq!(options.expect("options").user.as_deref(), Some("me"));
    }

    #[test]
    fn values_lose_their_quotes_and_escapes() {
        for (written, value) in [
            ("plain", "plain"),
            ("\"with # inside\" # outside", "with # inside"),
            ("'single'", "single"),
            ("a\\sb\\\\c", "a b\\c"),
            ("ends\\", "ends\\"),
            ("\"open", "open"),
            ("", ""),
        ] {
            assert_eq!(unquoted(written), value, "{written}");
        }
    }

    #[test]
    fn a_wrong_line_is_named_by_its_number() {
        assert_eq!(parse("[client]\nport=many").expect_err("a port").0, 2);
        assert_eq!(parse("!includedir /etc/mysql").expect_err("an include").0, 1);
    }
}
