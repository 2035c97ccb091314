//! The rows that a step's claims can win, and whether they are enough for its rate and lease. Pure.

use crate::keys;
use crate::results::{Pool, StepResult};
use crate::spec::suite::{ClaimSpec, ClaimStatement as Kind, Targets};
use crate::units::{PerSecond, grouped, three_digits};

/// Notes the pool in the step's result, and warns where it is small.
pub(super) fn note(result: &mut StepResult, picked: keys::Pool, spec: &ClaimSpec) {
    let per_s = rate_per_s(result);
    let leased_rows = per_s * f64::from(batch(spec).unwrap_or(1)) * spec.lease.0.as_secs_f64();
    let pool = Pool { rows: picked.rows, even_rows: picked.even_rows, leased_rows };
    if pool.is_small() {
        result.warnings.push(warning(&pool, per_s, spec));
    }
    result.pool = Some(pool);
}

/// The intended rate; the one that was reached where none was intended, or less was reached.
fn rate_per_s(result: &StepResult) -> f64 {
    match (result.overload, result.rate_per_s) {
        (Some(overload), _) => overload.reached_per_s,
        (None, Some(rate)) => rate,
        (None, None) => result.throughput_per_s,
    }
}

fn batch(spec: &ClaimSpec) -> Option<u32> {
    match spec.statement {
        Kind::SweepSkipLocked { batch } | Kind::SweepKeyList { batch } => Some(batch),
        Kind::FullKey | Kind::NoPartitionKey => None,
    }
}

fn warning(pool: &Pool, per_s: f64, spec: &ClaimSpec) -> String {
    let rate =
        PerSecond::new(per_s).map_or_else(|| format!("{}/s", three_digits(per_s)), |rate| rate.to_string());
    let (taken, then) = match batch(spec) {
        Some(batch) => (format!("{rate} × {batch} rows"), "sweeps then read over rows that are still leased"),
        None => (rate, "claims then meet rows that are still leased, so that `lost` rises by construction"),
    };
    let of = match spec.targets {
        Targets::Uniform => format!("of the {} that can be won", grouped(pool.rows)),
        Targets::Zipfian { .. } | Targets::NewestDay { .. } => format!(
            "of {}, which the {} that can be won are worth when aimed at so unevenly",
            grouped(pool.even_rows.round() as u64),
            grouped(pool.rows)
        ),
    };
    format!(
        "up to {} rows are leased at a time ({taken} × {} lease), {} % {of}; {then} — use more rows, a shorter lease \
         or a lower rate",
        grouped(pool.leased_rows.round() as u64),
        spec.lease,
        three_digits(100.0 * pool.leased_share())
    )
}
