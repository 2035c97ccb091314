//! The colours of a plot, by what they mean, on paper and in a page that is light or dark.
//!
//! Lines keep 4.5:1 against the paper, so that a number in the paper's colour can be read on them, and stay apart for colour-blind readers; step numbers at the lines'
//! ends say the same without colour.

use plotters::style::RGBColor;

/// How many shades the spectrum has.
pub(super) const SHADES: usize = 9;

/// What a mark is drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    /// The background.
    Paper,
    /// Titles and values.
    Text,
    /// Ticks and captions.
    Muted,
    /// Axis lines.
    Axis,
    /// Grid lines.
    Grid,
    /// The ground under what was cut: warm-up and drain.
    Cut,
    /// One of six lines, by position; more wrap around.
    Line(usize),
    /// One of [`SHADES`] steps from few to many.
    Shade(usize),
}

/// Light hex and dark hex of one ink. Light values are all distinct, since the page finds them by value.
type Pair = (u32, u32);

const PAPER: Pair = (0xffffff, 0x161b22);
const TEXT: Pair = (0x1f2328, 0xe6edf3);
const MUTED: Pair = (0x57606a, 0x9da7b3);
const AXIS: Pair = (0x8c959f, 0x6e7681);
const GRID: Pair = (0xe4e8ec, 0x2a3038);
const CUT: Pair = (0xf1f3f5, 0x1f252d);
/// Blue, vermilion, green, purple, ochre, slate: after Okabe and Ito, the pale ones darkened for paper.
const LINES: [Pair; 6] = [
    (0x0072b2, 0x58b1e8),
    (0xc24e00, 0xff9147),
    (0x00805c, 0x35c79a),
    (0xaa3377, 0xe58abf),
    (0x8c6800, 0xe3b93c),
    (0x59636e, 0xc3cbd4),
];
const RAMP: [Pair; SHADES] = [
    (0xdcebf7, 0x17314a),
    (0xbedaf0, 0x1b4266),
    (0x98c6e6, 0x205582),
    (0x6dafda, 0x2a6c9f),
    (0x4696cb, 0x3c86b9),
    (0x287ab8, 0x5ba2cd),
    (0x145f9d, 0x84bfdf),
    (0x0a477d, 0xb3daee),
    (0x08305a, 0xe4f4fb),
];

impl Ink {
    fn pair(self) -> Pair {
        match self {
            Ink::Paper => PAPER,
            Ink::Text => TEXT,
            Ink::Muted => MUTED,
            Ink::Axis => AXIS,
            Ink::Grid => GRID,
            Ink::Cut => CUT,
            Ink::Line(position) => LINES[position % LINES.len()],
            Ink::Shade(step) => RAMP[step.min(SHADES - 1)],
        }
    }

    /// The colour on paper.
    pub(super) fn color(self) -> RGBColor {
        let [_, red, green, blue] = self.pair().0.to_be_bytes();
        RGBColor(red, green, blue)
    }

    /// The custom property that holds the colour in a page: `--plot-line-0`.
    fn property(self) -> String {
        match self {
            Ink::Paper => "--plot-paper".to_owned(),
            Ink::Text => "--plot-text".to_owned(),
            Ink::Muted => "--plot-muted".to_owned(),
            Ink::Axis => "--plot-axis".to_owned(),
            Ink::Grid => "--plot-grid".to_owned(),
            Ink::Cut => "--plot-cut".to_owned(),
            Ink::Line(position) => format!("--plot-line-{position}"),
            Ink::Shade(step) => format!("--plot-shade-{step}"),
        }
    }

    /// What a style sheet of a page writes for it.
    pub(super) fn css_value(self) -> String {
        let ink = if let Ink::Line(position) = self { Ink::Line(position % LINES.len()) } else { self };
        format!("var({})", ink.property())
    }

    fn all() -> impl Iterator<Item = Ink> {
        [Ink::Paper, Ink::Text, Ink::Muted, Ink::Axis, Ink::Grid, Ink::Cut]
            .into_iter()
            .chain((0..LINES.len()).map(Ink::Line))
            .chain((0..SHADES).map(Ink::Shade))
    }
}

/// Declarations of every colour for a page, light or dark.
pub(super) fn css(dark: bool) -> String {
    Ink::all()
        .map(|ink| {
            let (light_hex, dark_hex) = ink.pair();
            format!("{}:#{:06x};", ink.property(), if dark { dark_hex } else { light_hex })
        })
        .collect()
}

/// A drawn SVG with its colours taken from the page's custom properties.
pub(super) fn themed(svg: &str) -> String {
    Ink::all().fold(svg.to_owned(), |svg, ink| {
        svg.replace(&format!("\"#{:06X}\"", ink.pair().0), &format!("\"{}\"", ink.css_value()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(hex: u32) -> f64 {
        let linear = |byte: u8| {
            let c = f64::from(byte) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        let [_, red, green, blue] = hex.to_be_bytes();
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    /// Contrast by WCAG 2.
    fn contrast(a: u32, b: u32) -> f64 {
        let (low, high) = (luminance(a).min(luminance(b)), luminance(a).max(luminance(b)));
        (high + 0.05) / (low + 0.05)
    }

    #[test]
    fn text_keeps_its_contrast_on_paper_and_on_what_was_cut() {
        for (text, least) in [(TEXT, 7.0), (MUTED, 4.5)] {
            for ground in [PAPER, CUT] {
                assert!(contrast(text.0, ground.0) >= least, "{text:x?} on {ground:x?}");
                assert!(contrast(text.1, ground.1) >= least, "{text:x?} on {ground:x?} in the dark");
            }
        }
    }

    #[test]
    fn lines_stand_out_from_the_paper_and_carry_a_number_in_its_colour() {
        for line in LINES {
            assert!(contrast(line.0, PAPER.0) >= 4.5, "{line:x?}");
            assert!(contrast(line.1, PAPER.1) >= 4.5, "{line:x?} in the dark");
        }
    }

    #[test]
    fn every_ink_can_be_found_by_its_colour() {
        let mut hexes: Vec<u32> = Ink::all().map(|ink| ink.pair().0).collect();
        let count = hexes.len();
        hexes.sort_unstable();
        hexes.dedup();
        assert_eq!(hexes.len(), count);
    }
}
