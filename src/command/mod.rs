//! One file per command, each a recipe over the rooms below. Only here do the two wings meet, only here
//! is there a screen, and only here are errors put together into the one line that a person reads.

mod age;
mod doctor;
mod list;
mod load;
mod measure;
mod quickstart;
mod report;
mod resume;
mod retention;
mod run;
mod schema;
pub mod screen;
mod server;
mod server_choice;

use std::process::ExitCode;

use crate::cli::Command;
use crate::server::{unattended_signal, watch_signals};
use crate::units;

/// Runs a command. `Ok` carries 0 (done) or 1 (the answer is "no"); an error means exit code 2. After a signal
/// to which the command does not attend itself it is dropped, and a server that it owns stops with it.
pub async fn dispatch(command: Command) -> anyhow::Result<ExitCode> {
    watch_signals();
    tokio::select! {
        done = execute(command) => done,
        signal = unattended_signal() => Err(anyhow::anyhow!("stopped by {signal}")),
    }
}

async fn execute(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Quickstart(args) => quickstart::run(args).await,
        Command::Doctor(args) => doctor::run(args).await,
        Command::Server(args) => server::run(args).await,
        Command::Load(args) => load::run(args).await,
        Command::Run(args) => run::run(args).await,
        Command::Retention(args) => retention::run(args).await,
        Command::Age(args) => age::run(args).await,
        Command::List(args) => list::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Schema(args) => schema::run(args),
    }
}

/// The error chain in one line, outermost act first, each cause once.
///
/// Our own errors hold their cause's words in their text, because they are also stored and shown where no
/// chain is; contexts and foreign errors may not. So a cause is added only where its words are not yet there.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let text = units::one_line(&cause.to_string());
        if line.contains(&text) {
            continue;
        }
        if !line.is_empty() {
            line.push_str(": ");
        }
        line.push_str(&text);
    }
    line
}
