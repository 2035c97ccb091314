//! Axes: where a value lies and which values get a label. Pure.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::units::{Bytes, Micros, three_digits};

/// An axis: what is drawn lies within `from..to`; values outside are drawn on its ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    /// Value at the left or lower end.
    pub from: f64,
    /// Value at the right or upper end, above `from`.
    pub to: f64,
    /// Values with their labels.
    pub ticks: Vec<(f64, String)>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Linear,
    Logarithmic,
}

impl Axis {
    /// Latencies on a logarithmic axis, room left above and below; the values in microseconds.
    pub fn latency(values_us: impl IntoIterator<Item = u64>) -> Axis {
        let (mut low, mut high) = (u64::MAX, 1);
        for value in values_us {
            low = low.min(value.max(1));
            high = high.max(value);
        }
        let low = (low.min(high) as f64 * 0.8).max(1.0);
        let high = (high as f64 * 1.25).max(low * 10.0);
        // Over few decades the 2 and the 5 between them get labels too.
        let factors: &[f64] = match (high / low).log10() {
            span if span <= 2.2 => &[1.0, 2.0, 5.0],
            span if span <= 3.2 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let ticks = (low.log10().floor() as i32..=high.log10().ceil() as i32)
            .flat_map(|decade| factors.iter().map(move |factor| factor * 10f64.powi(decade)))
            .filter(|us| (low..=high).contains(us))
            .map(|us| (us, Micros(us.round() as u64).to_string()))
            .collect();
        Axis { from: low, to: high, ticks, kind: Kind::Logarithmic }
    }

    /// Values from zero up to the largest, about `labels` labels at round values, each written by `label`.
    pub fn from_zero(largest: f64, labels: usize, label: impl Fn(f64) -> String) -> Axis {
        let largest = if largest > 0.0 { largest * 1.08 } else { 1.0 };
        let ticks = round_steps(0.0, largest, labels).into_iter().map(|v| (v, label(v))).collect();
        Axis { from: 0.0, to: largest, ticks, kind: Kind::Linear }
    }

    /// Bytes from zero up to the largest, labels at round numbers of KiB, MiB or GiB.
    pub fn bytes(largest: f64, labels: usize) -> Axis {
        let unit = 1024f64.powf(largest.max(1.0).log(1024.0).floor());
        let mut axis = Axis::from_zero(largest / unit, labels, |_| String::new());
        axis.to *= unit;
        for (value, label) in &mut axis.ticks {
            *value *= unit;
            *label = Bytes(value.round() as u64).to_string();
        }
        axis
    }

    /// Seconds of a step, about `labels` labels; 0 is where measuring starts.
    pub fn seconds(from: f64, to: f64, labels: usize) -> Axis {
        let to = if to > from { to } else { from + 1.0 };
        let ticks = round_steps(from, to, labels)
            .into_iter()
            .map(|s| (s, format!("{} s", three_digits(s).replace('-', "−"))))
            .collect();
        Axis { from, to, ticks, kind: Kind::Linear }
    }

    /// Percentiles on the scale of nines: 90 % at 1, 99 % at 2; from 10 % as far as `count` samples
    /// resolve them.
    pub fn nines(count: u64) -> Axis {
        let (from, to) = (nines(0.1), (count.max(10) as f64).log10());
        let named = [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %")];
        let mut ticks: Vec<(f64, String)> =
            named.iter().map(|(quantile, label)| (nines(*quantile), (*label).to_owned())).collect();
        ticks.extend((4..=12).map(|n| (f64::from(n), format!("99.{} %", "9".repeat(n as usize - 2)))));
        ticks.retain(|(at, _)| *at <= to);
        Axis { from, to, ticks, kind: Kind::Linear }
    }

    /// Where a value lies between the ends: 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let coordinate = |value: f64| match self.kind {
            Kind::Linear => value,
            // Below a microsecond there is nothing to see.
            Kind::Logarithmic => value.max(1.0).log10(),
        };
        let (from, to) = (coordinate(self.from), coordinate(self.to));
        ((coordinate(value) - from) / (to - from)).clamp(0.0, 1.0)
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, pixels: (i32, i32)) -> i32 {
        let length = f64::from(pixels.1 - pixels.0);
        pixels.0 + (self.share(*value) * length).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // Light lines would stand between the labelled ones; the grid stays quiet without them.
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|(value, _)| *value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|(tick, _)| tick == value);
        tick.map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

/// A quantile on the scale of nines.
pub(super) fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

/// Multiples of a round step (1, 2 or 5 times a power of ten) within `from..=to`, about `count` of them.
fn round_steps(from: f64, to: f64, count: usize) -> Vec<f64> {
    let raw = (to - from) / count.max(1) as f64;
    let power = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw * 0.8).unwrap_or(power);
    let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
    // Bounded, should a caller ever pass an absurd span.
    (first..=last).take(50).map(|n| n as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn latency_axes_label_decades_and_what_lies_between_when_there_is_room() {
        assert_eq!(labels(&Axis::latency([90, 5_000_000])), ["0.1 ms", "1 ms", "10 ms", "100 ms", "1 s"]);
        assert_eq!(labels(&Axis::latency([300, 9_000])), ["0.5 ms", "1 ms", "2 ms", "5 ms", "10 ms"]);
        assert!(!labels(&Axis::latency([])).is_empty());
    }

    #[test]
    fn the_scale_of_nines_ends_where_the_samples_end() {
        assert_eq!(labels(&Axis::nines(30_000)), ["50 %", "90 %", "99 %", "99.9 %", "99.99 %"]);
        assert!((nines(0.99) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn other_axes_have_round_labels() {
        let axis = Axis::from_zero(3_412.0, 4, three_digits);
        assert_eq!(labels(&axis), ["0", "1000", "2000", "3000"]);
        assert_eq!(labels(&Axis::seconds(-10.0, 32.0, 5)), ["−10 s", "0 s", "10 s", "20 s", "30 s"]);
        assert_eq!(labels(&Axis::from_zero(0.0, 2, three_digits)), ["0", "0.5", "1"]);
        assert_eq!(labels(&Axis::bytes(433e3, 3)), ["0 B", "200 KiB", "400 KiB"]);
    }
}
