//! How long transactions were held: the distributions of all designs on one pair of axes.

use plotters::prelude::DrawingBackend;

use crate::report::facts;
use crate::report::shown::{self, Of};
use crate::results::{Run, StepResult, buckets, histogram};

use super::Figure;
use super::axis::Axis;
use super::ink::Ink;
use super::sheet::{DrawError, Key, MARGIN, Panel, Sheet, Stroke};

/// More lines on one figure cannot be told apart.
const STEPS_MAX: usize = 6;
/// What is drawn, and whether dashed: a step has the first, or the two others.
const SERIES: [(&str, bool); 3] = [("hold", false), ("hold_tx2", false), ("hold_tx1", true)];

pub(super) struct Holds {
    lines: Vec<Line>,
    steps: Vec<(usize, String)>,
    caption: String,
}

struct Line {
    step: usize,
    dashed: bool,
    /// `hold p50 0.9 ms, p99 2.1 ms`.
    brief: String,
    /// Bucket's upper edge in microseconds, and its share of the transactions in per cent.
    shares: Vec<(u64, f64)>,
}

/// The figure, if steps of the hold workload have histograms.
pub(super) fn figure(run: &Run) -> Option<Holds> {
    let mut lines = Vec::new();
    let mut steps = Vec::new();
    let holds = run.steps.iter().enumerate().filter(|(_, step)| step.workload == "hold");
    for (position, step) in holds {
        if steps.len() == STEPS_MAX {
            break;
        }
        let of_step: Vec<Line> =
            SERIES.iter().filter_map(|(series, dashed)| line(step, position, series, *dashed)).collect();
        if !of_step.is_empty() {
            steps.push((position, facts::step(step)));
            lines.extend(of_step);
        }
    }
    (!lines.is_empty()).then(|| Holds { lines, steps, caption: facts::caption(run, None) })
}

fn line(step: &StepResult, position: usize, series: &str, dashed: bool) -> Option<Line> {
    let decoded = histogram::decode(step.histograms.get(series)?).ok()?;
    let count = decoded.len();
    let counts = decoded
        .iter_recorded()
        .map(|bucket| (bucket.value_iterated_to(), bucket.count_since_last_iteration()));
    let shares: Vec<(u64, f64)> = buckets::sparse(counts)
        .into_iter()
        .map(|(upper_us, of_bucket)| (upper_us, of_bucket as f64 / count as f64 * 100.0))
        .collect();
    let latency = |of| shown::latency(step, series, of);
    let brief = format!("{series} p50 {}, p99 {}", latency(Of::P50), latency(Of::P99));
    (count > 0).then_some(Line { step: position, dashed, brief, shares })
}

impl Line {
    /// A stair: each bucket's share over its whole width, down to nothing where buckets are empty.
    fn stair(&self) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut end_us = 0;
        for (upper_us, share) in &self.shares {
            let lower_us = buckets::lower_us(*upper_us);
            if lower_us > end_us {
                points.extend([(end_us.max(1) as f64, 0.0), (lower_us as f64, 0.0)]);
            }
            points.extend([(lower_us.max(1) as f64, *share), (*upper_us as f64, *share)]);
            end_us = *upper_us;
        }
        points.push((end_us as f64, 0.0));
        points
    }
}

impl Figure for Holds {
    fn title(&self) -> String {
        "How long transactions are held: one transaction (A) against two (B)".to_owned()
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn alt(&self) -> String {
        let of = |(position, name): &(usize, String)| {
            let lines = self.lines.iter().filter(|line| line.step == *position);
            format!("{name}: {}", lines.map(|line| line.brief.as_str()).collect::<Vec<_>>().join(", "))
        };
        format!("Distributions of holds. {}", self.steps.iter().map(of).collect::<Vec<_>>().join("; "))
    }

    fn draw<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>) -> Result<(), DrawError<DB>> {
        let grey = Ink::Muted;
        let mut legend = vec![
            (Key::Line(Stroke::solid(grey, 2.0)), "one transaction, or the second of two".to_owned()),
            (Key::Line(Stroke::dashed(grey, 1.5)), "the first of two".to_owned()),
        ];
        legend.extend(self.steps.iter().map(|(position, name)| (Key::Number(*position), name.clone())));
        sheet.legend(&legend)?;
        let edges = self.lines.iter().flat_map(|line| &line.shares);
        let edges = edges.flat_map(|(upper_us, _)| [buckets::lower_us(*upper_us).max(8), *upper_us]);
        let x = Axis::latency(edges);
        let largest = self.lines.iter().flat_map(|line| &line.shares).map(|(_, share)| *share);
        let y = Axis::from_zero(largest.fold(1.0, f64::max), 5, |percent| format!("{percent:.0} %"));
        let panel = Panel {
            title: "share of transactions by hold, twelve classes to the decade",
            x: &x,
            y: &y,
            x_title: Some("BEGIN sent to COMMIT acknowledged, logarithmic"),
            left: MARGIN,
            width: sheet.inner(),
            height: if sheet.narrow() { 220.0 } else { 290.0 },
            labels: 58.0,
            cut: &[],
        };
        let mut chart = sheet.panel(&panel)?;
        for line in &self.lines {
            let ink = Ink::Line(line.step);
            let stroke = if line.dashed { Stroke::dashed(ink, 1.5) } else { Stroke::solid(ink, 2.0) };
            sheet.line(&mut chart, line.stair(), stroke)?;
        }
        sheet.y += Sheet::<DB>::panel_height(&panel);
        Ok(())
    }
}
