//! Flags and environment to the server that a command uses.

use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::cli::ServerArgs;
use crate::command::screen::Screen;
use crate::results::{Run, RunStatus};
use crate::server::{self, CloseError, Home, Server, StopSignal};
use crate::spec::server::{OwnedSpec, ServerSpec, Written};
use crate::units::Span;

/// Which server the flags mean. Options of an owned server go with an owned server only.
pub fn spec(args: &ServerArgs) -> anyhow::Result<ServerSpec> {
    let read = ServerSpec::read(&Written::with_environment(args.server.clone()))?;
    let ServerSpec::Owned(_) = read else {
        let given = args.data_directory.is_some() || args.buffer_pool.is_some() || args.redo.is_some();
        if given || args.binlog || !args.mysqld_options.is_empty() {
            bail!(
                "use a server that is not ours: --data-directory, --buffer-pool, --redo, --binlog and \
                 --mysqld-option set up an owned server — leave them out, or leave --server out"
            );
        }
        return Ok(read);
    };
    Ok(ServerSpec::Owned(OwnedSpec {
        data_directory: args.data_directory.clone(),
        port: None,
        buffer_pool: args.buffer_pool,
        redo: args.redo,
        binlog: args.binlog,
        connections: 0,
        options: args.mysqld_options.iter().map(|text| option(text)).collect::<anyhow::Result<_>>()?,
    }))
}

/// An owned server in that folder, for commands that only look or stop.
pub fn owned_in(data_directory: Option<PathBuf>) -> OwnedSpec {
    OwnedSpec { data_directory, ..OwnedSpec::default() }
}

fn option(text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, _)| !name.trim_matches('-').is_empty())
        .with_context(|| format!("read --mysqld-option `{text}`: write it as name=value"))?;
    Ok((name.trim_start_matches('-').to_owned(), value.to_owned()))
}

/// Where the program keeps its things.
pub fn home() -> anyhow::Result<Home> {
    Home::find().context("make the folder .idembench — run the command in a folder that you may write to")
}

/// Opens the server and says so in one line.
pub async fn open(args: &ServerArgs, screen: &Screen) -> anyhow::Result<Server> {
    open_for(args, 0, screen).await
}

/// The same with room for so many driving connections, where the server is ours to start.
pub async fn open_for(args: &ServerArgs, connections: u32, screen: &Screen) -> anyhow::Result<Server> {
    let mut spec = spec(args)?;
    if let ServerSpec::Owned(owned) = &mut spec {
        owned.connections = connections;
    }
    let begun = std::time::Instant::now();
    let home = home()?;
    let opening = async { Ok(server::open(&spec, &home).await?) };
    let server = match &spec {
        ServerSpec::Owned(owned) => unless_stopped(owned, &home, opening).await?,
        _ => opening.await?,
    };
    let how = match server.was_found_running() {
        true => "found running".to_owned(),
        false => format!("ready in {}", Span(begun.elapsed())),
    };
    screen.line("server", &opened_line(&server, &how));
    Ok(server)
}

fn opened_line(server: &Server, how: &str) -> String {
    let place = server.address().channel();
    format!("{} MySQL {} {how} · {place}", server.kind(), server.version())
}

/// A failure on a server of ours that has died is told by its death.
pub async fn explained(server: &mut Server, error: anyhow::Error) -> anyhow::Error {
    match server.death().await {
        Some(death) => anyhow::anyhow!("{death}; the same command starts the server again and goes on"),
        None => error,
    }
}

/// A run that is saved stays a result whatever becomes of its server; that a dead one cannot be closed has
/// been said.
pub fn closed_after(run: &Run, closed: Result<(), CloseError>, screen: &Screen) {
    if let Err(error) = closed
        && run.status != RunStatus::Failed
    {
        screen.warn(&format!("the run is saved, but its server did not end well: {error}"));
    }
}

/// Starts an owned server, unless a signal comes first: then it does not go on without us.
pub async fn unless_stopped<T>(
    spec: &OwnedSpec,
    home: &Home,
    starting: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    if server::is_left_running(spec, home) {
        // Nothing is started: it serves others too.
        return starting.await;
    }
    let _attending = server::attend_signals();
    tokio::select! {
        started = starting => started,
        signal = server::stop_signal() => Err(given_up(spec, home, signal).await),
    }
}

async fn given_up(spec: &OwnedSpec, home: &Home, signal: StopSignal) -> anyhow::Error {
    let mut left = String::new();
    if let Err(error) = server::abandon(spec, home).await {
        left = format!("; it may still run: {error}");
    }
    anyhow::anyhow!("start the server: stopped by {signal} before it was ready{left}")
}
