//! Days and their partitions.

use super::{Dataset, DatasetError};
use crate::spec::calendar::{DAY_SECONDS, date_text, day_of, year_month_day};
use crate::spec::ddl::PARTITIONS_MAX;
use crate::spec::table::{Bound, Partition, PartitionMethod, Table};

/// The name of a day's partition, `p20260101`.
pub(super) fn partition_name(day: i32) -> String {
    let (year, month, day) = year_month_day(day);
    format!("p{year:04}{month:02}{day:02}")
}

/// Gives the table one partition a day and an empty one behind the last day, so that what arrives
/// tomorrow has a place. Tables without partitions, or partitioned by a number, stay as they are.
pub(super) fn daily_partitions(table: &mut Table, first_day: i32, days: u32) -> Result<(), DatasetError> {
    let Some(partitioning) = &mut table.partitioning else { return Ok(()) };
    let bound: fn(i32) -> Bound = match partitioning.method {
        PartitionMethod::RangeColumns | PartitionMethod::ToDays => |day| Bound::Day(day + 1),
        PartitionMethod::UnixTimestamp => |day| Bound::Integer((i64::from(day) + 1) * DAY_SECONDS),
        PartitionMethod::Integer => return Ok(()),
    };
    if days as usize + 1 > PARTITIONS_MAX {
        return Err(DatasetError::TooManyDays { days });
    }
    partitioning.partitions = (0..=days as i32)
        .map(|index| first_day + index)
        .map(|day| Partition { name: partition_name(day), less_than: bound(day) })
        .collect();
    Ok(())
}

/// MySQL's DATE is specified for the years 1000 to 9999.
pub(super) fn check_calendar(first_day: i32, days: u32) -> Result<(), DatasetError> {
    // Both days are in the calendar.
    let lowest = day_of(1000, 1, 1).unwrap_or_default();
    let highest = day_of(9999, 12, 30).unwrap_or_default();
    let last_day = i64::from(first_day) + i64::from(days) - 1;
    if first_day < lowest || last_day > i64::from(highest) {
        return Err(DatasetError::DaysOutOfRange { days, first_day: date_text(first_day) });
    }
    Ok(())
}

/// The first day and the number of days that the written partitions name, when each but the first is one
/// day long; the first one, open below, is taken for one day too.
pub(super) fn days_as_written(table: &Table) -> Option<(i32, u32)> {
    let partitioning = table.partitioning.as_ref()?;
    let bounds: Vec<i32> = partitioning
        .partitions
        .iter()
        .filter_map(|partition| day_bound(partition.less_than, partitioning.method))
        .collect();
    let days = bounds.windows(2).take_while(|pair| pair[1] == pair[0] + 1).count() as u32 + 1;
    bounds.first().map(|first_bound| (first_bound - 1, days))
}

/// The day at whose midnight a partition ends, if it ends at one.
pub(super) fn day_bound(bound: Bound, method: PartitionMethod) -> Option<i32> {
    match bound {
        Bound::Day(day) => Some(day),
        Bound::Integer(seconds) if method == PartitionMethod::UnixTimestamp => {
            (seconds % DAY_SECONDS == 0).then(|| i32::try_from(seconds / DAY_SECONDS).ok()).flatten()
        }
        Bound::Integer(_) | Bound::MaxValue => None,
    }
}

/// Every day of the dataset has a partition to go to.
pub(super) fn check_every_day_has_a_partition(
    table: &Table,
    first_day: i32,
    days: u32,
) -> Result<(), DatasetError> {
    let Some(partitioning) = &table.partitioning else { return Ok(()) };
    if partitioning.method == PartitionMethod::Integer {
        return Ok(());
    }
    let Some(last) = partitioning.partitions.last() else { return Ok(()) };
    let end = match last.less_than {
        Bound::MaxValue => return Ok(()),
        Bound::Day(day) => i64::from(day),
        Bound::Integer(seconds) => seconds.div_euclid(DAY_SECONDS),
    };
    let days_that_fit = (end - i64::from(first_day)).max(0);
    if i64::from(days) > days_that_fit {
        return Err(DatasetError::MissingPartition {
            table: table.name.clone(),
            day: date_text(i32::try_from(i64::from(first_day) + days_that_fit).unwrap_or(i32::MAX)),
            days_that_fit: u32::try_from(days_that_fit).unwrap_or(u32::MAX),
        });
    }
    Ok(())
}

impl Dataset {
    /// The table's CREATE TABLE with the partitions that its days need.
    pub fn create_table_sql(&self) -> String {
        self.table.create_sql()
    }

    /// Which partition holds the rows of the day with that index (0 is the first); `None` where rows do
    /// not go to partitions by day.
    pub fn partition_of_day(&self, day_index: u32) -> Option<usize> {
        let partitioning = self.table.partitioning.as_ref()?;
        if partitioning.method == PartitionMethod::Integer {
            return None;
        }
        let day = i64::from(self.first_day) + i64::from(day_index);
        let ends_after = |bound: Bound| match bound {
            Bound::MaxValue => true,
            Bound::Day(end) => i64::from(end) > day,
            Bound::Integer(seconds) => seconds > day * DAY_SECONDS,
        };
        partitioning.partitions.iter().position(|partition| ends_after(partition.less_than))
    }
}
