//! Which server a command means: `--server` as a type.

use crate::units::Bytes;

/// An owned, a contained or an attached server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerSpec {
    /// A private `mysqld` child process with its own data directory (the default).
    Owned(OwnedSpec),
    /// A container, `docker[:image]`.
    Contained {
        /// The image with its tag.
        image: String,
    },
    /// Somebody else's server, `mysql://user@host:port/db` or `mysql:///db?socket=…`; kept as written,
    /// without its password (that comes from the URL, an environment variable or an option file).
    Attached(AttachedSpec),
}

/// What an owned server is started with; `None` leaves the choice to the program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnedSpec {
    /// Where its files lie; `None`: `.idembench/server`.
    pub data_directory: Option<std::path::PathBuf>,
    /// Buffer pool size.
    pub buffer_pool: Option<Bytes>,
    /// Redo log capacity.
    pub redo: Option<Bytes>,
    /// Whether the binary log is on.
    pub binlog: bool,
    /// Further `name=value` server options, as the user gave them.
    pub options: Vec<(String, String)>,
}

/// Where somebody else's server answers.
#[derive(Clone, PartialEq, Eq)]
pub struct AttachedSpec {
    /// The URL with its password taken out: fit for results and logs.
    pub url_without_password: String,
    /// The password, never printed.
    pub password: Option<Secret>,
}

/// Text that neither `Debug` nor serde can show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a password.
    pub fn new(text: String) -> Secret {
        Secret(text)
    }

    /// The text itself, for the one call that hands it to the driver.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(secret)")
    }
}

impl std::fmt::Debug for AttachedSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AttachedSpec").field(&self.url_without_password).finish()
    }
}
