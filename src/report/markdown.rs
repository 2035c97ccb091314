//! The report as GitHub-flavoured Markdown. Everything that came from the run is escaped. Pure.

use crate::units::{is_unprintable, one_line};

use super::document::{Block, Cell, Document, Folded, Notice, Span, Table, Tone};
use super::plot::Plot;

/// The document, figures linked by name as SVG files beside it.
pub fn render(document: &Document, plots: &[Plot]) -> String {
    let mut text = format!("# {}: {}\n\n", escaped(&document.subject), escaped(&document.result));
    if !document.notices.is_empty() {
        for notice in &document.notices {
            text.push_str(&format!("- {}\n", notice_line(notice)));
        }
        text.push('\n');
    }
    blocks(&mut text, &document.blocks, plots);
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn notice_line(notice: &Notice) -> String {
    let mark = if notice.tone == Tone::Bad { "❌" } else { "⚠️" };
    format!("{mark} {}", escaped(&notice.text))
}

fn blocks(text: &mut String, blocks: &[Block], plots: &[Plot]) {
    for block in blocks {
        match block {
            Block::Heading(level, words) => {
                text.push_str(&format!("{} {}\n\n", "#".repeat((*level).into()), escaped(words)));
            }
            Block::Paragraph(spans) => text.push_str(&format!("{}\n\n", at_start(line(spans)))),
            Block::List(items) => {
                for item in items {
                    text.push_str(&format!("- {}\n", at_start(line(item))));
                }
                text.push('\n');
            }
            Block::Table(of) => text.push_str(&format!("{}\n", table(of))),
            Block::Code(language, code) => text.push_str(&format!("{}\n\n", fenced(language, code))),
            Block::Figure(position) => {
                // The name is ours: letters, digits and dashes.
                let plot = &plots[*position];
                text.push_str(&format!("![{}]({}.svg)\n\n", escaped(&plot.alt), plot.name));
            }
            Block::Folded(details) => folded(text, details, plots),
        }
    }
}

fn folded(text: &mut String, details: &Folded, plots: &[Plot]) {
    let open = if details.open { " open" } else { "" };
    // Inside the tag GitHub reads HTML, so that is what the summary is escaped for.
    let summary = html_escaped(&details.summary);
    text.push_str(&format!("<details{open}><summary>{summary}</summary>\n\n"));
    blocks(text, &details.blocks, plots);
    text.push_str("</details>\n\n");
}

fn line(spans: &[Span]) -> String {
    let span = |span: &Span| match span {
        Span::Plain(words) => escaped(words),
        // A space inside the marks would keep them from being marks.
        Span::Strong(words) => {
            let bare = words.trim_end();
            format!("**{}**{}", escaped(bare), &words[bare.len()..])
        }
        Span::Code(words) => code(words),
    };
    spans.iter().map(span).collect()
}

/// A table, numbers on the right.
pub fn table(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = row(table.columns.iter().map(|column| escaped(&column.name)).collect());
    let rules: Vec<&str> = table.columns.iter().map(|c| if c.numeric { "---:" } else { "---" }).collect();
    text.push_str(&format!("|{}|\n", rules.join("|")));
    for cells in &table.rows {
        text.push_str(&row(cells.iter().map(cell).collect()));
    }
    text
}

fn cell(cell: &Cell) -> String {
    if cell.code {
        // Inside code a pipe still ends the cell unless it is escaped.
        return code(&cell.text).replace('|', "\\|");
    }
    let text = escaped(&cell.text);
    match cell.tone {
        Tone::Bad | Tone::Careful if !text.is_empty() => format!("**{text}**"),
        _ => text,
    }
}

/// Words on one line that mean nothing to Markdown or HTML.
pub fn escaped(text: &str) -> String {
    let text: Vec<char> = one_line(text).chars().collect();
    let mut escaped = String::with_capacity(text.len());
    for (position, &c) in text.iter().enumerate() {
        let within_word = |at: Option<usize>| {
            at.and_then(|at| text.get(at)).is_some_and(|neighbour| neighbour.is_alphanumeric())
        };
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // An underscore between letters emphasises nothing: `t_idem` stays readable.
            '_' if within_word(position.checked_sub(1)) && within_word(Some(position + 1)) => {
                escaped.push('_')
            }
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => escaped.extend(['\\', c]),
            c => escaped.push(c),
        }
    }
    escaped
}

/// An escaped line at the start of a block, where `#`, `-`, `+`, `=` and `1.` mean something too.
fn at_start(line: String) -> String {
    let digits = line.chars().take_while(char::is_ascii_digit).count();
    // Digits are one byte long, so `digits` is a place between characters.
    let (head, rest) = line.split_at(digits);
    let special = if digits > 0 {
        rest.starts_with(". ") || rest.starts_with(") ")
    } else {
        rest.starts_with(['#', '-', '+', '='])
    };
    if special { format!("{head}\\{rest}") } else { line }
}

fn html_escaped(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The longest row of backticks in a text.
fn backticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

fn code(text: &str) -> String {
    let text = one_line(text).trim().to_owned();
    if text.is_empty() {
        return String::new();
    }
    let marks = "`".repeat(backticks(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{marks}{pad}{text}{pad}{marks}")
}

fn fenced(language: &str, code: &str) -> String {
    let fence = "`".repeat(backticks(code).max(2) + 1);
    let code: String = code.chars().filter(|c| !is_unprintable(*c) || matches!(c, '\n' | '\t')).collect();
    format!("{fence}{language}\n{}\n{fence}", code.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lose_their_meaning_to_markdown() {
        for (text, expect) in [
            ("claim, full key", "claim, full key"),
            ("t_idem", "t_idem"),
            ("_x_", "\\_x\\_"),
            ("a | b", "a \\| b"),
            ("<script>", "&lt;script&gt;"),
            ("a\n# b", "a # b"),
            ("0.31 ms", "0.31 ms"),
            ("[a](b)", "\\[a\\](b)"),
            ("&amp;", "&amp;amp;"),
        ] {
            assert_eq!(escaped(text), expect);
        }
    }

    #[test]
    fn a_line_starts_no_other_block() {
        for (line, expect) in [
            ("# b", "\\# b"),
            ("1. x", "1\\. x"),
            ("- x", "\\- x"),
            ("0.31 ms", "0.31 ms"),
            ("12 partitions", "12 partitions"),
            ("", ""),
        ] {
            assert_eq!(at_start(line.to_owned()), expect);
        }
    }

    #[test]
    fn code_outlasts_the_backticks_in_it() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("`a`"), "`` `a` ``");
        assert_eq!(fenced("sql", "a ``` b"), "````sql\na ``` b\n````");
    }
}
