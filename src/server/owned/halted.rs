//! An owned server stopped for a while, its folder held.

use std::path::PathBuf;

use sqlx::ConnectOptions;

use super::exchange::{Exchange, ExchangeError};
use super::files::Files;
use super::lock::Claim;
use super::{Keeper, Opened, OwnedError, OwnedProcess, StartError};
use crate::server::address::{Address, close};
use crate::server::home::Home;
use crate::spec::server::OwnedSpec;

/// An owned server that stands still, its folder held all the while: the time to exchange a table's files.
#[derive(Debug)]
pub struct Halted {
    spec: OwnedSpec,
    home: Home,
    files: Files,
    claim: Claim,
}

impl Halted {
    /// Stops a server that is ours to stop, cleanly and with everything purged.
    pub(in crate::server) async fn stop(
        process: OwnedProcess,
        address: &Address,
        spec: &OwnedSpec,
        home: &Home,
    ) -> Result<Halted, OwnedError> {
        let log_in = |files: &Files, source| StartError::LogIn {
            root: files.root().to_owned(),
            source: Box::new(source),
        };
        let files = process.files.clone();
        let mut connection =
            address.options_without_schema().connect().await.map_err(|source| log_in(&files, source))?;
        let asked = sqlx::Executor::execute(&mut connection, "SET GLOBAL innodb_fast_shutdown = 0").await;
        asked.map_err(|source| log_in(&files, source))?;
        close(connection).await;
        let claim = process.stop_and_hold(address).await?;
        let claim = match claim {
            Some(claim) => claim,
            None => Claim::take_alone(&files).await?,
        };
        Ok(Halted { spec: spec.clone(), home: home.clone(), files, claim })
    }

    /// The data directory.
    pub fn data_directory(&self) -> PathBuf {
        self.files.data()
    }

    /// A folder on the same disk for what is thrown away again.
    pub fn scratch(&self) -> PathBuf {
        self.files.scratch()
    }

    /// Notes that new files (`new_file`) are being made for these files of a table.
    ///
    /// # Errors
    /// The note cannot be written.
    pub fn begin_exchange(
        &self,
        table: &str,
        fingerprint: &str,
        paths: &[PathBuf],
    ) -> Result<Exchange, ExchangeError> {
        Exchange::begin(&self.files, table, fingerprint, paths)
    }

    /// Puts the new files, whole and durable, into their places.
    ///
    /// # Errors
    /// A file cannot be moved; the next start of the server goes on with it.
    pub fn exchange(&self, mut exchange: Exchange) -> Result<(), ExchangeError> {
        exchange.exchange(&self.files)
    }

    /// Throws the new files away.
    ///
    /// # Errors
    /// A file cannot be removed; the next start of the server tries it again.
    pub fn abandon(&self, exchange: Exchange) -> Result<(), ExchangeError> {
        exchange.abandon(&self.files)
    }

    pub(in crate::server) async fn start(self) -> Result<Opened, OwnedError> {
        super::start(&self.spec, &self.home, self.files, self.claim).await
    }
}

impl Keeper {
    /// The exchange whose new files are in their place and still on trial.
    pub(in crate::server) fn exchange(&self) -> Result<Option<Exchange>, ExchangeError> {
        match self {
            Keeper::Stops(process) => Exchange::noted(&process.files),
            Keeper::Leaves { files, .. } => Exchange::noted(files),
        }
    }

    /// Accepts the new files.
    pub(in crate::server) fn end_exchange(&self, exchange: Exchange) -> Result<(), ExchangeError> {
        match self {
            Keeper::Stops(process) => exchange.end(&process.files),
            Keeper::Leaves { files, .. } => exchange.end(files),
        }
    }
}
