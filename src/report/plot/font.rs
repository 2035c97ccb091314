//! The one font that plots are measured and drawn with: embedded, so that a picture is the same on every
//! machine. In SVG the generic family stands, and the reader's own font is used.

use std::sync::OnceLock;

use plotters::style::{Color, FontStyle, IntoFont, TextStyle, register_font};

use super::PlotError;
use super::ink::Ink;

/// The name under which the font is registered, and the family named in SVG.
pub(super) const FAMILY: &str = "sans-serif";

/// The font file.
pub(super) const FILE: &[u8] = epaint_default_fonts::UBUNTU_LIGHT;

/// `plotters` divides a size by this when it writes SVG, so a wanted size is multiplied by it.
const SIZE_PER_EM: f64 = 1.24;

/// The font sizes of a plot, in CSS pixels; 12 is the smallest that reads well in a pull request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    /// The figure's title.
    Title,
    /// What a panel shows.
    Panel,
    /// Ticks, legends, captions.
    Small,
}

impl Size {
    fn px(self) -> f64 {
        match self {
            Size::Title => 16.0,
            Size::Panel => 13.0,
            Size::Small => 12.0,
        }
    }

    /// Distance from one line of text to the next.
    pub(super) fn line_px(self) -> f64 {
        (self.px() * 1.4).round()
    }
}

/// Makes the font known; later calls cost nothing.
pub(super) fn register() -> Result<(), PlotError> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered = *REGISTERED.get_or_init(|| register_font(FAMILY, FontStyle::Normal, FILE).is_ok());
    if registered { Ok(()) } else { Err(PlotError::Font) }
}

/// Text of a size and ink, `scale` device pixels to the CSS pixel.
pub(super) fn style(size: Size, ink: Ink, scale: f64) -> TextStyle<'static> {
    let font = (FAMILY, size.px() * SIZE_PER_EM * scale).into_font();
    let font = if size == Size::Title { font.style(FontStyle::Bold) } else { font };
    TextStyle { color: ink.color().to_backend_color(), ..TextStyle::from(font) }
}

/// Width of a line of text in CSS pixels, with room for readers whose font is wider than ours.
pub(super) fn width_px(text: &str, size: Size) -> f64 {
    // DejaVu Sans is about an eighth wider than our font, its bold a third.
    let wider = if size == Size::Title { 1.3 } else { 1.14 };
    // Measured large, because the width comes back in whole pixels.
    let font = (FAMILY, size.px() * SIZE_PER_EM * 10.0).into_font();
    let measured = font
        .box_size(text)
        .map_or(text.chars().count() as f64 * size.px() * 0.55, |(w, _)| f64::from(w) / 10.0);
    measured * wider
}

/// Breaks a text at spaces into lines of at most `width` CSS pixels; a longer word stands alone.
pub(super) fn wrap(text: &str, size: Size, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_px(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text cut to `width` CSS pixels, an ellipsis in place of what is missing.
pub(super) fn fit(text: &str, size: Size, width: f64) -> String {
    if width_px(text, size) <= width {
        return text.to_owned();
    }
    let mut kept: String = text.to_owned();
    while kept.pop().is_some() {
        let shortened = format!("{}…", kept.trim_end());
        if width_px(&shortened, size) <= width {
            return shortened;
        }
    }
    String::new()
}
