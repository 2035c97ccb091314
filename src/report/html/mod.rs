//! The report as one page: no network, no script, light and dark, from a telephone's width upwards. The only
//! door to `maud`, which escapes whatever came from the run.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::results::Run;
use crate::units::is_unprintable;

use super::document::{Block, Cell, Document, Folded, Notice, Span, Table, Tone};
use super::facts;
use super::plot::{self, Plot};

const STYLE: &str = include_str!("style.css");

/// Nothing may be fetched, whatever the page says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page.
pub fn render(run: &Run, document: &Document, plots: &[Plot]) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="color-scheme" content="light dark";
                title { (clean(&run.run_id)) " – idembench" }
                style { (PreEscaped(style())) }
            }
            body {
                a .skip href="#content" { "Skip to the result" }
                header {
                    p .run { "idembench · " span { (clean(&run.run_id)) } " · " (clean(&facts::started(run))) }
                    h1 { (clean(&document.result)) }
                    p .subject { (clean(&document.subject)) }
                    @if !document.notices.is_empty() { (notices(&document.notices)) }
                }
                (contents(document))
                main #content { @for block in &document.blocks { (self::block(block, plots)) } }
            }
        }
    };
    page.into_string()
}

fn style() -> String {
    format!(
        ":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n{STYLE}",
        plot::page_colors(false),
        plot::page_colors(true)
    )
}

fn notices(notices: &[Notice]) -> Markup {
    html! {
        ul .notices aria-label="What must not be missed" {
            @for notice in notices {
                li .(class(notice.tone)) {
                    strong { @if notice.tone == Tone::Bad { "Problem" } @else { "Careful" } }
                    " " (clean(&notice.text))
                }
            }
        }
    }
}

fn contents(document: &Document) -> Markup {
    let headings = document.blocks.iter().filter_map(|block| match block {
        Block::Heading(2, words) => Some(words),
        _ => None,
    });
    html! {
        nav aria-label="Contents" {
            @for words in headings { a href={ "#" (anchor(words)) } { (words) } }
        }
    }
}

fn block(block: &Block, plots: &[Plot]) -> Markup {
    match block {
        Block::Heading(2, words) => html! { h2 #(anchor(words)) { (words) } },
        Block::Heading(_, words) => html! { h3 { (words) } },
        Block::Paragraph(spans) => html! { p { (line(spans)) } },
        Block::List(items) => html! { ul { @for item in items { li { (line(item)) } } } },
        Block::Table(of) => table(of),
        Block::Code(_, code) => html! { pre tabindex="0" { code { (clean(code)) } } },
        Block::Figure(position) => figure(&plots[*position]),
        Block::Folded(details) => folded(details, plots),
    }
}

fn line(spans: &[Span]) -> Markup {
    html! {
        @for span in spans {
            @match span {
                Span::Plain(words) => (clean(words)),
                Span::Strong(words) => strong { (clean(words)) },
                Span::Code(words) => code { (clean(words)) },
            }
        }
    }
}

fn folded(details: &Folded, plots: &[Plot]) -> Markup {
    html! {
        details open[details.open] {
            summary { (clean(&details.summary)) }
            div { @for block in &details.blocks { (self::block(block, plots)) } }
        }
    }
}

/// Both widths stand in the page; the style shows one.
fn figure(plot: &Plot) -> Markup {
    html! {
        figure {
            div .wide { (PreEscaped(&plot.svg_page)) }
            div .narrow { (PreEscaped(&plot.svg_page_narrow)) }
        }
    }
}

/// A wide table scrolls in its own box, which takes the focus so that keys can scroll it.
fn table(table: &Table) -> Markup {
    html! {
        div .scroll role="region" aria-label=(table.caption) tabindex="0" {
            table {
                caption { (table.caption) }
                thead { tr { @for column in &table.columns {
                    th scope="col" .number[column.numeric] { (clean(&column.name)) }
                } } }
                tbody { @for row in &table.rows { tr {
                    @for (cell, column) in row.iter().zip(&table.columns) { (self::cell(cell, column.numeric)) }
                } } }
            }
        }
    }
}

fn cell(cell: &Cell, numeric: bool) -> Markup {
    html! {
        td .number[numeric] {
            @if let Some(step) = cell.step { span .step style={ "background:" (plot::step_color(step)) } { (cell.text) } }
            @else if cell.code { code { (clean(&cell.text)) } }
            @else if cell.tone == Tone::Plain { (clean(&cell.text)) }
            @else { span .(class(cell.tone)) { (clean(&cell.text)) } }
        }
    }
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Bad => "bad",
        Tone::Careful => "careful",
        Tone::Good => "good",
        Tone::Plain => "plain",
    }
}

/// The text with what is no text made visible: HTML forbids most control characters, escaped or not.
fn clean(text: &str) -> String {
    let visible = |c: char| if is_unprintable(c) && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(visible).collect()
}

/// Headings are ours, so their words make anchors.
fn anchor(words: &str) -> String {
    words.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}
