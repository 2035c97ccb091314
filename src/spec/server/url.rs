//! `mysql://user:password@host:port/schema?socket=…&ssl-mode=…&ssl-ca=…&ssl-cert=…&ssl-key=…`
//!
//! Whatever is left out may come from an option file; at last the user and the schema must be there, the
//! host is 127.0.0.1 and the port 3306 unless said otherwise. Errors name parts, never their values: a
//! mistyped URL may hold its password anywhere.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::option_file::ClientOptions;
use super::{AttachedSpec, Secret, Tls, TlsMode};

/// MySQL's port.
const DEFAULT_PORT: u16 = 3306;

/// What is wrong with a server's URL.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UrlError {
    /// It is not a URL.
    #[error(
        "the URL cannot be read ({reason}) — write mysql://user@host:port/schema, special characters as %XX"
    )]
    Malformed {
        /// The parser's words, which hold nothing of the URL.
        reason: String,
    },
    /// A query parameter that is not known.
    #[error(
        "the URL's parameter number {position} is not one of socket, ssl-mode, ssl-ca, ssl-cert, ssl-key"
    )]
    UnknownParameter {
        /// Counted from 1: the name itself might be a mistyped secret.
        position: usize,
    },
    /// A TLS mode that is not known.
    #[error("the URL's ssl-mode is not one of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY")]
    UnknownTlsMode,
    /// A name that is not text.
    #[error("the URL's {part} is not UTF-8 after its %XX are decoded")]
    NotText {
        /// Which part.
        part: &'static str,
    },
    /// Nobody to log in as.
    #[error("the URL names no user — write mysql://user@host:port/schema, or `user=` in the option file")]
    NoUser,
    /// Nothing to work in.
    #[error(
        "the URL names no schema — name one that is empty or that idembench made: mysql://user@host:port/schema"
    )]
    NoSchema,
}

/// A URL's parts, some still missing.
#[derive(Debug, Default)]
pub(super) struct Parts {
    socket: Option<PathBuf>,
    host: Option<String>,
    port: Option<u16>,
    user: Option<String>,
    pub(super) password: Option<Secret>,
    database: Option<String>,
    tls: Tls,
}

/// Takes a URL apart.
pub(super) fn read(text: &str) -> Result<Parts, UrlError> {
    let url = Url::parse(text).map_err(|error| UrlError::Malformed { reason: error.to_string() })?;
    let mut parts = Parts {
        host: url
            .host()
            .map(|host| match host {
                Host::Domain(name) => decoded(name, "host"),
                Host::Ipv4(address) => Ok(address.to_string()),
                Host::Ipv6(address) => Ok(address.to_string()),
            })
            .transpose()?
            .filter(|host| !host.is_empty()),
        port: url.port(),
        user: some_text(url.username(), "user")?,
        password: url.password().map(|text| decoded(text, "password")).transpose()?.map(Secret::new),
        database: some_text(url.path().trim_start_matches('/'), "schema")?,
        ..Parts::default()
    };
    for (index, (name, value)) in url.query_pairs().enumerate() {
        let path = || Some(PathBuf::from(value.as_ref()));
        match name.as_ref() {
            "socket" => parts.socket = path(),
            "ssl-mode" => parts.tls.mode = tls_mode(&value)?,
            "ssl-ca" => parts.tls.ca = path(),
            "ssl-cert" => parts.tls.certificate = path(),
            "ssl-key" => parts.tls.key = path(),
            _ => return Err(UrlError::UnknownParameter { position: index + 1 }),
        }
    }
    Ok(parts)
}

impl Parts {
    /// Takes from an option file what the URL left out. Its host, port and socket belong together: they
    /// are not mixed with the URL's.
    pub(super) fn fill_from(&mut self, options: ClientOptions) {
        if self.host.is_none() && self.socket.is_none() && self.port.is_none() {
            (self.host, self.port, self.socket) = (options.host, options.port, options.socket);
        }
        self.user = self.user.take().or(options.user);
        self.password = self.password.take().or(options.password);
    }

    /// The server, once nothing more will be filled in.
    pub(super) fn complete(self) -> Result<AttachedSpec, UrlError> {
        let mut spec = AttachedSpec {
            url_without_password: String::new(),
            socket: self.socket,
            host: self.host.unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: self.port.unwrap_or(DEFAULT_PORT),
            user: self.user.ok_or(UrlError::NoUser)?,
            password: self.password,
            database: self.database.ok_or(UrlError::NoSchema)?,
            tls: self.tls,
        };
        spec.url_without_password = printable(&spec);
        Ok(spec)
    }
}

/// The URL that a result may show: rebuilt from its parts, so that nothing else can slip through.
fn printable(spec: &AttachedSpec) -> String {
    let AttachedSpec { user, host, port, database, .. } = spec;
    let mut url = match (&spec.socket, host.contains(':')) {
        (Some(socket), _) => format!("mysql://{user}@/{database}?socket={}", socket.display()),
        (None, true) => format!("mysql://{user}@[{host}]:{port}/{database}"),
        (None, false) => format!("mysql://{user}@{host}:{port}/{database}"),
    };
    if spec.tls.mode != TlsMode::default() {
        let separator = if url.contains('?') { '&' } else { '?' };
        url.push_str(&format!("{separator}ssl-mode={}", spec.tls.mode.name()));
    }
    url
}

impl TlsMode {
    /// The name that MySQL's own clients give it.
    pub fn name(self) -> &'static str {
        match self {
            TlsMode::Disabled => "DISABLED",
            TlsMode::Preferred => "PREFERRED",
            TlsMode::Required => "REQUIRED",
            TlsMode::VerifyCa => "VERIFY_CA",
            TlsMode::VerifyIdentity => "VERIFY_IDENTITY",
        }
    }
}

fn tls_mode(text: &str) -> Result<TlsMode, UrlError> {
    let name = text.to_ascii_uppercase().replace('-', "_");
    [TlsMode::Disabled, TlsMode::Preferred, TlsMode::Required, TlsMode::VerifyCa, TlsMode::VerifyIdentity]
        .into_iter()
        .find(|mode| mode.name() == name)
        .ok_or(UrlError::UnknownTlsMode)
}

fn decoded(text: &str, part: &'static str) -> Result<String, UrlError> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| UrlError::NotText { part })?;
    Ok(text.into_owned())
}

fn some_text(text: &str, part: &'static str) -> Result<Option<String>, UrlError> {
    Ok(Some(decoded(text, part)?).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expect: Result<&str, UrlError>) {
        let found = read(text).and_then(Parts::complete);
        match expect {
            Ok(printed) => assert_eq!(found.expect(text).url_without_password, printed),
            Err(error) => assert_eq!(found.expect_err(text), error),
        }
    }

    #[test]
    fn a_url_is_printed_complete_and_without_its_password() {
        check("mysql://u@h/db", Ok("mysql://u@h:3306/db"));
        check("mysql://u:p@h:3307/db", Ok("mysql://u@h:3307/db"));
        check("mysql://u@[::1]:3307/db", Ok("mysql://u@[::1]:3307/db"));
        check("mysql://u:p@/db", Err(UrlError::Malformed { reason: "empty host".into() }));
        check(
            "mysql://u@h/db?ssl-mode=verify-ca&ssl-ca=/ca.pem",
            Ok("mysql://u@h:3306/db?ssl-mode=VERIFY_CA"),
        );
        check("mysql://u@localhost/db?socket=/run/m.sock", Ok("mysql://u@/db?socket=/run/m.sock"));
        check("mysql://h/db", Err(UrlError::NoUser));
        check("mysql://u@h", Err(UrlError::NoSchema));
        check("mysql://u@h/", Err(UrlError::NoSchema));
        check("mysql://u@h/db?timeout=1", Err(UrlError::UnknownParameter { position: 1 }));
        check("mysql://u@h/db?ssl-mode=on", Err(UrlError::UnknownTlsMode));
        check("mysql://u%FF@h/db", Err(UrlError::NotText { part: "user" }));
    }

    #[test]
    fn special_characters_are_written_as_percent_escapes() {
        let spec = read("mysql://a%40b:p%2Fq%3A%25@h/my%20db").and_then(Parts::complete).expect("a URL");
        assert_eq!((spec.user.as_str(), spec.database.as_str()), ("a@b", "my db"));
        assert_eq!(spec.password, Some(Secret::new("p/q:%".into())));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "mysql://[ -~]{0,40}") {
            let _ = read(&text).and_then(Parts::complete);
        }
    }
}
