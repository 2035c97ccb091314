//! What a person sees while a command works: labelled lines and, on a terminal, bars.
//!
//! On a terminal a bar moves on standard error; in a pipe each bar becomes one plain line when it is
//! done. With `--json` standard output belongs to the machine and every line goes to standard error.

use std::io::Write;
use std::time::Duration;

use console::{Style, Term};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::units::one_line;

/// Where lines and bars go.
pub struct Screen {
    /// Standard output belongs to a machine.
    json: bool,
}

/// One moving line.
pub struct Bar {
    bar: ProgressBar,
    label: &'static str,
    json: bool,
}

/// Width of the label column: the longest label and two blanks.
const LABEL_WIDTH: usize = 10;

impl Screen {
    /// A screen; with `json` nothing but the command's JSON reaches standard output.
    pub fn new(json: bool) -> Screen {
        Screen { json }
    }

    /// One labelled line: `server    owned mysqld 9.7.4 up in 3.9 s`. An empty label continues the last.
    pub fn line(&self, label: &str, text: &str) {
        print_line(self.json, label, text);
    }

    /// A labelled line that deserves attention.
    pub fn warn(&self, text: &str) {
        let text = one_line(text);
        print_error(&format!("{} {text}", Style::new().for_stderr().yellow().apply_to("warning:")));
    }

    /// A bar of `total` units with a name in front; call [`Bar::set`] as work goes on.
    pub fn bar(&self, label: &'static str, name: &str, total: u64) -> Bar {
        let target = match Term::stderr().features().is_attended() {
            true => ProgressDrawTarget::stderr_with_hz(8),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        // The template is a constant of ours; should it ever be wrong, the default bar serves as well.
        if let Ok(style) = ProgressStyle::with_template("{prefix}{bar:20.cyan/dim}  {msg}") {
            bar.set_style(style.progress_chars("━━─"));
        }
        bar.set_prefix(format!("{}{}  ", padded(label), one_line(name)));
        bar.enable_steady_tick(Duration::from_millis(250));
        Bar { bar, label, json: self.json }
    }
}

impl Bar {
    /// Moves to `position` and shows `message` behind the bar.
    pub fn set(&self, position: u64, message: String) {
        self.bar.set_position(position);
        self.bar.set_message(one_line(&message));
    }

    /// A line above the bar, which goes on.
    pub fn line(&self, text: &str) {
        self.bar.suspend(|| print_line(self.json, self.label, text));
    }

    /// Takes the bar away and leaves one line in its place.
    pub fn finish(&self, text: &str) {
        self.bar.finish_and_clear();
        print_line(self.json, self.label, text);
    }
}

fn padded(label: &str) -> String {
    format!("{label:<LABEL_WIDTH$}")
}

/// Names, descriptions and servers' words stand in these lines: whatever they hold stays words.
fn print_line(json: bool, label: &str, text: &str) {
    let text = one_line(text);
    let bold = Style::new().bold();
    let width = padded(label);
    match json {
        true => print_error(&format!("{}{text}", bold.for_stderr().apply_to(width))),
        false => print_out(&format!("{}{text}", bold.apply_to(width))),
    }
}

/// Prints a command's answer for machines on standard output.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    print_out(&serde_json::to_string_pretty(value)?);
    Ok(())
}

/// One line on standard output. A reader that has gone away, as `head` does, is no failure of ours.
pub fn print_out(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// One line on standard error. A terminal that has gone away must not keep us from ending in order.
pub fn print_error(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
