//! A server in a container: started for one command, thrown away with its data afterwards.
//!
//! Two kinds of image: MySQL's official ones, whose entry point makes the data directory with a temporary
//! server first, and `idembench-mysql:VERSION`, made by `scripts/docker-image` from an unpacked MySQL, which
//! has neither shell nor entry point: there the server program itself makes the data directory, in a first
//! container on a volume that a second one then serves from.

use std::time::Duration;

use rand::RngExt;
use sqlx::ConnectOptions;
use testcontainers::bollard::Docker;
use testcontainers::core::client::docker_client_instance;
use testcontainers::core::wait::ExitWaitStrategy;
use testcontainers::core::{IntoContainerPort, Mount, WaitFor};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage, ImageExt, TestcontainersError};

use super::address::{self, Address};
use super::version::ServerVersion;
use super::{DATABASE, machine, settings, version_of};
use crate::spec::server::{OwnedSpec, Secret, Tls};

/// Images of this name hold a bare server program.
const BARE_IMAGE: &str = "idembench-mysql";
/// The final server says so; the temporary one of the official images says `port: 0`. The X plugin's line
/// begins with the same digits, so the blank belongs to the text.
const READY: &str = "port: 3306 ";
/// Pulling is not part of it.
const START_PATIENCE: Duration = Duration::from_secs(300);
/// After the log's line the port's forwarding may take a moment.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
/// Nobody waits longer for a program that is on its way out.
const DROP_PATIENCE: Duration = Duration::from_secs(30);
/// For a tag without numbers, such as `lts`: a release whose options all later ones know.
const UNKNOWN_RELEASE: ServerVersion = ServerVersion::new(8, 4, 0);

/// Why there is no server in a container.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// Docker does not answer.
    #[error(
        "start the container {image}: Docker's engine does not answer ({reason}) — start it, set DOCKER_HOST to \
         where it runs, or use an owned server (leave out --server)"
    )]
    NoEngine {
        /// The image.
        image: String,
        /// The client's words.
        reason: String,
    },
    /// Docker could not do it.
    #[error(
        "start the container {image}: {source} — `docker pull {image}` tells whether the image is to be had"
    )]
    Start {
        /// The image.
        image: String,
        /// Docker's words.
        source: Box<TestcontainersError>,
    },
    /// The server in it does not answer.
    #[error("wait for the server in the container {image}: {source}")]
    Silent {
        /// The image.
        image: String,
        /// The driver's words.
        source: Box<sqlx::Error>,
    },
    /// It stays behind.
    #[error("remove the container of {image}: {reason} — `docker ps -a` lists what is left")]
    Remove {
        /// The image.
        image: String,
        /// Docker's words.
        reason: String,
    },
}

/// A server that answers.
pub(super) struct Contained {
    pub(super) address: Address,
    pub(super) version: ServerVersion,
    pub(super) pid: Option<u32>,
    pub(super) keeper: Container,
}

/// A running container; removed when closed, and at the latest when dropped.
#[derive(Debug)]
pub(super) struct Container {
    image: String,
    container: Option<ContainerAsync<GenericImage>>,
    /// The bare images' data directory.
    volume: Option<String>,
}

/// Starts a container and waits until the server in it answers.
pub(super) async fn open(image: &str) -> Result<Contained, ContainerError> {
    let docker = engine(image).await?;
    let password = Secret::new(format!("{:032x}", rand::rng().random::<u128>()));
    let bare = image.rsplit('/').next().is_some_and(|name| name.split(':').next() == Some(BARE_IMAGE));
    let started =
        if bare { start_bare(image, &password).await } else { start_official(image, &password).await };
    let keeper = started
        .map_err(|source| ContainerError::Start { image: image.to_owned(), source: Box::new(source) })?;
    let address = keeper.address(password).await?;
    let version = answered(&address)
        .await
        .map_err(|source| ContainerError::Silent { image: image.to_owned(), source: Box::new(source) })?;
    let pid = keeper.process_on_this_machine(&docker).await;
    Ok(Contained { address, version, pid, keeper })
}

async fn engine(image: &str) -> Result<Docker, ContainerError> {
    let unanswered = |reason: String| ContainerError::NoEngine { image: image.to_owned(), reason };
    let docker = docker_client_instance().await.map_err(|error| unanswered(error.to_string()))?;
    match tokio::time::timeout(Duration::from_secs(10), docker.ping()).await {
        Ok(Ok(_)) => Ok(docker),
        Ok(Err(error)) => Err(unanswered(error.to_string())),
        Err(_) => Err(unanswered("no answer within 10 s".to_owned())),
    }
}

/// Name and tag. The last colon parts them: `ServerSpec::read` lets no image without a tag through.
fn parted(image: &str) -> (&str, &str) {
    image.rsplit_once(':').unwrap_or((image, "latest"))
}

/// The measured settings for the release that the tag names.
fn arguments(image: &str) -> Vec<String> {
    let version = parted(image).1.parse().unwrap_or(UNKNOWN_RELEASE);
    settings::measured(version, &OwnedSpec::default(), machine::memory())
        .iter()
        .map(settings::argument)
        .collect()
}

async fn start_official(image: &str, password: &Secret) -> Result<Container, TestcontainersError> {
    let (name, tag) = parted(image);
    let request = GenericImage::new(name, tag)
        .with_exposed_port(3306.tcp())
        .with_wait_for(WaitFor::message_on_stderr(READY))
        // Seen by whoever may ask Docker about its containers, and good for this one only.
        .with_env_var("MYSQL_ROOT_PASSWORD", password.expose())
        .with_env_var("MYSQL_ROOT_HOST", "%")
        .with_startup_timeout(START_PATIENCE)
        .with_cmd(arguments(image));
    let container = Some(request.start().await?);
    Ok(Container { image: image.to_owned(), container, volume: None })
}

async fn start_bare(image: &str, password: &Secret) -> Result<Container, TestcontainersError> {
    let volume = format!("idembench-{:016x}", rand::rng().random::<u64>());
    let mut keeper = Container { image: image.to_owned(), container: None, volume: Some(volume.clone()) };
    let started = start_bare_on(image, &volume, password).await;
    match started {
        Ok(container) => {
            keeper.container = Some(container);
            Ok(keeper)
        }
        Err(error) => {
            remove_volume(keeper.volume.take()).await;
            Err(error)
        }
    }
}

async fn start_bare_on(
    image: &str,
    volume: &str,
    password: &Secret,
) -> Result<ContainerAsync<GenericImage>, TestcontainersError> {
    let (name, tag) = parted(image);
    let run = |image: GenericImage, command: Vec<String>| -> ContainerRequest<GenericImage> {
        let fixed = ["/usr/sbin/mysqld", "--no-defaults", "--user=root", "--datadir=/var/lib/mysql"];
        let fixed =
            fixed.into_iter().chain(["--secure-file-priv=/tmp", "--loose-mysqlx=OFF"]).map(str::to_owned);
        image
            .with_mount(Mount::volume_mount(volume, "/var/lib/mysql"))
            .with_startup_timeout(START_PATIENCE)
            .with_cmd(fixed.chain(command))
    };
    let ends = WaitFor::exit(ExitWaitStrategy::new().with_exit_code(0));
    let initialize = vec![
        "--initialize-insecure".to_owned(),
        "--skip-log-bin".to_owned(),
        "--init-file=/first-statements.sql".to_owned(),
    ];
    run(GenericImage::new(name, tag).with_wait_for(ends), initialize)
        .with_copy_to("/first-statements.sql", first_statements(password).into_bytes())
        .start()
        .await?
        .rm()
        .await?;
    let serve = GenericImage::new(name, tag)
        .with_exposed_port(3306.tcp())
        .with_wait_for(WaitFor::message_on_stderr(READY));
    let network = ["--socket=/tmp/mysqld.sock", "--port=3306", "--bind-address=*"].map(str::to_owned);
    run(serve, network.into_iter().chain(arguments(image)).collect()).start().await
}

fn first_statements(password: &Secret) -> String {
    format!(
        "CREATE USER 'root'@'%' IDENTIFIED BY '{}';\nGRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;\n",
        password.expose()
    )
}

/// Waits until the server lets us in, and makes the schema.
async fn answered(address: &Address) -> Result<ServerVersion, sqlx::Error> {
    let deadline = std::time::Instant::now() + ANSWER_PATIENCE;
    let mut connection = loop {
        match address.options_without_schema().connect().await {
            Ok(connection) => break connection,
            Err(error) if std::time::Instant::now() >= deadline => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    };
    let version = version_of(&mut connection).await?;
    super::create_own_schema(&mut connection).await?;
    address::close(connection).await;
    Ok(version)
}

impl Container {
    async fn address(&self, password: Secret) -> Result<Address, ContainerError> {
        let failed = |source| ContainerError::Start { image: self.image.clone(), source: Box::new(source) };
        let missing = || failed(TestcontainersError::other("the container is gone"));
        let container = self.container.as_ref().ok_or_else(missing)?;
        Ok(Address {
            socket: None,
            host: container.get_host().await.map_err(failed)?.to_string(),
            port: container.get_host_port_ipv4(3306.tcp()).await.map_err(failed)?,
            user: "root".to_owned(),
            password: Some(password),
            database: DATABASE.to_owned(),
            tls: Tls::default(),
        })
    }

    /// The server's process, when the engine runs on this machine and not in a virtual one.
    async fn process_on_this_machine(&self, docker: &Docker) -> Option<u32> {
        let found = docker.inspect_container(self.container.as_ref()?.id(), None).await.ok()?;
        let pid = u32::try_from(found.state?.pid?).ok()?;
        let program = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        (program.trim() == "mysqld").then_some(pid)
    }

    /// Removes the container and its data.
    pub(super) async fn remove(mut self) -> Result<(), ContainerError> {
        let removed = match self.container.take() {
            Some(container) => container.rm().await,
            None => Ok(()),
        };
        remove_volume(self.volume.take()).await;
        removed
            .map_err(|error| ContainerError::Remove { image: self.image.clone(), reason: error.to_string() })
    }
}

async fn remove_volume(volume: Option<String>) {
    let Some(volume) = volume else { return };
    if let Ok(docker) = docker_client_instance().await {
        let none: Option<testcontainers::bollard::query_parameters::RemoveVolumeOptions> = None;
        let _ = docker.remove_volume(&volume, none).await;
    }
}

impl Drop for Container {
    /// An error or a panic is on its way out: remove everything all the same. That takes a runtime; ours may
    /// be gone or may be what drops us, so it gets one of its own on a thread of its own.
    fn drop(&mut self) {
        let (container, volume) = (self.container.take(), self.volume.take());
        if container.is_none() && volume.is_none() {
            return;
        }
        let remove = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let removal = async {
                    if let Some(container) = container {
                        let _ = container.rm().await;
                    }
                    remove_volume(volume).await;
                };
                tokio::time::timeout(DROP_PATIENCE, removal).await.ok()
            })
        };
        let _ = std::thread::spawn(remove).join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_chooses_the_settings() {
        assert_eq!(parted("registry:5000/mysql:8.0.29"), ("registry:5000/mysql", "8.0.29"));
        assert!(
            arguments("mysql:8.0.29").iter().any(|argument| argument.starts_with("--innodb-log-file-size="))
        );
        assert!(
            arguments("mysql:lts").iter().any(|argument| argument.starts_with("--innodb-redo-log-capacity="))
        );
    }
}
