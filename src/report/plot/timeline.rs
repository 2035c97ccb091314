//! One step over time: response by second of intended start, operations per second, backlog.

use plotters::prelude::DrawingBackend;

use crate::report::facts;
use crate::results::{Interval, LatencySummary, Run};
use crate::units::{Rows, grouped};

use super::Figure;
use super::axis::Axis;
use super::ink::Ink;
use super::sheet::{DrawError, Key, MARGIN, Panel, Sheet, Stroke};

pub(super) struct Timeline {
    number: usize,
    name: String,
    intervals: Vec<Interval>,
    /// A closed loop has no intended instants, hence no response times: its service times are shown.
    closed_loop: bool,
    cut_operations: u64,
    caption: String,
}

/// The figure, if the step has intervals.
pub(super) fn figure(run: &Run, position: usize) -> Option<Timeline> {
    let step = &run.steps[position];
    (!step.intervals.is_empty()).then(|| Timeline {
        number: position + 1,
        name: facts::step(step),
        intervals: step.intervals.clone(),
        closed_loop: step.intervals.iter().all(|interval| interval.response_us.count == 0),
        cut_operations: step.warm_up.operations,
        caption: facts::caption(run, Some(step)),
    })
}

/// Where an interval ends.
fn end_s(interval: &Interval) -> f64 {
    interval.start_s + interval.length_s
}

/// First start and last end.
pub(super) fn span_s(intervals: &[Interval]) -> (f64, f64) {
    let from = intervals.first().map_or(0.0, |first| first.start_s);
    (from, intervals.iter().map(end_s).fold(from, f64::max))
}

/// Spans that do not belong to what was measured.
pub(super) fn cut_s(intervals: &[Interval]) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> = Vec::new();
    for interval in intervals.iter().filter(|interval| interval.phase != "measure") {
        match spans.last_mut() {
            Some(last) if (last.1 - interval.start_s).abs() < 0.01 => last.1 = end_s(interval),
            _ => spans.push((interval.start_s, end_s(interval))),
        }
    }
    spans
}

impl Timeline {
    fn timed<'i>(&self, interval: &'i Interval) -> &'i LatencySummary {
        if self.closed_loop { &interval.service_us } else { &interval.response_us }
    }

    fn largest_backlog_age_s(&self) -> f64 {
        self.intervals.iter().map(|interval| interval.backlog_age_s).fold(0.0, f64::max)
    }

    /// Points of the intervals that have samples, broken where there are none.
    fn runs(&self, value: impl Fn(&Interval) -> Option<f64>) -> Vec<Vec<(f64, f64)>> {
        let points = self
            .intervals
            .iter()
            .map(|interval| value(interval).map(|value| (interval.start_s + interval.length_s / 2.0, value)));
        unbroken(points)
    }

    fn latency<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>, x: &Axis) -> Result<(), DrawError<DB>> {
        let sampled = self.intervals.iter().map(|interval| self.timed(interval)).filter(|us| us.count > 0);
        let y = Axis::latency(sampled.flat_map(|us| [us.p50, us.max]));
        let panel = Panel {
            title: if self.closed_loop {
                "service time by second of reply, logarithmic"
            } else {
                "response time by second of intended start, logarithmic"
            },
            x,
            y: &y,
            x_title: None,
            left: MARGIN,
            width: sheet.inner(),
            height: if sheet.narrow() { 190.0 } else { 230.0 },
            labels: 58.0,
            cut: &cut_s(&self.intervals),
        };
        let mut chart = sheet.panel(&panel)?;
        for (stroke, of) in LATENCIES {
            let value = |interval: &Interval| {
                let us = self.timed(interval);
                (us.count > 0).then(|| of(us) as f64)
            };
            for points in self.runs(value) {
                sheet.line(&mut chart, points, stroke)?;
            }
        }
        sheet.y += Sheet::<DB>::panel_height(&panel);
        Ok(())
    }

    fn rate<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>, x: &Axis) -> Result<(), DrawError<DB>> {
        let per_s = |count: u64, interval: &Interval| {
            // A sliver of a second at a phase's end would jump to absurd rates.
            (interval.length_s > 0.2).then(|| count as f64 / interval.length_s)
        };
        let rates = |of: fn(&Interval) -> u64| self.runs(|interval| per_s(of(interval), interval));
        let (intended, completed) = (rates(|i| i.intended), rates(|i| i.completed));
        let largest = intended.iter().chain(&completed).flatten().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let y = Axis::from_zero(largest, 3, |rate| grouped(rate.round() as u64));
        let panel = self.small_panel(sheet, self.rate_title(), x, &y);
        let cut = cut_s(&self.intervals);
        let panel = Panel { cut: &cut, ..panel };
        let mut chart = sheet.panel(&panel)?;
        for points in completed {
            sheet.line(&mut chart, points, COMPLETED)?;
        }
        for points in intended.into_iter().filter(|_| !self.closed_loop) {
            sheet.line(&mut chart, points, INTENDED)?;
        }
        sheet.y += Sheet::<DB>::panel_height(&panel);
        Ok(())
    }

    fn backlog<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>, x: &Axis) -> Result<(), DrawError<DB>> {
        let y = Axis::from_zero(self.largest_backlog_age_s(), 3, facts::seconds);
        let panel = self.small_panel(sheet, "backlog age: how long the oldest of it has been due", x, &y);
        let cut = cut_s(&self.intervals);
        let panel = Panel { cut: &cut, ..panel };
        let mut chart = sheet.panel(&panel)?;
        let points = self.intervals.iter().map(|i| (end_s(i), i.backlog_age_s)).collect();
        sheet.line(&mut chart, points, Stroke::solid(Ink::Line(3), 2.0))?;
        sheet.y += Sheet::<DB>::panel_height(&panel);
        Ok(())
    }

    fn rate_title(&self) -> &'static str {
        if self.closed_loop {
            "operations per second: completed"
        } else {
            "operations per second: intended and completed"
        }
    }

    fn small_panel<'p, DB: DrawingBackend>(
        &self,
        sheet: &Sheet<'_, DB>,
        title: &'p str,
        x: &'p Axis,
        y: &'p Axis,
    ) -> Panel<'p> {
        Panel {
            title,
            x,
            y,
            x_title: None,
            left: MARGIN,
            width: sheet.inner(),
            height: 80.0,
            labels: 58.0,
            cut: &[],
        }
    }
}

const COMPLETED: Stroke = Stroke { ink: Ink::Line(2), width: 2.0, dashed: false };
const INTENDED: Stroke = Stroke { ink: Ink::Text, width: 1.0, dashed: true };

type Latency = (Stroke, fn(&LatencySummary) -> u64);

/// Drawn in this order, so that the median lies on top.
const LATENCIES: [Latency; 3] = [
    (Stroke { ink: Ink::Line(5), width: 1.0, dashed: false }, |us| us.max),
    (Stroke { ink: Ink::Line(1), width: 2.0, dashed: false }, |us| us.p99),
    (Stroke { ink: Ink::Line(0), width: 2.0, dashed: false }, |us| us.p50),
];

/// Splits points where a value is missing.
pub(super) fn unbroken(points: impl IntoIterator<Item = Option<(f64, f64)>>) -> Vec<Vec<(f64, f64)>> {
    let mut runs = vec![Vec::new()];
    for point in points {
        match (point, runs.last_mut()) {
            (Some(point), Some(run)) => run.push(point),
            (None, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

impl Figure for Timeline {
    fn title(&self) -> String {
        format!("Step {} over time: {}", self.number, self.name)
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn alt(&self) -> String {
        let measured = self.intervals.iter().filter(|i| i.phase == "measure" && self.timed(i).count > 0);
        let what = if self.closed_loop { "service" } else { "response" };
        let worst =
            measured.max_by_key(|interval| self.timed(interval).max).map_or(String::new(), |interval| {
                let longest = facts::latency(self.timed(interval).max);
                format!("; the longest {what}, {longest}, stands in second {}", interval.start_s.round())
            });
        let backlog = match self.largest_backlog_age_s() {
            age if age > 0.0 => format!("; {} {}", facts::LARGEST_BACKLOG_AGE, facts::seconds(age)),
            _ => String::new(),
        };
        format!("{} over time: {what} p50, p99 and maximum of each second{worst}{backlog}", self.name)
    }

    fn draw<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>) -> Result<(), DrawError<DB>> {
        let cut = format!("cut off: warm-up ({} operations) and drain", Rows(self.cut_operations));
        let [max, p99, p50] = LATENCIES.map(|(stroke, _)| Key::Line(stroke));
        let mut legend = vec![
            (p50, "p50".to_owned()),
            (p99, "p99".to_owned()),
            (max, "max".to_owned()),
            (Key::Line(COMPLETED), "completed".to_owned()),
        ];
        if !self.closed_loop {
            legend.push((Key::Line(INTENDED), "intended".to_owned()));
        }
        legend.push((Key::Box(Ink::Cut), cut));
        sheet.legend(&legend)?;
        let (from, to) = span_s(&self.intervals);
        let x = Axis::seconds(from, to, if sheet.narrow() { 5 } else { 9 });
        self.latency(sheet, &x)?;
        self.rate(sheet, &x)?;
        // Half a second of backlog is a scheduling hiccup; more is a story.
        if self.largest_backlog_age_s() >= 0.5 {
            self.backlog(sheet, &x)?;
        }
        Ok(())
    }
}
