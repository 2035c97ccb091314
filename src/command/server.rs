//! `idembench server up|down|status|install`: the owned server between commands.

use std::process::ExitCode;

use anyhow::bail;

use super::screen::{Screen, print_json};
use super::server_choice;
use crate::cli::{ServerAction, ServerCommandArgs, ServerUpArgs, ServerWhereArgs};
use crate::server::{self, ServerStatus};
use crate::spec::server::ServerSpec;

/// Runs the command.
pub async fn run(args: ServerCommandArgs) -> anyhow::Result<ExitCode> {
    match args.action {
        ServerAction::Up(args) => up(args).await,
        ServerAction::Down(args) => down(args).await,
        ServerAction::Status(args) => status(args).await,
        ServerAction::Install => install_server(),
    }
}

async fn up(args: ServerUpArgs) -> anyhow::Result<ExitCode> {
    let ServerSpec::Owned(spec) = server_choice::spec(&args.server)? else {
        bail!("start a server: only an owned server can be started — leave --server out");
    };
    let home = server_choice::home()?;
    let starting = async { Ok(server::up(&spec, &home).await?) };
    let status = server_choice::unless_stopped(&spec, &home, starting).await?;
    show(args.json, "up", &status)?;
    Ok(ExitCode::SUCCESS)
}

async fn down(args: ServerWhereArgs) -> anyhow::Result<ExitCode> {
    let spec = server_choice::owned_in(args.data_directory);
    match server::down(&spec, &server_choice::home()?).await? {
        Some(stopped) => show(args.json, "stopped", &stopped)?,
        None => nothing_runs(args.json)?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn status(args: ServerWhereArgs) -> anyhow::Result<ExitCode> {
    let spec = server_choice::owned_in(args.data_directory);
    match server::status(&spec, &server_choice::home()?).await {
        Some(running) => {
            show(args.json, "up", &running)?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            nothing_runs(args.json)?;
            Ok(ExitCode::from(1))
        }
    }
}

fn install_server() -> anyhow::Result<ExitCode> {
    let installed = server::install(&server_choice::home()?)?;
    Screen::new(false).line("setup", &installed);
    Ok(ExitCode::SUCCESS)
}

fn show(json: bool, state: &str, status: &ServerStatus) -> anyhow::Result<()> {
    if json {
        return print_json(status);
    }
    let screen = Screen::new(false);
    let socket = status.socket.as_ref().map_or("no socket".to_owned(), |path| path.display().to_string());
    screen.line("server", &format!("{state} · MySQL {} · process {}", status.version, status.pid));
    screen.line("", &format!("socket {socket} · port {} on 127.0.0.1", status.port));
    screen.line("", &format!("data {}", status.data_directory.display()));
    Ok(())
}

fn nothing_runs(json: bool) -> anyhow::Result<()> {
    if json {
        return print_json(&serde_json::Value::Null);
    }
    Screen::new(false).line("server", "not running · idembench server up starts it");
    Ok(())
}
