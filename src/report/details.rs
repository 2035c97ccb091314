//! What stands folded: each step in full, statements, settings, machine, dataset. Pure.

use std::collections::BTreeMap;

use crate::results::{Run, Statement, StepResult};
use crate::units::{Bytes, Micros, grouped, three_digits};

use super::document::{Block, Cell, Column, Folded, Span, Table, Tone};
use super::facts::{self, counted};
use super::shown::{self, Of};
use super::step_table;

/// Every statement once, with its plan and the steps that send it.
pub fn statements(run: &Run) -> Vec<Block> {
    let mut senders: Vec<(&Statement, Vec<usize>)> = Vec::new();
    for (position, step) in run.steps.iter().enumerate() {
        for statement in &step.statements {
            match senders.iter_mut().find(|(known, _)| *known == statement) {
                Some((_, steps)) => steps.push(position + 1),
                None => senders.push((statement, vec![position + 1])),
            }
        }
    }
    senders.into_iter().flat_map(|(statement, steps)| of_statement(statement, &steps)).collect()
}

fn of_statement(statement: &Statement, steps: &[usize]) -> Vec<Block> {
    let numbers: Vec<String> = steps.iter().map(usize::to_string).collect();
    let plural = if steps.len() == 1 { "step" } else { "steps" };
    let mut line = vec![
        Span::Strong(statement.name.clone()),
        Span::Plain(format!(" ({plural} {}): ", numbers.join(", "))),
    ];
    let mut plan = Vec::new();
    plan.push(match statement.partitions.as_slice() {
        [] => "no partitions".to_owned(),
        [one] => format!("1 partition probed ({one})"),
        many => format!("{} partitions probed ({})", many.len(), many.join(", ")),
    });
    plan.push(format!("access {}", statement.access.as_deref().unwrap_or("n/a")));
    plan.push(format!("key {}", statement.key.as_deref().unwrap_or("none")));
    plan.extend(statement.rows.map(|rows| counted(rows, "row") + " by the optimizer's estimate"));
    line.push(Span::Plain(plan.join(", ")));
    let mut blocks = vec![Block::Paragraph(line), Block::Code("sql", statement.sql.clone())];
    if let Some(advice) = &statement.advice {
        blocks.push(Block::Paragraph(vec![Span::Strong("Advice: ".to_owned()), Span::Plain(advice.clone())]));
    }
    blocks
}

/// A step in full; in sight at once if something is wrong with it.
pub fn step(run: &Run, position: usize, figures: &[usize]) -> Block {
    let step = &run.steps[position];
    let verdict = step_table::verdict(step);
    let what = shown::judged(step);
    let summary = format!(
        "Step {}: {} — {}, {what} p99 {}",
        position + 1,
        facts::step(step),
        verdict.text,
        shown::latency(step, what, Of::P99)
    );
    let mut blocks = vec![Block::List(facts_of_step(step))];
    blocks.extend(figures.iter().copied().map(Block::Figure));
    blocks.push(Block::Table(latencies(step)));
    blocks.push(Block::Table(outcomes(step)));
    if !step.errors.is_empty() {
        blocks.push(Block::Table(errors(step)));
    }
    if !step.checks.is_empty() {
        blocks.push(Block::List(step.checks.iter().map(check_line).collect()));
    }
    Block::Folded(Folded { summary, open: verdict.tone == Tone::Bad, blocks })
}

fn facts_of_step(step: &StepResult) -> Vec<Vec<Span>> {
    let steady = if step.warm_up.steady { "until steady" } else { "ended by its limit, not steady" };
    let mut lines = vec![
        Span::line(format!(
            "driven: {}, measured for {}",
            facts::driven(step),
            facts::seconds(step.measured_s)
        )),
        Span::line(format!(
            "cut off: {} of warm-up ({}), {steady}",
            facts::seconds(step.warm_up.seconds),
            counted(step.warm_up.operations, "operation")
        )),
    ];
    if !step.parameters.is_empty() {
        let parameters = step.parameters.iter().map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name} {text}"),
            None => format!("{name} {value}"),
        });
        let parameters: Vec<String> = parameters.collect();
        lines.push(Span::line(format!("{}: {}", step.workload, parameters.join(", "))));
    }
    lines.extend(facts::pool(step).map(|pool| Span::line(format!("pool: {pool}"))));
    lines
}

fn latencies(step: &StepResult) -> Table {
    const SHOWN: [Of; 5] = [Of::P50, Of::P90, Of::P99, Of::P999, Of::Max];
    let mut columns = vec![
        Column::text("latency"),
        Column::number("samples"),
        Column::number("min"),
        Column::number("mean"),
    ];
    columns.extend(SHOWN.map(|of| Column::number(of.name())));
    columns.push(Column::number("above range"));
    // The order of the glossary, then whatever else was timed.
    const ORDER: [&str; 9] =
        ["response", "service", "wait", "hold", "commit", "hold_tx1", "commit_tx1", "hold_tx2", "commit_tx2"];
    let order = |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
    let mut timed: Vec<_> = step.latency_us.iter().collect();
    timed.sort_by_key(|(name, _)| order(name));
    let rows = timed.into_iter().map(|(name, summary)| {
        let mut row = vec![
            Cell::plain(name.clone()),
            Cell::plain(grouped(summary.count)),
            Cell::plain(facts::latency(summary.min)),
            Cell::plain(Micros(summary.mean.round() as u64).to_string()),
        ];
        row.extend(SHOWN.map(|of| Cell::plain(shown::latency(step, name, of))));
        row.push(Cell::plain(grouped(summary.overflow)));
        row
    });
    Table { caption: "Latencies of the step".to_owned(), columns, rows: rows.collect() }
}

fn outcomes(step: &StepResult) -> Table {
    let rows = step
        .outcomes
        .iter()
        .map(|(name, count)| vec![Cell::plain(name.replace('_', " ")), Cell::plain(grouped(*count))]);
    Table {
        caption: "Outcomes of the step".to_owned(),
        columns: vec![Column::text("outcome"), Column::number("operations")],
        rows: rows.collect(),
    }
}

fn errors(step: &StepResult) -> Table {
    let rows = step.errors.iter().map(|error| {
        let code = if error.code == 0 { "connection".to_owned() } else { error.code.to_string() };
        vec![Cell::plain(code), Cell::plain(grouped(error.count)), Cell::plain(error.message.clone())]
    });
    Table {
        caption: "Errors of the step by code".to_owned(),
        columns: vec![
            Column::number("error"),
            Column::number("times"),
            Column::text("first message, in the server's words"),
        ],
        rows: rows.collect(),
    }
}

fn check_line(check: &crate::results::Check) -> Vec<Span> {
    let verdict = if check.held { "check held: " } else { "CHECK FAILED: " };
    vec![Span::Strong(verdict.to_owned()), Span::Plain(format!("{} — {}", check.name, check.detail))]
}

/// Server, machine, dataset and tool, each behind a line.
pub fn surroundings(run: &Run) -> Vec<Block> {
    let folded = |summary: String, blocks| Block::Folded(Folded { summary, open: false, blocks });
    let server =
        format!("Server: {} {}, {}", facts::server(run), run.server.version_comment, run.server.kind);
    vec![
        folded(server, vec![Block::Table(settings(run))]),
        folded(
            format!("Machine: {}", facts::machine(run)),
            vec![Block::Table(pairs("Machine", machine(run)))],
        ),
        folded(
            format!("Dataset: {}", facts::dataset(run)),
            vec![
                Block::Table(pairs("Dataset", dataset(run))),
                Block::Code("sql", run.dataset.create_table.clone()),
            ],
        ),
        folded(
            format!("Program: idembench {}", run.tool.version),
            vec![Block::Table(pairs("Program", tool(run)))],
        ),
    ]
}

fn settings(run: &Run) -> Table {
    let is_size = |name: &str| name.ends_with("_size") || name.ends_with("_capacity");
    let rows = run.server.settings.iter().map(|(name, value)| {
        let size = value.parse().ok().filter(|bytes| is_size(name) && *bytes >= 1024);
        let size = size.map_or(String::new(), |bytes| Bytes(bytes).to_string());
        vec![Cell::code(name.clone()), Cell::code(value.clone()), Cell::plain(size)]
    });
    Table {
        caption: "Server settings".to_owned(),
        columns: vec![Column::text("setting"), Column::number("value"), Column::number("is")],
        rows: rows.collect(),
    }
}

type Pairs = Vec<(&'static str, String)>;

fn pairs(caption: &str, pairs: Pairs) -> Table {
    let row = |(name, value): (&str, String)| vec![Cell::plain(name), Cell::plain(value)];
    Table {
        caption: caption.to_owned(),
        columns: vec![Column::text("what"), Column::text("value")],
        rows: pairs.into_iter().map(row).collect(),
    }
}

fn machine(run: &Run) -> Pairs {
    let machine = &run.machine;
    let or_unknown = |value: Option<String>| value.unwrap_or_else(|| "not measured".to_owned());
    let speed =
        |value: Option<f64>, unit: &str| or_unknown(value.map(|value| format!("{} {unit}", whole(value))));
    vec![
        ("processor", machine.cpu.clone()),
        ("logical processors", machine.cpus.to_string()),
        ("memory", Bytes(machine.memory_bytes).to_string()),
        ("system", machine.system.clone()),
        ("file system of the data", or_unknown(machine.file_system.clone())),
        ("sequential write", speed(machine.disk_write_mib_per_s, "MiB/s")),
        ("small append + fsync", speed(machine.disk_fsync_per_s, "a second")),
        ("random 16 KiB reads", speed(machine.disk_read_16k_per_s, "a second")),
    ]
}

fn whole(value: f64) -> String {
    if value >= 1000.0 { grouped(value.round() as u64) } else { three_digits(value) }
}

fn dataset(run: &Run) -> Pairs {
    let dataset = &run.dataset;
    let per_row = |bytes: u64| bytes as f64 / dataset.rows.max(1) as f64;
    let size = |bytes: u64| {
        format!("{} ({} B a row, index pages included)", Bytes(bytes), three_digits(per_row(bytes)))
    };
    vec![
        ("rows", grouped(dataset.rows)),
        ("days", dataset.days.to_string()),
        ("size on disk", dataset.bytes.map_or("unknown".to_owned(), size)),
        ("fill", dataset.fill.clone()),
        ("seed", dataset.seed.to_string()),
        ("fingerprint", dataset.fingerprint.clone()),
    ]
}

fn tool(run: &Run) -> Pairs {
    vec![
        ("revision", run.tool.git_revision.clone()),
        ("driver", run.tool.driver.clone()),
        ("affected rows mean", format!("rows {} (by the self-test at the start)", run.tool.row_counts)),
        ("started", run.started_at.clone()),
        ("finished", run.finished_at.clone()),
        ("result format", run.schema_version.to_string()),
    ]
}

/// Warnings of the run and of its steps; what several steps share is said once, with their numbers.
pub fn warnings(run: &Run) -> Vec<Vec<Span>> {
    let mut by_text: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (position, step) in run.steps.iter().enumerate() {
        for warning in &step.warnings {
            if !by_text.contains_key(warning.as_str()) {
                order.push(warning);
            }
            by_text.entry(warning).or_default().push(position + 1);
        }
    }
    let of_run = run.warnings.iter().map(|warning| Span::line(warning.clone()));
    let of_steps = order.into_iter().map(|warning| {
        let steps: Vec<String> = by_text[warning].iter().map(usize::to_string).collect();
        let plural = if steps.len() == 1 { "step" } else { "steps" };
        vec![Span::Strong(format!("{plural} {}: ", steps.join(", "))), Span::Plain(warning.to_owned())]
    });
    of_run.chain(of_steps).collect()
}
