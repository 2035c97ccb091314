//! The program: parse, dispatch, print the error chain, exit code.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use clap::Parser;
use idembench::cli::Cli;
use idembench::command;
use idembench::server::stopped_by;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let log = tracing_subscriber::EnvFilter::from_env("IDEMBENCH_LOG");
    tracing_subscriber::fmt().with_env_filter(log).with_writer(std::io::stderr).init();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&anyhow::Error::new(error).context("start the runtime")),
    };
    match runtime.block_on(command::dispatch(cli.command)) {
        // Stopped by a signal and tidied up: the code that a shell reports of such an end.
        Ok(code) => stopped_by().map_or(code, |signal| ExitCode::from(signal.exit_code())),
        Err(error) => failed(&error),
    }
}

/// One line: what was being done, to which thing, why it failed, what to do. Exit code 2, or the signal's.
fn failed(error: &anyhow::Error) -> ExitCode {
    command::screen::print_error(&command::one_line(error));
    ExitCode::from(stopped_by().map_or(2, |signal| signal.exit_code()))
}
