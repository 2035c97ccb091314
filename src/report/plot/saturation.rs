//! Where a step saturates: throughput and latency over the intended rate, for steps that sweep rates.

use plotters::prelude::DrawingBackend;

use crate::report::facts;
use crate::report::shown::{self, Of};
use crate::results::{Run, StepResult};

use super::Figure;
use super::axis::Axis;
use super::ink::Ink;
use super::sheet::{Chart, DrawError, Key, MARGIN, Panel, Sheet, Stroke};

/// More lines on one figure cannot be told apart.
const SWEEPS_MAX: usize = 6;

pub(super) struct Saturation {
    sweeps: Vec<Sweep>,
    caption: String,
}

struct Sweep {
    name: String,
    /// By rising rate.
    points: Vec<Point>,
}

#[derive(Debug, Clone)]
struct Point {
    rate: f64,
    reached: f64,
    response_p99_us: u64,
    /// As the tables show it.
    p99: String,
    service_p99_us: u64,
    overloaded: bool,
}

/// One figure with all sweeps; none where no step ran at two rates. Failed steps have nothing to say here.
pub(super) fn figures(run: &Run) -> Vec<(String, Saturation)> {
    let mut sweeps: Vec<Sweep> = Vec::new();
    for step in run.steps.iter().filter(|step| step.failure.is_none()) {
        let Some(point) = point(step) else { continue };
        match sweeps.iter_mut().find(|sweep| sweep.name == step.name) {
            Some(sweep) => sweep.points.push(point),
            None => sweeps.push(Sweep { name: step.name.clone(), points: vec![point] }),
        }
    }
    sweeps.retain_mut(|sweep| {
        sweep.points.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        sweep.points.first().map(|p| p.rate) < sweep.points.last().map(|p| p.rate)
    });
    let parts = sweeps.len().div_ceil(SWEEPS_MAX);
    let mut rest = sweeps.into_iter();
    (1..=parts)
        .map(|part| {
            let name = if parts == 1 { "saturation".to_owned() } else { format!("saturation-{part}") };
            let sweeps = rest.by_ref().take(SWEEPS_MAX).collect();
            (name, Saturation { sweeps, caption: facts::caption(run, None) })
        })
        .collect()
}

fn point(step: &StepResult) -> Option<Point> {
    Some(Point {
        rate: step.rate_per_s?,
        reached: step.throughput_per_s,
        response_p99_us: step.latency_us.get("response")?.p99,
        p99: shown::latency(step, "response", Of::P99),
        service_p99_us: step.latency_us.get("service").map_or(0, |service| service.p99),
        overloaded: step.overload.is_some(),
    })
}

impl Saturation {
    fn points(&self) -> impl Iterator<Item = &Point> {
        self.sweeps.iter().flat_map(|sweep| &sweep.points)
    }

    fn legend(&self) -> Vec<(Key, String)> {
        let mut legend: Vec<(Key, String)> = self
            .sweeps
            .iter()
            .enumerate()
            .map(|(n, sweep)| (Key::Line(Stroke::solid(Ink::Line(n), 2.0)), sweep.name.clone()))
            .collect();
        legend.push((Key::Line(Stroke::dashed(Ink::Muted, 1.5)), "service p99".to_owned()));
        if self.points().any(|point| point.overloaded) {
            legend.push((Key::Ring, "overloaded".to_owned()));
        }
        legend
    }

    fn throughput<DB: DrawingBackend>(
        &self,
        sheet: &mut Sheet<'_, DB>,
        at: &Place<'_>,
    ) -> Result<f64, DrawError<DB>> {
        let largest = self.points().map(|point| point.rate.max(point.reached)).fold(0.0, f64::max);
        let y = Axis::from_zero(largest, 4, facts::per_second);
        let panel = at.panel("reached, against the intended rate (thin line)", &y);
        let mut chart = sheet.panel(&panel)?;
        let guide = vec![(0.0, 0.0), (at.x.to.min(y.to), at.x.to.min(y.to))];
        sheet.line(&mut chart, guide, Stroke::solid(Ink::Axis, 1.0))?;
        for (n, sweep) in self.sweeps.iter().enumerate() {
            let points: Vec<_> = sweep.points.iter().map(|p| ((p.rate, p.reached), p.overloaded)).collect();
            curve(sheet, &mut chart, &points, Ink::Line(n))?;
        }
        Ok(Sheet::<DB>::panel_height(&panel))
    }

    fn latency<DB: DrawingBackend>(
        &self,
        sheet: &mut Sheet<'_, DB>,
        at: &Place<'_>,
    ) -> Result<f64, DrawError<DB>> {
        let values = self
            .points()
            .flat_map(|p| [Some(p.response_p99_us), (p.service_p99_us > 0).then_some(p.service_p99_us)]);
        let y = Axis::latency(values.flatten());
        let panel = at.panel("response p99, logarithmic", &y);
        let mut chart = sheet.panel(&panel)?;
        for (n, sweep) in self.sweeps.iter().enumerate() {
            let service = sweep.points.iter().filter(|p| p.service_p99_us > 0);
            let service = service.map(|p| (p.rate, p.service_p99_us as f64)).collect();
            sheet.line(&mut chart, service, Stroke::dashed(Ink::Line(n), 1.5))?;
            let points: Vec<_> =
                sweep.points.iter().map(|p| ((p.rate, p.response_p99_us as f64), p.overloaded)).collect();
            curve(sheet, &mut chart, &points, Ink::Line(n))?;
        }
        Ok(Sheet::<DB>::panel_height(&panel))
    }
}

/// Where one of the two panels stands.
struct Place<'a> {
    x: &'a Axis,
    left: f64,
    width: f64,
}

impl Place<'_> {
    fn panel<'p>(&'p self, title: &'p str, y: &'p Axis) -> Panel<'p> {
        Panel {
            title,
            x: self.x,
            y,
            x_title: Some("intended rate"),
            left: self.left,
            width: self.width,
            height: 190.0,
            labels: 62.0,
            cut: &[],
        }
    }
}

/// A line with a dot for each measured rate; an overloaded one is ringed.
fn curve<DB: DrawingBackend>(
    sheet: &Sheet<'_, DB>,
    chart: &mut Chart<DB>,
    points: &[((f64, f64), bool)],
    ink: Ink,
) -> Result<(), DrawError<DB>> {
    sheet.line(chart, points.iter().map(|(point, _)| *point).collect(), Stroke::solid(ink, 2.0))?;
    for (point, overloaded) in points {
        sheet.dot(chart, *point, ink, 3.5)?;
        if *overloaded {
            sheet.ring(sheet.place(chart, *point))?;
        }
    }
    Ok(())
}

impl Figure for Saturation {
    fn title(&self) -> String {
        "Throughput and latency over the intended rate".to_owned()
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn alt(&self) -> String {
        let sweeps = self.sweeps.iter().map(|sweep| {
            let points = sweep.points.iter().map(|point| {
                let overloaded = if point.overloaded { ", overloaded" } else { "" };
                format!(
                    "{} intended, {} reached, p99 {}{overloaded}",
                    facts::per_second(point.rate),
                    facts::per_second(point.reached),
                    point.p99
                )
            });
            format!("{}: {}", sweep.name, points.collect::<Vec<_>>().join("; "))
        });
        sweeps.collect::<Vec<_>>().join(". ")
    }

    fn draw<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>) -> Result<(), DrawError<DB>> {
        const GUTTER: f64 = 14.0;
        sheet.legend(&self.legend())?;
        let largest = self.points().map(|point| point.rate).fold(0.0, f64::max);
        let x = Axis::from_zero(largest, 4, facts::per_second);
        if sheet.narrow() {
            let place = Place { x: &x, left: MARGIN, width: sheet.inner() };
            sheet.y += self.throughput(sheet, &place)?;
            sheet.y += self.latency(sheet, &place)?;
        } else {
            let width = (sheet.inner() - GUTTER) / 2.0;
            self.throughput(sheet, &Place { x: &x, left: MARGIN, width })?;
            sheet.y += self.latency(sheet, &Place { x: &x, left: MARGIN + width + GUTTER, width })?;
        }
        Ok(())
    }
}
