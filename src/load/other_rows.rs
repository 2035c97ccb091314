//! What to say instead, where a table holds other rows than those asked for.
//!
//! The ledger notes a dataset's name, rows and fingerprint. Which flags made them is tried: sizes are named
//! only where they make that very fingerprint.

use sqlx::MySqlConnection;

use super::LoadError;
use super::error::sql;
use crate::spec::dataset::{Dataset, Fill, built_in};
use crate::table::ledger::{self, Entry};
use crate::units::Rows;

/// Days that are tried on a table that has no partitions to count.
const DAYS_TRIED_MAX: u32 = 400;

/// The way out, in words: the flags that the table was loaded with, or how to load it anew.
pub(super) async fn way_out(
    connection: &mut MySqlConnection,
    asked: &Dataset,
    entry: &Entry,
) -> Result<String, LoadError> {
    let table = asked.table.name.as_str();
    let pieces = ledger::next_rows(connection, table).await.map_err(sql("read the checkpoints of", table))?;
    let noted = ledger::fill(connection, table).await.map_err(sql("look up the pages of", table))?;
    let fill = noted.and_then(|noted| serde_json::from_str(&noted).ok()).unwrap_or(Fill::Fresh);
    let anew = format!("load it anew: idembench load with --replace {table} drops it first");
    Ok(match flags(asked, entry, pieces.len() as u32, &fill) {
        Some(flags) => format!("say {flags} to go on with the rows that are there, or {anew}"),
        None => format!(
            "no --rows and --days make the rows that are there: name the dataset and the seed that they were \
             loaded with, or {anew}"
        ),
    })
}

/// `--rows 20000 --days 3`, and what else has to be said for the fingerprint that is there; `None` where
/// nothing that was tried makes it.
fn flags(asked: &Dataset, entry: &Entry, pieces: u32, fill: &Fill) -> Option<String> {
    let built_in = built_in().iter().find(|found| found.name == entry.dataset);
    let there = built_in.and_then(|found| Dataset::read(found.name).ok());
    let same_name = (entry.dataset == asked.name).then(|| asked.clone());
    let fills = [asked.fill.clone(), fill.clone()];
    // A partition for each day, and an empty one behind the last.
    let days = [pieces.saturating_sub(1), asked.days].into_iter().chain(1..=DAYS_TRIED_MAX);
    for days in days.filter(|days| *days > 0) {
        for source in same_name.iter().chain(&there) {
            for fill in &fills {
                let scaled =
                    source.clone().scaled(Some(Rows(entry.rows)), Some(days), None, Some(fill.clone()));
                let Ok(found) = scaled.map(|found| Found { dataset: found, asked }) else { continue };
                if found.dataset.fingerprint() == entry.fingerprint {
                    return Some(found.flags());
                }
            }
        }
        // Only where no partitions say how many days there are is there more to try.
        if pieces > 1 && days == asked.days {
            break;
        }
    }
    None
}

/// The rows that are there, beside those asked for.
struct Found<'a> {
    dataset: Dataset,
    asked: &'a Dataset,
}

impl Found<'_> {
    fn flags(&self) -> String {
        let (there, asked) = (&self.dataset, self.asked);
        let mut flags = Vec::new();
        if there.name != asked.name {
            flags.push(format!("dataset {}", there.name));
        }
        flags.push(format!("--rows {} --days {}", there.rows.0, there.days));
        if there.seed != asked.seed {
            flags.push(format!("--seed {}", there.seed));
        }
        if there.fill != asked.fill
            && let Fill::Fresh | Fill::Aged = there.fill
        {
            flags.push(format!("--fill {}", there.fill));
        }
        flags.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ledger::State;

    fn dataset(name: &str, rows: u64, days: u32) -> Dataset {
        Dataset::read(name).unwrap().scaled(Some(Rows(rows)), Some(days), None, None).unwrap()
    }

    /// What is said when `asked` meets the rows of `there`.
    fn check(there: &Dataset, asked: &Dataset, expect: Option<&str>) {
        let entry = Entry {
            fingerprint: there.fingerprint(),
            dataset: there.name.clone(),
            rows: there.rows.0,
            state: State::Complete,
        };
        let partitions = there.table.partitioning.as_ref().map_or(1, |p| p.partitions.len() as u32);
        assert_eq!(flags(asked, &entry, partitions, &there.fill).as_deref(), expect);
    }

    #[test]
    fn only_flags_that_make_the_rows_that_are_there_are_named() {
        let asked = dataset("t_idem", 1_000_000, 7);
        check(&dataset("t_idem", 20_000, 3), &asked, Some("--rows 20000 --days 3"));
        check(&dataset("seed", 500, 45), &dataset("seed", 1_000, 7), Some("--rows 500 --days 45"));
        let aged = dataset("t_idem", 20_000, 3).scaled(None, None, None, Some(Fill::Aged)).unwrap();
        check(&aged, &asked, Some("--rows 20000 --days 3 --fill aged"));
        let seeded = |seed| dataset("t_idem", 1_000, 2).scaled(None, None, Some(seed), None).unwrap();
        check(&seeded(42), &seeded(7), Some("--rows 1000 --days 2 --seed 42"));
        check(&seeded(7), &seeded(42), None);
        let mut other = dataset("t_idem", 1_000, 2);
        other.name = "mine".to_owned();
        check(&dataset("t_idem", 20_000, 3), &other, Some("dataset t_idem --rows 20000 --days 3"));
        check(&other.scaled(None, None, Some(9), None).unwrap(), &asked, None);
    }
}
