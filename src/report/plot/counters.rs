//! Server counters of a step over time: small multiples on one clock.

use plotters::prelude::DrawingBackend;

use crate::report::facts;
use crate::results::{CounterSeries, Run};
use crate::units::{Bytes, Rows, three_digits};

use super::Figure;
use super::axis::Axis;
use super::ink::Ink;
use super::sheet::{DrawError, Key, MARGIN, Panel, Sheet, Stroke};
use super::timeline::{cut_s, span_s, unbroken};

pub(super) struct Counters {
    number: usize,
    name: String,
    span_s: (f64, f64),
    cut_s: Vec<(f64, f64)>,
    multiples: Vec<Multiple>,
    caption: String,
}

struct Multiple {
    /// `None` where the server did not say.
    points: Vec<Option<(f64, f64)>>,
    recipe: &'static Recipe,
}

/// How samples become a line.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// A total that grows; its growth per second, divided by this, is drawn.
    Total(f64),
    /// A level, drawn as it is.
    Gauge,
}

/// One multiple: what it is called, how it is read, and under which names runs hold it (best first).
struct Recipe {
    title: &'static str,
    kind: Kind,
    unit: Unit,
    names: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    Count,
    Bytes,
}

impl Unit {
    fn text(self, value: f64) -> String {
        match self {
            Unit::Bytes => Bytes(value.round() as u64).to_string(),
            Unit::Count if value >= 1e4 => Rows(value.round() as u64).short(),
            Unit::Count => three_digits(value),
        }
    }

    fn axis(self, highest: f64) -> Axis {
        match self {
            Unit::Count => Axis::from_zero(highest, 3, |value| self.text(value)),
            Unit::Bytes => Axis::bytes(highest, 3),
        }
    }
}

impl Multiple {
    fn highest(&self) -> f64 {
        self.points.iter().flatten().map(|(_, value)| *value).fold(0.0, f64::max)
    }
}

static RECIPES: [Recipe; 8] = [
    Recipe {
        title: "buffer pool: pages read from disk per second",
        kind: Kind::Total(1.0),
        unit: Unit::Count,
        names: &["pages_read"],
    },
    Recipe {
        title: "redo written per second",
        kind: Kind::Total(1.0),
        unit: Unit::Bytes,
        names: &["redo_lsn", "redo_written_bytes"],
    },
    Recipe {
        title: "fsyncs per second",
        kind: Kind::Total(1.0),
        unit: Unit::Count,
        names: &["data_fsyncs", "log_fsyncs"],
    },
    Recipe {
        title: "row lock waits per second",
        kind: Kind::Total(1.0),
        unit: Unit::Count,
        names: &["row_lock_waits"],
    },
    Recipe {
        title: "history list length, transactions not purged",
        kind: Kind::Gauge,
        unit: Unit::Count,
        names: &["history_list_length"],
    },
    Recipe {
        title: "checkpoint age: redo not yet checkpointed",
        kind: Kind::Gauge,
        unit: Unit::Bytes,
        names: &["checkpoint_age_bytes"],
    },
    Recipe {
        title: "dirty pages in the buffer pool",
        kind: Kind::Gauge,
        unit: Unit::Count,
        names: &["pages_dirty"],
    },
    Recipe {
        title: "server CPU, processors busy",
        kind: Kind::Total(1e6),
        unit: Unit::Count,
        names: &["server_cpu_us"],
    },
];

/// The figure, if the step has counters that we know how to read.
pub(super) fn figure(run: &Run, position: usize) -> Option<Counters> {
    let step = &run.steps[position];
    let mut multiples: Vec<Multiple> =
        RECIPES.iter().filter_map(|recipe| multiple(recipe, &step.counters)).collect();
    multiples.retain(|multiple| multiple.points.iter().flatten().count() >= 2);
    let at_s = &step.counters.at_s;
    let sampled = (at_s.first().copied()?, at_s.last().copied()?);
    // The same clock and width as the step's other figures.
    let span = if step.intervals.is_empty() { sampled } else { span_s(&step.intervals) };
    (!multiples.is_empty()).then(|| Counters {
        number: position + 1,
        name: facts::step(step),
        span_s: span,
        cut_s: cut_s(&step.intervals),
        multiples,
        caption: facts::caption(run, Some(step)),
    })
}

fn multiple(recipe: &'static Recipe, series: &CounterSeries) -> Option<Multiple> {
    let values = recipe.names.iter().find_map(|name| series.values.get(*name))?;
    let at = |position: usize| Some((*series.at_s.get(position)?, (*values.get(position)?)?));
    let samples = series.at_s.len();
    let points = match recipe.kind {
        Kind::Gauge => (0..samples).map(at).collect(),
        Kind::Total(divisor) => (1..samples).map(|n| growth(at(n - 1)?, at(n)?, divisor)).collect(),
    };
    Some(Multiple { points, recipe })
}

/// Growth per second between two samples, at their middle; none over a restart, where totals begin anew.
fn growth(before: (f64, f64), after: (f64, f64), divisor: f64) -> Option<(f64, f64)> {
    let length_s = after.0 - before.0;
    let grown = after.1 - before.1;
    (length_s > 0.0 && grown >= 0.0).then(|| ((before.0 + after.0) / 2.0, grown / length_s / divisor))
}

impl Figure for Counters {
    fn title(&self) -> String {
        format!("Step {}, the server meanwhile: {}", self.number, self.name)
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn alt(&self) -> String {
        let highest = self.multiples.iter().map(|multiple| {
            format!("{} up to {}", multiple.recipe.title, multiple.recipe.unit.text(multiple.highest()))
        });
        format!("Server counters during {}: {}", self.name, highest.collect::<Vec<_>>().join("; "))
    }

    fn draw<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>) -> Result<(), DrawError<DB>> {
        const GUTTER: f64 = 14.0;
        let columns = if sheet.narrow() { 1 } else { 2 };
        let width = (sheet.inner() - GUTTER * (columns - 1) as f64) / columns as f64;
        sheet.legend(&[(Key::Box(Ink::Cut), "cut off: warm-up and drain".to_owned())])?;
        let x = Axis::seconds(self.span_s.0, self.span_s.1, 5);
        for row in self.multiples.chunks(columns) {
            let mut below: f64 = 0.0;
            for (column, multiple) in row.iter().enumerate() {
                let y = multiple.recipe.unit.axis(multiple.highest());
                let panel = Panel {
                    title: multiple.recipe.title,
                    x: &x,
                    y: &y,
                    x_title: None,
                    left: MARGIN + column as f64 * (width + GUTTER),
                    width,
                    height: 74.0,
                    labels: 62.0,
                    cut: &self.cut_s,
                };
                let mut chart = sheet.panel(&panel)?;
                let gauge = multiple.recipe.kind == Kind::Gauge;
                let ink = if gauge { Ink::Line(3) } else { Ink::Line(0) };
                for points in unbroken(multiple.points.iter().copied()) {
                    sheet.line(&mut chart, points, Stroke::solid(ink, 1.5))?;
                }
                below = below.max(Sheet::<DB>::panel_height(&panel));
            }
            sheet.y += below;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_become_rates_and_a_restart_leaves_a_gap() {
        let series = CounterSeries {
            at_s: vec![0.0, 1.0, 3.0, 4.0, 5.0],
            values: [(
                "Innodb_Pages_Read".to_owned(),
                vec![Some(10.0), Some(40.0), Some(60.0), Some(5.0), None],
            )]
            .into(),
        };
        let multiple = multiple(&RECIPES[0], &series).expect("the counter is there");
        assert_eq!(multiple.points, [Some((0.5, 30.0)), Some((2.0, 10.0)), None, None]);
    }
}
