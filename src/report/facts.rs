//! What a run is about, in the words that text, tables and captions share. Pure.

use crate::results::{Run, StepResult};
use crate::units::{Bytes, Micros, PerSecond, Rows, grouped, three_digits};

/// The backlog's age when measuring ended, `overload.backlog_age_s`.
pub const OLDEST_WAITING: &str = "oldest waiting at the end";
/// The largest `backlog_age_s` of any interval, warm-up and draining included.
pub const LARGEST_BACKLOG_AGE: &str = "largest backlog age";

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

/// `2026-12-01 02:10 UTC`, or what stands there if it is no RFC 3339 instant.
pub fn started(run: &Run) -> String {
    match run.started_at.split_once('T') {
        Some((day, time)) if run.started_at.ends_with('Z') && time.is_char_boundary(5) && time.len() > 5 => {
            format!("{day} {} UTC", &time[..5])
        }
        _ => run.started_at.clone(),
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
    format!("{}, {} rows in {}", run.dataset.name, Rows(run.dataset.rows), days(run))
}

/// `7 days`.
pub fn days(run: &Run) -> String {
    counted(run.dataset.days.into(), "day")
}

/// `1 step`, `1,200 steps`, `2 kinds of step`.
pub fn counted(count: u64, thing: &str) -> String {
    match (count, thing.split_once(' ')) {
        (1, _) => format!("1 {thing}"),
        (_, Some((head, rest))) => format!("{} {head}s {rest}", grouped(count)),
        (_, None) => format!("{} {thing}s", grouped(count)),
    }
}

/// `2 CPUs, 23.4 GiB memory`.
pub fn machine(run: &Run) -> String {
    let cpus = counted(run.machine.cpus.into(), "CPU");
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
    format!("{} over {}", load(step), counted(step.connections.into(), "connection"))
}

/// `3,000,000 rows can be won; up to 30,000 (1 %) leased at a time`.
pub fn pool(step: &StepResult) -> Option<String> {
    let pool = step.pool?;
    let uneven = match pool.even_rows.round() as u64 {
        even if even < pool.rows => {
            format!(", aimed at unevenly: as good as {} aimed at alike", grouped(even))
        }
        _ => String::new(),
    };
    let leased = match pool.leased_share() {
        share if share <= 1.0 => format!("({} %) leased at a time", three_digits(100.0 * share)),
        times => format!("claims in one lease's time, {} for each", three_digits(times)),
    };
    let leased_rows = grouped(pool.leased_rows.round() as u64);
    Some(format!("{} rows can be won{uneven}; up to {leased_rows} {leased}", grouped(pool.rows)))
}

/// `pool 3M rows`, and how much of it is leased where that is too much.
pub fn pool_in_short(step: &StepResult) -> Option<String> {
    let pool = step.pool?;
    let leased = match pool.leased_share() {
        _ if !pool.is_small() => String::new(),
        share if share <= 1.0 => format!(", up to {} % leased", three_digits(100.0 * share)),
        _ => ", over 100 % leased".to_owned(),
    };
    Some(format!("pool {} rows{leased}", Rows(pool.rows).short()))
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
    let agree = run.steps.iter().all(|step| step.connections == first);
    agree.then(|| counted(first.into(), "connection"))
}
