//! Figures of a run, as SVG and PNG. One figure a file; this is the only door to `plotters`.
//!
//! Every figure is drawn twice by the same code: for paper (830 px wide, the width of a pull request; the PNG
//! is made from the SVG) and for a page on a telephone (368 px wide).

mod axis;
mod costs;
mod counters;
mod font;
mod holds;
mod ink;
mod percentiles;
mod raster;
mod saturation;
mod sheet;
mod spectrum;
mod timeline;

use plotters::prelude::{DrawingBackend, IntoDrawingArea, SVGBackend};

use crate::results::Run;
use font::Size;
use ink::Ink;
use sheet::{DrawError, Sheet};

/// Width of a figure on paper, CSS pixels.
pub const WIDE_PX: u32 = 830;
/// Width of a figure on a telephone, CSS pixels.
pub const NARROW_PX: u32 = 368;
/// Units to the CSS pixel: half pixels in SVG, since `plotters` rounds, and sharp on dense screens in PNG.
const SCALE: u32 = 2;
/// Whatever font the reader's system is written in.
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif";
/// No figure is higher, CSS pixels.
const HEIGHT_MAX_PX: u32 = 4000;

/// Why a figure could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The embedded font is not a font.
    #[error("failed to read the embedded font: the program was built wrongly")]
    Font,
    /// The plotting library refused.
    #[error("failed to draw {figure}: {reason}")]
    Draw {
        /// The figure's name.
        figure: String,
        /// What the library said.
        reason: String,
    },
    /// The drawn SVG could not be made a PNG.
    #[error("failed to make a PNG of {figure}: {reason}")]
    Raster {
        /// The figure's name.
        figure: String,
        /// What the library said.
        reason: String,
    },
}

/// Which part of the run a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// All steps.
    Run,
    /// One step, by its position in the run.
    Step(usize),
}

/// A drawn figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Stem of its files: `percentiles`, `2-timeline`.
    pub name: String,
    /// What it is about.
    pub subject: Subject,
    /// Its title.
    pub title: String,
    /// What it says, for those who cannot see it.
    pub alt: String,
    /// [`WIDE_PX`] wide, on its own paper.
    pub svg: String,
    /// The same as PNG, two pixels to the CSS pixel.
    pub png: Vec<u8>,
    /// [`WIDE_PX`] wide, in the page's colours.
    pub svg_page: String,
    /// [`NARROW_PX`] wide, in the page's colours.
    pub svg_page_narrow: String,
}

/// What a figure must say to be drawn.
trait Figure {
    /// One line, no full stop.
    fn title(&self) -> String;
    /// The parameters that made it.
    fn caption(&self) -> &str;
    /// Its message in words and figures.
    fn alt(&self) -> String;
    /// Everything between title and caption.
    fn draw<DB: DrawingBackend>(&self, sheet: &mut Sheet<'_, DB>) -> Result<(), DrawError<DB>>;
}

/// All figures that the run has data for: first those of the run, then those of each step.
pub fn figures(run: &Run) -> Result<Vec<Plot>, PlotError> {
    font::register()?;
    let mut plots = Vec::new();
    if let Some(figure) = holds::figure(run) {
        plots.push(plot("holds".to_owned(), Subject::Run, &figure)?);
    }
    for (name, figure) in percentiles::figures(run) {
        plots.push(plot(name, Subject::Run, &figure)?);
    }
    for (name, figure) in saturation::figures(run) {
        plots.push(plot(name, Subject::Run, &figure)?);
    }
    if let Some(figure) = costs::figure(run) {
        plots.push(plot("costs".to_owned(), Subject::Run, &figure)?);
    }
    for position in 0..run.steps.len() {
        let name = |figure: &str| format!("{}-{figure}", position + 1);
        if let Some(figure) = timeline::figure(run, position) {
            plots.push(plot(name("timeline"), Subject::Step(position), &figure)?);
        }
        if let Some(figure) = spectrum::figure(run, position) {
            plots.push(plot(name("spectrum"), Subject::Step(position), &figure)?);
        }
        if let Some(figure) = counters::figure(run, position) {
            plots.push(plot(name("counters"), Subject::Step(position), &figure)?);
        }
    }
    Ok(plots)
}

/// Custom properties that [`Plot::svg_page`] takes its colours from.
pub fn page_colors(dark: bool) -> String {
    ink::css(dark)
}

/// The colour of a step's number in a page, as CSS.
pub fn step_color(position: usize) -> String {
    Ink::Line(position).css_value()
}

fn plot(name: String, subject: Subject, figure: &impl Figure) -> Result<Plot, PlotError> {
    let svg = draw(&name, figure, WIDE_PX)?;
    let png = raster::png(&name, &svg, SCALE as f32)?;
    let svg_page = ink::themed(&svg);
    let svg_page_narrow = ink::themed(&draw(&name, figure, NARROW_PX)?);
    Ok(Plot { name, subject, title: figure.title(), alt: figure.alt(), svg, png, svg_page, svg_page_narrow })
}

/// Title, figure, caption; what the sheet used of its height comes back.
fn compose<DB: DrawingBackend>(figure: &impl Figure, mut sheet: Sheet<'_, DB>) -> Result<u32, DrawError<DB>> {
    sheet.paragraph(Size::Title, Ink::Text, &figure.title())?;
    sheet.y += 8.0;
    figure.draw(&mut sheet)?;
    sheet.y += 8.0;
    sheet.paragraph(Size::Small, Ink::Muted, figure.caption())?;
    Ok((sheet.y + 10.0).ceil() as u32)
}

/// The figure as SVG. Its height is known only once it is drawn, so the head is written afterwards.
fn draw(name: &str, figure: &impl Figure, width_px: u32) -> Result<String, PlotError> {
    let mut drawn = String::new();
    let height_px = {
        let backend = SVGBackend::with_string(&mut drawn, (width_px * SCALE, HEIGHT_MAX_PX * SCALE));
        let area = backend.into_drawing_area();
        let sheet = Sheet::new(&area, f64::from(width_px), f64::from(SCALE));
        let height_px = compose(figure, sheet).map_err(|error| refused(name, &error))?;
        area.present().map_err(|error| refused(name, &error))?;
        height_px
    };
    let marks = drawn.split_once('>').map_or("", |(_, marks)| marks);
    // What says nothing more than the default, or the same everywhere, would be half of the file.
    let marks = marks.replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "");
    let marks = marks.replace(&format!(" font-family=\"{}\"", font::FAMILY), "").replace(">\n", ">");
    let marks = marks.replace("\n</text>", "</text>");
    let (width, height) = (width_px * SCALE, height_px * SCALE);
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width_px}\" height=\"{height_px}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" font-family=\"{FONTS}\">\
         <title>{}</title><style>rect{{shape-rendering:crispEdges}}</style><rect width=\"{width}\" height=\"{height}\" fill=\"#FFFFFF\"/>",
        escaped(&figure.alt())
    );
    Ok(head + &marks)
}

fn refused(figure: &str, error: &dyn std::fmt::Display) -> PlotError {
    PlotError::Draw { figure: figure.to_owned(), reason: error.to_string() }
}

/// Text fit for XML.
fn escaped(text: &str) -> String {
    let text = crate::units::one_line(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
