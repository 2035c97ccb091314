//! The server's partitions as days. Pure.

use super::Refusal;
use super::zone::Zone;
use crate::spec::calendar::{DAY_MICROS, DAY_SECONDS, from_to_days, parse_instant};
use crate::spec::table::PartitionMethod;
use crate::table::partition::{ColumnFacts, Layout};

/// A table that keeps its days in partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DayTable {
    pub method: PartitionMethod,
    /// Of the zone in which its days are counted.
    pub zone_seconds_east: i64,
    pub partitions: Vec<DayPartition>,
}

/// A partition of whole days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DayPartition {
    pub name: String,
    /// The first day that it does not hold, in days since 1970-01-01; `None` for MAXVALUE.
    pub end_day: Option<i32>,
}

/// Reads the partitions as days that are counted in `zone`.
pub(super) fn days(
    table: &str,
    layout: &Layout,
    columns: &[ColumnFacts],
    zone: Zone,
) -> Result<DayTable, Refusal> {
    let no_days = |why: String| Refusal::NotByDay { table: table.to_owned(), why };
    if layout.subpartitioned {
        return Err(no_days("its partitions have subpartitions".to_owned()));
    }
    let method = method(layout, columns).map_err(no_days)?;
    let mut partitions = Vec::with_capacity(layout.partitions.len());
    for (name, bound) in &layout.partitions {
        let end_day = match bound.as_str() {
            "MAXVALUE" => None,
            bound => Some(end_day(name, bound, method, zone)?),
        };
        partitions.push(DayPartition { name: name.clone(), end_day });
    }
    Ok(DayTable { method, zone_seconds_east: zone.seconds_east(), partitions })
}

fn method(layout: &Layout, columns: &[ColumnFacts]) -> Result<PartitionMethod, String> {
    let by = layout.method.as_deref().unwrap_or_default();
    let expression = layout.expression.replace('`', "").to_ascii_lowercase();
    if !by.starts_with("RANGE") {
        return Err(format!("it is partitioned by {by}, whose partitions are no days"));
    }
    if expression.starts_with("to_days(") {
        return Ok(PartitionMethod::ToDays);
    }
    if expression.starts_with("unix_timestamp(") {
        return Ok(PartitionMethod::UnixTimestamp);
    }
    let column = columns.iter().find(|column| column.name.eq_ignore_ascii_case(&expression));
    match (by, column.map(|column| column.kind.as_str())) {
        ("RANGE COLUMNS", Some("date" | "datetime")) => Ok(PartitionMethod::RangeColumns),
        _ => Err(format!("it is partitioned by {by}({}), whose bounds are no days", layout.expression)),
    }
}

/// The day at whose midnight a partition ends.
fn end_day(name: &str, bound: &str, method: PartitionMethod, zone: Zone) -> Result<i32, Refusal> {
    let unreadable = || Refusal::Bound { partition: name.to_owned(), bound: bound.to_owned() };
    let seconds = match method {
        PartitionMethod::ToDays => {
            let number = bound.parse().ok().and_then(from_to_days).ok_or_else(unreadable)?;
            return Ok(number);
        }
        // Counted in UTC by the server, whatever its zone: its midnights are those of one zone only.
        PartitionMethod::UnixTimestamp => {
            bound.parse::<i64>().map_err(|_| unreadable())? + zone.seconds_east()
        }
        PartitionMethod::RangeColumns | PartitionMethod::Integer => {
            let micros = parse_instant(bound.trim_matches('\'')).ok_or_else(unreadable)?;
            if micros.rem_euclid(DAY_MICROS) != 0 {
                return Err(Refusal::NoMidnight {
                    partition: name.to_owned(),
                    bound: bound.to_owned(),
                    zone: None,
                });
            }
            micros / 1_000_000
        }
    };
    if seconds.rem_euclid(DAY_SECONDS) != 0 {
        return Err(Refusal::NoMidnight {
            partition: name.to_owned(),
            bound: bound.to_owned(),
            zone: Some((zone, midnight_zone(seconds - zone.seconds_east()))),
        });
    }
    i32::try_from(seconds.div_euclid(DAY_SECONDS)).map_err(|_| unreadable())
}

/// The zone nearest to UTC in which such a moment is midnight, if there is one to the minute.
fn midnight_zone(utc_seconds: i64) -> Option<Zone> {
    let into_day = utc_seconds.rem_euclid(DAY_SECONDS);
    let east = if into_day > DAY_SECONDS / 2 { DAY_SECONDS - into_day } else { -into_day };
    (east % 60 == 0).then_some(Zone { minutes_east: (east / 60) as i32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        method: &str,
        expression: &str,
        bounds: &[&str],
        zone: &str,
        expect: Result<&[Option<i32>], &str>,
    ) {
        let layout = Layout {
            method: Some(method.to_owned()),
            expression: expression.to_owned(),
            subpartitioned: false,
            partitions: bounds.iter().map(|bound| ("p".to_owned(), (*bound).to_owned())).collect(),
        };
        let column = |name: &str, kind: &str| ColumnFacts {
            name: name.to_owned(),
            kind: kind.to_owned(),
            key_place: None,
            leads_index: false,
        };
        let columns = [column("d", "date"), column("n", "bigint"), column("ts", "timestamp")];
        let found = days("t", &layout, &columns, zone.parse().expect("a zone"));
        match (found, expect) {
            (Ok(found), Ok(days)) => {
                let ends: Vec<_> = found.partitions.iter().map(|partition| partition.end_day).collect();
                assert_eq!(ends, days);
            }
            (Err(refusal), Err(words)) => assert!(refusal.to_string().contains(words), "{refusal}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bounds_are_days_however_they_are_written() {
        check("RANGE COLUMNS", "`d`", &["'1970-01-03'", "MAXVALUE"], "UTC", Ok(&[Some(2), None]));
        check("RANGE", "to_days(`d`)", &["719530"], "+08:00", Ok(&[Some(2)]));
        check("RANGE", "unix_timestamp(`ts`)", &["172800"], "UTC", Ok(&[Some(2)]));
        // 16:00 UTC is midnight eight hours east.
        check("RANGE", "unix_timestamp(`ts`)", &["144000"], "+08:00", Ok(&[Some(2)]));
    }

    #[test]
    fn bounds_of_another_zone_and_of_no_day_are_refused() {
        check("RANGE", "unix_timestamp(`ts`)", &["144000"], "UTC", Err("--time-zone +08:00"));
        check("RANGE COLUMNS", "`d`", &["'1970-01-03 16:00:00'"], "UTC", Err("no midnight"));
        check("RANGE", "`n`", &["10"], "UTC", Err("bounds are no days"));
        check("HASH", "`n`", &[""], "UTC", Err("partitioned by HASH"));
    }
}
