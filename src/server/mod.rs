//! The MySQL server that is measured: owned, contained or attached, decided once by [`open`].
//!
//! - [`locate`] which `mysqld` runs; [`settings`] with what options; [`owned`] its life
//! - [`address`] where it answers; [`version`] what it is
//! - [`guard`] what keeps us off tables that are not ours
//! - [`counters`] what it counts while it is measured; [`local`] what the kernel knows of it
//! - [`metadata_locks`] who keeps others from changing a table
//! - [`room`] how many connections it has room for
//! - [`clock`] what time it is there
//! - `signals` being asked to stop
//! - [`machine`], [`disk`] what it runs on; [`doctor`] what is to be said about all that

pub mod address;
pub mod attached;
pub mod clock;
pub mod container;
pub mod counters;
mod describe;
pub mod disk;
pub mod doctor;
pub mod guard;
mod halt;
pub mod home;
pub mod install;
pub mod local;
pub mod locate;
pub mod machine;
pub mod metadata_locks;
pub mod owned;
pub mod room;
pub mod settings;
mod signals;
pub mod version;

use std::path::{Path, PathBuf};

use sqlx::mysql::MySqlConnectOptions;
use sqlx::{ConnectOptions, Executor, MySqlConnection};

pub use address::Address;
pub use attached::AttachError;
pub use container::ContainerError;
pub use counters::CounterSample;
pub use describe::DescribeError;
pub use guard::{GuardError, claim_schema, registry};
pub use halt::HaltError;
pub use home::Home;
pub use install::{InstallError, install};
pub use local::{cpu_time, table_files};
pub use locate::{LocateError, Mysqld, locate_mysqld};
pub use owned::{
    Exchange, ExchangeError, Halted, OwnedError, ServerStatus, StopError, abandon, clean_lsn, down,
    is_left_running, new_file, status, up,
};
pub use room::RoomError;
pub use signals::{StopSignal, attend_signals, stop_signal, stopped_by, unattended_signal, watch_signals};
pub use version::ServerVersion;

use crate::spec::server::ServerSpec;

/// A connection as commands pass it on.
pub type Connection = MySqlConnection;

/// The schema on servers of our own.
pub const DATABASE: &str = "idembench";

/// How often a server that does not answer is looked at, every 50 ms, until it counts as alive.
const DEATH_LOOKS: u32 = 40;

/// A server that answers.
#[derive(Debug)]
pub struct Server {
    kind: &'static str,
    address: Address,
    version: ServerVersion,
    data_directory: Option<PathBuf>,
    pid: Option<u32>,
    found: bool,
    keeper: Keeper,
}

/// What ends with the use of a server.
#[derive(Debug)]
enum Keeper {
    /// A process that is ours to stop, or our share of a lock.
    Owned(owned::Keeper),
    /// A container that is ours to remove.
    Contained(Box<container::Container>),
    /// Nothing: it is somebody else's, or a view of another [`Server`].
    Nothing,
}

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Our own.
    #[error(transparent)]
    Owned(#[from] OwnedError),
    /// Somebody else's.
    #[error(transparent)]
    Attached(#[from] AttachError),
    /// In a container.
    #[error(transparent)]
    Contained(#[from] ContainerError),
}

/// Why the use of a server did not end well.
#[derive(Debug, thiserror::Error)]
pub enum CloseError {
    /// Our own process.
    #[error(transparent)]
    Owned(#[from] StopError),
    /// A container.
    #[error(transparent)]
    Contained(#[from] ContainerError),
}

/// A connection failed.
#[derive(Debug, thiserror::Error)]
#[error("connect to the {kind} server at {place}: {source}{hint}")]
pub struct ConnectError {
    kind: &'static str,
    place: String,
    /// The driver's words.
    pub source: sqlx::Error,
    hint: String,
}

/// Makes the server that is meant ready for use.
pub async fn open(spec: &ServerSpec, home: &Home) -> Result<Server, OpenError> {
    match spec {
        ServerSpec::Owned(owned) => Ok(Server::from_owned(owned::open(owned, home).await?)),
        ServerSpec::Contained { image } => Ok(Server::from_contained(container::open(image).await?)),
        ServerSpec::Attached(attached) => Ok(Server::from_attached(attached::open(attached).await?)),
    }
}

impl Server {
    fn from_owned(opened: owned::Opened) -> Server {
        Server {
            kind: "owned",
            address: opened.address,
            version: opened.version,
            data_directory: Some(opened.data_directory),
            pid: Some(opened.pid),
            found: opened.found,
            keeper: Keeper::Owned(opened.keeper),
        }
    }

    fn from_contained(opened: container::Contained) -> Server {
        Server {
            kind: "contained",
            address: opened.address,
            version: opened.version,
            data_directory: None,
            pid: opened.pid,
            found: false,
            keeper: Keeper::Contained(Box::new(opened.keeper)),
        }
    }

    fn from_attached(opened: attached::Attached) -> Server {
        Server {
            kind: "attached",
            address: opened.address,
            version: opened.version,
            data_directory: opened.data_directory,
            pid: opened.pid,
            found: true,
            keeper: Keeper::Nothing,
        }
    }

    /// `owned`, `contained` or `attached`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Its version.
    pub fn version(&self) -> ServerVersion {
        self.version
    }

    /// Where it answers.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Options for sqlx, the schema set; see [`Address::connect_options`].
    pub fn connect_options(&self) -> MySqlConnectOptions {
        self.address.connect_options()
    }

    /// A new connection in the schema.
    pub async fn connect(&self) -> Result<MySqlConnection, ConnectError> {
        self.connect_options().connect().await.map_err(|source| self.connect_error(source))
    }

    /// Its data directory, when that is on this machine.
    pub fn data_directory(&self) -> Option<&Path> {
        self.data_directory.as_deref()
    }

    /// Its process, when that is on this machine.
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Whether it was running before it was opened: left by `server up` or by a killed command, or attached.
    pub fn was_found_running(&self) -> bool {
        self.found
    }

    /// The same server with another schema; closing or dropping it leaves the server alone.
    pub fn in_schema(&self, database: &str) -> Server {
        Server {
            kind: self.kind,
            address: Address { database: database.to_owned(), ..self.address.clone() },
            version: self.version,
            data_directory: self.data_directory.clone(),
            pid: self.pid,
            found: self.found,
            keeper: Keeper::Nothing,
        }
    }

    /// Why the server is gone, when it is our own process and has died: how it ended and its last error
    /// lines. `None` while it runs, and always for other kinds and for views ([`Server::in_schema`]).
    pub fn cause_of_death(&mut self) -> Option<StopError> {
        match (&mut self.keeper, &self.data_directory) {
            (Keeper::Owned(keeper), Some(data)) => owned::cause_of_death(keeper, self.pid.unwrap_or(0), data),
            _ => None,
        }
    }

    /// The same for a server that has just been lost: it is dead a moment after its connections are.
    pub async fn death(&mut self) -> Option<StopError> {
        for _ in 0..DEATH_LOOKS {
            if let Some(death) = self.cause_of_death() {
                return Some(death);
            }
            if self.connect().await.is_ok() {
                return None;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        None
    }

    /// Ends the use of the server: one that we started is shut down cleanly.
    pub async fn close(self) -> Result<(), CloseError> {
        match self.keeper {
            Keeper::Owned(owned::Keeper::Stops(process)) => Ok(process.stop(&self.address).await?),
            Keeper::Contained(container) => Ok(container.remove().await?),
            Keeper::Owned(owned::Keeper::Leaves { .. }) | Keeper::Nothing => Ok(()),
        }
    }

    fn connect_error(&self, source: sqlx::Error) -> ConnectError {
        let Address { socket, host, port, .. } = &self.address;
        let place =
            socket.as_ref().map_or_else(|| format!("{host}:{port}"), |path| path.display().to_string());
        let hint = match &self.data_directory {
            Some(data) if matches!(source, sqlx::Error::Io(_)) => format!(" ({})", owned::last_words(data)),
            _ => String::new(),
        };
        ConnectError { kind: self.kind, place, source, hint }
    }
}

/// `VERSION()` as numbers.
async fn version_of(connection: &mut MySqlConnection) -> Result<ServerVersion, sqlx::Error> {
    let text: String = sqlx::query_scalar("SELECT VERSION()").fetch_one(connection).await?;
    text.parse().map_err(|()| sqlx::Error::Protocol(format!("the server calls its version `{text}`")))
}

async fn create_own_schema(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    connection.execute("CREATE DATABASE IF NOT EXISTS idembench").await.map(|_| ())
}
