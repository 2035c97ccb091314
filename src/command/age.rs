//! `idembench age`: how full a table's leaves are and in which order they lie.

use std::path::Path;
use std::process::ExitCode;

use super::screen::{Screen, print_json};
use super::server_choice;
use crate::cli::{AgeArgs, ServerArgs};
use crate::load;
use crate::pages::sample::{Sample, SampledIndex};
use crate::units::grouped;

/// Runs the command.
pub async fn run(args: AgeArgs) -> anyhow::Result<ExitCode> {
    let screen = Screen::new(args.json);
    let sample = take(&args.source, &args.server, &screen).await?;
    match args.json {
        true => print_json(&sample)?,
        false => say(&sample, &screen),
    }
    Ok(ExitCode::SUCCESS)
}

/// Looks at a file, if there is one of that name, or else at a table of the server.
pub async fn take(source: &str, server: &ServerArgs, screen: &Screen) -> anyhow::Result<Sample> {
    let path = Path::new(source);
    if path.is_file() || path.extension().is_some_and(|extension| extension == "ibd") {
        return Ok(load::sample_file(path)?);
    }
    let server = server_choice::open(server, screen).await?;
    let sampled = load::sample_table(&server, source).await;
    server.close().await?;
    Ok(sampled?)
}

/// A line for each index.
pub fn say(sample: &Sample, screen: &Screen) {
    screen.line("age", &sample.source);
    for (ordinal, index) in sample.indexes.iter().enumerate() {
        screen.line("", &index_line(ordinal, index));
    }
}

fn index_line(ordinal: usize, index: &SampledIndex) -> String {
    let name = if ordinal == 0 { "rows".to_owned() } else { format!("index {ordinal}") };
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let tenths = index.leaves.leaves_by_tenths;
    let tenths: Vec<String> = tenths
        .iter()
        .map(|leaves| format!("{:.0}", 100.0 * *leaves as f64 / index.leaves.leaf_pages.max(1) as f64))
        .collect();
    format!(
        "{name}: {} leaves, {} full ({} % by tenths), successor is the next page {}, in the same extent {}; {} of \
         their extents in use",
        grouped(index.leaf_pages),
        percent(index.leaves.mean_fill),
        tenths.join(" "),
        percent(index.leaves.consecutive_share),
        percent(index.leaves.same_extent_share),
        percent(index.extents_used_share),
    )
}
