//! Where a server answers and as whom: for sqlx, and in plain fields for other clients.

use std::path::PathBuf;

use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::{ConnectOptions, MySqlConnection};

use crate::spec::server::{AttachedSpec, Secret, Tls, TlsMode};

/// Everything that a client needs to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Unix socket; goes before host and port.
    pub socket: Option<PathBuf>,
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The account.
    pub user: String,
    /// Its password.
    pub password: Option<Secret>,
    /// The schema.
    pub database: String,
    /// How TCP is encrypted.
    pub tls: Tls,
}

impl Address {
    /// Options for sqlx, the schema set.
    ///
    /// - Over a Unix socket TLS is used only when it is asked for: nobody listens there, and its cost would
    ///   be measured with every statement. (MySQL's own clients do the same.)
    /// - The SQL mode stays the server's; sqlx's PIPES_AS_CONCAT is left out.
    /// - Statements are not logged: formatting them would be measured too.
    pub fn connect_options(&self) -> MySqlConnectOptions {
        self.options_without_schema().database(&self.database)
    }

    /// The same for a server on which the schema does not exist yet.
    pub(super) fn options_without_schema(&self) -> MySqlConnectOptions {
        let mut options = MySqlConnectOptions::new()
            .host(&self.host)
            .port(self.port)
            .username(&self.user)
            .ssl_mode(self.ssl_mode())
            .pipes_as_concat(false)
            .disable_statement_logging();
        if let Some(socket) = &self.socket {
            options = options.socket(socket);
        }
        if let Some(password) = &self.password {
            options = options.password(password.expose());
        }
        if let Some(ca) = &self.tls.ca {
            options = options.ssl_ca(ca);
        }
        if let Some(certificate) = &self.tls.certificate {
            options = options.ssl_client_cert(certificate);
        }
        if let Some(key) = &self.tls.key {
            options = options.ssl_client_key(key);
        }
        options
    }

    fn ssl_mode(&self) -> MySqlSslMode {
        match self.tls.mode {
            TlsMode::Disabled => MySqlSslMode::Disabled,
            TlsMode::Preferred if self.socket.is_some() => MySqlSslMode::Disabled,
            TlsMode::Preferred => MySqlSslMode::Preferred,
            TlsMode::Required => MySqlSslMode::Required,
            TlsMode::VerifyCa => MySqlSslMode::VerifyCa,
            TlsMode::VerifyIdentity => MySqlSslMode::VerifyIdentity,
        }
    }

    /// Logs in once over TLS, so that the server remembers the password's hash.
    ///
    /// caching_sha2_password wants the password itself at an account's first login after the server's start,
    /// and takes it only over a secure channel; sqlx knows TLS as the only one, even on a Unix socket. Later
    /// logins without TLS then pass by the hash. A server without TLS, or an account with another plugin,
    /// may not need this: so a failure is not an error, the next connection tells.
    pub(super) async fn let_server_remember_password(&self) {
        if self.password.is_some() && matches!(self.ssl_mode(), MySqlSslMode::Disabled) {
            let over_tls = self.options_without_schema().ssl_mode(MySqlSslMode::Required);
            if let Ok(connection) = over_tls.connect().await {
                close(connection).await;
            }
        }
    }

    /// `unix socket`, `tcp`, `tcp with TLS where the server has it`, …: it decides latencies.
    pub fn channel(&self) -> String {
        let transport = if self.socket.is_some() { "unix socket" } else { "tcp" };
        match self.ssl_mode() {
            MySqlSslMode::Disabled => format!("{transport}, not encrypted"),
            MySqlSslMode::Preferred => format!("{transport}, TLS where the server has it"),
            _ => format!("{transport}, TLS ({})", self.tls.mode.name()),
        }
    }
}

impl From<AttachedSpec> for Address {
    fn from(spec: AttachedSpec) -> Address {
        let AttachedSpec { url_without_password: _, socket, host, port, user, password, database, tls } =
            spec;
        Address { socket, host, port, user, password, database, tls }
    }
}

/// Says goodbye to the server; that it is gone already is no error.
pub(super) async fn close(connection: MySqlConnection) {
    use sqlx::Connection;
    let _ = connection.close().await;
}
