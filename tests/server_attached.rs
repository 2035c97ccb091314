//! Somebody else's server: a second owned one plays its part.

mod support;

use idembench::server::{self, GuardError, Home, OpenError, Server, claim_schema, counters, registry};
use idembench::spec::server::{Secret, ServerSpec, Written};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection};

/// Reads a URL as the product does, its password from the environment's variable.
fn spec(url: &str, password: Option<&str>) -> ServerSpec {
    let password = password.map(|text| Secret::new(text.to_owned()));
    ServerSpec::read(&Written { flag: Some(url.to_owned()), password, ..Written::default() }).expect("a URL")
}

async fn attach(url: &str, password: &str) -> Result<Server, OpenError> {
    let home = Home::at("/no/home/is/needed").expect("a path");
    server::open(&spec(url, Some(password)), &home).await
}

async fn run(connection: &mut MySqlConnection, statements: &[&str]) {
    for statement in statements {
        connection.execute(AssertSqlSafe((*statement).to_owned())).await.expect(statement);
    }
}

async fn text(connection: &mut MySqlConnection, sql: &'static str) -> String {
    sqlx::query_scalar(sql).fetch_one(connection).await.expect(sql)
}

/// The schema and, as its name, a caching_sha2_password account that nobody has logged in with.
async fn account(name: &str) -> Option<(Server, String, u16)> {
    let server = support::schema(name).await?;
    let mut root = server.connect().await.expect("root");
    run(
        &mut root,
        &[
            &format!("DROP USER IF EXISTS {name}@'127.0.0.1', {name}@localhost"),
            &format!("CREATE USER {name}@'127.0.0.1' IDENTIFIED WITH caching_sha2_password BY 'the secret'"),
            &format!("CREATE USER {name}@localhost IDENTIFIED WITH caching_sha2_password BY 'the secret'"),
            &format!("GRANT ALL ON {name}.* TO {name}@'127.0.0.1', {name}@localhost"),
        ],
    )
    .await;
    let socket = server.address().socket.as_ref().expect("it has one").display().to_string();
    let port = server.address().port;
    Some((server, socket, port))
}

#[tokio::test]
async fn tcp_is_encrypted_by_default_and_takes_a_first_login() {
    let Some((_server, _, port)) = account("attach_tcp").await else { return };
    let attached = attach(&format!("mysql://attach_tcp@127.0.0.1:{port}/attach_tcp"), "the secret").await;
    let attached = attached.expect("attached");
    let mut connection = attached.connect().await.expect("a connection");
    assert_eq!(text(&mut connection, "SELECT DATABASE()").await, "attach_tcp");
    assert_ne!(
        text(
            &mut connection,
            "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'"
        )
        .await,
        ""
    );
    assert_eq!((attached.pid(), attached.data_directory()), (None, None), "nothing is known of it");
    let description = attached.describe().await.expect("described");
    assert_eq!(description.kind, "attached");
    assert_eq!(description.settings["connection"], "tcp, TLS where the server has it");
    attached.close().await.expect("nothing to do");
    assert!(connection.ping().await.is_ok(), "it runs on");
}

#[tokio::test]
async fn without_tls_a_first_login_still_works_and_nothing_is_encrypted_afterwards() {
    let Some((_server, socket, port)) = account("attach_plain").await else { return };
    for url in [
        format!("mysql://attach_plain@127.0.0.1:{port}/attach_plain?ssl-mode=disabled"),
        format!("mysql://attach_plain@/attach_plain?socket={socket}").replace("@/", "@localhost/"),
    ] {
        let attached = attach(&url, "the secret").await.expect("attached");
        let mut connection = attached.connect().await.expect("a connection");
        let cipher =
            "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'";
        assert_eq!(text(&mut connection, cipher).await, "", "{url}");
    }
}

#[tokio::test]
async fn over_a_socket_the_process_behind_it_is_known() {
    let Some((server, socket, _)) = account("attach_socket").await else { return };
    let url = format!("mysql://attach_socket@localhost/attach_socket?socket={socket}");
    let attached = attach(&url, "the secret").await.expect("attached");
    assert_eq!(attached.pid(), server.pid());
    assert_eq!(attached.data_directory(), server.data_directory());
    assert!(server::cpu_time(attached.pid().expect("known")).is_some());
}

#[tokio::test]
async fn the_servers_certificate_is_checked_when_asked_for() {
    let Some((server, _, port)) = account("attach_tls").await else { return };
    let authority = server.data_directory().expect("local").join("ca.pem");
    let url = |mode: &str| format!("mysql://attach_tls@127.0.0.1:{port}/attach_tls?ssl-mode={mode}");
    attach(&url("REQUIRED"), "the secret").await.expect("encrypted, not checked");
    let checked = format!("{}&ssl-ca={}", url("VERIFY_CA"), authority.display());
    attach(&checked, "the secret").await.expect("signed by that authority");
    let refused = attach(&url("VERIFY_CA"), "the secret").await.expect_err("signed by nobody that is known");
    assert!(refused.to_string().contains("ssl-mode"), "{refused}");
    // The server makes its certificate for no name at all.
    let named = format!("{}&ssl-ca={}", url("VERIFY_IDENTITY"), authority.display());
    attach(&named, "the secret").await.expect_err("made for another name");
}

#[tokio::test]
async fn whatever_keeps_us_out_is_said_without_the_password() {
    let Some((_server, _, port)) = account("attach_refused").await else { return };
    for (url, password, part) in [
        (
            format!("mysql://attach_refused@127.0.0.1:{port}/attach_refused"),
            "not the secret",
            "IDEMBENCH_PASSWORD",
        ),
        (
            format!("mysql://attach_refused@127.0.0.1:{port}/mysql"),
            "the secret",
            "let the account use the schema",
        ),
        (format!("mysql://nobody@127.0.0.1:{port}/attach_refused"), "the secret", "IDEMBENCH_PASSWORD"),
        ("mysql://u@127.0.0.1:1/db".to_owned(), "the secret", "does it run"),
        ("mysql://u@no-such-host.invalid/db".to_owned(), "the secret", "does it run"),
        ("mysql://u@localhost/db?socket=/no/such.sock".to_owned(), "the secret", "does it run"),
    ] {
        let refused = attach(&url, password).await.expect_err(&url).to_string();
        assert!(refused.contains(part), "{refused}");
        assert!(!refused.contains("secret"), "{refused}");
        assert!(!refused.contains('\n'), "one line: {refused}");
    }
    let mut root = support::server().await.expect("there is one").connect().await.expect("root");
    run(&mut root, &["GRANT ALL ON missing_schema.* TO attach_refused@'127.0.0.1'"]).await;
    let url = format!("mysql://attach_refused@127.0.0.1:{port}/missing_schema");
    let refused = attach(&url, "the secret").await.expect_err("no schema").to_string();
    assert!(refused.contains("CREATE DATABASE `missing_schema`"), "{refused}");
}

#[tokio::test]
async fn an_empty_schema_becomes_ours_and_stays_ours() {
    let Some(server) = support::schema("guard_empty").await else { return };
    let mut connection = server.connect().await.expect("a connection");
    claim_schema(&mut connection).await.expect("empty");
    run(&mut connection, &["CREATE TABLE t (a INT)"]).await;
    claim_schema(&mut connection).await.expect("marked");
    assert_eq!(text(&mut connection, "SELECT created_by FROM idembench_marker").await, "idembench");
}

#[tokio::test]
async fn a_schema_with_other_tables_is_refused_and_left_alone() {
    let Some(server) = support::schema("guard_theirs").await else { return };
    let mut connection = server.connect().await.expect("a connection");
    run(&mut connection, &["CREATE TABLE orders (id INT)", "CREATE VIEW v AS SELECT 1"]).await;
    let refused = claim_schema(&mut connection).await.expect_err("theirs");
    assert!(matches!(&refused, GuardError::NotOurs { schema, .. } if schema == "guard_theirs"), "{refused}");
    assert!(refused.to_string().contains("(orders, v)"), "{refused}");
    let tables =
        "SELECT CAST(COUNT(*) AS CHAR) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()";
    assert_eq!(text(&mut connection, tables).await, "2", "nothing was added");
}

#[tokio::test]
async fn a_marker_that_was_cut_off_is_finished_unless_others_have_come() {
    let Some(server) = support::schema("guard_cut").await else { return };
    let mut connection = server.connect().await.expect("a connection");
    claim_schema(&mut connection).await.expect("empty");
    run(&mut connection, &["DELETE FROM idembench_marker"]).await;
    claim_schema(&mut connection).await.expect("finished");
    run(&mut connection, &["DELETE FROM idembench_marker", "CREATE TABLE orders (id INT)"]).await;
    claim_schema(&mut connection).await.expect_err("theirs by now");
}

#[tokio::test]
async fn tables_are_ours_by_their_exact_name_until_they_are_forgotten() {
    let Some(server) = support::schema("guard_registry").await else { return };
    let mut connection = server.connect().await.expect("a connection");
    claim_schema(&mut connection).await.expect("empty");
    registry::record(&mut connection, "t_idem").await.expect("noted");
    registry::record(&mut connection, "t_idem").await.expect("noted twice");
    assert!(registry::contains(&mut connection, "t_idem").await.expect("looked up"));
    for other in ["T_IDEM", "t_ide", "t_idem2", "t-idem", ""] {
        assert!(!registry::contains(&mut connection, other).await.expect("looked up"), "{other:?}");
    }
    registry::forget(&mut connection, "t_idem").await.expect("struck out");
    assert!(!registry::contains(&mut connection, "t_idem").await.expect("looked up"));
}

#[tokio::test]
async fn counters_count_what_happens_between_two_samples() {
    let Some(server) = support::schema("counted").await else { return };
    let mut connection = server.connect().await.expect("a connection");
    run(&mut connection, &["CREATE TABLE t (a INT PRIMARY KEY)"]).await;
    let before = counters::read(&mut connection, server.pid()).await.expect("a sample");
    let missing: Vec<_> = counters::COUNTERS
        .iter()
        .filter(|counter| before.get(counter.name).is_none())
        .map(|counter| counter.name)
        .collect();
    assert_eq!(missing, [""; 0], "an owned server says everything");
    for number in 0..100 {
        sqlx::query("INSERT INTO t VALUES (?)").bind(number).execute(&mut connection).await.expect("a row");
    }
    let after = counters::read(&mut connection, server.pid()).await.expect("a sample");
    let grown = |name: &str| after.since(&before, name).expect(name);
    // Other tests use the server too: at least as much.
    assert!(grown("rows_inserted") >= 100.0);
    assert!(grown("questions") >= 100.0);
    assert!(grown("redo_lsn") >= 100.0 * 30.0);
    assert!(grown("log_fsyncs") >= 1.0);
    assert!(after.get("checkpoint_age_bytes").is_some_and(|age| age >= 0.0));
}

#[tokio::test]
async fn an_account_without_privileges_gets_fewer_counters_and_no_error() {
    let Some((_server, _, port)) = account("counted_less").await else { return };
    let url = format!("mysql://counted_less@127.0.0.1:{port}/counted_less");
    let attached = attach(&url, "the secret").await.expect("attached");
    let mut connection = attached.connect().await.expect("a connection");
    let sample = counters::read(&mut connection, attached.pid()).await.expect("a sample");
    assert_eq!(sample.get("history_list_length"), None);
    assert_eq!(sample.get("server_cpu_us"), None);
    assert!(sample.get("pages_read").is_some());
}
