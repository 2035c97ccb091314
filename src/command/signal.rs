//! Being asked to stop: Ctrl-C or SIGTERM.

use tokio::signal::unix::{SignalKind, signal};

/// Returns when the program is asked to stop. Where signals cannot be caught it never returns, and the
/// signal ends the program as usual.
pub async fn asked_to_stop() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
