//! Partitions in, steps out. Pure: what is there and what time it is are told.

use super::layout::{DayPartition, DayTable, days};
use super::refusal::{Refusal, last_day};
use super::zone::Zone;
use crate::spec::calendar::{DAY_SECONDS, date_text, day_of, year_month_day};
use crate::spec::ddl::{PARTITIONS_MAX, quote_name};
use crate::spec::table::{Bound, Partition, PartitionMethod};
use crate::table::partition::{ColumnFacts, Layout, add_sql, drop_sql};
use crate::units::Span;

/// What is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Wish {
    /// Which partitions go.
    pub chosen: Chosen,
    /// Days after today that must have a partition; 0: nothing is added.
    pub ahead_days: u32,
    /// How long after its day's end a message may be delivered again.
    pub redelivery: Span,
    /// The zone in which days are counted, if it was said.
    pub zone: Option<Zone>,
    /// What counts as today, if it was said: a day since 1970-01-01.
    pub today: Option<i32>,
}

/// Which partitions go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// All but today's and those of so many days before it.
    OlderThan {
        /// Whole days before today that stay.
        keep_days: u32,
    },
    /// These, by name.
    Named(Vec<String>),
}

/// What is there.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The table's name.
    pub table: String,
    /// Its partitions.
    pub layout: Layout,
    /// Its columns.
    pub columns: Vec<ColumnFacts>,
    /// Rows by the optimizer's statistics, by partition name in lower case.
    pub estimated_rows: Vec<(String, u64)>,
    /// Seconds since 1970 by the server's clock.
    pub server_now_s: i64,
    /// The same by ours.
    pub here_now_s: i64,
    /// The zone of the server's own clock.
    pub server_zone: Zone,
    /// What the server's settings and version mean for the steps, in words.
    pub notes: Vec<String>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Plan {
    /// The table.
    pub table: String,
    /// What counts as today.
    pub today: String,
    /// In which zone.
    pub time_zone: String,
    /// Partitions that it has.
    pub partitions: usize,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// What to keep in mind.
    pub notes: Vec<String>,
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Step {
    /// `add 7 partitions up to p20260115`, `drop p20260101`.
    pub what: String,
    /// Why, in figures.
    pub why: String,
    /// The statement.
    pub sql: String,
}

/// Seconds by which two clocks may differ.
const CLOCKS_APART_MAX_S: i64 = 600;
/// So many partitions are named in a message.
const NAMES_MAX: usize = 6;

/// The steps that fulfil the wish: first what must not fail, the head-room, then the oldest days, one each.
///
/// # Errors
/// A [`Refusal`] when any part of the wish must not be done: then nothing is.
pub fn plan(facts: &Facts, wish: &Wish) -> Result<Plan, Refusal> {
    let table = facts.table.as_str();
    if facts.layout.method.is_none() {
        let delete = offered_delete(facts, wish);
        return Err(Refusal::NotPartitioned { table: table.to_owned(), delete });
    }
    let zone = wish.zone.unwrap_or_default();
    let found = days(table, &facts.layout, &facts.columns, zone)?;
    check_zone(facts, wish, found.method)?;
    let now_s = now_s(facts, wish, zone)?;
    let today = now_s.div_euclid(DAY_SECONDS) as i32;
    let dropped = match &wish.chosen {
        Chosen::OlderThan { keep_days } => older_than(table, &found, today, *keep_days)?,
        Chosen::Named(names) => named(table, &found, names)?,
    };
    for partition in &dropped {
        check_redelivery(partition, wish.redelivery, now_s)?;
    }
    let mut notes = facts.notes.clone();
    let mut steps = Vec::new();
    if let Some(added) = head_room(table, &found, today, wish.ahead_days, &mut notes)? {
        steps.push(add_step(table, found.method, &added));
    }
    notes.extend(dropped_from_the_middle(&found, &dropped));
    steps.extend(dropped.iter().map(|partition| drop_step(facts, partition)));
    Ok(Plan {
        table: table.to_owned(),
        today: date_text(today),
        time_zone: zone.to_string(),
        partitions: found.partitions.len(),
        steps,
        notes,
    })
}

/// A moment has one UTC second but a date per zone: only bounds in seconds say which zone wrote them.
fn check_zone(facts: &Facts, wish: &Wish, method: PartitionMethod) -> Result<(), Refusal> {
    let counted = Zone::default();
    let said = wish.zone.is_some() || method == PartitionMethod::UnixTimestamp;
    match said || facts.server_zone == counted {
        true => Ok(()),
        false => Err(Refusal::ZonesDisagree { server: facts.server_zone, counted }),
    }
}

/// Seconds on the clock by which days are counted.
fn now_s(facts: &Facts, wish: &Wish, zone: Zone) -> Result<i64, Refusal> {
    if let Some(today) = wish.today {
        return Ok(i64::from(today) * DAY_SECONDS);
    }
    if (facts.server_now_s - facts.here_now_s).abs() > CLOCKS_APART_MAX_S {
        let (server, here) = (clock_text(facts.server_now_s), clock_text(facts.here_now_s));
        return Err(Refusal::ClocksDisagree { server, here });
    }
    Ok(facts.server_now_s + zone.seconds_east())
}

/// `2026-01-08 13:05`.
fn clock_text(seconds: i64) -> String {
    let (day, into) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
    format!("{} {:02}:{:02}", date_text(day as i32), into / 3600, into % 3600 / 60)
}

/// Partitions that end before the days that stay, oldest first.
fn older_than<'f>(
    table: &str,
    found: &'f DayTable,
    today: i32,
    keep_days: u32,
) -> Result<Vec<&'f DayPartition>, Refusal> {
    let first_kept = i64::from(today) - i64::from(keep_days);
    let old: Vec<_> = found
        .partitions
        .iter()
        .filter(|partition| partition.end_day.is_some_and(|end| i64::from(end) <= first_kept))
        .collect();
    let newest = found.partitions.iter().filter_map(|partition| partition.end_day).max();
    match newest {
        Some(newest) if i64::from(newest) <= first_kept => Err(Refusal::EveryDay {
            table: table.to_owned(),
            newest: date_text(newest),
            today: date_text(today),
        }),
        _ => Ok(old),
    }
}

/// The named partitions, in the table's order, each once.
fn named<'f>(table: &str, found: &'f DayTable, names: &[String]) -> Result<Vec<&'f DayPartition>, Refusal> {
    let position = |name: &String| {
        found.partitions.iter().position(|partition| partition.name.eq_ignore_ascii_case(name)).ok_or_else(
            || Refusal::UnknownPartition {
                table: table.to_owned(),
                partition: name.clone(),
                known: known(&found.partitions),
            },
        )
    };
    let mut positions = names.iter().map(position).collect::<Result<Vec<_>, _>>()?;
    positions.sort_unstable();
    positions.dedup();
    for &position in &positions {
        let partition = found.partitions[position].name.clone();
        if found.partitions[position].end_day.is_none() {
            return Err(Refusal::MaxValuePartition { partition });
        }
        if position + 1 == found.partitions.len() {
            return Err(Refusal::LastPartition { partition });
        }
    }
    Ok(positions.into_iter().map(|position| &found.partitions[position]).collect())
}

fn known(partitions: &[DayPartition]) -> String {
    let shown: Vec<&str> =
        partitions.iter().take(NAMES_MAX).map(|partition| partition.name.as_str()).collect();
    match partitions.len().saturating_sub(NAMES_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn check_redelivery(partition: &DayPartition, redelivery: Span, now_s: i64) -> Result<(), Refusal> {
    // MAXVALUE is never among those that go.
    let end_day = partition.end_day.unwrap_or(i32::MAX);
    let seconds = i64::try_from(redelivery.0.as_secs()).unwrap_or(i64::MAX / 4);
    let until_s = i64::from(end_day) * DAY_SECONDS + seconds;
    match now_s >= until_s {
        true => Ok(()),
        false => Err(Refusal::MayBeRedelivered {
            partition: partition.name.clone(),
            last_day: last_day(end_day),
            until: clock_text(until_s),
            redelivery,
        }),
    }
}

/// The single days that are missing up to so many days after today, gaps included.
fn head_room(
    table: &str,
    found: &DayTable,
    today: i32,
    ahead_days: u32,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<Partition>>, Refusal> {
    let Some(last) = found.partitions.last().filter(|_| ahead_days > 0) else { return Ok(None) };
    let Some(mut end) = last.end_day else {
        notes.push(format!(
            "no days can be added behind {} (MAXVALUE), which takes what has no day of its own: split it by REORGANIZE \
             PARTITION while it is empty, for that copies its rows and holds up writes",
            last.name
        ));
        return Ok(None);
    };
    let wanted = i64::from(today) + i64::from(ahead_days) + 1;
    let missing = wanted - i64::from(end);
    if missing <= 0 {
        return Ok(None);
    }
    check_single_days(table, found)?;
    let there = found.partitions.len();
    let added = usize::try_from(missing).unwrap_or(usize::MAX);
    if there.saturating_add(added) > PARTITIONS_MAX {
        let table = table.to_owned();
        return Err(Refusal::TooManyPartitions { table, there, added });
    }
    let style = NameStyle::of(&found.partitions);
    let mut partitions = Vec::with_capacity(added);
    while i64::from(end) < wanted {
        let name = style.name(end);
        if found.partitions.iter().any(|other| other.name.eq_ignore_ascii_case(&name)) {
            return Err(Refusal::NameTaken { day: date_text(end), name });
        }
        end += 1;
        partitions.push(Partition { name, less_than: bound(end, found.method, found.zone_seconds_east) });
    }
    Ok(Some(partitions))
}

fn bound(end_day: i32, method: PartitionMethod, seconds_east: i64) -> Bound {
    match method {
        PartitionMethod::UnixTimestamp => Bound::Integer(i64::from(end_day) * DAY_SECONDS - seconds_east),
        _ => Bound::Day(end_day),
    }
}

fn check_single_days(table: &str, found: &DayTable) -> Result<(), Refusal> {
    let ends: Vec<i32> =
        found.partitions.iter().rev().filter_map(|partition| partition.end_day).take(3).collect();
    // A gap after a pause makes one long day; two in a row are how the table is cut.
    let lengths: Vec<i32> = ends.windows(2).map(|pair| pair[0] - pair[1]).collect();
    match lengths.first() {
        Some(&days) if lengths.iter().all(|length| *length > 1) && lengths.len() > 1 => {
            Err(Refusal::NotSingleDays { table: table.to_owned(), days })
        }
        _ => Ok(()),
    }
}

/// How partitions are named: what stands before the date, and whether it is the day's or the bound's.
#[derive(Debug, PartialEq, Eq)]
struct NameStyle {
    before: String,
    by_bound: bool,
}

impl NameStyle {
    fn of(partitions: &[DayPartition]) -> NameStyle {
        let style = |partition: &DayPartition| {
            let (end, name) = (partition.end_day?, partition.name.as_str());
            let digits = name.len().checked_sub(8)?;
            let (before, date) = (name.get(..digits)?, name.get(digits..)?);
            let number = |range: std::ops::Range<usize>| date.get(range)?.parse::<u16>().ok();
            let day = day_of(number(0..4)?, number(4..6)? as u8, number(6..8)? as u8)?;
            (day == end - 1 || day == end)
                .then(|| NameStyle { before: before.to_owned(), by_bound: day == end })
        };
        let found = partitions.iter().rev().find_map(style);
        found.unwrap_or(NameStyle { before: "p".to_owned(), by_bound: false })
    }

    fn name(&self, day: i32) -> String {
        let (year, month, day) = year_month_day(day + i32::from(self.by_bound));
        format!("{}{year:04}{month:02}{day:02}", self.before)
    }
}

fn add_step(table: &str, method: PartitionMethod, added: &[Partition]) -> Step {
    let names = match added {
        [one] => format!("add {}", one.name),
        // `head_room` gives at least one.
        many => format!("add {} partitions, {} to {}", many.len(), many[0].name, many[many.len() - 1].name),
    };
    Step {
        what: names,
        why: "rows of a day without a partition are refused (1526)".to_owned(),
        sql: add_sql(table, method, added),
    }
}

fn drop_step(facts: &Facts, partition: &DayPartition) -> Step {
    let name = &partition.name;
    let rows = facts.estimated_rows.iter().find(|(other, _)| *other == name.to_lowercase());
    let rows = rows.map_or(String::new(), |(_, rows)| {
        format!(", about {} rows by the optimizer's statistics", crate::units::Rows(*rows).short())
    });
    Step {
        what: format!("drop {name}"),
        why: format!("days up to {}{rows}", last_day(partition.end_day.unwrap_or_default())),
        sql: drop_sql(&facts.table, name),
    }
}

/// Rows that still come for a day whose partition is gone do not fail: the next one takes them.
fn dropped_from_the_middle(found: &DayTable, dropped: &[&DayPartition]) -> Option<String> {
    let first_kept = found.partitions.iter().position(|partition| !dropped.contains(&partition))?;
    let middle = dropped.iter().find(|gone| found.partitions[first_kept..].contains(gone))?;
    Some(format!(
        "{} is not the oldest: rows that still come for its days go into the partition behind it",
        middle.name
    ))
}

/// What to send to a table that keeps its days in rows only.
fn offered_delete(facts: &Facts, wish: &Wish) -> String {
    let keep_days = match wish.chosen {
        Chosen::OlderThan { keep_days } => keep_days,
        Chosen::Named(_) => 7,
    };
    let dated = |column: &&ColumnFacts| matches!(column.kind.as_str(), "date" | "datetime" | "timestamp");
    let Some(day) = facts.columns.iter().filter(dated).max_by_key(|column| column.leads_index) else {
        return "but it has no column that holds a day either".to_owned();
    };
    let mut key: Vec<_> = facts.columns.iter().filter(|column| column.key_place.is_some()).collect();
    key.sort_by_key(|column| column.key_place);
    let order = key.iter().map(|column| quote_name(&column.name)).collect::<Vec<_>>().join(", ");
    let order = if order.is_empty() { String::new() } else { format!(" ORDER BY {order}") };
    let scan = match day.leads_index {
        true => String::new(),
        false => format!(
            "; no index begins with {}, so that each chunk reads the table from its start: walk the \
                          primary key instead, from the last key of the chunk before",
            day.name
        ),
    };
    format!(
        "DELETE FROM {} WHERE {} < CURRENT_DATE - INTERVAL {keep_days} DAY{order} LIMIT 1000, until it takes no row{scan}; \
         `idembench run retention` shows what each way costs",
        quote_name(&facts.table),
        quote_name(&day.name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::calendar::parse_date;

    const TODAY: &str = "2026-01-20";

    /// A table partitioned by `event_day` whose partitions have these names and bounds.
    fn facts(partitions: &[(&str, &str)]) -> Facts {
        let column = |name: &str, kind: &str, key_place| ColumnFacts {
            name: name.to_owned(),
            kind: kind.to_owned(),
            key_place,
            leads_index: key_place == Some(1),
        };
        Facts {
            table: "t".to_owned(),
            layout: Layout {
                method: Some("RANGE COLUMNS".to_owned()),
                expression: "`event_day`".to_owned(),
                subpartitioned: false,
                partitions: partitions
                    .iter()
                    .map(|(name, bound)| ((*name).into(), (*bound).into()))
                    .collect(),
            },
            columns: vec![column("k", "varchar", Some(1)), column("event_day", "date", Some(2))],
            estimated_rows: vec![("p20260101".to_owned(), 1_500_000)],
            server_now_s: 1_000_000,
            here_now_s: 1_000_000,
            server_zone: Zone::default(),
            notes: Vec::new(),
        }
    }

    /// The days from the first to the last of January, each with a partition.
    fn january(first: u32, last: u32) -> Facts {
        let days: Vec<(String, String)> = (first..=last)
            .map(|day| (format!("p202601{day:02}"), format!("'2026-01-{:02}'", day + 1)))
            .collect();
        let days: Vec<(&str, &str)> = days.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        facts(&days)
    }

    fn wish(chosen: Chosen, ahead_days: u32) -> Wish {
        let redelivery = Span::seconds(7 * 86_400);
        Wish { chosen, ahead_days, redelivery, zone: None, today: parse_date(TODAY) }
    }

    fn keep(keep_days: u32) -> Chosen {
        Chosen::OlderThan { keep_days }
    }

    fn by_name(name: &str) -> Chosen {
        Chosen::Named(vec![name.to_owned()])
    }

    /// The plan's steps, or words of its refusal.
    #[track_caller]
    fn check(facts: &Facts, wish: &Wish, expect: Result<&[&str], &str>) {
        match (plan(facts, wish), expect) {
            (Ok(plan), Ok(steps)) => {
                let found: Vec<_> = plan.steps.iter().map(|step| step.what.as_str()).collect();
                assert_eq!(found, steps, "{:?}", plan.notes);
            }
            (Err(refusal), Err(words)) => assert!(refusal.to_string().contains(words), "{refusal}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn head_room_comes_first_and_old_days_go_one_by_one() {
        check(
            &january(11, 21),
            &wish(keep(7), 3),
            Ok(&["add 2 partitions, p20260122 to p20260123", "drop p20260111", "drop p20260112"]),
        );
        check(&january(13, 23), &wish(keep(7), 3), Ok(&[]));
    }

    #[test]
    fn gaps_are_filled_day_by_day_in_the_tables_own_style() {
        // Named by the bound, as some people do.
        let facts = facts(&[("d20260117", "'2026-01-17'"), ("d20260118", "'2026-01-18'")]);
        let plan = plan(&facts, &wish(keep(7), 1)).expect("a plan");
        assert_eq!(plan.steps[0].what, "add 4 partitions, d20260119 to d20260122");
        assert!(plan.steps[0].sql.contains("PARTITION `d20260119` VALUES LESS THAN ('2026-01-19')"));
    }

    #[test]
    fn what_must_stay_is_refused_by_name() {
        let mut facts = january(1, 20);
        check(&facts, &wish(by_name("p20251231"), 0), Err("no partition p20251231: it has p20260101"));
        check(&facts, &wish(by_name("p20260120"), 0), Err("p20260120 is the last one"));
        check(
            &facts,
            &wish(by_name("p20260115"), 0),
            Err("p20260115 (up to 2026-01-15) may still be redelivered"),
        );
        check(&facts, &wish(by_name("P20260102"), 0), Ok(&["drop p20260102"]));
        facts.layout.partitions.push(("pmax".to_owned(), "MAXVALUE".to_owned()));
        check(&facts, &wish(by_name("pmax"), 0), Err("MAXVALUE"));
        check(&facts, &wish(by_name("p20260101"), 3), Ok(&["drop p20260101"]));
    }

    #[test]
    fn days_may_go_when_nothing_of_them_can_come_again() {
        // Today is the 20th: the 12th ended seven days before, the 13th did not.
        check(&january(12, 20), &wish(by_name("p20260112"), 0), Ok(&["drop p20260112"]));
        check(&january(12, 20), &wish(by_name("p20260113"), 0), Err("until 2026-01-21 00:00"));
        check(&january(12, 20), &wish(keep(3), 0), Err("may still be redelivered"));
    }

    #[test]
    fn a_table_of_old_days_only_is_not_emptied() {
        check(&january(1, 5), &wish(keep(7), 0), Err("is the clock right?"));
    }

    #[test]
    fn clocks_and_zones_that_disagree_are_refused() {
        let mut facts = january(1, 30);
        facts.here_now_s += 3 * 86_400;
        check(&facts, &Wish { today: None, ..wish(keep(7), 0) }, Err("one of them is wrong"));
        let mut facts = january(12, 20);
        facts.server_zone = Zone { minutes_east: 480 };
        check(&facts, &wish(keep(7), 0), Err("--time-zone +08:00"));
        let said = Wish { zone: Some(facts.server_zone), ..wish(keep(7), 0) };
        check(&facts, &said, Ok(&["drop p20260112"]));
    }

    #[test]
    fn a_table_may_not_get_too_many_partitions() {
        let mut facts = january(12, 20);
        let many =
            (0..8_190).map(|number| (format!("q{number}"), format!("'{}'", date_text(number - 9_000))));
        facts.layout.partitions.splice(0..0, many);
        check(&facts, &wish(by_name("q0"), 30), Err("MySQL allows 8,192"));
    }

    #[test]
    fn a_table_of_weeks_gets_no_days() {
        let facts = facts(&[("a", "'2026-01-01'"), ("b", "'2026-01-08'"), ("c", "'2026-01-15'")]);
        check(&facts, &wish(keep(7), 3), Err("7 days long"));
        check(&facts, &wish(keep(10), 0), Ok(&["drop a", "drop b"]));
    }

    #[test]
    fn a_table_without_partitions_is_offered_a_delete() {
        let mut facts = january(1, 2);
        facts.layout = Layout::default();
        let expect =
            "DELETE FROM `t` WHERE `event_day` < CURRENT_DATE - INTERVAL 7 DAY ORDER BY `k`, `event_day`";
        check(&facts, &wish(keep(7), 3), Err(expect));
        check(&facts, &wish(keep(7), 3), Err("no index begins with event_day"));
    }
}
