//! What is not done to a table, why, and the way out. Nothing has been changed when one of these is said.

use super::zone::Zone;
use crate::spec::calendar::date_text;
use crate::units::Span;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No day of it can be dropped.
    #[error(
        "{table} is not partitioned, so that no day of it can be dropped — delete in chunks instead: {delete}"
    )]
    NotPartitioned {
        /// The table.
        table: String,
        /// A statement to go on with, and what is to be known about it.
        delete: String,
    },
    /// Partitioned otherwise.
    #[error(
        "{table} has no partitions of days: {why} — days can be kept in RANGE COLUMNS(a date), RANGE (TO_DAYS(c)) or \
         RANGE (UNIX_TIMESTAMP(c))"
    )]
    NotByDay {
        /// The table.
        table: String,
        /// What it has instead.
        why: String,
    },
    /// A bound that says no day.
    #[error("the bound {bound} of partition {partition} is no day — look at it with SHOW CREATE TABLE")]
    Bound {
        /// Whose.
        partition: String,
        /// As the server writes it.
        bound: String,
    },
    /// A day that ends within another.
    #[error("partition {partition} ends at {bound}, which is no midnight{}", in_zone(zone))]
    NoMidnight {
        /// Which.
        partition: String,
        /// As the server writes it.
        bound: String,
        /// The zone in which days are counted, and the one in which it would be midnight.
        zone: Option<(Zone, Option<Zone>)>,
    },
    /// Two zones, one table.
    #[error(
        "the server's clock runs at {server} and days would be counted at {counted}: which day a row belongs to \
         depends on it — say which zone wrote the days, by --time-zone {server} or --time-zone {counted}"
    )]
    ZonesDisagree {
        /// The server's own zone.
        server: Zone,
        /// The one in which days would be counted.
        counted: Zone,
    },
    /// One of two clocks is wrong.
    #[error(
        "the server says it is {server} and this machine says {here} (UTC): one of them is wrong — set it right, or say \
         the day by --today"
    )]
    ClocksDisagree {
        /// The server's time.
        server: String,
        /// Ours.
        here: String,
    },
    /// It is not there.
    #[error("{table} has no partition {partition}: it has {known}")]
    UnknownPartition {
        /// The table.
        table: String,
        /// What was asked for.
        partition: String,
        /// What there is, in short.
        known: String,
    },
    /// New rows go there.
    #[error(
        "partition {partition} is the last one: new rows go there, and without it they have no place (1526)"
    )]
    LastPartition {
        /// Which.
        partition: String,
    },
    /// Everything else goes there.
    #[error(
        "partition {partition} is the one for all the rest (MAXVALUE): it may hold any day — split it first, by \
         REORGANIZE PARTITION, at a quiet time"
    )]
    MaxValuePartition {
        /// Which.
        partition: String,
    },
    /// Nothing would be left.
    #[error(
        "every day that {table} has is older than that (its newest ends at {newest}, today is {today}): is the clock \
         right? — say the day by --today, or name the partitions by --partition"
    )]
    EveryDay {
        /// The table.
        table: String,
        /// The newest bound.
        newest: String,
        /// What counts as today.
        today: String,
    },
    /// The engine may see messages of that day again.
    #[error(
        "messages of partition {partition} (up to {last_day}) may still be redelivered until {until} (--redelivery \
         {redelivery}): dropping it would let their second delivery pass for a first one — keep more days, or say a \
         shorter --redelivery if the topic's retention is shorter"
    )]
    MayBeRedelivered {
        /// Which.
        partition: String,
        /// Its last day.
        last_day: String,
        /// When it may go.
        until: String,
        /// As asked for.
        redelivery: Span,
    },
    /// More than a table may have.
    #[error(
        "{table} has {there} partitions and would get {added} more: MySQL allows 8,192 — keep fewer days ahead (--ahead), \
         or drop old ones first (--ahead 0)"
    )]
    TooManyPartitions {
        /// The table.
        table: String,
        /// What it has.
        there: usize,
        /// What the plan would add.
        added: usize,
    },
    /// Not one day each.
    #[error(
        "the newest partitions of {table} are {days} days long: only single days are added — add them yourself and say \
         --ahead 0"
    )]
    NotSingleDays {
        /// The table.
        table: String,
        /// How long the newest one is.
        days: i32,
    },
    /// A name that a new partition would have is somebody else's.
    #[error(
        "the partition for {day} would be named {name}, which another one is named already — add it yourself and say \
         --ahead 0"
    )]
    NameTaken {
        /// The day.
        day: String,
        /// The name.
        name: String,
    },
}

fn in_zone(zone: &Option<(Zone, Option<Zone>)>) -> String {
    match zone {
        None => {
            " — days end at midnight of the column's own clock; look at it with SHOW CREATE TABLE".to_owned()
        }
        Some((counted, Some(other))) => {
            format!(
                " in the zone {counted} — it is one in {other}: if that zone wrote the days, say --time-zone {other}"
            )
        }
        Some((counted, None)) => format!(" in the zone {counted} nor in any other"),
    }
}

/// The last day before a bound.
pub(super) fn last_day(end_day: i32) -> String {
    date_text(end_day.saturating_sub(1))
}
