//! The options that an owned or contained server is started with, by its version.
//!
//! What decides numbers is set to the same value on every release, so that runs on 8.0, 8.4 and 9.7 can be
//! compared; what a user wants to see as the release ships it (adaptive hash index, change buffering, log
//! writer threads, doublewrite) is left alone and recorded. Sources: the reference manuals of 8.0, 8.4 and
//! 9.7, and trials on 8.0.45 and 9.7.4.

use crate::spec::server::OwnedSpec;
use crate::units::Bytes;

use super::version::ServerVersion;

/// `innodb_redo_log_capacity` came with it; older releases know a size and a number of files.
const REDO_CAPACITY_SINCE: ServerVersion = ServerVersion::new(8, 0, 30);
/// Pools grow in such chunks; the server rounds up to them.
const POOL_CHUNK: u64 = 128 << 20;
/// Room for what suites ask for.
const MAX_CONNECTIONS: u64 = 1024;
/// What the pool is, if memory allows: enough for the indexes of 10 million rows, small enough for a laptop.
const POOL_DEFAULT: Bytes = Bytes::gib(2);
/// The server's own 100 MiB makes every long write a test of checkpoints.
const REDO_DEFAULT: Bytes = Bytes::gib(4);

/// What INNODB_METRICS counts beyond its defaults. The counters of a page's kind can be had only together.
const MONITORS: [&str; 5] =
    ["module_log", "module_purge", "module_trx", "module_index", "module_buffer_page"];

/// One `--name=value`.
pub type Setting = (String, String);

/// The buffer pool for a machine with so much memory: 2 GiB, but no more than a quarter of it.
pub fn default_buffer_pool(memory: Bytes) -> Bytes {
    let quarter = memory.0 / 4 / POOL_CHUNK * POOL_CHUNK;
    Bytes(quarter.clamp(POOL_CHUNK, POOL_DEFAULT.0))
}

/// What decides numbers, for a server of this version on a machine with so much memory. The user's own
/// options come last: the server takes the last of two.
pub fn measured(version: ServerVersion, spec: &OwnedSpec, memory: Bytes) -> Vec<Setting> {
    let mut settings = Settings::default();
    let pool = spec.buffer_pool.unwrap_or_else(|| default_buffer_pool(memory));
    settings.set("innodb-buffer-pool-size", pool.0);
    settings.redo(version, spec.redo.unwrap_or(REDO_DEFAULT));
    // Otherwise reads that miss the pool come from the page cache, and a cold run is not cold.
    settings.set("innodb-flush-method", "O_DIRECT");
    settings.set("innodb-flush-log-at-trx-commit", 1);
    // A restarted server starts cold, and says so by doing nothing.
    settings.set("innodb-buffer-pool-dump-at-shutdown", "OFF");
    settings.set("innodb-buffer-pool-load-at-startup", "OFF");
    // 8.0 says 200 and 2000, 8.4 says 10000 and 20000: neither is about this machine's disk.
    settings.set("innodb-io-capacity", 2000);
    settings.set("innodb-io-capacity-max", 10_000);
    // Off by default, and needed for checkpoint age, purge and the kinds of pages read; cheap, unlike `all`.
    settings.set("innodb-monitor-enable", MONITORS.join(","));
    settings.binlog(spec.binlog);
    // One partition is one dictionary entry and one open file: 60 days of a few tables fit.
    settings.set("table-definition-cache", 4096);
    settings.set("table-open-cache", 4096);
    settings.set("max-connections", super::room::enough(spec.connections.into()).max(MAX_CONNECTIONS));
    // DATE and TIMESTAMP mean the same in every session and in every report.
    settings.set("default-time-zone", "+00:00");
    // The loader streams rows; the door is open on this server only.
    settings.set("local-infile", "ON");
    // `loose`: a server built without the X plugin refuses the plain name.
    settings.set("loose-mysqlx", "OFF");
    settings.0.extend(spec.options.iter().cloned());
    settings.0
}

/// What the user asked for in so many words: a running server that lacks one of these is another server.
pub fn demanded(version: ServerVersion, spec: &OwnedSpec) -> Vec<Setting> {
    let mut settings = Settings::default();
    if let Some(pool) = spec.buffer_pool {
        settings.set("innodb-buffer-pool-size", pool.0);
    }
    if let Some(redo) = spec.redo {
        settings.redo(version, redo);
    }
    if spec.binlog {
        settings.binlog(true);
    }
    if let Some(port) = spec.port {
        settings.set("port", port);
    }
    settings.0.extend(spec.options.iter().cloned());
    settings.0
}

/// Options that decide where the server is found and whom it serves: not the user's to give.
const RESERVED: [&str; 14] = [
    "bind-address",
    "daemonize",
    "datadir",
    "defaults-extra-file",
    "defaults-file",
    "init-file",
    "initialize",
    "initialize-insecure",
    "pid-file",
    "port",
    "secure-file-priv",
    "skip-networking",
    "socket",
    "user",
];

/// The first of the user's options that is not the user's to give, or is no option at all.
pub fn reserved(spec: &OwnedSpec) -> Option<&str> {
    let is_reserved = |name: &str| {
        let name = name.replace('_', "-");
        let plain = name.trim_start_matches("loose-");
        let odd = !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
        odd || RESERVED.contains(&plain)
    };
    spec.options.iter().map(|(name, _)| name.as_str()).find(|name| is_reserved(name))
}

/// `--name=value`, or `--name` for an empty value.
pub fn argument((name, value): &Setting) -> String {
    if value.is_empty() { format!("--{name}") } else { format!("--{name}={value}") }
}

#[derive(Default)]
struct Settings(Vec<Setting>);

impl Settings {
    fn set(&mut self, name: &str, value: impl ToString) {
        self.0.push((name.to_owned(), value.to_string()));
    }

    fn redo(&mut self, version: ServerVersion, capacity: Bytes) {
        if version >= REDO_CAPACITY_SINCE {
            self.set("innodb-redo-log-capacity", capacity.0);
        } else {
            self.set("innodb-log-file-size", capacity.0 / 2);
            self.set("innodb-log-files-in-group", 2);
        }
    }

    fn binlog(&mut self, on: bool) {
        if on {
            self.set("log-bin", "binlog");
            self.set("server-id", 1);
            self.set("sync-binlog", 1);
        } else {
            self.set("skip-log-bin", "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: (u16, u16, u16), spec: &OwnedSpec, has: &[&str], lacks: &[&str]) {
        let version = ServerVersion::new(version.0, version.1, version.2);
        let arguments: Vec<_> = measured(version, spec, Bytes::gib(24)).iter().map(argument).collect();
        for part in has {
            assert!(arguments.iter().any(|argument| argument.starts_with(part)), "{part} in {arguments:?}");
        }
        for part in lacks {
            assert!(
                !arguments.iter().any(|argument| argument.starts_with(part)),
                "no {part} in {arguments:?}"
            );
        }
    }

    #[test]
    fn redo_is_named_as_the_release_knows_it() {
        let spec = OwnedSpec { redo: Some(Bytes::gib(1)), ..OwnedSpec::default() };
        let capacity = "--innodb-redo-log-capacity=1073741824";
        check((9, 7, 4), &spec, &[capacity], &["--innodb-log-file"]);
        check((8, 0, 36), &spec, &[capacity], &["--innodb-log-file"]);
        check((8, 0, 29), &spec, &["--innodb-log-file-size=536870912"], &["--innodb-redo"]);
    }

    #[test]
    fn the_binary_log_is_off_unless_asked_for_and_then_synced() {
        check((8, 4, 0), &OwnedSpec::default(), &["--skip-log-bin"], &["--log-bin", "--sync-binlog"]);
        let on = OwnedSpec { binlog: true, ..OwnedSpec::default() };
        check((8, 4, 0), &on, &["--log-bin=binlog", "--sync-binlog=1"], &["--skip-log-bin"]);
    }

    #[test]
    fn the_pool_takes_a_quarter_of_the_memory_but_no_more_than_two_gibibytes() {
        for (memory, pool) in [
            (Bytes::gib(64), Bytes::gib(2)),
            (Bytes::gib(4), Bytes::gib(1)),
            (Bytes::mib(3000), Bytes::mib(640)),
            (Bytes::mib(100), Bytes::mib(128)),
        ] {
            assert_eq!(default_buffer_pool(memory), pool, "{memory}");
        }
    }

    #[test]
    fn options_that_say_where_the_server_is_are_not_the_users() {
        for (name, is_reserved) in [
            ("innodb-io-capacity", false),
            ("innodb_io_capacity", false),
            ("port", true),
            ("pid_file", true),
            ("loose-datadir", true),
            ("x=1 --datadir", true),
        ] {
            let spec = OwnedSpec { options: vec![(name.into(), "1".into())], ..OwnedSpec::default() };
            assert_eq!(reserved(&spec).is_some(), is_reserved, "{name}");
        }
    }

    #[test]
    fn the_users_own_options_come_last() {
        let spec =
            OwnedSpec { options: vec![("innodb-io-capacity".into(), "500".into())], ..OwnedSpec::default() };
        let settings = measured(ServerVersion::new(9, 7, 4), &spec, Bytes::gib(8));
        assert_eq!(settings.last().map(argument).as_deref(), Some("--innodb-io-capacity=500"));
        assert_eq!(demanded(ServerVersion::new(9, 7, 4), &spec), spec.options);
    }
}
