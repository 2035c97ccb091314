//! The owned server's life: start, stop, adopt, share, recover.

mod support;

use idembench::server::{self, owned};
use idembench::spec::server::ServerSpec;

#[tokio::test]
async fn a_server_starts_answers_and_stops() {
    if !support::has_mysqld() {
        return;
    }
    let (folder, home) = support::home("start-");
    let spec = ServerSpec::Owned(support::small());
    let t = std::time::Instant::now();
    let server = server::open(&spec, &home).await.expect("a server");
    eprintln!("first start {:?}", t.elapsed());
    let mut connection = server.connect().await.expect("a connection");
    let one: i64 = sqlx::query_scalar("SELECT 1").fetch_one(&mut connection).await.expect("an answer");
    assert_eq!(one, 1);
    let status = owned::status(&support::small(), &home).await.expect("it runs");
    assert_eq!(status.pid, server.pid().expect("a process"));
    assert_eq!(status.version, server.version().to_string());
    let t = std::time::Instant::now();
    server.close().await.expect("a clean stop");
    eprintln!("stop {:?}", t.elapsed());
    assert_eq!(owned::status(&support::small(), &home).await, None);
    let t = std::time::Instant::now();
    let server = server::open(&spec, &home).await.expect("a second start");
    eprintln!("second start {:?}", t.elapsed());
    drop(server);
    assert_eq!(owned::status(&support::small(), &home).await, None);
    drop(folder);
}
