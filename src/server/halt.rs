//! A server of ours stopped and started again within one use of it, to exchange a table's files meanwhile.

use super::owned::{self, Exchange, ExchangeError, Halted, OwnedError};
use super::{Home, Keeper, OpenError, Server};
use crate::spec::server::OwnedSpec;

/// Why a server cannot be halted.
#[derive(Debug, thiserror::Error)]
pub enum HaltError {
    /// It is not ours to stop.
    #[error(
        "halt the server: it is {kind} and others may be using it — stop it with `idembench server down` first, or \
         use --method sql"
    )]
    NotOurs {
        /// What it is.
        kind: &'static str,
    },
    /// It does not stop.
    #[error(transparent)]
    Owned(#[from] Box<OwnedError>),
}

impl Server {
    /// Whether [`Server::halt`] may stop it.
    pub fn is_ours_to_halt(&self) -> bool {
        matches!(self.keeper, Keeper::Owned(owned::Keeper::Stops(_)))
    }

    /// Stops a server that is ours to stop, with everything purged and written, and holds its folder.
    ///
    /// # Errors
    /// [`HaltError`]; a server that somebody else uses goes on.
    pub async fn halt(mut self, spec: &OwnedSpec, home: &Home) -> Result<Halted, HaltError> {
        match std::mem::replace(&mut self.keeper, Keeper::Nothing) {
            Keeper::Owned(owned::Keeper::Stops(process)) => {
                Ok(Halted::stop(*process, &self.address, spec, home).await.map_err(Box::new)?)
            }
            _ => Err(HaltError::NotOurs { kind: self.kind }),
        }
    }

    /// Starts a halted server again.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn resume(halted: Halted) -> Result<Server, OpenError> {
        Ok(Server::from_owned(halted.start().await?))
    }

    /// The exchange of a table's files that was made while the server was halted and is not accepted yet.
    ///
    /// # Errors
    /// The note of it cannot be read.
    pub fn exchange(&self) -> Result<Option<Exchange>, ExchangeError> {
        match &self.keeper {
            Keeper::Owned(keeper) => keeper.exchange(),
            _ => Ok(None),
        }
    }

    /// Accepts the new files of a table: the old ones are removed.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn end_exchange(&self, exchange: Exchange) -> Result<(), ExchangeError> {
        match &self.keeper {
            Keeper::Owned(keeper) => keeper.end_exchange(exchange),
            _ => Ok(()),
        }
    }
}
