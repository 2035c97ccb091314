//! Waiting for an answer in the read itself instead of in the runtime's poll.
//!
//! A runtime asks its poll which connection is ready. For one connection on one thread that is dear: a try to
//! read what is not there yet, the poll, the read; and on a Unix socket the poll also wakes as soon as the
//! server has taken the request, because there is room to write again. A claim then costs its client two
//! wake-ups and five calls, and takes the processor from the server while it works. A socket that blocks
//! needs one wake-up and two calls, as MySQL's own client does.
//!
//! So once a worker is connected, its socket is made to block. A read gives up after [`READ_PATIENCE`] as if
//! there were nothing to read, and the runtime polls as ever: a worker still hears that it is to stop.
//!
//! sqlx does not hand out its socket. It is found among what this thread's own poll watches, and touched only
//! if it is the only connection to a server there; otherwise all stays as it was, and only costs more.

use std::io;

use tokio::runtime::Runtime;

/// How long a read blocks before the runtime looks around. A worker is told to stop once in a step; to look
/// ten times a second costs nothing.
#[cfg(target_os = "linux")]
const READ_PATIENCE: std::time::Duration = std::time::Duration::from_millis(100);

/// A runtime for one thread that knows its poll.
pub(super) struct OwnRuntime {
    pub runtime: Runtime,
    pub poll: Poll,
}

impl OwnRuntime {
    /// A runtime for the calling thread.
    pub fn new() -> io::Result<OwnRuntime> {
        let (runtime, poll) =
            Poll::of(|| tokio::runtime::Builder::new_current_thread().enable_all().build())?;
        Ok(OwnRuntime { runtime, poll })
    }
}

/// A runtime's poll, by its file descriptor; `None` where it is not known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Poll(#[cfg_attr(not(target_os = "linux"), allow(dead_code))] Option<i32>);

#[cfg(not(target_os = "linux"))]
impl Poll {
    fn of(build: impl FnOnce() -> io::Result<Runtime>) -> io::Result<(Runtime, Poll)> {
        Ok((build()?, Poll(None)))
    }

    /// Makes the one connection that the runtime watches block in its reads; whether it could be done.
    pub fn block_reads(self) -> bool {
        false
    }
}

#[cfg(target_os = "linux")]
impl Poll {
    /// Builds a runtime and learns its poll's number: the lowest that was free, if it turns out to be a poll.
    fn of(build: impl FnOnce() -> io::Result<Runtime>) -> io::Result<(Runtime, Poll)> {
        use std::os::fd::AsRawFd;
        use std::sync::{Mutex, PoisonError};

        /// Runtimes are built one after the other, so that none takes another's number.
        static BUILDING: Mutex<()> = Mutex::new(());
        let _alone = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
        let free = std::fs::File::open("/")?.as_raw_fd();
        let runtime = build()?;
        let opened = std::fs::read_link(format!("/proc/self/fd/{free}"));
        let is_poll = opened.is_ok_and(|target| target.as_os_str() == "anon_inode:[eventpoll]");
        Ok((runtime, Poll(is_poll.then_some(free))))
    }

    /// Makes the one connection that the runtime watches block in its reads; whether it could be done.
    pub fn block_reads(self) -> bool {
        self.connection().is_some_and(|socket| block(&socket).is_ok())
    }

    /// A second handle on the only socket under watch that is connected to a server.
    fn connection(self) -> Option<std::os::fd::OwnedFd> {
        use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

        let watched = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", self.0?)).ok()?;
        let numbers = watched.lines().filter_map(|line| line.strip_prefix("tfd:"));
        let numbers = numbers.filter_map(|rest| rest.split_whitespace().next()?.parse().ok());
        let own = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
        let mut connections = numbers
            .filter_map(|number| pidfd_getfd(&own, number, PidfdGetfdFlags::empty()).ok())
            .filter(is_connected_to_a_server);
        match (connections.next(), connections.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }
}

/// Whether the other end has an address: a pair of sockets, such as the runtime has for signals, has none.
#[cfg(target_os = "linux")]
fn is_connected_to_a_server(socket: &std::os::fd::OwnedFd) -> bool {
    use rustix::net::{AddressFamily, SocketAddrUnix, getpeername};

    let Ok(Some(peer)) = getpeername(socket) else { return false };
    match peer.address_family() {
        AddressFamily::INET | AddressFamily::INET6 => true,
        AddressFamily::UNIX => SocketAddrUnix::try_from(peer).is_ok_and(|peer| peer.path().is_some()),
        _ => false,
    }
}

#[cfg(target_os = "linux")]
fn block(socket: &std::os::fd::OwnedFd) -> rustix::io::Result<()> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::net::sockopt::{Timeout, set_socket_timeout};

    // First the patience: without it a worker would never look up from a server that stands still.
    set_socket_timeout(socket, Timeout::Recv, Some(READ_PATIENCE))?;
    set_socket_timeout(socket, Timeout::Send, Some(READ_PATIENCE))?;
    fcntl_setfl(socket, fcntl_getfl(socket)? - OFlags::NONBLOCK)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixListener;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn listener() -> (std::path::PathBuf, UnixListener) {
        let path = std::env::temp_dir().join(format!("idembench-reads-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).expect("a socket in the temporary folder");
        (path, listener)
    }

    #[test]
    fn a_lone_connection_blocks_and_is_still_given_up_when_told() {
        let (path, listener) = listener();
        let OwnRuntime { runtime, poll } = OwnRuntime::new().expect("a runtime");
        runtime.block_on(async {
            assert!(!poll.block_reads(), "nothing is connected");
            let mut stream = tokio::net::UnixStream::connect(&path).await.expect("listens");
            let (mut server, _) = listener.accept().expect("connects");
            assert!(poll.block_reads());
            let mut answer = [0; 2];
            for _ in 0..3 {
                stream.write_all(b"ask").await.expect("has room");
                server.write_all(b"42").expect("has room");
                stream.read_exact(&mut answer).await.expect("is there");
                assert_eq!(&answer, b"42");
            }
            // Nobody answers: whoever waits for something else at the same time still gets it.
            let given_up = std::time::Duration::from_millis(1);
            assert!(tokio::time::timeout(given_up, stream.read_exact(&mut answer)).await.is_err());
            server.write_all(b"43").expect("has room");
            stream.read_exact(&mut answer).await.expect("is there");
            assert_eq!(&answer, b"43");
            let _second = tokio::net::UnixStream::connect(&path).await.expect("listens");
            assert!(!poll.block_reads(), "which of the two is not known");
        });
        let _ = std::fs::remove_file(path);
    }
}
