//! Tables over all steps: what each reached, and what one operation cost. Pure.

use crate::results::{Run, StepResult};
use crate::units::grouped;

use super::document::{Cell, Column, Table, Tone};
use super::shown::{self, Of};
use super::{costs, facts};

/// Outcomes that have a column of their own, or are no answers of the server: these stand in the first lines.
const NOT_ERRORS: [&str; 5] = ["ok", "lost", "duplicate", "unfinished", "unsent"];

/// One row a step: rates, latencies, outcomes, verdict.
pub fn steps(run: &Run) -> Table {
    let columns = [
        ("#", true),
        ("step", false),
        // Early, so that no narrow window hides it.
        ("verdict", false),
        ("intended", true),
        ("reached", true),
        ("response p50", true),
        ("p99", true),
        ("p99.9", true),
        ("max", true),
        ("service p99", true),
        ("wait p99", true),
        ("lost", true),
        ("dup.", true),
        ("errors", true),
    ];
    Table {
        caption: "Steps: rates, latencies, outcomes and verdicts".to_owned(),
        columns: columns.map(|(name, numeric)| Column { name: name.to_owned(), numeric }).into(),
        rows: run.steps.iter().enumerate().map(|(position, step)| row(position, step)).collect(),
    }
}

fn row(position: usize, step: &StepResult) -> Vec<Cell> {
    let latency = |what: &str, of: Of| Cell::plain(shown::latency(step, what, of));
    let errors = errors(step);
    let error_tone = if errors > 0 { Tone::Bad } else { Tone::Plain };
    vec![
        Cell::step(position),
        Cell::plain(step.name.clone()),
        verdict(step),
        Cell::plain(facts::load(step)),
        Cell::toned(facts::per_second(step.throughput_per_s), reached_tone(step)),
        latency("response", Of::P50),
        latency("response", Of::P99),
        latency("response", Of::P999),
        latency("response", Of::Max),
        latency("service", Of::P99),
        latency("wait", Of::P99),
        Cell::plain(grouped(outcome(step, "lost"))),
        Cell::plain(grouped(outcome(step, "duplicate"))),
        Cell::toned(grouped(errors), error_tone),
    ]
}

fn reached_tone(step: &StepResult) -> Tone {
    if step.overload.is_some() || step.failure.is_some() { Tone::Bad } else { Tone::Plain }
}

fn outcome(step: &StepResult, name: &str) -> u64 {
    step.outcomes.get(name).copied().unwrap_or(0)
}

/// Operations that the server answered with an error.
pub fn errors(step: &StepResult) -> u64 {
    let errors = step.outcomes.iter().filter(|(name, _)| !NOT_ERRORS.contains(&name.as_str()));
    errors.map(|(_, count)| count).sum()
}

/// The verdict in words, `not_steady` as `not steady`. A failure, a broken check or an unsteady warm-up shows
/// even if the verdict does not know of it.
pub fn verdict(step: &StepResult) -> Cell {
    if step.failure.is_some() {
        return Cell::toned("failed", Tone::Bad);
    }
    let text = step.verdict.replace('_', " ");
    if step.checks.iter().any(|check| !check.held) {
        return Cell::toned(format!("{text}, check failed"), Tone::Bad);
    }
    match step.verdict.as_str() {
        "steady" if step.warm_up.steady => Cell::toned(text, Tone::Good),
        "steady" => Cell::toned("not steady", Tone::Careful),
        "overloaded" | "failed" => Cell::toned(text, Tone::Bad),
        _ => Cell::toned(text, Tone::Careful),
    }
}

/// What one operation cost, one row a step; none if nothing was derived.
pub fn costs(run: &Run) -> Option<Table> {
    let costs = costs::costs(run);
    if costs.is_empty() {
        return None;
    }
    let mut columns = vec![Column::number("#"), Column::text("step"), Column::number("intended")];
    columns.extend(costs.iter().map(|cost| Column::number(cost.name.clone())));
    let rows = run.steps.iter().enumerate().map(|(position, step)| {
        let mut row =
            vec![Cell::step(position), Cell::plain(step.name.clone()), Cell::plain(facts::load(step))];
        row.extend(costs.iter().map(|cost| {
            Cell::plain(cost.values[position].map_or("n/a".to_owned(), |value| cost.unit.text(value)))
        }));
        row
    });
    Some(Table { caption: "Costs of one operation by step".to_owned(), columns, rows: rows.collect() })
}
