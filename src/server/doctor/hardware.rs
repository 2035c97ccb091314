//! Advice about the machine: processors, disk, files.

use super::{Advice, Facts, bad, ok, warn};
use crate::server::disk::DiskSpeed;
use crate::units::{Bytes, PerSecond, three_digits};

/// A rotating disk syncs at most twice in one of its 120 turns a second; network disks are as slow.
const FSYNC_FEW: f64 = 250.0;
/// Flash with power-loss protection takes some 20 µs; whoever is faster has most likely not waited.
const FSYNC_MANY: f64 = 40_000.0;
/// A rotating disk's seeks.
const READS_FEW: f64 = 1_000.0;
/// The server and its clients: what an owned server asks for in connections, tables and partitions.
const OPEN_FILES_LEAST: u64 = 10_000;
/// What the server writes beside the table: redo, undo, temporary files.
const BESIDE_THE_TABLE: Bytes = Bytes::gib(1);

pub(super) fn advise(facts: &Facts) -> Vec<Advice> {
    let findings = [
        processors(facts),
        file_system(facts),
        free_disk(facts),
        facts.disk.and_then(|disk| disk_writes(&disk, facts)),
        facts.disk.map(|disk| disk_commits(&disk)),
        facts.disk.and_then(|disk| disk_reads(&disk)),
        open_files(facts),
    ];
    findings.into_iter().flatten().collect()
}

fn processors(facts: &Facts) -> Option<Advice> {
    let finding = format!("{} × {}", facts.machine.cpus, facts.machine.cpu);
    Some(if facts.server_is_local && facts.machine.cpus < 2 {
        let advice =
            "server and client share one: the client's own work is in every latency; use two or more";
        warn("processors", finding, advice)
    } else {
        ok("processors", finding)
    })
}

fn file_system(facts: &Facts) -> Option<Advice> {
    let text = facts.machine.file_system.clone()?;
    let kind = text.split(' ').next().unwrap_or_default();
    let elsewhere = "put the data directory on a disk of this machine, with --data-directory";
    Some(match kind {
        "tmpfs" | "ramfs" => {
            bad("file system", text.clone(), format!("this is memory, not a disk: {elsewhere}"))
        }
        "nfs" | "nfs4" | "cifs" | "9p" | "virtiofs" | "fuse.sshfs" => warn(
            "file system",
            text.clone(),
            format!("this is the network's speed, not a disk's: {elsewhere}"),
        ),
        "overlay" => warn("file system", text.clone(), format!("first writes copy whole files: {elsewhere}")),
        _ => ok("file system", text.clone()),
    })
}

fn free_disk(facts: &Facts) -> Option<Advice> {
    let free = facts.free_disk?;
    let Some(needs) = facts.dataset else { return Some(ok("free disk", free.to_string())) };
    let wanted = Bytes(needs.bytes.0.saturating_add(BESIDE_THE_TABLE.0));
    let finding = format!("{free}; the dataset takes about {}", needs.bytes);
    Some(if free < wanted {
        let advice = format!(
            "{wanted} are needed: fewer rows (--rows), another disk (--data-directory), or free some"
        );
        bad("free disk", finding, advice)
    } else {
        ok("free disk", finding)
    })
}

/// In the background the server may write `innodb_io_capacity_max` pages of 16 KiB a second.
fn disk_writes(disk: &DiskSpeed, facts: &Facts) -> Option<Advice> {
    let finding = format!("{} MiB/s in order", three_digits(disk.write_mib_per_s));
    let capacity = facts.server.as_ref().and_then(|server| server.settings.get("innodb_io_capacity_max"));
    let capacity: Option<f64> = capacity.and_then(|text| text.parse().ok());
    Some(match capacity.map(|pages| pages * 16.0 / 1024.0) {
        Some(background) if background > disk.write_mib_per_s * 2.0 => {
            let advice = format!(
                "innodb_io_capacity_max lets the server flush {} MiB/s: lower it to what the disk can do",
                three_digits(background)
            );
            warn("disk writes", finding, advice)
        }
        _ => ok("disk writes", finding),
    })
}

fn disk_commits(disk: &DiskSpeed) -> Advice {
    let finding = format!("{} small synced appends", per_second(disk.fsync_per_s));
    if disk.fsync_per_s < FSYNC_FEW {
        let advice =
            "one connection cannot commit more often than that; several share a sync (--connections)";
        return warn("disk commits", finding, advice);
    }
    if disk.fsync_per_s > FSYNC_MANY {
        let advice = "faster than flash can be: some cache below acknowledges what a power cut would lose, and \
                      commits look cheaper than on a disk that waits";
        return warn("disk commits", finding, advice);
    }
    ok("disk commits", finding)
}

fn disk_reads(disk: &DiskSpeed) -> Option<Advice> {
    let reads = disk.read_16k_per_s?;
    let finding = format!("{} random reads of 16 KiB", per_second(reads));
    Some(if reads < READS_FEW {
        let advice = "every claim that misses the buffer pool waits for one: give the pool the whole index, or use an \
                      SSD";
        warn("disk reads", finding, advice)
    } else {
        ok("disk reads", finding)
    })
}

fn per_second(rate: f64) -> String {
    PerSecond::new(rate).map_or_else(|| "n/a".to_owned(), |rate| rate.to_string())
}

fn open_files(facts: &Facts) -> Option<Advice> {
    let limit = facts.open_files.filter(|_| facts.server_is_local)?;
    let finding = format!("{limit} a process");
    Some(if limit < OPEN_FILES_LEAST {
        let advice = format!("partitions and connections take files: `ulimit -n {OPEN_FILES_LEAST}` or more");
        warn("open files", finding, advice)
    } else {
        ok("open files", finding)
    })
}
