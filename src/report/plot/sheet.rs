//! The sheet a figure is drawn on: text, legends and panels from top to bottom, in CSS pixels.
//!
//! Figures know neither the backend nor its resolution; the sheet multiplies by `scale`.

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::prelude::{Cartesian2d, DashedLineSeries, DrawingArea, DrawingBackend, LineSeries};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, ShapeStyle};

use super::axis::Axis;
use super::font::{self, Size};
use super::ink::Ink;

/// What a backend says when drawing failed.
pub(super) type DrawError<DB> = plotters::drawing::DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>;

/// A panel's axes, ready for series.
pub(super) type Chart<DB> = ChartContext<'static, DB, Cartesian2d<Axis, Axis>>;

/// Space left and right of everything.
pub(super) const MARGIN: f64 = 14.0;

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stroke {
    pub ink: Ink,
    /// CSS pixels.
    pub width: f64,
    pub dashed: bool,
}

impl Stroke {
    pub(super) fn solid(ink: Ink, width: f64) -> Stroke {
        Stroke { ink, width, dashed: false }
    }

    pub(super) fn dashed(ink: Ink, width: f64) -> Stroke {
        Stroke { ink, width, dashed: true }
    }
}

/// What stands before a legend's text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Key {
    Line(Stroke),
    Box(Ink),
    /// A step's number in its colour.
    Number(usize),
    /// What marks an overloaded point.
    Ring,
}

/// One pair of axes: where it stands and what its axes say.
pub(super) struct Panel<'a> {
    /// What is shown, with its unit.
    pub title: &'a str,
    pub x: &'a Axis,
    pub y: &'a Axis,
    /// What the x axis says, when it says more than its labels.
    pub x_title: Option<&'a str>,
    /// Left edge and width on the sheet.
    pub left: f64,
    pub width: f64,
    /// Height of the plotted part alone.
    pub height: f64,
    /// Room for the y labels.
    pub labels: f64,
    /// Spans of x that were cut off from what was measured.
    pub cut: &'a [(f64, f64)],
}

/// The sheet.
pub(super) struct Sheet<'a, DB: DrawingBackend> {
    area: &'a DrawingArea<DB, Shift>,
    scale: f64,
    /// Width in CSS pixels.
    pub width: f64,
    /// How far down the sheet is used, in CSS pixels.
    pub y: f64,
}

impl<'a, DB: DrawingBackend> Sheet<'a, DB> {
    /// A sheet on an area of `width · scale` device pixels.
    pub(super) fn new(area: &'a DrawingArea<DB, Shift>, width: f64, scale: f64) -> Sheet<'a, DB> {
        Sheet { area, scale, width, y: 12.0 }
    }

    /// Whether columns must be stacked.
    pub(super) fn narrow(&self) -> bool {
        self.width < 600.0
    }

    /// Width between the margins.
    pub(super) fn inner(&self) -> f64 {
        self.width - 2.0 * MARGIN
    }

    fn px(&self, css: f64) -> i32 {
        (css * self.scale).round() as i32
    }

    fn shape(&self, ink: Ink, width: f64) -> ShapeStyle {
        ink.color().stroke_width((width * self.scale).round().max(1.0) as u32)
    }

    /// One line of text; `y` is its middle.
    pub(super) fn text(
        &self,
        at: (f64, f64),
        side: HPos,
        size: Size,
        ink: Ink,
        text: &str,
    ) -> Result<(), DrawError<DB>> {
        let style = font::style(size, ink, self.scale).pos(Pos::new(side, VPos::Center));
        self.area.draw(&Text::new(crate::units::one_line(text), (self.px(at.0), self.px(at.1)), style))
    }

    /// A paragraph over the sheet's width, below what is there.
    pub(super) fn paragraph(&mut self, size: Size, ink: Ink, text: &str) -> Result<(), DrawError<DB>> {
        for line in font::wrap(text, size, self.inner()) {
            self.text((MARGIN, self.y + size.line_px() / 2.0), HPos::Left, size, ink, &line)?;
            self.y += size.line_px();
        }
        Ok(())
    }

    /// A filled rectangle.
    pub(super) fn fill(
        &self,
        left: f64,
        top: f64,
        width: f64,
        height: f64,
        ink: Ink,
    ) -> Result<(), DrawError<DB>> {
        let corners = [(self.px(left), self.px(top)), (self.px(left + width), self.px(top + height))];
        self.area.draw(&Rectangle::new(corners, ink.color().filled()))
    }

    /// A straight line between two points of the sheet.
    pub(super) fn rule(&self, from: (f64, f64), to: (f64, f64), stroke: Stroke) -> Result<(), DrawError<DB>> {
        let dashes = if stroke.dashed { 3 } else { 1 };
        let step = ((to.0 - from.0) / f64::from(dashes), (to.1 - from.1) / f64::from(dashes));
        for dash in 0..dashes {
            // Of each third two thirds are drawn, so that a key as short as this one still reads as dashed.
            let drawn = if stroke.dashed { 0.62 } else { 1.0 };
            let start = (from.0 + step.0 * f64::from(dash), from.1 + step.1 * f64::from(dash));
            let end = (start.0 + step.0 * drawn, start.1 + step.1 * drawn);
            let points = [start, end].map(|(x, y)| (self.px(x), self.px(y)));
            self.area.draw(&PathElement::new(points, self.shape(stroke.ink, stroke.width)))?;
        }
        Ok(())
    }

    /// A step's number on a disk of its colour, centred at a point of the sheet.
    pub(super) fn number(&self, at: (f64, f64), step: usize) -> Result<(), DrawError<DB>> {
        let disk =
            Circle::new((self.px(at.0), self.px(at.1)), self.px(8.5), Ink::Line(step).color().filled());
        self.area.draw(&disk)?;
        self.text((at.0, at.1 + 0.5), HPos::Center, Size::Small, Ink::Paper, &(step + 1).to_string())
    }

    /// A ring around a point of the sheet.
    pub(super) fn ring(&self, at: (f64, f64)) -> Result<(), DrawError<DB>> {
        self.area.draw(&Circle::new((self.px(at.0), self.px(at.1)), self.px(6.5), self.shape(Ink::Text, 1.5)))
    }

    /// A legend that flows over as many lines as it needs.
    pub(super) fn legend(&mut self, entries: &[(Key, String)]) -> Result<(), DrawError<DB>> {
        const KEY_WIDTH: f64 = 26.0;
        const GAP: f64 = 18.0;
        let line = Size::Small.line_px() + 4.0;
        let mut x = MARGIN;
        for (key, label) in entries {
            let label = font::fit(label, Size::Small, self.inner() - KEY_WIDTH);
            let width = KEY_WIDTH + font::width_px(&label, Size::Small);
            if x > MARGIN && x + width > self.width - MARGIN {
                x = MARGIN;
                self.y += line;
            }
            let middle = self.y + line / 2.0;
            self.key((x, middle), *key)?;
            self.text((x + KEY_WIDTH, middle), HPos::Left, Size::Small, Ink::Text, &label)?;
            x += width + GAP;
        }
        self.y += line + 10.0;
        Ok(())
    }

    fn key(&self, (x, middle): (f64, f64), key: Key) -> Result<(), DrawError<DB>> {
        match key {
            Key::Line(stroke) => self.rule((x, middle), (x + 20.0, middle), stroke),
            Key::Box(ink) => self.fill(x + 3.0, middle - 6.0, 14.0, 12.0, ink),
            Key::Number(step) => self.number((x + 10.0, middle), step),
            Key::Ring => self.ring((x + 10.0, middle)),
        }
    }

    /// How high a panel is with its title and its labels.
    pub(super) fn panel_height(panel: &Panel<'_>) -> f64 {
        let below = if panel.x_title.is_some() { 54.0 } else { 34.0 };
        title_px(panel) + 8.0 + panel.height + below
    }

    /// Draws a panel's title, ground, grid and labels at the sheet's `y`, which stays where it is.
    pub(super) fn panel(&self, panel: &Panel<'_>) -> Result<Chart<DB>, DrawError<DB>> {
        for (n, line) in font::wrap(panel.title, Size::Panel, panel.width).iter().enumerate() {
            let middle = self.y + (n as f64 + 0.5) * Size::Panel.line_px();
            self.text((panel.left, middle), HPos::Left, Size::Panel, Ink::Text, line)?;
        }
        let top = self.y + title_px(panel) + 8.0;
        // Half a label of room, or the topmost one would be cut off.
        let (room, below) = (8.0, 24.0);
        let corner = (self.px(panel.left), self.px(top - room));
        let size = (self.px(panel.width) as u32, self.px(panel.height + room + below) as u32);
        let area = self.area.clone().shrink(corner, size);
        let mut chart = ChartBuilder::on(&area)
            .margin_top(self.px(room))
            .margin_right(self.px(12.0))
            .x_label_area_size(self.px(below))
            .y_label_area_size(self.px(panel.labels))
            .build_cartesian_2d(thinned(panel.x, panel.width - panel.labels), panel.y.clone())?;
        for (from, to) in panel.cut {
            let corners = [(*from, panel.y.from), (*to, panel.y.to)];
            chart.draw_series([Rectangle::new(corners, Ink::Cut.color().filled())])?;
        }
        self.mesh(&mut chart)?;
        if let Some(x_title) = panel.x_title {
            let middle = (panel.left + (panel.width + panel.labels) / 2.0, top + panel.height + 34.0);
            self.text(middle, HPos::Center, Size::Small, Ink::Muted, x_title)?;
        }
        Ok(chart)
    }

    fn mesh(&self, chart: &mut Chart<DB>) -> Result<(), DrawError<DB>> {
        let labels = font::style(Size::Small, Ink::Muted, self.scale);
        chart
            .configure_mesh()
            .bold_line_style(self.shape(Ink::Grid, 1.0))
            .light_line_style(Ink::Grid.color().mix(0.0))
            .axis_style(self.shape(Ink::Axis, 1.0))
            .label_style(labels)
            .set_all_tick_mark_size(self.px(4.0))
            .draw()
    }

    /// A line through points given as values; a lone point becomes a dot.
    pub(super) fn line(
        &self,
        chart: &mut Chart<DB>,
        points: Vec<(f64, f64)>,
        stroke: Stroke,
    ) -> Result<(), DrawError<DB>> {
        let shape = self.shape(stroke.ink, stroke.width);
        if let [point] = points[..] {
            return self.dot(chart, point, stroke.ink, stroke.width + 0.5);
        }
        if stroke.dashed {
            chart.draw_series(DashedLineSeries::new(points, self.px(5.0), self.px(4.0), shape))?;
        } else {
            chart.draw_series(LineSeries::new(points, shape))?;
        }
        Ok(())
    }

    /// A dot, given as values.
    pub(super) fn dot(
        &self,
        chart: &mut Chart<DB>,
        point: (f64, f64),
        ink: Ink,
        radius: f64,
    ) -> Result<(), DrawError<DB>> {
        chart.draw_series([Circle::new(point, self.px(radius), ink.color().filled())])?;
        Ok(())
    }

    /// Rectangles, given as values.
    pub(super) fn cells(
        &self,
        chart: &mut Chart<DB>,
        cells: impl IntoIterator<Item = ([(f64, f64); 2], Ink)>,
    ) -> Result<(), DrawError<DB>> {
        chart.draw_series(
            cells.into_iter().map(|(corners, ink)| Rectangle::new(corners, ink.color().filled())),
        )?;
        Ok(())
    }

    /// Where a point of a chart lies on the sheet.
    pub(super) fn place(&self, chart: &Chart<DB>, point: (f64, f64)) -> (f64, f64) {
        let (x, y) = chart.backend_coord(&point);
        (f64::from(x) / self.scale, f64::from(y) / self.scale)
    }
}

/// Height of a panel's title, which may take several lines.
fn title_px(panel: &Panel<'_>) -> f64 {
    font::wrap(panel.title, Size::Panel, panel.width).len() as f64 * Size::Panel.line_px()
}

/// The axis without those labels that would run into the one before.
fn thinned(axis: &Axis, length_px: f64) -> Axis {
    const GAP_PX: f64 = 6.0;
    let mut free_from = f64::NEG_INFINITY;
    let mut thinned = axis.clone();
    thinned.ticks.retain(|(value, label)| {
        let (middle, half) = (axis.share(*value) * length_px, font::width_px(label, Size::Small) / 2.0);
        let fits = middle - half >= free_from;
        if fits {
            free_from = middle + half + GAP_PX;
        }
        fits
    });
    thinned
}
