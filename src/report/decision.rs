//! One transaction or two: the decision, in words and in numbers, beside the article's figures. Pure.
//!
//! The article's figures are the questions, not the answers: each stands beside what this run measured, with a
//! word that says whether it holds here.

use crate::results::{Run, StepResult};

use super::document::{Block, Cell, Column, Span, Table, Tone};
use super::facts;
use super::shown::{self, Of};

/// Within this factor two figures of different machines say the same.
const SAME_FACTOR: f64 = 2.0;
/// Below this difference neither design is better.
const BETTER_BY: f64 = 0.10;

/// In how many transactions a step settles a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Design {
    One,
    Two,
}

fn design(step: &StepResult) -> Option<Design> {
    match parameter(step, "design")?.as_str()? {
        "one_transaction" => Some(Design::One),
        "two_transactions" | "batched_claims" => Some(Design::Two),
        _ => None,
    }
}

fn parameter<'s>(step: &'s StepResult, name: &str) -> Option<&'s serde_json::Value> {
    step.parameters.get(name)
}

/// What the article says of a figure, in microseconds.
#[derive(Debug, Clone, Copy)]
enum Article {
    /// About so much.
    About(u64),
    /// Less than so much.
    Under(u64),
    /// More than so much.
    Above(u64),
    /// Only words.
    Words,
}

/// One of the article's figures, and where this run has it.
struct Figure {
    question: &'static str,
    says: Article,
    article: &'static str,
    workload: &'static str,
    design: Design,
    series: &'static str,
    of: Of,
    /// Whether steps of whole polls are meant, or of single messages.
    polls: bool,
}

const FIGURES: [Figure; 8] = [
    Figure {
        question: "A holds its locks, p50",
        says: Article::About(2_000),
        article: "2 ms",
        workload: "hold",
        design: Design::One,
        series: "hold",
        of: Of::P50,
        polls: false,
    },
    Figure {
        question: "A holds its locks, p99",
        says: Article::About(15_000),
        article: "15 ms",
        workload: "hold",
        design: Design::One,
        series: "hold",
        of: Of::P99,
        polls: false,
    },
    Figure {
        question: "B's first transaction, p99",
        says: Article::Under(1_000),
        article: "under 1 ms",
        workload: "hold",
        design: Design::Two,
        series: "hold_tx1",
        of: Of::P99,
        polls: false,
    },
    Figure {
        question: "B's second transaction, p99",
        says: Article::Words,
        article: "no figure",
        workload: "hold",
        design: Design::Two,
        series: "hold_tx2",
        of: Of::P99,
        polls: false,
    },
    Figure {
        question: "B leaves a message PENDING, p99 (without a crash)",
        says: Article::Words,
        article: "no figure (12 s after a crash)",
        workload: "hold",
        design: Design::Two,
        series: "window",
        of: Of::P99,
        polls: false,
    },
    Figure {
        question: "a new owner's FOR UPDATE waits for A, p99",
        says: Article::About(80_000),
        article: "about 80 ms",
        workload: "rebalance",
        design: Design::One,
        series: "takeover_lock",
        of: Of::P99,
        polls: true,
    },
    Figure {
        question: "a new owner's FOR UPDATE waits for B, p99",
        says: Article::Words,
        article: "hardly blocked",
        workload: "rebalance",
        design: Design::Two,
        series: "takeover_lock",
        of: Of::P99,
        polls: true,
    },
    Figure {
        question: "a rival's UPDATE of an order of A, p99",
        says: Article::Above(400_000),
        article: "above 400 ms",
        workload: "contention",
        design: Design::One,
        series: "update_rival",
        of: Of::P99,
        polls: false,
    },
];

/// The decision, if the run settles messages.
pub fn decision(run: &Run) -> Vec<Block> {
    let rows: Vec<Vec<Cell>> = FIGURES.iter().flat_map(|figure| figure.rows(run)).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    let sentences = sentences(run);
    if !sentences.is_empty() {
        blocks.push(Block::List(sentences));
    }
    blocks.push(Block::Table(Table {
        caption: "The article's figures beside those of this run".to_owned(),
        columns: vec![
            Column::text("question"),
            Column::number("the article"),
            Column::number("here"),
            Column::text("verdict"),
            Column::text("step"),
        ],
        rows,
    }));
    blocks.push(Block::Paragraph(Span::line(format!(
        "The article's server, disk and rates are not known beyond what it says: a figure within a factor of {SAME_FACTOR} \
         of one that it gives agrees with it; past a bound that it gives, a figure within that factor is near. hold = BEGIN sent to COMMIT acknowledged, rolled back transactions apart; window = first \
         COMMIT acknowledged to second COMMIT acknowledged. In brackets: fewer than 10 samples lie beyond it, \
         which is too few for a verdict."
    ))));
    blocks
}

impl Figure {
    /// A row for each step that has it.
    fn rows(&self, run: &Run) -> Vec<Vec<Cell>> {
        let steps = run.steps.iter().enumerate();
        steps.filter(|(_, step)| self.is_of(step)).map(|(position, step)| self.row(position, step)).collect()
    }

    fn is_of(&self, step: &StepResult) -> bool {
        let polls = parameter(step, "batch").and_then(serde_json::Value::as_u64).unwrap_or(1) > 1;
        step.workload == self.workload
            && design(step) == Some(self.design)
            && (self.polls || !polls)
            && step.latency_us.get(self.series).is_some_and(|summary| summary.count > 0)
    }

    fn row(&self, position: usize, step: &StepResult) -> Vec<Cell> {
        let us = self.of.value_us(&step.latency_us[self.series]);
        let verdict = match (is_sound(step), carries(step, self.series, self.of)) {
            (false, _) => Cell::toned("the step failed", Tone::Bad),
            (true, false) => Cell::plain("too few samples"),
            (true, true) => verdict(self.says, us),
        };
        vec![
            Cell::plain(self.question),
            Cell::plain(self.article),
            Cell::plain(shown::latency(step, self.series, self.of)),
            verdict,
            Cell::plain(format!("{}: {}", position + 1, facts::step(step))),
        ]
    }
}

fn is_sound(step: &StepResult) -> bool {
    step.failure.is_none() && step.checks.iter().all(|check| check.held)
}

/// Whether enough samples lie beyond a figure to build on it; in brackets they do not.
fn carries(step: &StepResult, series: &str, of: Of) -> bool {
    !shown::latency(step, series, of).starts_with('(')
}

fn verdict(article: Article, here_us: u64) -> Cell {
    let article_us = match article {
        Article::Words => return Cell::plain("–"),
        Article::Under(most) if here_us <= most => return Cell::toned("agrees", Tone::Good),
        Article::Above(least) if here_us >= least => return Cell::toned("agrees", Tone::Good),
        Article::About(us) | Article::Under(us) | Article::Above(us) => us,
    };
    let factor = here_us.max(1) as f64 / article_us as f64;
    let times = |factor: f64| match factor {
        factor if factor >= 10.0 => format!("{factor:.0}"),
        factor => format!("{factor:.1}"),
    };
    match (factor, article) {
        (factor, _) if factor > SAME_FACTOR => {
            Cell::toned(format!("contradicts: {} times as long", times(factor)), Tone::Careful)
        }
        (factor, _) if factor < 1.0 / SAME_FACTOR => {
            Cell::toned(format!("contradicts: {} times as short", times(1.0 / factor)), Tone::Careful)
        }
        (_, Article::About(_)) => Cell::toned("agrees", Tone::Good),
        // Past the article's bound, by less than machines differ.
        _ => Cell::plain(format!("near: {} times the bound", crate::units::three_digits(factor))),
    }
}

/// A sentence for each pair of steps that differ in nothing but their design, then where the answer turns.
fn sentences(run: &Run) -> Vec<Vec<Span>> {
    let pairs = pairs(run);
    let mut sentences: Vec<Vec<Span>> = pairs.iter().filter_map(|(one, two)| compared(one, two)).collect();
    sentences.extend(crossing(&pairs));
    sentences
}

/// Sound steps of both designs that differ in nothing else.
fn pairs(run: &Run) -> Vec<(&StepResult, &StepResult)> {
    let sound = || run.steps.iter().filter(|step| is_sound(step));
    let ones = sound().filter(|step| design(step) == Some(Design::One));
    ones.flat_map(|one| sound().filter(move |two| are_twins(one, two)).map(move |two| (one, two))).collect()
}

/// Between which handler times the design that holds less becomes another one, as near as the run's own values
/// of it allow.
fn crossing(pairs: &[(&StepResult, &StepResult)]) -> Option<Vec<Span>> {
    let mut answers: Vec<(f64, Better)> = Vec::new();
    for (one, two) in pairs.iter().filter(|(one, _)| one.workload == "hold") {
        let series_carry = carries(one, "hold", Of::P99)
            && ["hold_tx1", "hold_tx2"].iter().all(|series| carries(two, series, Of::P99));
        let handler_ms = parameter(one, "handler_time_ms").and_then(serde_json::Value::as_f64);
        let (Some(handler_ms), Some((a, b)), true) = (handler_ms, held(one, two, Of::P99), series_carry)
        else {
            continue;
        };
        answers.push((handler_ms, better(a, b).0));
    }
    answers.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (first, last) = (answers.first()?, answers.last()?);
    let Some(turn) = answers.windows(2).find(|pair| pair[0].1 != pair[1].1 && pair[0].0 < pair[1].0) else {
        let turns = answers.iter().any(|answer| answer.1 != first.1);
        // Pairs at one handler time say nothing about others.
        return (first.0 < last.0 && !turns).then(|| {
            vec![
                Span::Strong("Where it turns: ".to_owned()),
                Span::Plain(format!(
                    "nowhere between {} ms and {} ms of handler time: {} at all of them.",
                    first.0,
                    last.0,
                    first.1.words()
                )),
            ]
        });
    };
    let (below, above) = (&turn[0], &turn[1]);
    Some(vec![
        Span::Strong("Where it turns: ".to_owned()),
        Span::Plain(format!(
            "between {} ms and {} ms of handler time, {} at the lower and {} at the upper end. The run has no step in \
             between: more values of handler_time narrow it.",
            below.0,
            above.0,
            below.1.words(),
            above.1.words()
        )),
    ])
}

fn are_twins(one: &StepResult, two: &StepResult) -> bool {
    let others = |step: &StepResult| {
        let mut parameters = step.parameters.clone();
        parameters.remove("design");
        parameters
    };
    design(two) == Some(Design::Two)
        && one.workload == two.workload
        && one.rate_per_s == two.rate_per_s
        && one.connections == two.connections
        && others(one) == others(two)
}

/// Which of two designs is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    One,
    Two,
    Neither,
}

impl Better {
    fn words(self) -> &'static str {
        match self {
            Better::One => "A holds less",
            Better::Two => "B holds less",
            Better::Neither => "neither holds less",
        }
    }
}

/// The better one of A's and B's times, and by how many per cent of the other's.
fn better(a_us: u64, b_us: u64) -> (Better, f64) {
    let (a, b) = (a_us.max(1) as f64, b_us.max(1) as f64);
    match (1.0 - a / b, 1.0 - b / a) {
        (less, _) if less > BETTER_BY => (Better::One, less * 100.0),
        (_, less) if less > BETTER_BY => (Better::Two, less * 100.0),
        _ => (Better::Neither, BETTER_BY * 100.0),
    }
}

/// A's hold, and that of B's longer transaction.
fn held(one: &StepResult, two: &StepResult, of: Of) -> Option<(u64, u64)> {
    Some((figure(one, "hold", of)?, figure(two, "hold_tx1", of)?.max(figure(two, "hold_tx2", of)?)))
}

fn compared(one: &StepResult, two: &StepResult) -> Option<Vec<Span>> {
    let (name, of_b, judged_by): (_, _, &[&str]) = match one.workload.as_str() {
        "hold" => ("holds its locks", "B's longer transaction", &["hold", "hold_tx1", "hold_tx2"]),
        "rebalance" => ("keeps a new owner waiting", "B", &["takeover_lock"]),
        "contention" => ("keeps rivals waiting", "B", &["update_rival"]),
        _ => return None,
    };
    // The furthest percentile that enough samples carry on both sides.
    // A series that a design lacks has no samples to be few.
    let both_carry =
        |of: &Of| judged_by.iter().all(|series| carries(one, series, *of) && carries(two, series, *of));
    let of = [Of::P99, Of::P90].into_iter().find(both_carry).unwrap_or(Of::P50);
    let (a, b) = match judged_by {
        [series] => (figure(one, series, of)?, figure(two, series, of)?),
        _ => held(one, two, of)?,
    };
    let better = match better(a, b) {
        (Better::One, percent) => format!("A, by {percent:.0} %"),
        (Better::Two, percent) => format!("B, by {percent:.0} %"),
        (Better::Neither, percent) => format!("neither by more than {percent:.0} %"),
    };
    let mut line = vec![
        Span::Strong(format!("Which {name} for less: {better}. ")),
        Span::Plain(format!(
            "At {} A {name} for {} at {}, {of_b} for {}",
            setting(one),
            facts::latency(a),
            of.name(),
            facts::latency(b)
        )),
    ];
    let costs = [("fsyncs", "fsyncs"), ("redo_bytes", "redo bytes"), ("server_cpu_us", "us of server CPU")];
    let costs = costs.iter().filter_map(|(key, words)| {
        let (a, b) = (one.per_operation.get(*key)?, two.per_operation.get(*key)?);
        Some(format!("{} against {} {words}", crate::units::three_digits(*a), crate::units::three_digits(*b)))
    });
    let costs: Vec<String> = costs.collect();
    if !costs.is_empty() {
        line.push(Span::Plain(format!("; an operation costs A against B {}", costs.join(", "))));
    }
    if let Some(window) = two.latency_us.get("window").filter(|window| window.count > 0) {
        line.push(Span::Plain(format!(
            "; B leaves each message PENDING for {} at p50 and {} at p99, a crash within it for longer",
            facts::latency(window.p50),
            facts::latency(window.p99)
        )));
    }
    line.push(Span::Plain(".".to_owned()));
    Some(line)
}

/// What both steps of a pair have in common, as far as it moves the answer.
fn setting(step: &StepResult) -> String {
    let mut parts = vec![facts::driven(step)];
    for (name, unit) in [("batch", " messages a poll"), ("handler_time_ms", " ms handler time")] {
        let value = parameter(step, name).and_then(serde_json::Value::as_f64);
        // One message is no poll to speak of.
        let least = if name == "batch" { 1.0 } else { 0.0 };
        parts.extend(value.filter(|value| *value > least).map(|value| format!("{value}{unit}")));
    }
    for name in ["owner_state", "owner_ends", "locking", "isolation"] {
        let value = parameter(step, name).and_then(serde_json::Value::as_str);
        parts.extend(value.map(|value| value.replace('_', " ")));
    }
    parts.join(", ")
}

fn figure(step: &StepResult, series: &str, of: Of) -> Option<u64> {
    step.latency_us.get(series).filter(|summary| summary.count > 0).map(|summary| of.value_us(summary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::LatencySummary;

    fn step(workload: &str, design: &str, series: &[(&str, u64, u64)]) -> StepResult {
        let mut step = crate::report::tests::bare_step();
        step.workload = workload.to_owned();
        step.parameters.insert("design".to_owned(), design.into());
        for (name, p50, p99) in series {
            let summary = LatencySummary { count: 5_000, p50: *p50, p99: *p99, ..Default::default() };
            step.latency_us.insert((*name).to_owned(), summary);
        }
        step
    }

    /// The verdict on a figure of the article.
    fn check(article: Article, here_us: u64, expect: &str) {
        assert_eq!(verdict(article, here_us).text, expect);
    }

    #[test]
    fn the_article_can_be_contradicted_both_ways() {
        use Article::{About, Above, Under, Words};
        check(About(2_000), 1_900, "agrees");
        check(About(2_000), 3_900, "agrees");
        check(About(15_000), 1_500, "contradicts: 10 times as short");
        check(About(80_000), 200_000, "contradicts: 2.5 times as long");
        check(Under(1_000), 0, "agrees");
        check(Under(1_000), 1_800, "near: 1.8 times the bound");
        check(Under(1_000), 2_500, "contradicts: 2.5 times as long");
        check(Above(400_000), 9_000_000, "agrees");
        check(Above(400_000), 300_000, "near: 0.75 times the bound");
        check(Above(400_000), 4_000, "contradicts: 100 times as short");
        check(Words, 1, "–");
    }

    #[test]
    fn the_shorter_hold_wins_only_by_more_than_noise() {
        let one = step("hold", "one_transaction", &[("hold", 1_000, 2_000)]);
        let words = |tx1, tx2| {
            let two = step("hold", "two_transactions", &[("hold_tx1", 500, tx1), ("hold_tx2", 500, tx2)]);
            assert!(are_twins(&one, &two));
            match &compared(&one, &two).unwrap()[0] {
                Span::Strong(text) => text.clone(),
                other => panic!("{other:?}"),
            }
        };
        assert!(words(900, 1_000).contains("B, by 50 %"));
        assert!(words(900, 4_000).contains("A, by 50 %"));
        assert!(words(900, 1_900).contains("neither"));
    }

    #[test]
    fn the_crossing_lies_between_the_handler_times_where_the_answer_changes() {
        let timed = |handler_ms: f64, a, b| {
            let mut one = step("hold", "one_transaction", &[("hold", 1, a)]);
            let mut two = step("hold", "two_transactions", &[("hold_tx1", 1, 1), ("hold_tx2", 1, b)]);
            for step in [&mut one, &mut two] {
                step.parameters.insert("handler_time_ms".to_owned(), handler_ms.into());
            }
            (one, two)
        };
        let steps = [timed(10.0, 12_000, 2_000), timed(0.0, 2_000, 2_000), timed(1.0, 2_100, 2_000)];
        let pairs: Vec<_> = steps.iter().map(|(one, two)| (one, two)).collect();
        match &crossing(&pairs).unwrap()[1] {
            Span::Plain(text) => assert!(text.starts_with("between 1 ms and 10 ms"), "{text}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(crossing(&pairs[..1]), None);
    }
}
