//! The SQL text as tokens with places: versioned comments opened, all other comments left out.

use sqlparser::dialect::MySqlDialect;
use sqlparser::tokenizer::{Location, Token, Tokenizer};

use super::error::DdlError;

/// A text's tokens without white space, and a place among them.
pub(super) struct Source<'a> {
    /// The text, each `/*!50100` and its `*/` replaced by blanks of the same length.
    text: &'a str,
    tokens: Vec<(Token, Location)>,
    next: usize,
}

impl<'a> Source<'a> {
    /// Reads the tokens of a text that went through [`open_versioned_comments`].
    pub(super) fn new(text: &'a str) -> Result<Source<'a>, DdlError> {
        let tokens = Tokenizer::new(&MySqlDialect {}, text)
            .tokenize_with_location()
            .map_err(|error| DdlError::NotSql { line: error.location.line, reason: error.message })?;
        let tokens = tokens
            .into_iter()
            .filter(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF))
            .map(|token| (token.token, token.span.start))
            .collect();
        Ok(Source { text, tokens, next: 0 })
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.next + ahead).map(|(token, _)| token)
    }

    pub(super) fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.next).map(|(token, _)| token.clone());
        self.next += usize::from(token.is_some());
        token
    }

    /// The line of the next token, or of the last one at the end.
    pub(super) fn line(&self) -> u64 {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(1, |(_, place)| place.line)
    }

    /// The byte at which the next token starts.
    pub(super) fn offset(&self) -> usize {
        let Some((_, place)) = self.tokens.get(self.next) else { return self.text.len() };
        let line_start: usize =
            self.text.split_inclusive('\n').take(place.line as usize - 1).map(str::len).sum();
        let column = place.column as usize - 1;
        self.text[line_start..].char_indices().nth(column).map_or(self.text.len(), |(at, _)| line_start + at)
    }

    /// The text between two byte offsets.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        &self.text[from..to]
    }

    /// Takes an unquoted word if it is the next token (upper case in `word`).
    pub(super) fn word(&mut self, word: &str) -> bool {
        let found = is_word(self.peek(), word);
        self.next += usize::from(found);
        found
    }

    /// Takes several words in a row, or none of them.
    pub(super) fn words(&mut self, words: &[&str]) -> bool {
        let found = words.iter().enumerate().all(|(ahead, word)| is_word(self.peek_at(ahead), word));
        if found {
            self.next += words.len();
        }
        found
    }

    /// Takes a token if it is the next one.
    pub(super) fn token(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.next += usize::from(found);
        found
    }

    pub(super) fn expect_token(&mut self, token: &Token, expected: &'static str) -> Result<(), DdlError> {
        if self.token(token) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    pub(super) fn expect_word(&mut self, word: &'static str) -> Result<(), DdlError> {
        if self.word(word) { Ok(()) } else { Err(self.unexpected(word)) }
    }

    /// A name, quoted or not.
    pub(super) fn name(&mut self, expected: &'static str) -> Result<String, DdlError> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let name = word.value.clone();
                self.next += 1;
                Ok(name)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// A name, or a string in quotes, as MySQL takes for character sets.
    pub(super) fn name_or_string(&mut self, expected: &'static str) -> Result<String, DdlError> {
        match self.string() {
            Some(text) => Ok(text),
            None => self.name(expected),
        }
    }

    /// A string in single or double quotes.
    pub(super) fn string(&mut self) -> Option<String> {
        let text = match self.peek() {
            Some(Token::SingleQuotedString(text) | Token::DoubleQuotedString(text)) => text.clone(),
            _ => return None,
        };
        self.next += 1;
        Some(text)
    }

    /// A whole number, with a minus sign before it if there is one.
    pub(super) fn number(&mut self) -> Option<i64> {
        let minus = usize::from(self.peek() == Some(&Token::Minus));
        let Some(Token::Number(digits, _)) = self.peek_at(minus) else { return None };
        let number: i64 = format!("{}{digits}", if minus == 1 { "-" } else { "" }).parse().ok()?;
        self.next += minus + 1;
        Some(number)
    }

    /// Skips a group in brackets whose opening one is the next token.
    pub(super) fn skip_brackets(&mut self) -> Result<(), DdlError> {
        let mut depth = 0usize;
        while let Some(token) = self.take() {
            match token {
                Token::LParen => depth += 1,
                Token::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
        Err(self.unexpected("`)`"))
    }

    /// Goes back by so many tokens.
    pub(super) fn step_back(&mut self, tokens: usize) {
        self.next = self.next.saturating_sub(tokens);
    }

    /// The next two words, as a person would name the statement that starts here: `DROP TABLE`.
    pub(super) fn head(&self) -> String {
        let next = [self.peek(), self.peek_at(1)].into_iter().flatten();
        next.take_while(|token| **token != Token::SemiColon)
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Skips to behind the next `;`, or to the end.
    pub(super) fn skip_statement(&mut self) {
        while let Some(token) = self.take() {
            if token == Token::SemiColon {
                return;
            }
        }
    }

    /// The error for a next token that does not fit.
    pub(super) fn unexpected(&self, expected: &'static str) -> DdlError {
        let found =
            self.peek().map_or_else(|| "the end of the text".to_owned(), |token| format!("`{token}`"));
        DdlError::Unexpected { line: self.line(), expected, found }
    }
}

fn is_word(token: Option<&Token>, word: &str) -> bool {
    matches!(token, Some(Token::Word(found)) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

/// Replaces the frame of each versioned comment, `/*!50100 … */`, by blanks of the same length, so that
/// what it holds is read as MySQL 8.0 and later do and every place in the text stays where it was.
pub(super) fn open_versioned_comments(sql: &str) -> String {
    let mut text = sql.as_bytes().to_vec();
    let (mut at, mut opened) = (0, 0usize);
    while at < text.len() {
        let rest = &text[at..];
        if matches!(rest[0], b'\'' | b'"' | b'`') {
            at += quoted_length(rest);
        } else if rest[0] == b'#' || rest.starts_with(b"-- ") {
            at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        } else if rest.starts_with(b"/*!") {
            let digits = rest[3..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            text[at..at + 3 + digits].fill(b' ');
            at += 3 + digits;
            opened += 1;
        } else if rest.starts_with(b"/*") {
            at += rest.windows(2).skip(2).position(|pair| pair == b"*/").map_or(rest.len(), |end| end + 4);
        } else if opened > 0 && rest.starts_with(b"*/") {
            text[at..at + 2].fill(b' ');
            at += 2;
            opened -= 1;
        } else {
            at += 1;
        }
    }
    // Only ASCII bytes were replaced, by ASCII blanks: the text is still UTF-8.
    String::from_utf8(text).unwrap_or_else(|_| sql.to_owned())
}

/// The length of a quoted text, its quotes included; a quote in it is doubled or escaped.
fn quoted_length(text: &[u8]) -> usize {
    let quote = text[0];
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' if quote != b'`' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}
