//! Advice about the server: its release and its settings.

use time::Date;
use time::macros::date;

use super::{Advice, Facts, bad, ok, warn};
use crate::results::ServerDescription;
use crate::server::version::ServerVersion;
use crate::units::Bytes;

/// Below it a test of some minutes measures checkpoints: redo at 400 bytes a claim and 3,000 claims a second
/// fills it in a quarter of an hour, with page images and other writers much sooner.
const REDO_LEAST: Bytes = Bytes::gib(1);
/// Beyond this share of memory the server's other buffers, the client and the kernel get too little.
const POOL_SHARE_MOST: f64 = 0.8;

/// A setting of the description, as far as the server has it.
struct Settings<'a>(&'a ServerDescription);

impl Settings<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.settings.get(name).map(String::as_str).filter(|value| *value != "n/a")
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// `None` when the server lacks it.
    fn is(&self, name: &str, value: &str) -> Option<bool> {
        Some(self.text(name)?.eq_ignore_ascii_case(value))
    }
}

pub(super) fn advise(server: &ServerDescription, facts: &Facts) -> Vec<Advice> {
    let settings = Settings(server);
    let findings = [
        release(&server.version, facts.today),
        connection(&settings),
        buffer_pool(&settings, facts),
        warm_start(&settings),
        redo_enabled(&settings),
        redo_log(&settings),
        flush_method(&settings),
        commit(&settings),
        binary_log(&settings),
        doublewrite(&settings),
        instruments(&settings),
        dictionary(&settings, facts),
        tablespaces(&settings, facts),
    ];
    findings.into_iter().flatten().collect()
}

/// Long-term releases and the last day of their extended support, where that is announced.
const LONG_TERM: [((u16, u16), Option<Date>); 3] =
    [((8, 0), Some(date!(2026 - 04 - 30))), ((8, 4), Some(date!(2032 - 04 - 30))), ((9, 7), None)];

fn release(version: &str, today: Date) -> Option<Advice> {
    let known: ServerVersion = version.parse().ok()?;
    let named = format!("MySQL {version}");
    if (8, 0) == known.series() && known < ServerVersion::new(8, 0, 36) {
        let advice = "use 8.0.36 or later: earlier ones have bugs in instant columns and stop on data_locks";
        return Some(warn("release", named, advice));
    }
    let long_term = LONG_TERM.iter().find(|(series, _)| *series == known.series());
    Some(match long_term {
        Some((_, Some(end))) if today > *end => {
            let advice = "measure the release that you will move to as well: 8.4 or 9.7";
            warn("release", format!("{named}, without fixes since {end}"), advice)
        }
        // After 9.7 releases are named by year and month; which of them last is not known here.
        None if known.series() < (9, 7) => {
            warn("release", format!("{named}, an innovation release"), "use a long-term one: 8.4 or 9.7")
        }
        _ => ok("release", named),
    })
}

fn connection(settings: &Settings<'_>) -> Option<Advice> {
    let channel = settings.text("connection")?;
    if channel.contains("TLS") {
        let advice = "encryption is measured with every statement: where that is not meant, use ?socket=… or \
                      ?ssl-mode=DISABLED in the URL";
        return Some(warn("connection", channel.to_owned(), advice));
    }
    Some(ok("connection", channel.to_owned()))
}

fn buffer_pool(settings: &Settings<'_>, facts: &Facts) -> Option<Advice> {
    let pool = Bytes(settings.number("innodb_buffer_pool_size")?);
    let memory = Bytes(facts.machine.memory_bytes);
    if facts.server_is_local && memory.0 > 0 {
        let finding = format!("{pool} of {memory} of memory");
        if pool >= memory {
            return Some(bad(
                "buffer pool",
                finding,
                "make it smaller than memory (--buffer-pool): it will swap",
            ));
        }
        if pool.0 as f64 > memory.0 as f64 * POOL_SHARE_MOST {
            let advice = "leave a fifth of memory to the client and the kernel, with --buffer-pool";
            return Some(warn("buffer pool", finding, advice));
        }
    }
    let holds = facts.dataset.filter(|needs| needs.bytes.0 > 0).map(|needs| {
        let share = (pool.0 as f64 / needs.bytes.0 as f64 * 100.0).min(100.0);
        format!(", holds {share:.0} % of the dataset's {}", needs.bytes)
    });
    Some(ok("buffer pool", format!("{pool}{}", holds.unwrap_or_default())))
}

fn warm_start(settings: &Settings<'_>) -> Option<Advice> {
    let loads = settings.is("innodb_buffer_pool_load_at_startup", "ON")?;
    Some(if loads {
        let advice = "a restarted server is not cold: start it with innodb_buffer_pool_load_at_startup=OFF for \
                      cold runs";
        warn("warm start", "the buffer pool is reloaded at each start".to_owned(), advice)
    } else {
        ok("warm start", "a restarted server is cold".to_owned())
    })
}

/// Said only when it is off: no server is so by accident.
fn redo_enabled(settings: &Settings<'_>) -> Option<Advice> {
    let off = settings.is("innodb_redo_log_enabled", "OFF")?;
    let advice = "nothing is durable, and after a crash the instance must be re-initialised: ALTER INSTANCE ENABLE \
                  INNODB REDO_LOG";
    off.then(|| bad("redo log", "switched off".to_owned(), advice))
}

fn redo_log(settings: &Settings<'_>) -> Option<Advice> {
    let capacity = settings.number("innodb_redo_log_capacity");
    let old = || {
        let size = settings.number("innodb_log_file_size")?;
        size.checked_mul(settings.number("innodb_log_files_in_group")?)
    };
    let capacity = Bytes(capacity.or_else(old)?);
    Some(if capacity < REDO_LEAST {
        let advice = "writes will wait for checkpoints: give it 4 GiB or more (--redo, or \
                      innodb_redo_log_capacity)";
        warn("redo log", capacity.to_string(), advice)
    } else {
        ok("redo log", capacity.to_string())
    })
}

fn flush_method(settings: &Settings<'_>) -> Option<Advice> {
    let method = settings.text("innodb_flush_method")?;
    Some(match method {
        "O_DIRECT" => ok("flush method", method.to_owned()),
        "O_DIRECT_NO_FSYNC" => {
            warn("flush method", method.to_owned(), "not to be compared with O_DIRECT: it leaves fsyncs out")
        }
        _ => {
            let advice = "pages are cached twice, and reads that miss the pool come from the page cache: start the \
                          server with innodb_flush_method=O_DIRECT";
            warn("flush method", method.to_owned(), advice)
        }
    })
}

fn commit(settings: &Settings<'_>) -> Option<Advice> {
    let value = settings.text("innodb_flush_log_at_trx_commit")?;
    let finding = format!("innodb_flush_log_at_trx_commit={value}");
    Some(if value == "1" {
        ok("commit", finding)
    } else {
        bad("commit", finding, "commits are not durable, and their price is not measured: set it to =1")
    })
}

fn binary_log(settings: &Settings<'_>) -> Option<Advice> {
    let on = settings.is("log_bin", "ON").or_else(|| settings.is("log_bin", "1"))?;
    if !on {
        return Some(ok("binary log", "off; a replicated server pays a second sync (--binlog)".to_owned()));
    }
    let sync = settings.text("sync_binlog").unwrap_or("n/a");
    let finding = format!("on, sync_binlog={sync}");
    Some(if sync == "1" {
        ok("binary log", finding)
    } else {
        bad("binary log", finding, "a crash loses commits that the log has not synced: set sync_binlog=1")
    })
}

fn doublewrite(settings: &Settings<'_>) -> Option<Advice> {
    let value = settings.text("innodb_doublewrite")?;
    let finding = format!("innodb_doublewrite={value}");
    Some(match value.to_ascii_uppercase().as_str() {
        "ON" | "1" | "DETECT_AND_RECOVER" => ok("doublewrite", finding),
        _ => warn(
            "doublewrite",
            finding,
            "half the page writes are missing and torn pages are not mended: set ON",
        ),
    })
}

fn instruments(settings: &Settings<'_>) -> Option<Advice> {
    let on = settings.is("performance_schema", "ON").or_else(|| settings.is("performance_schema", "1"))?;
    Some(if on {
        ok("instruments", "performance_schema on, as most servers run".to_owned())
    } else {
        let advice =
            "some percent faster than servers that have it on, and no statement digests: set ON to compare";
        warn("instruments", "performance_schema off".to_owned(), advice)
    })
}

/// Every partition is a dictionary entry, and the dictionary is trimmed to this size.
fn dictionary(settings: &Settings<'_>, facts: &Facts) -> Option<Advice> {
    let cache = settings.number("table_definition_cache")?;
    let wanted = u64::from(facts.dataset?.partitions) * 2;
    let finding = format!("table_definition_cache={cache}");
    Some(if cache < wanted {
        let advice =
            format!("partitions will be opened again and again: twice their number, {wanted}, is enough");
        warn("dictionary", finding, advice)
    } else {
        ok("dictionary", finding)
    })
}

/// Every partition is a file, and no more than this many are kept open.
fn tablespaces(settings: &Settings<'_>, facts: &Facts) -> Option<Advice> {
    let files = settings.number("innodb_open_files")?;
    let partitions = u64::from(facts.dataset?.partitions);
    let finding = format!("innodb_open_files={files}");
    Some(if files < partitions {
        let advice = format!("claims will open and close files: there are {partitions} partitions");
        warn("tablespaces", finding, advice)
    } else {
        ok("tablespaces", finding)
    })
}
