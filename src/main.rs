//! The program: parse, dispatch, print the error chain, exit code.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use idembench::cli::Cli;
use idembench::command;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let log = tracing_subscriber::EnvFilter::from_env("IDEMBENCH_LOG");
    tracing_subscriber::fmt().with_env_filter(log).with_writer(std::io::stderr).init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("start the runtime")),
    };
    match runtime.block_on(command::dispatch(cli.command)) {
        Ok(code) => code,
        Err(error) => failed(&error),
    }
}

/// One line: what was being done, to which thing, why it failed, what to do. Exit code 2.
fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("{}", command::one_line(error));
    ExitCode::from(2)
}
