//! Which server a command means: `--server` as a type.
//!
//! - `owned` (the default): a private `mysqld` of our own
//! - `docker`, `docker:IMAGE`: a container
//! - `mysql://user@host:port/schema?…`: somebody else's server; `url` tells what may stand in it
//!
//! A password may come from `$IDEMBENCH_PASSWORD`, from the option file that `$IDEMBENCH_OPTION_FILE` names,
//! or from a URL in `$IDEMBENCH_SERVER`. One in a URL on the command line is refused: every user of the
//! machine reads command lines in the process list.

mod option_file;
mod url;

use std::path::PathBuf;

use crate::units::Bytes;

pub use option_file::OptionFileError;
pub use url::UrlError;

/// The image that `--server docker` means: the release that the project's questions were asked about.
pub const DEFAULT_IMAGE: &str = "mysql:8.0.36";

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
    /// Somebody else's server, `mysql://user@host:port/db` or `mysql:///db?socket=…`.
    Attached(AttachedSpec),
}

/// What an owned server is started with; `None` leaves the choice to the program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OwnedSpec {
    /// Where its files lie; `None`: `.idembench/server`.
    pub data_directory: Option<PathBuf>,
    /// Port on 127.0.0.1; `None`: one that is free.
    pub port: Option<u16>,
    /// Buffer pool size.
    pub buffer_pool: Option<Bytes>,
    /// Redo log capacity.
    pub redo: Option<Bytes>,
    /// Whether the binary log is on.
    pub binlog: bool,
    /// Driving connections that it must have room for; 0: as many as it takes by default.
    pub connections: u32,
    /// Further `name=value` server options, as the user gave them.
    pub options: Vec<(String, String)>,
}

/// Where somebody else's server answers.
#[derive(Clone, PartialEq, Eq)]
pub struct AttachedSpec {
    /// The URL with its password taken out: fit for results and logs.
    pub url_without_password: String,
    /// Unix socket; when there is one, host and port are not used.
    pub socket: Option<PathBuf>,
    /// Host name or address, without the brackets of an IPv6 address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// The account's name.
    pub user: String,
    /// The password, never printed.
    pub password: Option<Secret>,
    /// The schema that everything happens in.
    pub database: String,
    /// How the connection is encrypted.
    pub tls: Tls,
}

/// How a TCP connection is encrypted; on a Unix socket only when more than `Preferred` is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    /// Whether, and what is checked.
    pub mode: TlsMode,
    /// PEM file of the authority that signed the server's certificate.
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate.
    pub certificate: Option<PathBuf>,
    /// PEM file of the client's key.
    pub key: Option<PathBuf>,
}

/// The modes of MySQL's own `--ssl-mode`, by their names there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsMode {
    /// Never encrypted.
    Disabled,
    /// Encrypted where the server can.
    #[default]
    Preferred,
    /// Encrypted or not at all; the certificate is not checked.
    Required,
    /// The certificate's signer is checked.
    VerifyCa,
    /// The certificate's signer and name are checked.
    VerifyIdentity,
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

/// Everything that says which server is meant, as it was given.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// `--server`, from the command line.
    pub flag: Option<String>,
    /// `$IDEMBENCH_SERVER`; the flag goes before it.
    pub variable: Option<Secret>,
    /// `$IDEMBENCH_PASSWORD`; a password in `$IDEMBENCH_SERVER` goes before it.
    pub password: Option<Secret>,
    /// `$IDEMBENCH_OPTION_FILE`: an option file as MySQL's own clients read it; comes last.
    pub option_file: Option<PathBuf>,
}

/// Why it is not clear which server is meant. No text here holds a password.
#[derive(Debug, thiserror::Error)]
pub enum ServerSpecError {
    /// Neither `owned` nor `docker` nor a URL.
    #[error(
        "read {origin}: not a server — write `owned`, `docker`, `docker:IMAGE:TAG` or \
         `mysql://user@host:port/schema`"
    )]
    Unknown {
        /// The flag or the variable.
        origin: &'static str,
    },
    /// Which release runs would be a matter of chance.
    #[error(
        "read {origin}: the image `{image}` has no tag — name the release, as in `docker:{DEFAULT_IMAGE}`"
    )]
    UntaggedImage {
        /// The flag or the variable.
        origin: &'static str,
        /// The image as written.
        image: String,
    },
    /// Everybody on the machine could have read it.
    #[error(
        "read --server: the URL carries a password, which every user of this machine can see in the process \
         list — change that password, leave it out of the URL, and give it in $IDEMBENCH_PASSWORD, in an option \
         file named by $IDEMBENCH_OPTION_FILE, or give the whole URL in $IDEMBENCH_SERVER"
    )]
    PasswordOnCommandLine,
    /// The URL is wrong.
    #[error("read {origin}: {source}")]
    Url {
        /// The flag or the variable.
        origin: &'static str,
        /// What is wrong.
        source: UrlError,
    },
    /// The option file is wrong.
    #[error(transparent)]
    OptionFile(#[from] OptionFileError),
}

impl Written {
    /// The flag's text beside what the environment says.
    pub fn with_environment(flag: Option<String>) -> Written {
        let variable = |name| std::env::var(name).ok().filter(|text| !text.is_empty());
        Written {
            flag,
            variable: variable("IDEMBENCH_SERVER").map(Secret::new),
            password: variable("IDEMBENCH_PASSWORD").map(Secret::new),
            option_file: variable("IDEMBENCH_OPTION_FILE").map(PathBuf::from),
        }
    }
}

impl ServerSpec {
    /// Reads what was written. The option file is read only when a URL needs it.
    pub fn read(written: &Written) -> Result<ServerSpec, ServerSpecError> {
        let (text, origin) = match (&written.flag, &written.variable) {
            (Some(flag), _) => (flag.as_str(), "--server"),
            (None, Some(variable)) => (variable.expose(), "$IDEMBENCH_SERVER"),
            (None, None) => ("owned", "--server"),
        };
        match text.trim() {
            "owned" => Ok(ServerSpec::Owned(OwnedSpec::default())),
            "docker" => Ok(ServerSpec::Contained { image: DEFAULT_IMAGE.to_owned() }),
            text if text.starts_with("docker:") => image(&text["docker:".len()..], origin),
            text if text.starts_with("mysql://") => attached(text, origin, written),
            _ => Err(ServerSpecError::Unknown { origin }),
        }
    }

    /// `owned`, `contained` or `attached`, as a result names it.
    pub fn kind(&self) -> &'static str {
        match self {
            ServerSpec::Owned(_) => "owned",
            ServerSpec::Contained { .. } => "contained",
            ServerSpec::Attached(_) => "attached",
        }
    }
}

fn image(image: &str, origin: &'static str) -> Result<ServerSpec, ServerSpecError> {
    // A colon before the last slash belongs to a registry's port, not to a tag.
    let name = image.rsplit('/').next().unwrap_or(image);
    match name.split_once([':', '@']) {
        Some((name, tag)) if !name.is_empty() && !tag.is_empty() => {
            Ok(ServerSpec::Contained { image: image.to_owned() })
        }
        _ => Err(ServerSpecError::UntaggedImage { origin, image: image.to_owned() }),
    }
}

fn attached(text: &str, origin: &'static str, written: &Written) -> Result<ServerSpec, ServerSpecError> {
    let mut url = url::read(text).map_err(|source| ServerSpecError::Url { origin, source })?;
    if url.password.is_some() && origin == "--server" {
        return Err(ServerSpecError::PasswordOnCommandLine);
    }
    url.password = url.password.or_else(|| written.password.clone());
    if let Some(path) = &written.option_file {
        url.fill_from(option_file::read(path)?);
    }
    url.complete().map(ServerSpec::Attached).map_err(|source| ServerSpecError::Url { origin, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(flag: &str) -> Written {
        Written { flag: Some(flag.to_owned()), ..Written::default() }
    }

    fn check(flag: &str, expect: Result<ServerSpec, &str>) {
        match (ServerSpec::read(&written(flag)), expect) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{flag}"),
            (Err(found), Err(expected)) => {
                assert!(found.to_string().contains(expected), "{flag}: {found}");
            }
            (found, expected) => panic!("{flag}: {found:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn owned_and_docker_are_words() {
        check("owned", Ok(ServerSpec::Owned(OwnedSpec::default())));
        check("docker", Ok(ServerSpec::Contained { image: "mysql:8.0.36".into() }));
        check("docker:mysql:8.4.3", Ok(ServerSpec::Contained { image: "mysql:8.4.3".into() }));
        check(
            "docker:registry.example:5000/db/mysql:8",
            Ok(ServerSpec::Contained { image: "registry.example:5000/db/mysql:8".into() }),
        );
        check("docker:registry.example:5000/mysql", Err("has no tag"));
        check("docker:mysql", Err("has no tag"));
        check("docker:", Err("has no tag"));
        check("localhost:3306", Err("not a server"));
        check("", Err("not a server"));
    }

    #[test]
    fn without_flag_and_variable_the_server_is_owned() {
        let spec = ServerSpec::read(&Written::default()).expect("the default");
        assert_eq!(spec, ServerSpec::Owned(OwnedSpec::default()));
    }

    #[test]
    fn a_password_in_a_url_is_refused_from_the_command_line_and_taken_from_the_environment() {
        let url = "mysql://u:hunter2@h/db";
        check(url, Err("process list"));
        let from_variable = Written { variable: Some(Secret::new(url.to_owned())), ..Written::default() };
        let Ok(ServerSpec::Attached(spec)) = ServerSpec::read(&from_variable) else { panic!("not attached") };
        assert_eq!(spec.password, Some(Secret::new("hunter2".to_owned())));
        assert_eq!(spec.url_without_password, "mysql://u@h:3306/db");
    }

    #[test]
    fn no_error_and_no_debug_output_shows_a_password() {
        for text in [
            "mysql://u:hunter2@h/db",
            "mysql://u:hunter2@h",
            "mysql://u:hunter2@h:port/db",
            "mysql://u:hunter2@h/db?password=hunter2",
            "mysql:/u:hunter2@h/db",
            "mysql://u:hunter2@/db?ssl-mode=hunter2",
        ] {
            let from_variable = Written {
                flag: None,
                variable: Some(Secret::new(text.to_owned())),
                password: Some(Secret::new("hunter2".to_owned())),
                option_file: None,
            };
            let shown = match ServerSpec::read(&from_variable) {
                Ok(spec) => format!("{spec:?} {from_variable:?}"),
                Err(error) => format!("{error} {error:?} {from_variable:?}"),
            };
            assert!(!shown.contains("hunter2"), "{text}: {shown}");
            if let Err(error) = ServerSpec::read(&written(text)) {
                assert!(!format!("{error} {error:?}").contains("hunter2"), "{text}: {error}");
            }
        }
    }

    #[test]
    fn the_flag_goes_before_the_variable_and_the_url_before_the_password_variable() {
        let both = Written {
            flag: Some("owned".into()),
            variable: Some(Secret::new("docker".into())),
            ..Written::default()
        };
        assert_eq!(ServerSpec::read(&both).expect("the flag").kind(), "owned");
        let password = Written {
            flag: Some("mysql://u@h/db".into()),
            password: Some(Secret::new("from the variable".into())),
            ..Written::default()
        };
        let Ok(ServerSpec::Attached(spec)) = ServerSpec::read(&password) else { panic!("not attached") };
        assert_eq!(spec.password, Some(Secret::new("from the variable".into())));
    }

    #[test]
    fn an_option_file_fills_what_the_url_leaves_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("client.cnf");
        std::fs::write(&path, "[client]\nuser = bench\npassword=\"se cret\"\nport=3307\nhost=db1\n")
            .expect("a file");
        let spec = ServerSpec::read(&Written {
            flag: Some("mysql:///bench".into()),
            option_file: Some(path.clone()),
            ..Written::default()
        });
        let Ok(ServerSpec::Attached(spec)) = spec else { panic!("{spec:?}") };
        assert_eq!((spec.host.as_str(), spec.port, spec.user.as_str()), ("db1", 3307, "bench"));
        assert_eq!(spec.password, Some(Secret::new("se cret".into())));
        let spec = ServerSpec::read(&Written {
            flag: Some("mysql://me@other:3308/bench".into()),
            option_file: Some(path),
            ..Written::default()
        });
        let Ok(ServerSpec::Attached(spec)) = spec else { panic!("{spec:?}") };
        assert_eq!(spec.url_without_password, "mysql://me@other:3308/bench");
    }
}
