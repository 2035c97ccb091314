//! Servers in containers, where Docker answers.
//!
//! The image is the one that `scripts/docker-image` imports, or the one that `$IDEMBENCH_TEST_IMAGE` names.

mod support;

use std::process::Command;

use idembench::server::{self, Home, counters};
use idembench::spec::server::ServerSpec;

fn docker(arguments: &[&str]) -> Option<String> {
    let output = Command::new("docker").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// An image to try, or `None` after saying why there is none. Without Docker there is nothing to fail for:
/// `.ci/run` says whether it could start one.
fn image() -> Option<String> {
    let skip = |reason: &str| {
        eprintln!("SKIPPED: {reason}");
        None
    };
    if docker(&["version", "--format", "{{.Server.Version}}"]).is_none() {
        return skip("Docker's engine does not answer, so servers in containers are not tried");
    }
    if let Ok(named) = std::env::var("IDEMBENCH_TEST_IMAGE") {
        return Some(named);
    }
    let images = docker(&["image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "idembench-mysql"]);
    match images.as_deref().and_then(|list| list.lines().next()) {
        Some(image) if !image.is_empty() => Some(image.to_owned()),
        _ => skip("there is no image idembench-mysql: run scripts/docker-image"),
    }
}

/// One container at a time: the tests look at what Docker has left.
static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn left() -> (Option<String>, Option<String>) {
    (docker(&["ps", "-aq"]), docker(&["volume", "ls", "-q"]))
}

fn contained(image: &str) -> ServerSpec {
    ServerSpec::Contained { image: image.to_owned() }
}

fn home() -> Home {
    Home::at("/no/home/is/needed").expect("a path")
}

#[tokio::test]
async fn a_container_serves_is_described_and_leaves_nothing_behind() {
    let Some(image) = image() else { return };
    let _alone = ONE_AT_A_TIME.lock().await;
    let before = left();
    let server = server::open(&contained(&image), &home()).await.expect("a server");
    // Connected to at once: nothing of the temporary server that some images start first.
    let mut connection = server.connect().await.expect("a connection");
    let schema: String =
        sqlx::query_scalar("SELECT DATABASE()").fetch_one(&mut connection).await.expect("an answer");
    assert_eq!(schema, "idembench");
    let description = server.describe().await.expect("described");
    assert_eq!(description.kind, "contained");
    assert_eq!(description.settings["innodb_flush_method"], "O_DIRECT");
    assert_eq!(description.settings["log_bin"], "OFF");
    let sample = counters::read(&mut connection, server.pid()).await.expect("a sample");
    assert!(sample.get("pages_read").is_some());
    if server.pid().is_some() {
        assert!(sample.get("server_cpu_us").is_some_and(|cpu| cpu > 0.0));
    }
    server.close().await.expect("removed");
    assert_eq!(left(), before);
}

#[tokio::test]
async fn a_container_that_is_dropped_is_removed() {
    let Some(image) = image() else { return };
    let _alone = ONE_AT_A_TIME.lock().await;
    let before = left();
    let server = server::open(&contained(&image), &home()).await.expect("a server");
    assert_ne!(left(), before);
    drop(server);
    assert_eq!(left(), before);
}

#[tokio::test]
async fn an_image_that_is_not_to_be_had_is_named() {
    if image().is_none() {
        return;
    }
    let refused =
        server::open(&contained("idembench-no-such-image:1.0"), &home()).await.expect_err("no image");
    let refused = refused.to_string();
    assert!(refused.contains("start the container idembench-no-such-image:1.0"), "{refused}");
}
