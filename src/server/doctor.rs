//! What stands between this server, this machine and numbers that mean something: facts in, advice out.
//!
//! Pure: the command gathers [`Facts`], and what it could not find out is `None` and passed over. Thresholds
//! are rules of thumb; where one has a source, it stands beside it.

mod hardware;
mod server;

use serde::Serialize;

use super::disk::DiskSpeed;
use crate::results::{Machine, ServerDescription};
use crate::units::Bytes;

/// What is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The server's version and settings.
    pub server: Option<ServerDescription>,
    /// The machine that we run on.
    pub machine: Machine,
    /// Whether the server runs on it too.
    pub server_is_local: bool,
    /// The speed of the data directory's disk.
    pub disk: Option<DiskSpeed>,
    /// Free space on it.
    pub free_disk: Option<Bytes>,
    /// Files that a process may have open here.
    pub open_files: Option<u64>,
    /// What is to be loaded.
    pub dataset: Option<Needs>,
    /// The day, for the end of a release's life.
    pub today: time::Date,
}

/// What a dataset takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Bytes of its files.
    pub bytes: Bytes,
    /// Partitions of all its tables.
    pub partitions: u32,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Numbers are true, but not of what is meant, or worse than they need be.
    Warn,
    /// Numbers are not to be had, or not to be trusted.
    Bad,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Advice {
    /// What was looked at, in one or two words.
    pub subject: &'static str,
    /// What was found, with figures.
    pub finding: String,
    /// How bad it is.
    pub severity: Severity,
    /// What to do; empty when nothing is to be done.
    pub advice: String,
}

/// Looks at everything that is known. The order is that of the report: server, memory, log, disk, files.
pub fn advise(facts: &Facts) -> Vec<Advice> {
    let mut advice = Vec::new();
    if let Some(description) = &facts.server {
        advice.extend(server::advise(description, facts));
    }
    advice.extend(hardware::advise(facts));
    advice
}

fn ok(subject: &'static str, finding: String) -> Advice {
    Advice { subject, finding, severity: Severity::Ok, advice: String::new() }
}

fn warn(subject: &'static str, finding: String, advice: impl Into<String>) -> Advice {
    Advice { subject, finding, severity: Severity::Warn, advice: advice.into() }
}

fn bad(subject: &'static str, finding: String, advice: impl Into<String>) -> Advice {
    Advice { subject, finding, severity: Severity::Bad, advice: advice.into() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A server and a machine with nothing to be said against them.
    fn good() -> Facts {
        let settings = [
            ("innodb_buffer_pool_size", "2147483648"),
            ("innodb_redo_log_capacity", "4294967296"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
            ("innodb_buffer_pool_load_at_startup", "OFF"),
            ("innodb_io_capacity_max", "10000"),
            ("log_bin", "OFF"),
            ("sync_binlog", "1"),
            ("performance_schema", "ON"),
            ("open_files_limit", "65535"),
            ("table_definition_cache", "4096"),
            ("innodb_open_files", "4096"),
            ("connection", "unix socket, not encrypted"),
        ];
        let settings: BTreeMap<_, _> =
            settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Facts {
            server: Some(ServerDescription {
                version: "9.7.4".into(),
                version_comment: "(Debian)".into(),
                kind: "owned".into(),
                settings,
            }),
            machine: Machine {
                cpu: "cpu".into(),
                cpus: 8,
                memory_bytes: 16 << 30,
                system: "Linux".into(),
                file_system: Some("ext4 on /dev/vda (rw)".into()),
                disk_write_mib_per_s: None,
                disk_fsync_per_s: None,
                disk_read_16k_per_s: None,
            },
            server_is_local: true,
            disk: Some(DiskSpeed {
                write_mib_per_s: 412.0,
                fsync_per_s: 3800.0,
                read_16k_per_s: Some(27_000.0),
                measured_at_s: 0,
            }),
            free_disk: Some(Bytes::gib(100)),
            open_files: Some(1 << 20),
            dataset: Some(Needs { bytes: Bytes::mib(700), partitions: 14 }),
            today: time::macros::date!(2026 - 12 - 01),
        }
    }

    fn with(change: impl FnOnce(&mut Facts)) -> Facts {
        let mut facts = good();
        change(&mut facts);
        facts
    }

    fn setting(name: &str, value: &str) -> Facts {
        with(|facts| {
            let server = facts.server.as_mut().expect("there is one");
            server.settings.insert(name.to_owned(), value.to_owned());
        })
    }

    /// The one finding that is not in order must be this.
    fn check(facts: &Facts, subject: &str, severity: Severity, part: &str) {
        let found: Vec<_> =
            advise(facts).into_iter().filter(|advice| advice.severity > Severity::Ok).collect();
        let [one] = found.as_slice() else { panic!("one finding about {subject}, not {found:?}") };
        assert_eq!((one.subject, one.severity), (subject, severity), "{one:?}");
        assert!(one.finding.contains(part) || one.advice.contains(part), "{part} in {one:?}");
        assert!(!one.advice.is_empty(), "what is not in order has advice: {one:?}");
    }

    #[test]
    fn a_good_server_on_a_good_machine_needs_no_advice() {
        let found = advise(&good());
        assert!(found.iter().all(|advice| advice.severity == Severity::Ok), "{found:?}");
        assert!(found.len() > 8);
    }

    #[test]
    fn every_setting_that_makes_numbers_lie_is_found() {
        use Severity::{Bad, Warn};
        for (name, value, subject, severity, part) in [
            ("innodb_buffer_pool_size", "15032385536", "buffer pool", Warn, "14 GiB"),
            ("innodb_buffer_pool_size", "34359738368", "buffer pool", Bad, "swap"),
            ("innodb_redo_log_capacity", "104857600", "redo log", Warn, "checkpoint"),
            ("innodb_redo_log_enabled", "OFF", "redo log", Bad, "re-initialised"),
            ("innodb_flush_method", "fsync", "flush method", Warn, "page cache"),
            ("innodb_flush_log_at_trx_commit", "2", "commit", Bad, "=1"),
            ("innodb_doublewrite", "OFF", "doublewrite", Warn, "torn"),
            ("innodb_buffer_pool_load_at_startup", "ON", "warm start", Warn, "cold"),
            ("performance_schema", "OFF", "instruments", Warn, "digest"),
            ("table_definition_cache", "20", "dictionary", Warn, "28"),
            ("innodb_open_files", "10", "tablespaces", Warn, "14"),
            ("connection", "tcp, TLS (REQUIRED)", "connection", Warn, "socket"),
        ] {
            check(&setting(name, value), subject, severity, part);
        }
        let unsynced = with(|facts| {
            let settings = &mut facts.server.as_mut().expect("there is one").settings;
            settings.insert("log_bin".into(), "ON".into());
            settings.insert("sync_binlog".into(), "0".into());
        });
        check(&unsynced, "binary log", Bad, "sync_binlog");
    }

    #[test]
    fn old_redo_variables_are_multiplied() {
        let facts = with(|facts| {
            let settings = &mut facts.server.as_mut().expect("there is one").settings;
            settings.remove("innodb_redo_log_capacity");
            settings.insert("innodb_log_file_size".into(), (48 << 20).to_string());
            settings.insert("innodb_log_files_in_group".into(), "2".into());
        });
        check(&facts, "redo log", Severity::Warn, "96 MiB");
    }

    #[test]
    fn releases_at_the_end_of_their_life_are_named() {
        for (version, severity, part) in [
            ("8.0.36", Severity::Warn, "2026-04-30"),
            ("8.0.30", Severity::Warn, "8.0.36"),
            ("9.3.0", Severity::Warn, "innovation"),
        ] {
            let facts = with(|facts| facts.server.as_mut().expect("there is one").version = version.into());
            check(&facts, "release", severity, part);
        }
        for version in ["8.4.3", "9.7.4", "26.10.0"] {
            let facts = with(|facts| facts.server.as_mut().expect("there is one").version = version.into());
            assert!(advise(&facts).iter().all(|advice| advice.severity == Severity::Ok), "{version}");
        }
    }

    #[test]
    fn what_the_machine_lacks_is_named() {
        use Severity::{Bad, Warn};
        check(&with(|facts| facts.free_disk = Some(Bytes::mib(500))), "free disk", Bad, "500 MiB");
        check(&with(|facts| facts.open_files = Some(1024)), "open files", Warn, "ulimit");
        check(&with(|facts| facts.machine.cpus = 1), "processors", Warn, "share");
        let file_system = |text: &str| with(|facts| facts.machine.file_system = Some(text.into()));
        check(&file_system("tmpfs on tmpfs (rw)"), "file system", Bad, "memory");
        check(&file_system("nfs4 on host:/x (rw)"), "file system", Warn, "network");
        check(&file_system("overlay on overlay (rw)"), "file system", Warn, "copy");
        let disk =
            |change: fn(&mut DiskSpeed)| with(|facts| change(facts.disk.as_mut().expect("there is one")));
        check(&disk(|disk| disk.fsync_per_s = 90.0), "disk commits", Warn, "90/s");
        check(&disk(|disk| disk.fsync_per_s = 90_000.0), "disk commits", Warn, "cache");
        check(&disk(|disk| disk.read_16k_per_s = Some(150.0)), "disk reads", Warn, "150/s");
        check(&disk(|disk| disk.write_mib_per_s = 40.0), "disk writes", Warn, "io_capacity_max");
    }

    #[test]
    fn what_is_not_known_is_passed_over() {
        let facts = Facts {
            server: None,
            server_is_local: false,
            disk: None,
            free_disk: None,
            open_files: None,
            dataset: None,
            machine: Machine { file_system: None, ..good().machine },
            today: good().today,
        };
        assert!(advise(&facts).iter().all(|advice| advice.severity == Severity::Ok));
        let unset = with(|facts| facts.server.as_mut().expect("there is one").settings.clear());
        assert!(advise(&unset).iter().all(|advice| advice.severity == Severity::Ok));
    }
}
