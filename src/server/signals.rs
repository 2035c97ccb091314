//! Being asked to stop.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for the first SIGINT, SIGTERM or SIGHUP and tells its name.
///
/// A command races its work against this and then closes its server, so that Ctrl-C leads to a clean
/// shutdown: an owned server is in a process group of its own and does not get the terminal's signal itself.
pub async fn stop_signal() -> &'static str {
    let wait = |kind: SignalKind| async move {
        match signal(kind) {
            Ok(mut signals) => {
                signals.recv().await;
            }
            // Without a handler the signal keeps its default effect, which ends us.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = wait(SignalKind::interrupt()) => "SIGINT",
        () = wait(SignalKind::terminate()) => "SIGTERM",
        () = wait(SignalKind::hangup()) => "SIGHUP",
    }
}
