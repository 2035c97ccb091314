//! After the step: the rows must say what the claims said.

use std::collections::HashMap;
use std::hash::Hash;

use sqlx::MySqlConnection;

use super::one::Faults;
use super::wins::{Audit, WinBook};
use super::{Claim, ClaimWorker};
use crate::keys::Value;
use crate::results::Check;
use crate::table::holders::{Holder, key_text};
use crate::units::grouped;

/// Rows that are read back; the others' wins are compared with each other only.
const READ_MAX: usize = 200_000;

pub(super) async fn check(
    claim: &Claim,
    workers: Vec<ClaimWorker>,
    connection: &mut MySqlConnection,
) -> Vec<Check> {
    let mut faults = Faults::default();
    let (mut ones, mut batches, mut swept) = (Vec::new(), Vec::new(), 0);
    for worker in workers {
        match worker {
            ClaimWorker::One(one) => {
                faults.add(one.faults);
                ones.push(one.wins);
            }
            ClaimWorker::Batch(batch) => {
                faults.add(batch.faults);
                swept += batch.rows;
                batches.push(batch.wins);
            }
        }
    }
    if batches.is_empty() {
        let mut key_of = claim.key_of.clone();
        let mut checks = faults_of_ones(&faults);
        checks.extend(check_rows(claim, connection, ones, |row: &u64| key_of.values(*row)).await);
        checks
    } else {
        let mut checks = faults_of_batches(&faults, swept);
        checks.extend(check_rows(claim, connection, batches, Vec::clone).await);
        checks
    }
}

fn faults_of_ones(faults: &Faults) -> Vec<Check> {
    let mut checks = vec![Check {
        name: "no claim took more than one row".to_owned(),
        held: faults.too_many_rows == 0,
        detail: format!("{} did", grouped(faults.too_many_rows)),
    }];
    if faults.redeliveries > 0 {
        checks.push(Check {
            name: "no redelivery won while the first claim's lease ran".to_owned(),
            held: faults.duplicate_wins == 0,
            detail: format!("{} of {} did", grouped(faults.duplicate_wins), grouped(faults.redeliveries)),
        });
    }
    if faults.hopeless > 0 {
        checks.push(Check {
            name: "no claim on a row that is not pending won".to_owned(),
            held: faults.impossible_wins == 0,
            detail: format!("{} of {} did", grouped(faults.impossible_wins), grouped(faults.hopeless)),
        });
    }
    checks
}

fn faults_of_batches(faults: &Faults, swept: u64) -> Vec<Check> {
    vec![Check {
        name: "every sweep took the rows that it found, or knows which it lost".to_owned(),
        held: faults.partial_batches == 0 && faults.too_many_rows == 0,
        detail: format!(
            "{} rows taken; {} sweeps whose count does not fit",
            grouped(swept),
            grouped(faults.partial_batches + faults.too_many_rows)
        ),
    }]
}

async fn check_rows<K: Hash + Ord + Clone + std::fmt::Debug>(
    claim: &Claim,
    connection: &mut MySqlConnection,
    books: Vec<WinBook<K>>,
    key: impl FnMut(&K) -> Vec<Value>,
) -> Vec<Check> {
    // A hundredth less, for two clocks that may not run alike.
    let lease_ns = claim.spec.lease.0.mul_f64(0.99).as_nanos() as u64;
    let audit = WinBook::merge(books).audit(lease_ns);
    let keys: Vec<Vec<Value>> = audit.rows.iter().take(READ_MAX).map(|wins| &wins.row).map(key).collect();
    let rows = match claim.holders.read(connection, &keys).await {
        Ok(holders) => rows_say_the_same(&audit, &keys, &holders, claim.owner_tag),
        Err(error) => Err(format!("failed to read the rows back: {error}")),
    };
    let looked_at = match audit.wins == audit.wins_in_all {
        true => format!("all {} wins looked at", grouped(audit.wins)),
        false => format!("{} of {} wins looked at", grouped(audit.wins), grouped(audit.wins_in_all)),
    };
    let faultless = |name: &str, faults: &[String]| Check {
        name: name.to_owned(),
        held: faults.is_empty(),
        detail: if faults.is_empty() { looked_at.clone() } else { faults.join("; ") },
    };
    vec![
        faultless("a row's token rose by one with every win", &audit.broken_tokens),
        faultless("no row was won again before its lease ran out", &audit.broken_leases),
        Check {
            name: "the rows hold the last win's token and owner".to_owned(),
            held: rows.is_ok(),
            detail: rows.unwrap_or_else(|fault| fault),
        },
    ]
}

/// Compares each row with its last win. `Ok` with the figures, `Err` with the first difference.
fn rows_say_the_same<K>(
    audit: &Audit<K>,
    keys: &[Vec<Value>],
    holders: &[Holder],
    owner_tag: u32,
) -> Result<String, String> {
    let by_key: HashMap<&str, &Holder> = holders.iter().map(|holder| (holder.key.as_str(), holder)).collect();
    let (mut different, mut first) = (0u64, None);
    for (wins, key) in audit.rows.iter().zip(keys) {
        let key = key_text(key);
        let difference = match (wins.last_token, by_key.get(key.as_str())) {
            // Only claims without an answer: either is right.
            (None, _) => continue,
            (Some(_), None) => "is not there".to_owned(),
            (Some(token), Some(holder)) if !(token..=token + wins.slack).contains(&holder.token) => {
                format!("has token {}, its last win brought {token}", holder.token)
            }
            (Some(_), Some(holder)) if holder.owner & !0xfff != u64::from(owner_tag) => {
                format!("belongs to owner {}, who is none of ours", holder.owner)
            }
            _ => continue,
        };
        different += 1;
        first.get_or_insert_with(|| format!("row {} {difference}", key.replace('\u{1f}', ", ")));
    }
    match first {
        None => Ok(format!("{} rows read back", grouped(keys.len() as u64))),
        Some(first) => {
            Err(format!("{} of {} rows differ; {first}", grouped(different), grouped(keys.len() as u64)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::wins::RowWins;
    use super::*;

    const TAG: u32 = 5 << 12;

    /// Whether a row that was last won with token 7 is right if it stands so.
    fn check(token: u64, owner: u64, slack: u64, right: bool) {
        let audit = Audit {
            rows: vec![RowWins { row: 1u64, last_token: Some(7), slack }],
            wins: 1,
            wins_in_all: 1,
            broken_tokens: Vec::new(),
            broken_leases: Vec::new(),
        };
        let key = vec![Value::UInt(1), Value::date(0)];
        let holder = Holder { key: "1\u{1f}1970-01-01".to_owned(), token, owner };
        let found = rows_say_the_same(&audit, &[key], &[holder], TAG);
        assert_eq!(found.is_ok(), right, "{found:?}");
    }

    #[test]
    fn a_lost_effect_one_too_many_and_a_stranger_are_seen() {
        let ours = u64::from(TAG | 3);
        check(7, ours, 0, true);
        check(6, ours, 0, false);
        check(8, ours, 0, false);
        check(8, ours, 1, true);
        check(7, u64::from((6 << 12) | 3u32), 0, false);
        check(7, 0, 0, false);
    }
}
