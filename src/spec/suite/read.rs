//! From a name or a file to a checked suite.

use std::path::{Path, PathBuf};

use toml::Spanned;

use super::wire::{WireRate, WireStatement, WireStep, WireSuite, WireTargets, WireWarmUp, WireWorkload};
use super::{ClaimSpec, ClaimStatement, Load, Step, Suite, Targets, WarmUp, Workload, settle};
use crate::units::Span;

/// A suite that travels in the binary.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub toml: &'static str,
}

/// The built-in suites.
pub fn built_in() -> &'static [BuiltIn] {
    const ALL: &[BuiltIn] = &[
        BuiltIn { name: "quickstart", toml: include_str!("../../../datasets/suites/quickstart.toml") },
        BuiltIn { name: "seed", toml: include_str!("../../../datasets/suites/seed.toml") },
        BuiltIn { name: "claim", toml: include_str!("../../../datasets/suites/claim.toml") },
    ];
    ALL
}

/// Why a suite cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// Neither a built-in suite nor a file.
    #[error("no suite is named `{name}`: use one of {known}, or a TOML file")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in names.
        known: String,
    },
    /// The file cannot be read.
    #[error("failed to read {}: {source}", path.display())]
    ReadFile {
        /// Which file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// The file says something that it cannot say.
    #[error("{file}, line {line}: {what}")]
    Toml {
        /// Which file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
}

/// Connections of a step that names none.
const CONNECTIONS: u32 = 16;
/// Lease of a step that names none: short, so that rows can be won again.
const LEASE: Span = Span::seconds(1);
/// Rows in a sweeper's batch that names none.
const BATCH: u32 = 100;
/// Zipf's exponent where none is named: the one of most published key-value benchmarks.
const EXPONENT: f64 = 0.99;
/// Share of the newest day where none is named.
const NEWEST_SHARE: f64 = 0.9;
/// Warm-up of a step that names none.
const WARM_UP: WarmUp = WarmUp { at_least: Span::seconds(5), at_most: Span::seconds(20) };
/// Steps of one suite, sweeps multiplied out.
const STEPS_MAX: usize = 1_000;

impl Suite {
    /// Reads a built-in suite by name, or a file.
    ///
    /// # Errors
    /// [`SuiteError`], with file and line where there is one.
    pub fn read(name_or_path: &str) -> Result<Suite, SuiteError> {
        if let Some(suite) = built_in().iter().find(|suite| suite.name == name_or_path) {
            return Suite::parse(suite.name, &format!("suite {name_or_path}"), suite.toml);
        }
        let path = Path::new(name_or_path);
        let is_path = path.extension().is_some_and(|extension| extension == "toml") || path.exists();
        if !is_path {
            let known = built_in().iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ");
            return Err(SuiteError::Unknown { name: name_or_path.to_owned(), known });
        }
        let text = std::fs::read_to_string(path)
            .map_err(|source| SuiteError::ReadFile { path: path.to_owned(), source })?;
        let stem = path.file_stem().map_or_else(|| "suite".into(), |stem| stem.to_string_lossy());
        Suite::parse(&stem, name_or_path, &text)
    }

    /// Reads a suite's text; `file` stands in errors.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Suite, SuiteError> {
        let at = |offset: usize, what: String| SuiteError::Toml {
            file: file.to_owned(),
            line: text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1,
            what,
        };
        let wire: WireSuite = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            let what = error.message().trim().replace('\n', " ");
            match what.starts_with("missing field").then(|| incomplete_step(text)).flatten() {
                Some((offset, lacks)) => at(offset, lacks),
                None => at(offset, what),
            }
        })?;
        let mut steps: Vec<Step> = Vec::new();
        for step in &wire.steps {
            let wrong =
                |what: String| at(step.span().start, format!("step `{}`: {what}", step.get_ref().name));
            for step in steps_of(step).map_err(wrong)? {
                if steps.iter().any(|other| other.name == step.name && other.load == step.load) {
                    return Err(wrong(format!(
                        "another step has the same name and the same load ({})",
                        step.load
                    )));
                }
                steps.push(step);
            }
            if steps.len() > STEPS_MAX {
                return Err(wrong(format!("this makes more than {STEPS_MAX} steps")));
            }
        }
        if steps.is_empty() {
            return Err(at(0, "there is no [[step]]".to_owned()));
        }
        let WireSuite { description, dataset, rows, days, .. } = wire;
        Ok(Suite { name: name.to_owned(), description, dataset, rows, days, steps })
    }
}

/// Keys that a step of this workload must have.
fn needs(workload: Option<&str>) -> Vec<&'static str> {
    let own: &[&str] = match workload {
        Some("claim") => &["statement"],
        Some("hold" | "contention") => &["design"],
        Some("rebalance") => &["design", "owner_state"],
        _ => &[],
    };
    [&["name", "workload"], own, &["rate", "duration"]].concat()
}

/// Where the first step that lacks keys begins, what a person calls it, and what it lacks. The reader of TOML
/// reports one of them, at the start of the list, which is far from the step at fault.
fn incomplete_step(text: &str) -> Option<(usize, String)> {
    #[derive(serde::Deserialize)]
    struct Loose {
        step: Vec<Spanned<toml::Table>>,
    }
    let steps = toml::from_str::<Loose>(text).ok()?.step;
    let word = |step: &toml::Table, key| step.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let lacks = |step: &toml::Table| {
        let keys = needs(word(step, "workload").as_deref()).into_iter();
        keys.filter(|key| !step.contains_key(*key)).map(|key| format!("`{key}`")).collect::<Vec<_>>()
    };
    let mut lacking = steps.iter().enumerate().map(|(index, step)| (index, step, lacks(step.get_ref())));
    let (index, step, keys) = lacking.find(|(_, _, keys)| !keys.is_empty())?;
    let called = match word(step.get_ref(), "name") {
        Some(name) => format!("step `{name}`"),
        None => format!("[[step]] number {}", index + 1),
    };
    let fields = if keys.len() == 1 { "field" } else { "fields" };
    Some((step.span().start, format!("{called}: missing {fields} {}", keys.join(", "))))
}

/// The steps that one `[[step]]` stands for: each rate with each number of connections.
fn steps_of(wire: &Spanned<WireStep>) -> Result<Vec<Step>, String> {
    let wire = wire.get_ref();
    if wire.name.trim().is_empty() {
        return Err("its name is empty".to_owned());
    }
    if wire.duration.0.is_zero() {
        return Err("duration must be above zero".to_owned());
    }
    if let Some(what) = wire.foreign_key() {
        return Err(what);
    }
    let workload = match wire.workload {
        WireWorkload::Claim => Workload::Claim(claim(wire)?),
        WireWorkload::Hold => Workload::Hold(settle::hold(wire)?),
        WireWorkload::Contention => Workload::Contention(settle::contention(wire)?),
        WireWorkload::Rebalance => Workload::Rebalance(settle::rebalance(wire)?),
    };
    let warm_up = warm_up(wire.warm_up)?;
    let connections = wire.connections.as_ref().map_or(&[CONNECTIONS][..], |many| &many.0);
    let mut steps = Vec::new();
    for rate in &wire.rate.0 {
        for &connections in connections {
            let load = match *rate {
                WireRate::Open(rate) => Load::Open { rate, connections },
                WireRate::Max => Load::Closed { connections },
            };
            let (name, workload) = (wire.name.clone(), workload.clone());
            steps.push(Step { name, workload, load, duration: wire.duration, warm_up });
        }
    }
    Ok(steps)
}

fn warm_up(wire: Option<WireWarmUp>) -> Result<WarmUp, String> {
    match wire {
        None => Ok(WARM_UP),
        Some(WireWarmUp { at_least, at_most }) if at_least <= at_most => Ok(WarmUp { at_least, at_most }),
        Some(_) => Err("warm_up: at_least is above at_most".to_owned()),
    }
}

fn claim(wire: &WireStep) -> Result<ClaimSpec, String> {
    let (statement, sweeps) = match wire.statement.ok_or("missing field `statement`")? {
        WireStatement::FullKey => (ClaimStatement::FullKey, false),
        WireStatement::NoPartitionKey => (ClaimStatement::NoPartitionKey, false),
        WireStatement::SweepSkipLocked => {
            (ClaimStatement::SweepSkipLocked { batch: wire.batch.unwrap_or(BATCH) }, true)
        }
        WireStatement::SweepKeyList => {
            (ClaimStatement::SweepKeyList { batch: wire.batch.unwrap_or(BATCH) }, true)
        }
    };
    if !sweeps && wire.batch.is_some() {
        return Err("batch is for sweepers: take it out, or use a sweep_… statement".to_owned());
    }
    if wire.batch == Some(0) {
        return Err("batch must be at least 1".to_owned());
    }
    let (losing_share, duplicate_share) =
        (wire.losing_share.unwrap_or(0.0), wire.duplicate_share.unwrap_or(0.0));
    if sweeps && (losing_share > 0.0 || duplicate_share > 0.0) {
        return Err(
            "losing_share and duplicate_share are for claims by key: a sweeper finds its rows".to_owned()
        );
    }
    let lease = wire.lease.unwrap_or(LEASE);
    if lease.0.as_micros() == 0 {
        return Err("lease must be above zero".to_owned());
    }
    Ok(ClaimSpec {
        statement,
        targets: targets(wire)?,
        losing_share: share("losing_share", losing_share)?,
        duplicate_share: share("duplicate_share", duplicate_share)?,
        lease,
    })
}

fn targets(wire: &WireStep) -> Result<Targets, String> {
    let targets = wire.targets.unwrap_or_default();
    if wire.exponent.is_some() && targets != WireTargets::Zipfian {
        return Err("exponent belongs to targets = \"zipfian\"".to_owned());
    }
    if wire.newest_share.is_some() && targets != WireTargets::NewestDay {
        return Err("newest_share belongs to targets = \"newest_day\"".to_owned());
    }
    match targets {
        WireTargets::Uniform => Ok(Targets::Uniform),
        WireTargets::Zipfian => match wire.exponent.unwrap_or(EXPONENT) {
            exponent if exponent > 0.0 && exponent.is_finite() => Ok(Targets::Zipfian { exponent }),
            exponent => Err(format!("exponent = {exponent} is not above zero")),
        },
        WireTargets::NewestDay => Ok(Targets::NewestDay {
            share: share("newest_share", wire.newest_share.unwrap_or(NEWEST_SHARE))?,
        }),
    }
}

pub(super) fn share(name: &str, value: f64) -> Result<f64, String> {
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err(format!("{name} = {value} is not from 0 to 1")) }
}
