//! Latency percentiles of all steps: response against service, on the scale of nines.

use plotters::prelude::DrawingBackend;

use crate::report::facts;
use crate::report::shown::{self, Of};
use crate::results::{LatencySummary, Run, StepResult, histogram};

use super::Figure;
use super::axis::{self, Axis};
use super::ink::Ink;
use super::sheet::{DrawError, Key, MARGIN, Panel, Sheet, Stroke};

/// More lines on one figure cannot be told apart.
const STEPS_MAX: usize = 6;
/// Distance of points along the scale of nines: 1/25 of a decade.
const STEP_NINES: f64 = 0.04;

pub(super) struct Percentiles {
    lines: Vec<Line>,
    samples_max: u64,
    part: Option<(usize, usize)>,
    caption: String,
}

struct Line {
    /// Position of the step in the run.
    step: usize,
    label: String,
    /// `p50 0.31 ms, p99 1.9 ms`, as the tables show them.
    brief: String,
    response: Vec<(f64, u64)>,
    service: Vec<(f64, u64)>,
}

/// One figure for every six steps that have samples.
pub(super) fn figures(run: &Run) -> Vec<(String, Percentiles)> {
    let lines: Vec<(Line, u64)> = run
        .steps
        .iter()
        .enumerate()
        .filter_map(|(position, step)| {
            let count = step.latency_us.get("response").or(step.latency_us.get("service"))?.count;
            let curve = |what: &str| curve(step, what);
            let line = Line {
                step: position,
                label: facts::step(step),
                brief: brief(step),
                response: curve("response"),
                service: curve("service"),
            };
            (count > 0).then_some((line, count))
        })
        .collect();
    let parts = lines.len().div_ceil(STEPS_MAX);
    let mut rest = lines.into_iter();
    (1..=parts)
        .map(|part| {
            let taken: Vec<(Line, u64)> = rest.by_ref().take(STEPS_MAX).collect();
            let samples_max = taken.iter().map(|(_, count)| *count).max().unwrap_or(0);
            let name = if parts == 1 { "percentiles".to_owned() } else { format!("percentiles-{part}") };
            let figure = Percentiles {
                lines: taken.into_iter().map(|(line, _)| line).collect(),
                samples_max,
                part: (parts > 1).then_some((part, parts)),
                caption: facts::caption(run, None),
            };
            (name, figure)
        })
        .collect()
}

fn brief(step: &StepResult) -> String {
    let what = shown::judged(step);
    let latency = |of| shown::latency(step, what, of);
    format!("{what} p50 {}, p99 {}, max {}", latency(Of::P50), latency(Of::P99), latency(Of::Max))
}

/// Points (nines, microseconds) of what was timed: from the histogram, or from the summary without one.
fn curve(step: &StepResult, what: &str) -> Vec<(f64, u64)> {
    let Some(summary) = step.latency_us.get(what).filter(|summary| summary.count > 0) else {
        return Vec::new();
    };
    match step.histograms.get(what).and_then(|text| histogram::decode(text).ok()) {
        Some(histogram) if !histogram.is_empty() => {
            let (start, end) = (axis::nines(0.1), (histogram.len() as f64).log10());
            let steps = ((end - start) / STEP_NINES).max(0.0) as u32;
            let points = (0..=steps).map(|n| start + f64::from(n) * STEP_NINES);
            let mut curve: Vec<(f64, u64)> = points
                .map(|at| (at, histogram.value_at_quantile(1.0 - 10f64.powf(-at)).min(summary.max)))
                .collect();
            curve.push((end, summary.max));
            curve
        }
        _ => from_summary(summary),
    }
}

fn from_summary(summary: &LatencySummary) -> Vec<(f64, u64)> {
    let end = (summary.count as f64).log10();
    let named = [(0.5, summary.p50), (0.9, summary.p90), (0.99, summary.p99), (0.999, summary.p999)];
    let points = named.into_iter().map(|(quantile, us)| (axis::nines(quantile), us));
    points.filter(|(at, _)| *at < end).chain([(end, summary.max)]).collect()
}

impl Percentiles {
    /// Closed loops have none.
    fn has_response(&self) -> bool {
        self.lines.iter().any(|line| !line.response.is_empty())
    }
}

impl Figure for Percentiles {
    fn title(&self) -> String {
        let part = self.part.map_or(String::new(), |(part, parts)| format!(" ({part} of {parts})"));
        let what = if self.has_response() { "response against service" } else { "service" };
        format!("Latency by percentile: {what}{part}")
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn alt(&self) -> String {
        let lines = self.lines.iter().map(|line| format!("{}: {}", line.label, line.brief));
        format!("Latency by percentile. {}", lines.collect::<Vec<_>>().join("; "))
    }

    fn draw<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>) -> Result<(), DrawError<DB>> {
        let grey = Ink::Muted;
        let response = (Key::Line(Stroke::solid(grey, 2.0)), "response: intended start to reply".to_owned());
        let mut legend = vec![(Key::Line(Stroke::dashed(grey, 1.5)), "service: sent to reply".to_owned())];
        if self.has_response() {
            legend.insert(0, response);
        }
        legend.extend(self.lines.iter().map(|line| (Key::Number(line.step), line.label.clone())));
        sheet.legend(&legend)?;
        let values = self.lines.iter().flat_map(|line| line.response.iter().chain(&line.service));
        let (x, y) = (Axis::nines(self.samples_max), Axis::latency(values.map(|(_, us)| *us)));
        let panel = Panel {
            title: "latency, logarithmic",
            x: &x,
            y: &y,
            x_title: Some("percentile of operations, on a scale of nines"),
            left: MARGIN,
            // Room for the step numbers at the lines' ends.
            width: sheet.inner() - 22.0,
            height: if sheet.narrow() { 260.0 } else { 330.0 },
            labels: 58.0,
            cut: &[],
        };
        let mut chart = sheet.panel(&panel)?;
        let mut ends = Vec::new();
        for line in &self.lines {
            let ink = Ink::Line(line.step);
            let on_axes = |curve: &[(f64, u64)]| -> Vec<(f64, f64)> {
                curve.iter().map(|(at, us)| (*at, *us as f64)).collect()
            };
            let (service, response) = (on_axes(&line.service), on_axes(&line.response));
            let end = response.last().or(service.last()).copied();
            sheet.line(&mut chart, service, Stroke::dashed(ink, 1.5))?;
            sheet.line(&mut chart, response, Stroke::solid(ink, 2.0))?;
            ends.extend(end.map(|end| (sheet.place(&chart, end), line.step)));
        }
        for ((_, at), step) in apart(ends) {
            sheet.number((sheet.width - MARGIN - 12.0, at), step)?;
        }
        sheet.y += Sheet::<DB>::panel_height(&panel);
        Ok(())
    }
}

/// Moves numbers down that would cover one another, from the topmost on.
fn apart(mut ends: Vec<((f64, f64), usize)>) -> Vec<((f64, f64), usize)> {
    const DISTANCE_PX: f64 = 19.0;
    ends.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    for position in 1..ends.len() {
        let least = ends[position - 1].0.1 + DISTANCE_PX;
        ends[position].0.1 = ends[position].0.1.max(least);
    }
    ends
}
