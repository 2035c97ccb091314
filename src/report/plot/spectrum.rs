//! The latency spectrum of a step: how many operations had which response time in which second.

use std::collections::BTreeMap;

use plotters::prelude::DrawingBackend;

use crate::report::facts;
use crate::results::{Interval, Run, buckets};
use crate::units::Rows;

use super::Figure;
use super::axis::Axis;
use super::ink::{Ink, SHADES};
use super::sheet::{DrawError, Key, MARGIN, Panel, Sheet};
use super::timeline::{cut_s, span_s};

/// Narrower columns would be thinner than two pixels.
const COLUMNS_MAX: usize = 360;

pub(super) struct Spectrum {
    number: usize,
    name: String,
    intervals: Vec<Interval>,
    caption: String,
}

/// The figure, if the step kept counts by bucket.
pub(super) fn figure(run: &Run, position: usize) -> Option<Spectrum> {
    let step = &run.steps[position];
    step.intervals.iter().any(|interval| !interval.response_buckets.is_empty()).then(|| Spectrum {
        number: position + 1,
        name: facts::step(step),
        intervals: step.intervals.clone(),
        caption: facts::caption(run, Some(step)),
    })
}

/// Operations per second in one bucket over a span of time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cell {
    from_s: f64,
    to_s: f64,
    upper_us: u64,
    per_s: f64,
}

/// One cell for each bucket and column of at most [`COLUMNS_MAX`].
fn cells(intervals: &[Interval], columns_max: usize) -> Vec<Cell> {
    let together = intervals.len().div_ceil(columns_max).max(1);
    let mut cells = Vec::new();
    for column in intervals.chunks(together) {
        let (from_s, to_s) = span_s(column);
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for (upper_us, count) in column.iter().flat_map(|interval| &interval.response_buckets) {
            *counts.entry(*upper_us).or_default() += count;
        }
        let length_s = (to_s - from_s).max(1e-3);
        cells.extend(counts.into_iter().map(|(upper_us, count)| Cell {
            from_s,
            to_s,
            upper_us,
            per_s: count as f64 / length_s,
        }));
    }
    cells
}

/// The shade of a count on a logarithmic ramp from 1 to the largest.
fn shade(per_s: f64, largest: f64) -> usize {
    let share = per_s.max(1.0).ln() / largest.max(2.0).ln();
    ((share * SHADES as f64) as usize).min(SHADES - 1)
}

/// Neighbours in time with the same bucket and shade, joined: the picture is the same and much smaller.
fn joined(mut cells: Vec<Cell>, largest: f64) -> Vec<Cell> {
    cells.sort_by(|a, b| a.upper_us.cmp(&b.upper_us).then(a.from_s.total_cmp(&b.from_s)));
    let mut joined: Vec<Cell> = Vec::new();
    for cell in cells {
        match joined.last_mut() {
            Some(last)
                if last.upper_us == cell.upper_us
                    && (last.to_s - cell.from_s).abs() < 1e-6
                    && shade(last.per_s, largest) == shade(cell.per_s, largest) =>
            {
                last.to_s = cell.to_s;
            }
            _ => joined.push(cell),
        }
    }
    joined
}

impl Spectrum {
    fn longest_us(&self) -> u64 {
        let uppers = self.intervals.iter().flat_map(|interval| &interval.response_buckets);
        uppers.map(|(upper_us, _)| *upper_us).max().unwrap_or(0)
    }
}

impl Figure for Spectrum {
    fn title(&self) -> String {
        format!("Step {}, latency spectrum: {}", self.number, self.name)
    }

    fn caption(&self) -> &str {
        &self.caption
    }

    fn alt(&self) -> String {
        format!(
            "{}: how many operations had which response time in which second, up to {}",
            self.name,
            facts::latency(self.longest_us())
        )
    }

    fn draw<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>) -> Result<(), DrawError<DB>> {
        let cells = cells(&self.intervals, if sheet.narrow() { COLUMNS_MAX / 3 } else { COLUMNS_MAX });
        let largest = cells.iter().map(|cell| cell.per_s).fold(1.0, f64::max);
        let cells = joined(cells, largest);
        sheet.legend(&ramp(largest))?;
        let (from, to) = span_s(&self.intervals);
        let x = Axis::seconds(from, to, if sheet.narrow() { 5 } else { 9 });
        let edges = cells.iter().flat_map(|cell| [buckets::lower_us(cell.upper_us).max(8), cell.upper_us]);
        let y = Axis::latency(edges);
        let panel = Panel {
            title: "response time by second of intended start, logarithmic",
            x: &x,
            y: &y,
            x_title: None,
            left: MARGIN,
            width: sheet.inner(),
            height: if sheet.narrow() { 200.0 } else { 250.0 },
            labels: 58.0,
            cut: &cut_s(&self.intervals),
        };
        let mut chart = sheet.panel(&panel)?;
        let rectangles = cells.iter().map(|cell| {
            let bottom = buckets::lower_us(cell.upper_us) as f64;
            let corners = [(cell.from_s, bottom), (cell.to_s, cell.upper_us as f64)];
            (corners, Ink::Shade(shade(cell.per_s, largest)))
        });
        sheet.cells(&mut chart, rectangles)?;
        sheet.y += Sheet::<DB>::panel_height(&panel);
        Ok(())
    }
}

/// Three shades with the counts where they begin, and the ground of what was cut.
fn ramp(largest: f64) -> Vec<(Key, String)> {
    let begins = |step: usize| largest.max(2.0).powf(step as f64 / SHADES as f64);
    let mut entries: Vec<(Key, String)> = [0, SHADES / 3, 2 * SHADES / 3, SHADES - 1]
        .into_iter()
        .map(|step| {
            let count = Rows(begins(step).round() as u64);
            let unit = if step == 0 { " operation a second in this bucket" } else { "" };
            (Key::Box(Ink::Shade(step)), format!("{count}{unit}"))
        })
        .collect();
    entries.push((Key::Box(Ink::Cut), "cut off: warm-up and drain".to_owned()));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(start_s: f64, buckets: &[(u64, u64)]) -> Interval {
        Interval { start_s, length_s: 1.0, response_buckets: buckets.to_vec(), ..Interval::default() }
    }

    #[test]
    fn seconds_are_merged_into_columns_without_losing_a_count() {
        let intervals: Vec<Interval> =
            (0..10).map(|s| second(f64::from(s), &[(100, 3), (1000, 1)])).collect();
        for columns in [1, 3, 10, 100] {
            let counted: f64 = cells(&intervals, columns).iter().map(|c| c.per_s * (c.to_s - c.from_s)).sum();
            assert_eq!(counted.round(), 40.0, "{columns}");
        }
        assert_eq!(joined(cells(&intervals, 100), 3.0).len(), 2);
    }

    #[test]
    fn shades_run_from_one_to_the_largest() {
        assert_eq!(shade(0.1, 1000.0), 0);
        assert_eq!(shade(1.0, 1000.0), 0);
        assert_eq!(shade(1000.0, 1000.0), SHADES - 1);
        assert_eq!(shade(1.0, 1.0), 0);
    }
}
