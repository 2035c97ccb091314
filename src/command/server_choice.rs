//! Flags and environment to the server that a command uses.

use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::cli::ServerArgs;
use crate::command::screen::Screen;
use crate::server::{self, Home, Server};
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
    let spec = spec(args)?;
    let begun = std::time::Instant::now();
    let home = home()?;
    let starts = matches!(&spec, ServerSpec::Owned(owned) if !server::is_left_running(owned, &home));
    let server = tokio::select! {
        opened = server::open(&spec, &home) => opened?,
        signal = server::stop_signal(), if starts => return Err(given_up(&spec, &home, signal).await),
    };
    screen.line("server", &opened_line(&server, Span(begun.elapsed())));
    Ok(server)
}

fn opened_line(server: &Server, took: Span) -> String {
    let place = server.address().channel();
    format!("{} MySQL {} ready in {took} · {place}", server.kind(), server.version())
}

/// Asked to stop while a server was starting: one that we own does not go on without us.
async fn given_up(spec: &ServerSpec, home: &Home, signal: &str) -> anyhow::Error {
    let mut left = String::new();
    if let ServerSpec::Owned(owned) = spec
        && let Err(error) = server::abandon(owned, home).await
    {
        left = format!("; it may still run: {error}");
    }
    anyhow::anyhow!("start the server: stopped by {signal} before it was ready{left}")
}
