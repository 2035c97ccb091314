//! What a run is about, in the words that text, tables and captions share. Pure.

use crate::results::{Run, StepResult};
use crate::units::{Bytes, Micros, PerSecond, Rows, three_digits};

/// `2,000/s`, or `closed loop`.
pub fn load(step: &StepResult) -> String {
    match step.rate_per_s {
        Some(rate) => per_second(rate),
        None => "closed loop".to_owned(),
    }
}

/// `claim, full key, 2,000/s`.
pub fn step(step: &StepResult) -> String {
    format!("{}, {}", step.name, load(step))
}

/// `3,412/s`; zero and what is no rate are written too, since a failed step reaches nothing.
pub fn per_second(rate: f64) -> String {
    PerSecond::new(rate).map_or_else(|| format!("{}/s", three_digits(rate)), |rate| rate.to_string())
}

/// Microseconds as a latency.
pub fn latency(us: u64) -> String {
    Micros(us).to_string()
}

/// Seconds as a length of time: `4.1 s`, `42 ms`.
pub fn seconds(seconds: f64) -> String {
    // The cast saturates and takes NaN for 0.
    match (seconds * 1e6).round() as u64 {
        0 => "0 s".to_owned(),
        us => latency(us),
    }
}

/// `MySQL 9.7.4`.
pub fn server(run: &Run) -> String {
    let version = &run.server.version;
    let family = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
    format!("{family} {version}")
}

/// `t_idem, 10,000,000 rows in 7 days`.
pub fn dataset(run: &Run) -> String {
    let days = if run.dataset.days == 1 { "1 day".to_owned() } else { format!("{} days", run.dataset.days) };
    format!("{}, {} rows in {days}", run.dataset.name, Rows(run.dataset.rows))
}

/// `2 CPUs, 23.4 GiB memory`.
pub fn machine(run: &Run) -> String {
    let cpus = if run.machine.cpus == 1 { "1 CPU".to_owned() } else { format!("{} CPUs", run.machine.cpus) };
    format!("{cpus}, {} memory", Bytes(run.machine.memory_bytes))
}

/// The settings without which no figure means anything: `buffer pool 2 GiB`, `binlog off`, …
pub fn settings(run: &Run) -> Vec<String> {
    let setting = |name: &str| run.server.settings.get(name).filter(|value| *value != "n/a");
    let size = |value: &String| value.parse::<u64>().map_or(value.clone(), |bytes| Bytes(bytes).to_string());
    let mut brief = Vec::new();
    if let Some(value) = setting("innodb_buffer_pool_size") {
        brief.push(format!("buffer pool {}", size(value)));
    }
    if let Some(value) = setting("innodb_redo_log_capacity") {
        brief.push(format!("redo {}", size(value)));
    }
    if let Some(value) = setting("log_bin") {
        let off = value == "0" || value.eq_ignore_ascii_case("off");
        brief.push(if off { "binlog off" } else { "binlog on" }.to_owned());
    }
    if let Some(value) = setting("innodb_flush_log_at_trx_commit") {
        brief.push(format!("flush at commit {value}"));
    }
    brief
}

/// The parameters of one step: `2,000/s over 16 connections`, `closed loop over 4 connections`.
pub fn driven(step: &StepResult) -> String {
    let plural = if step.connections == 1 { "" } else { "s" };
    format!("{} over {} connection{plural}", load(step), step.connections)
}

/// A caption line: what made a figure of the run, or of one step of it.
pub fn caption(run: &Run, step: Option<&StepResult>) -> String {
    let mut parts = vec![server(run), dataset(run)];
    match step {
        Some(step) => parts.push(driven(step)),
        None => parts.extend(connections(run)),
    }
    parts.extend(settings(run));
    parts.push(machine(run));
    parts.push(run.run_id.clone());
    parts.join(" · ")
}

/// `16 connections`, when all steps agree.
fn connections(run: &Run) -> Option<String> {
    let first = run.steps.first()?.connections;
    let plural = if first == 1 { "" } else { "s" };
    run.steps.iter().all(|step| step.connections == first).then(|| format!("{first} connection{plural}"))
}
