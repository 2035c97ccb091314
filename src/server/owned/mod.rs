//! A private `mysqld` on a data directory of our own, on a Unix socket and the loopback interface only.
//!
//! | what runs there | what a command does with it |
//! |---|---|
//! | nothing | makes the data directory if need be, starts a server, stops it at the end |
//! | a server that `server up` started | uses it, beside others, and leaves it running |
//! | a server whose command was killed | adopts it if it is as wanted, else restarts it; stops it at the end |
//! | another command's server | fails and names the process |
//! | a half-made data directory | kills what makes it, throws it away, makes a new one |

mod child;
mod error_log;
mod exchange;
mod files;
mod halted;
mod initialize;
mod lock;
mod process;
mod processes;
mod start;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use sqlx::ConnectOptions;

pub use child::Ended;
pub use error_log::LastWords;
pub use exchange::{Exchange, ExchangeError, clean_lsn, new_file};
pub use halted::Halted;
pub use initialize::InitializeError;
pub use lock::LockError;
pub(super) use process::OwnedProcess;
pub use process::StopError;
pub use start::StartError;

use self::files::{Files, remove_if_there, write_private};
use self::lock::Claim;
use self::processes::Running;
use super::address::Address;
use super::home::Home;
use super::locate::{LocateError, Mysqld, locate_mysqld};
use super::version::ServerVersion;
use super::{settings, version_of};
use crate::spec::server::OwnedSpec;

/// Why an owned server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OwnedError {
    /// There is no server program.
    #[error(transparent)]
    Locate(#[from] LocateError),
    /// Its folder cannot be made.
    #[error("make the server's folder {path}: {source} — name another with --data-directory")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else has it.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// There is no data directory.
    #[error(transparent)]
    Initialize(Box<InitializeError>),
    /// It does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It does not stop.
    #[error(transparent)]
    Stop(#[from] StopError),
    /// An exchange of a table's files that was cut off cannot be settled.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// The running server is not the one that was asked for.
    #[error(
        "use the running server in {root}: it was started with other options than asked for: {differ} — `idembench \
         server down` first makes them count, or leave them out"
    )]
    OtherOptions {
        /// The server's folder.
        root: PathBuf,
        /// The options that differ: `--a=1 (it has --a=2), --b (it has none)`.
        differ: String,
    },
    /// An option that decides where the server is found.
    #[error("start mysqld with --{name}: idembench sets that option itself — leave it out")]
    ReservedOption {
        /// The option.
        name: String,
    },
    /// A server of ours ran, but cannot be used.
    #[error("use the mysqld (process {pid}) in {root}: {reason} — see that it has ended, then try again")]
    Unusable {
        /// Its process, or 0 when it has none any more.
        pid: u32,
        /// The server's folder.
        root: PathBuf,
        /// Why.
        reason: String,
    },
}

/// A server that answers, and what is ours to do about it at the end.
pub(super) struct Opened {
    pub(super) address: Address,
    pub(super) version: ServerVersion,
    pub(super) pid: u32,
    pub(super) data_directory: PathBuf,
    pub(super) keeper: Keeper,
    /// It was running before us.
    pub(super) found: bool,
}

/// What is held while an owned server is used.
#[derive(Debug)]
pub(super) enum Keeper {
    /// It stops with us.
    Stops(Box<OwnedProcess>),
    /// It was there before us and stays: only the shared lock is ours.
    Leaves { _claim: Claim, files: Files },
}

impl From<InitializeError> for OwnedError {
    /// Boxed: it is twice as large as every other reason, and rare.
    fn from(error: InitializeError) -> OwnedError {
        OwnedError::Initialize(Box::new(error))
    }
}

/// A running owned server, for `server up` and `server status`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ServerStatus {
    /// Its Unix socket.
    pub socket: Option<PathBuf>,
    /// Its port on 127.0.0.1.
    pub port: u16,
    /// Its data directory.
    pub data_directory: PathBuf,
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
}

/// The folder of the owned server that a spec means.
fn root(spec: &OwnedSpec, home: &Home) -> PathBuf {
    spec.data_directory.clone().unwrap_or_else(|| home.server())
}

fn create_files(spec: &OwnedSpec, home: &Home) -> Result<Files, OwnedError> {
    let path = root(spec, home);
    Files::create(&path).map_err(|source| OwnedError::Folder { path, source })
}

/// Starts, adopts or joins the server.
pub(super) async fn open(spec: &OwnedSpec, home: &Home) -> Result<Opened, OwnedError> {
    if let Some(name) = settings::reserved(spec) {
        return Err(OwnedError::ReservedOption { name: name.to_owned() });
    }
    if Files::existing(&root(spec, home)).is_none() {
        // Where nothing can be started nothing is left behind.
        locate_mysqld(home)?;
    }
    let files = create_files(spec, home)?;
    let mut claim = Claim::take(&files).await?;
    let Some(running) = find_whole(&files, &claim).await? else {
        if claim.is_alone() {
            return start(spec, home, files, claim).await;
        }
        let reason = "it has died, and a command that used it has not ended yet".to_owned();
        return Err(OwnedError::Unusable { pid: 0, root: files.root().to_owned(), reason });
    };
    if !files.detached().exists() && claim.is_alone() {
        return adopt(spec, home, files, claim, running).await;
    }
    if claim.is_alone() {
        claim.share().map_err(|source| LockError::Lock { path: files.lock(), source })?;
    }
    join(spec, files, claim).await
}

/// The running server, if it is more than the making of a data directory; that is put an end to.
async fn find_whole(files: &Files, claim: &Claim) -> Result<Option<Running>, OwnedError> {
    match processes::find(&files.data()) {
        Some(running) if running.is_initializing() && claim.is_alone() => {
            processes::signal(running.pid, Signal::KILL);
            gone(files, running.pid).await?;
            Ok(None)
        }
        other => Ok(other),
    }
}

async fn gone(files: &Files, pid: u32) -> Result<(), OwnedError> {
    if processes::wait_until_gone(&files.data(), Duration::from_secs(60)).await {
        return Ok(());
    }
    let reason = "it does not end".to_owned();
    Err(OwnedError::Unusable { pid, root: files.root().to_owned(), reason })
}

async fn start(spec: &OwnedSpec, home: &Home, files: Files, claim: Claim) -> Result<Opened, OwnedError> {
    let mysqld = locate_mysqld(home)?;
    exchange::settle(&files)?;
    let folder = |source| OwnedError::Folder { path: files.detached(), source };
    remove_if_there(&files.detached()).map_err(folder)?;
    let password = initialize::ensure(&files, &mysqld, spec).await?;
    let (mut process, address) = start::start(&files, &mysqld, spec, password).await?;
    process.keep(claim);
    opened(files, address, process.pid, Keeper::Stops(Box::new(process))).await
}

/// Takes over a server whose command was killed, or replaces it by one that is as wanted.
async fn adopt(
    spec: &OwnedSpec,
    home: &Home,
    files: Files,
    claim: Claim,
    running: Running,
) -> Result<Opened, OwnedError> {
    let mut process = OwnedProcess::adopted(running.pid, files.clone());
    // It may have been stopped by the signal that its command was killed after.
    processes::signal(running.pid, Signal::CONT);
    let address = match address_of(&files, &running) {
        Ok(address) => address,
        Err(error) => {
            // It cannot be talked to, but it is ours: the process list says so.
            drop(process);
            return match processes::find(&files.data()) {
                Some(_) => Err(error),
                None => start(spec, home, files, claim).await,
            };
        }
    };
    match start::wait_until_it_answers(&mut process, &address).await {
        // It was shutting down.
        Err(StartError::Ended { .. }) => return start(spec, home, files, claim).await,
        other => other?,
    }
    let wanted = locate_mysqld(home).ok();
    if suits(&running, spec, &address, wanted.as_ref()).await {
        process.keep(claim);
        let opened = opened(files, address, running.pid, Keeper::Stops(Box::new(process))).await?;
        return Ok(Opened { found: true, ..opened });
    }
    process.stop(&address).await?;
    start(spec, home, files, claim).await
}

async fn suits(running: &Running, spec: &OwnedSpec, address: &Address, wanted: Option<&Mysqld>) -> bool {
    let Some(version) = version_now(address).await else { return false };
    let same_version = wanted.is_none_or(|mysqld| mysqld.version == version);
    same_version && missing(running, spec, version).is_empty()
}

/// Uses a server that `server up` started.
async fn join(spec: &OwnedSpec, files: Files, claim: Claim) -> Result<Opened, OwnedError> {
    let root = files.root().to_owned();
    // Looked up again: a `server down` may have come between.
    let Some(running) = processes::find(&files.data()) else {
        let reason = "it has just been stopped".to_owned();
        return Err(OwnedError::Unusable { pid: 0, root, reason });
    };
    let address = address_of(&files, &running)?;
    let mut process = OwnedProcess::of_others(running.pid, files.clone());
    start::wait_until_it_answers(&mut process, &address).await?;
    if let Some(version) = version_now(&address).await
        && let differ = missing(&running, spec, version)
        && !differ.is_empty()
    {
        return Err(OwnedError::OtherOptions { root, differ: differ.join(", ") });
    }
    let opened = opened(files.clone(), address, running.pid, Keeper::Leaves { _claim: claim, files }).await?;
    Ok(Opened { found: true, ..opened })
}

/// The user's wishes that a running server was not started with, each with what it has instead.
fn missing(running: &Running, spec: &OwnedSpec, version: ServerVersion) -> Vec<String> {
    let demanded = settings::demanded(version, spec);
    // Of two values for a name the server takes the last.
    let counts = |at: usize| demanded[at + 1..].iter().all(|(later, _)| later != &demanded[at].0);
    let lacked =
        demanded.iter().enumerate().filter(|(at, (name, value))| counts(*at) && !running.has(name, value));
    lacked
        .map(|(_, setting)| {
            let has =
                running.option(&setting.0).map_or("none".to_owned(), |has| format!("--{}={has}", setting.0));
            format!("{} (it has {has})", settings::argument(setting))
        })
        .collect()
}

async fn version_now(address: &Address) -> Option<ServerVersion> {
    let mut connection = address.options_without_schema().connect().await.ok()?;
    version_of(&mut connection).await.ok()
}

/// Where a running server answers: its own command line says so.
fn address_of(files: &Files, running: &Running) -> Result<Address, OwnedError> {
    let unusable = |reason: &str| OwnedError::Unusable {
        pid: running.pid,
        root: files.root().to_owned(),
        reason: reason.to_owned(),
    };
    let socket = running.socket().ok_or_else(|| unusable("its command line names no socket"))?;
    let port = running.port().ok_or_else(|| unusable("its command line names no port"))?;
    let password = initialize::password(files);
    let password =
        password.map_err(|error| unusable(&format!("its password file cannot be read ({error})")))?;
    Ok(start::address(&socket, port, password))
}

async fn opened(files: Files, address: Address, pid: u32, keeper: Keeper) -> Result<Opened, OwnedError> {
    let log_in = |source| StartError::LogIn { root: files.root().to_owned(), source: Box::new(source) };
    let mut connection = address.options_without_schema().connect().await.map_err(log_in)?;
    let version = version_of(&mut connection).await.map_err(log_in)?;
    super::create_own_schema(&mut connection).await.map_err(log_in)?;
    super::address::close(connection).await;
    Ok(Opened { address, version, pid, data_directory: files.data(), keeper, found: false })
}

/// `server up`: starts or finds the server and leaves it running when this program ends.
pub async fn up(spec: &OwnedSpec, home: &Home) -> Result<ServerStatus, OwnedError> {
    let opened = open(spec, home).await?;
    let status = ServerStatus {
        socket: opened.address.socket.clone(),
        port: opened.address.port,
        data_directory: opened.data_directory.clone(),
        version: opened.version.to_string(),
        pid: opened.pid,
    };
    if let Keeper::Stops(process) = opened.keeper {
        let note = process.files.detached();
        write_private(&note, "").map_err(|source| OwnedError::Folder { path: note, source })?;
        process.leave_running();
    }
    Ok(status)
}

/// Whether [`up`] left a server running for others.
pub fn is_left_running(spec: &OwnedSpec, home: &Home) -> bool {
    Files::existing(&root(spec, home)).is_some_and(|files| files.detached().exists())
}

/// Ends what an opening that was given up has begun; not for a server that [`up`] left running for others.
///
/// # Errors
/// It does not end, or somebody else has begun to use it.
pub async fn abandon(spec: &OwnedSpec, home: &Home) -> Result<(), OwnedError> {
    let Some(files) = Files::existing(&root(spec, home)) else { return Ok(()) };
    let claim = Claim::take_alone(&files).await?;
    if let Some(running) = find_whole(&files, &claim).await? {
        processes::signal(running.pid, Signal::TERM);
        gone(&files, running.pid).await?;
    }
    Ok(())
}

/// `server down`: stops whatever server runs in the folder, unless a command uses it. Tells what was
/// stopped, or `None` when nothing ran.
pub async fn down(spec: &OwnedSpec, home: &Home) -> Result<Option<ServerStatus>, OwnedError> {
    let Some(files) = Files::existing(&root(spec, home)) else { return Ok(None) };
    if processes::find(&files.data()).is_none() && !files.lock().exists() {
        return Ok(None);
    }
    let claim = Claim::take_alone(&files).await?;
    let Some(running) = find_whole(&files, &claim).await? else { return Ok(None) };
    let status = status_of(&files, &running).await;
    match address_of(&files, &running) {
        Ok(address) => OwnedProcess::adopted(running.pid, files.clone()).stop(&address).await?,
        Err(_) => {
            processes::signal(running.pid, Signal::TERM);
            gone(&files, running.pid).await?;
        }
    }
    let note = files.detached();
    remove_if_there(&note).map_err(|source| OwnedError::Folder { path: note, source })?;
    Ok(Some(status))
}

/// `server status`: the server that runs in the folder, if one does; takes no lock.
pub async fn status(spec: &OwnedSpec, home: &Home) -> Option<ServerStatus> {
    let files = Files::existing(&root(spec, home))?;
    let running = processes::find(&files.data()).filter(|running| !running.is_initializing())?;
    Some(status_of(&files, &running).await)
}

async fn status_of(files: &Files, running: &Running) -> ServerStatus {
    // A server that is busy or stopped does not answer; it is running all the same.
    let version = async { version_now(&address_of(files, running).ok()?).await };
    let version = tokio::time::timeout(Duration::from_secs(5), version).await.ok().flatten();
    ServerStatus {
        socket: running.socket(),
        port: running.port().unwrap_or(0),
        data_directory: files.data(),
        version: version.map_or("n/a".to_owned(), |version| version.to_string()),
        pid: running.pid,
    }
}

/// Why the server on this data directory is gone; `None` while it runs.
pub(super) fn cause_of_death(keeper: &mut Keeper, pid: u32, data_directory: &Path) -> Option<StopError> {
    if let Keeper::Stops(process) = keeper {
        return process.cause_of_death();
    }
    if processes::find(data_directory).is_some() {
        return None;
    }
    let log = data_directory.parent()?.join("error.log");
    Some(StopError::Died { pid, ended: "ended".to_owned(), words: LastWords::read(&log), log })
}

/// The last words of the server whose data directory this is, for an error about a lost connection.
pub(super) fn last_words(data_directory: &Path) -> LastWords {
    let log = data_directory.parent().map(|root| root.join("error.log"));
    log.map_or_else(LastWords::default, |log| LastWords::read(&log))
}
