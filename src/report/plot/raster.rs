//! From SVG to PNG, for places that show no SVG. The only door to `resvg` and `png`.
//!
//! The picture is made from the same SVG, so that the two cannot differ; `plotters` draws bitmaps too, but
//! sets their text without side bearings.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::{PlotError, font};

/// The SVG as PNG, `scale` device pixels to the CSS pixel.
pub(super) fn png(name: &str, svg: &str, scale: f32) -> Result<Vec<u8>, PlotError> {
    let refused = |reason: String| PlotError::Raster { figure: name.to_owned(), reason };
    let options = Options { fontdb: fonts(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| refused(error.to_string()))?;
    let size = tree.size();
    let (width, height) = ((size.width() * scale) as u32, (size.height() * scale) as u32);
    let mut pixels =
        Pixmap::new(width, height).ok_or_else(|| refused(format!("{width} × {height} pixels")))?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    let opaque: Vec<Rgb> = pixels.pixels().iter().map(|p| [p.red(), p.green(), p.blue()]).collect();
    indexed(width, height, &opaque).map_err(|error| refused(error.to_string()))
}

/// Red, green, blue.
type Rgb = [u8; 3];

/// A PNG with a palette: half the size, so that a run is small enough to commit. The 256 most frequent
/// colours stay exact; the rest, rare blends at the edges of lines, take the nearest of them.
fn indexed(width: u32, height: u32, pixels: &[Rgb]) -> Result<Vec<u8>, png::EncodingError> {
    let mut counts: BTreeMap<Rgb, usize> = BTreeMap::new();
    // Most pixels equal their neighbour, so runs are looked up instead of pixels.
    for run in pixels.chunk_by(|a, b| a == b) {
        *counts.entry(run[0]).or_default() += run.len();
    }
    let mut colors: Vec<(Rgb, usize)> = counts.into_iter().collect();
    // Stable, over a sorted list: the same picture gives the same file.
    colors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let palette: Vec<Rgb> = colors.iter().take(256).map(|(color, _)| *color).collect();
    let index: BTreeMap<Rgb, u8> =
        colors.iter().map(|(color, _)| (*color, nearest(&palette, *color))).collect();
    let mut indexes = Vec::with_capacity(pixels.len());
    for run in pixels.chunk_by(|a, b| a == b) {
        indexes.resize(indexes.len() + run.len(), index[&run[0]]);
    }
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_palette(palette.concat());
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indexes)?;
    writer.finish()?;
    Ok(file)
}

/// Position of the colour nearest to `wanted` in a palette of at most 256.
fn nearest(palette: &[Rgb], wanted: Rgb) -> u8 {
    let distance =
        |color: &Rgb| -> u32 { color.iter().zip(wanted).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum() };
    let nearest = palette.iter().enumerate().min_by_key(|(_, color)| distance(color));
    nearest.map_or(0, |(position, _)| position as u8)
}

/// The embedded font under every generic name; no system font is looked at.
fn fonts() -> Arc<fontdb::Database> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(font::FILE.to_vec());
        let family =
            fonts.faces().next().and_then(|face| face.families.first()).map(|family| family.0.clone());
        fonts.set_sans_serif_family(family.unwrap_or_default());
        Arc::new(fonts)
    };
    FONTS.get_or_init(load).clone()
}
