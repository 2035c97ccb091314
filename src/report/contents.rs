//! The report's order: result, what to keep in mind, figures, costs, statements, details. Pure.

use crate::results::Run;
use crate::units::one_line;

use super::document::{Block, Document, Span};
use super::plot::{Plot, Subject};
use super::{decision, details, headline, step_table};

/// The report of a run with its figures.
pub fn document(run: &Run, plots: &[Plot]) -> Document {
    let figures = |subject: Subject| -> Vec<usize> {
        (0..plots.len()).filter(|figure| plots[*figure].subject == subject).collect()
    };
    let mut blocks = Vec::new();
    if !run.steps.is_empty() {
        blocks.push(Block::Table(step_table::steps(run)));
        blocks.push(Block::Paragraph(legend()));
    }
    let warnings = details::warnings(run);
    if !warnings.is_empty() {
        section(&mut blocks, "What to keep in mind", vec![Block::List(warnings)]);
    }
    let named = |name: &str| -> Vec<usize> {
        figures(Subject::Run).into_iter().filter(|figure| plots[*figure].name == name).collect()
    };
    let (of_costs, of_holds) = (named("costs"), named("holds"));
    let of_steps = figures(Subject::Run).into_iter();
    let of_steps = of_steps.filter(|figure| !of_costs.contains(figure) && !of_holds.contains(figure));
    let mut decided = decision::decision(run);
    decided.extend(of_holds.iter().copied().map(Block::Figure));
    section(&mut blocks, "One transaction or two", decided);
    section(&mut blocks, "Latency", of_steps.map(Block::Figure).collect());
    let mut costs: Vec<Block> = step_table::costs(run).map(Block::Table).into_iter().collect();
    costs.extend(of_costs.into_iter().map(Block::Figure));
    section(&mut blocks, "Costs of one operation", costs);
    section(&mut blocks, "Statements and their plans", details::statements(run));
    let steps =
        (0..run.steps.len()).map(|position| details::step(run, position, &figures(Subject::Step(position))));
    section(&mut blocks, "Steps in full", steps.collect());
    section(&mut blocks, "Surroundings", details::surroundings(run));
    section(&mut blocks, "How to do it again", reproduce(run));
    Document {
        subject: headline::subject(run),
        result: headline::result(run),
        notices: headline::notices(run),
        blocks,
    }
}

fn section(blocks: &mut Vec<Block>, heading: &str, content: Vec<Block>) {
    if !content.is_empty() {
        blocks.push(Block::Heading(2, heading.to_owned()));
        blocks.extend(content);
    }
}

fn legend() -> Vec<Span> {
    Span::line(
        "response = intended start to reply; service = sent to reply; wait = intended start to sent. \
         In brackets: fewer than 10 samples lie beyond it. ≥: a lower bound. \
         lost: claims that found their row taken; dup.: second deliveries, which must lose; \
         errors: every other answer, by code below.",
    )
}

/// Commands that load the same rows and run the same suite.
fn reproduce(run: &Run) -> Vec<Block> {
    let dataset = quoted(&run.dataset.name);
    let mut commands = Vec::new();
    if run.tool.git_revision != "unknown" {
        commands.push(format!("git checkout {}", quoted(&run.tool.git_revision)));
    }
    commands.push(format!(
        "idembench load {dataset} --rows {} --days {} --seed {} --fill {}",
        run.dataset.rows,
        run.dataset.days,
        run.dataset.seed,
        quoted(&run.dataset.fill)
    ));
    commands.push(format!("idembench run {} --dataset {dataset}", quoted(&run.suite)));
    let place = match run.server.kind.as_str() {
        "attached" => "The server was attached: name it with --server. ",
        "contained" => "The server was contained: add --server docker. ",
        _ => "",
    };
    let note = vec![
        Span::Plain(format!("{place}Equal rows have the fingerprint ")),
        Span::Code(run.dataset.fingerprint.clone()),
        Span::Plain(". The whole run with its histograms is ".to_owned()),
        Span::Code("run.json".to_owned()),
        Span::Plain(" beside this file.".to_owned()),
    ];
    vec![Block::Code("sh", commands.join("\n")), Block::Paragraph(note)]
}

/// A word for a shell, in quotes where it needs them.
fn quoted(word: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "_-./:=".contains(c);
    if !word.is_empty() && word.chars().all(harmless) {
        return word.to_owned();
    }
    format!("'{}'", one_line(word).replace('\'', r"'\''"))
}
