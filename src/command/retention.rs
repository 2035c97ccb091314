//! `idembench retention`: the daily roll of a table's partitions, planned and done.

use std::process::ExitCode;

use anyhow::{Context, bail};

use super::measure::now;
use super::screen::{Screen, print_json};
use super::server_choice;
use crate::cli::{RetentionAction, RetentionApplyArgs, RetentionArgs, RetentionPlanArgs};
use crate::drive::Stop;
use crate::retention::apply::{Event, apply};
use crate::retention::patience::{Patience, in_the_way};
use crate::retention::{Chosen, Plan, Wish, look, plan};
use crate::server::{Connection, Server, attend_signals, registry, stop_signal};
use crate::spec::calendar::parse_date;
use crate::table::partition;
use crate::units::Span;

/// Runs the command. Every refusal is exit code 2, with nothing changed.
pub async fn run(args: RetentionArgs) -> anyhow::Result<ExitCode> {
    let (what, to_do) = match args.action {
        RetentionAction::Plan(args) => (args, None),
        RetentionAction::Apply(args) => {
            check(&args)?;
            (args.plan.clone(), Some(args))
        }
    };
    let wish = wish(&what)?;
    let screen = Screen::new(what.json);
    let server = server_choice::open(&what.server, &screen).await?;
    let done = on(&server, &what, &wish, to_do.as_ref(), &screen).await;
    let closed = server.close().await;
    let plan = done?;
    closed?;
    if what.json {
        print_json(&plan)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn check(args: &RetentionApplyArgs) -> anyhow::Result<()> {
    if args.lock_wait.0.as_secs() == 0 {
        bail!("--lock-wait must be at least 1s: the server counts in whole seconds");
    }
    if args.attempts == 0 {
        bail!("--attempts must be at least 1");
    }
    Ok(())
}

fn wish(args: &RetentionPlanArgs) -> anyhow::Result<Wish> {
    let today = args.today.as_deref().map(|text| {
        parse_date(text).with_context(|| format!("read --today `{text}`: write a day such as 2026-01-08"))
    });
    let zone = args.time_zone.as_deref().map(|text| text.parse().map_err(anyhow::Error::msg));
    Ok(Wish {
        chosen: match args.partitions.is_empty() {
            true => Chosen::OlderThan { keep_days: args.keep },
            false => Chosen::Named(args.partitions.clone()),
        },
        ahead_days: args.ahead,
        redelivery: args.redelivery,
        zone: zone.transpose().context("read --time-zone")?,
        today: today.transpose()?,
    })
}

/// Plans, and does it where that is asked for. What is done follows from what is there once nobody else rolls
/// the same table.
async fn on(
    server: &Server,
    what: &RetentionPlanArgs,
    wish: &Wish,
    to_do: Option<&RetentionApplyArgs>,
    screen: &Screen,
) -> anyhow::Result<Plan> {
    let table = what.table.as_str();
    let mut connection = server.connect().await?;
    let ours = registry::is_ours(&mut connection, table).await?;
    let begun = to_do.filter(|args| args.yes);
    if let Some(args) = begun {
        if !ours && args.not_ours.as_deref() != Some(table) {
            bail!(
                "change the partitions of {table}: idembench did not make it — name it by --not-ours {table} if that is \
                 what you want"
            );
        }
        if let Err(other) = partition::lock(&mut connection, table).await? {
            bail!(
                "change the partitions of {table}: another `retention apply` is at it (connection {other}); one that was \
                 killed is gone as soon as its statement ends"
            );
        }
    }
    let planning = std::time::Instant::now();
    let facts = look(server, &mut connection, table).await?;
    let plan = plan(&facts, wish).with_context(|| format!("plan the retention of {table}"))?;
    say(&plan, Span(planning.elapsed()), screen);
    match (to_do, begun) {
        (_, Some(args)) => perform(&mut connection, &plan, args, screen).await?,
        (Some(_), None) if !plan.steps.is_empty() => {
            let named = if ours { String::new() } else { format!(" and --not-ours {table}") };
            screen.line("", &format!("nothing was changed: say --yes{named} to do it"));
        }
        _ => {}
    }
    Ok(plan)
}

fn say(plan: &Plan, took: Span, screen: &Screen) {
    let Plan { table, today, time_zone, partitions, .. } = plan;
    screen.line(
        "plan",
        &format!("{table}: {partitions} partitions, today is {today} (UTC{time_zone}), looked at in {took}"),
    );
    for (number, step) in plan.steps.iter().enumerate() {
        screen.line("", &format!("{}. {} — {}", number + 1, step.what, step.why));
        screen.line("", &format!("   {};", step.sql));
    }
    if plan.steps.is_empty() {
        screen.line("", "nothing is to be done");
    }
    for note in &plan.notes {
        screen.warn(note);
    }
}

async fn perform(
    connection: &mut Connection,
    plan: &Plan,
    args: &RetentionApplyArgs,
    screen: &Screen,
) -> anyhow::Result<()> {
    let _attending = attend_signals();
    let stop = Stop::default();
    let watching = tokio::spawn({
        let stop = stop.clone();
        async move {
            stop_signal().await;
            stop.request();
        }
    });
    let patience = Patience { lock_wait: args.lock_wait, attempts: args.attempts, pause: args.pause };
    let is_stopped = || stop.is_requested();
    let mut tell = |event: Event<'_>| log(&event, screen);
    let applied = apply(connection, plan, patience, args.rest.0, &is_stopped, &mut tell).await;
    watching.abort();
    Ok(applied?)
}

/// One line for each thing that happens, with its time.
fn log(event: &Event<'_>, screen: &Screen) {
    let text = match event {
        Event::Begun(step) => format!("begun   {}", step.what),
        Event::Waited(step, waited) => {
            let sent = if waited.was_sent { "timed out" } else { "held back" };
            let blocker = in_the_way(waited.blockers.as_deref());
            let next = waited.pause.map_or(String::new(), |pause| format!("; again in {}", Span(pause)));
            format!("{sent} {}, attempt {}: {blocker}{next}", step.what, waited.attempt)
        }
        Event::Done(step, done) => {
            let attempts =
                if done.attempts > 1 { format!(" at attempt {}", done.attempts) } else { String::new() };
            format!("done    {} in {}{attempts}", step.what, Span(done.took))
        }
    };
    screen.line("step", &format!("{} {text}", now()));
}
