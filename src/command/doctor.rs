//! `idembench doctor`: what server, disk and memory can do, with advice.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use serde::Serialize;

use super::screen::{Screen, print_json};
use super::server_choice;
use crate::cli::DoctorArgs;
use crate::results::{Machine, ServerDescription};
use crate::server::disk::{self, DiskSpeed, InOrder};
use crate::server::doctor::{Advice, Facts, Needs, Severity, advise};
use crate::server::{Server, machine};
use crate::spec::dataset::Dataset;
use crate::spec::footprint::Footprint;
use crate::units::{Bytes, Rows, three_digits};

/// A measured disk stays measured for a day.
const DISK_MAX_AGE: Duration = Duration::from_secs(24 * 3600);

/// What `doctor --json` prints.
#[derive(Serialize)]
struct Examined {
    server: Option<ServerDescription>,
    machine: Machine,
    free_disk_bytes: Option<u64>,
    disk: Option<DiskSpeed>,
    disk_in_order: Option<InOrder>,
    advice: Vec<Advice>,
}

/// Runs the command: exit code 1 when something stands in the way of numbers.
pub async fn run(args: DoctorArgs) -> anyhow::Result<ExitCode> {
    let screen = Screen::new(args.json);
    let needs = needs(&args)?;
    let server = server_choice::open(&args.server, &screen).await?;
    let facts = facts(&server, needs).await;
    let folder = server.data_directory().map(beside);
    server.close().await?;
    let facts = facts?;
    // With the server stopped: it would write too.
    let in_order = match (args.in_order, folder) {
        (Some(bytes), Some(folder)) => Some(disk::in_order(&folder, bytes)?),
        (Some(_), None) => {
            bail!("measure the server's disk in order: it is not on this machine — leave --in-order out")
        }
        (None, _) => None,
    };
    let advice = advise(&facts);
    let in_the_way = advice.iter().any(|advice| advice.severity == Severity::Bad);
    match args.json {
        true => print_json(&Examined {
            server: facts.server,
            machine: facts.machine,
            free_disk_bytes: facts.free_disk.map(|bytes| bytes.0),
            disk: facts.disk,
            disk_in_order: in_order,
            advice,
        })?,
        false => print(&facts, in_order.as_ref(), &advice, &screen),
    }
    Ok(if in_the_way { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn needs(args: &DoctorArgs) -> anyhow::Result<Option<Needs>> {
    let name = match (&args.dataset, args.rows) {
        (None, None) => return Ok(None),
        (name, _) => name.as_deref().unwrap_or("t_idem"),
    };
    let dataset = Dataset::read(name)?.scaled(args.rows, None, None, None)?;
    let partitions = dataset.table.partitioning.as_ref().map_or(1, |p| p.partitions.len() as u32);
    let bytes = Footprint::new(&dataset).bytes(dataset.rows);
    Ok(Some(Needs { bytes, partitions: partitions + dataset.companions.len() as u32 }))
}

async fn facts(server: &Server, dataset: Option<Needs>) -> anyhow::Result<Facts> {
    let description = server.describe().await?;
    let folder = server.data_directory();
    let disk = folder.map(|folder| disk_speed(folder.to_owned())).transpose()?;
    Ok(Facts {
        server: Some(description),
        machine: machine::describe(folder, disk.as_ref()),
        server_is_local: server.pid().is_some(),
        disk,
        free_disk: folder.and_then(|folder| disk::free_space(folder).ok()),
        open_files: machine::open_files_limit(),
        dataset,
        today: time::OffsetDateTime::now_utc().date(),
    })
}

/// The speed of the disk under a data directory, measured once a day; takes about five seconds then.
pub fn disk_speed(folder: PathBuf) -> anyhow::Result<DiskSpeed> {
    Ok(disk::speed(&server_choice::home()?, &beside(&folder), DISK_MAX_AGE)?)
}

/// The same disk, and not the server's folder.
fn beside(data_directory: &Path) -> PathBuf {
    data_directory.parent().unwrap_or(Path::new(".")).to_owned()
}

/// `412 MiB/s write · 3.8k fsync/s · 27k reads/s (16 KiB)`
pub fn disk_line(disk: &DiskSpeed) -> String {
    let rate = |per_second: f64| Rows(per_second as u64).short();
    let reads =
        disk.read_16k_per_s.map_or(String::new(), |reads| format!(" · {} reads/s (16 KiB)", rate(reads)));
    format!("{} MiB/s write · {} fsync/s{reads}", three_digits(disk.write_mib_per_s), rate(disk.fsync_per_s))
}

fn in_order_line(speed: &InOrder) -> String {
    let read = speed.read_mib_per_s.map_or(String::new(), |read| format!(", read at {}", three_digits(read)));
    format!(
        "{} in {} files at a time: written at {} MiB/s past the page cache, at {} through it, fsync included{read}",
        Bytes(speed.bytes),
        speed.files,
        three_digits(speed.write_mib_per_s),
        three_digits(speed.write_buffered_mib_per_s),
    )
}

fn print(facts: &Facts, in_order: Option<&InOrder>, advice: &[Advice], screen: &Screen) {
    let machine = &facts.machine;
    let memory = Bytes(machine.memory_bytes);
    screen.line(
        "machine",
        &format!("{} · {} processors · {memory} · {}", machine.cpu, machine.cpus, machine.system),
    );
    if let Some(disk) = &facts.disk {
        let place = machine.file_system.as_deref().unwrap_or("an unknown file system");
        screen.line("disk", &format!("{} · {place}", disk_line(disk)));
    }
    if let Some(speed) = in_order {
        screen.line("in order", &in_order_line(speed));
    }
    for advice in advice {
        let mark = match advice.severity {
            Severity::Ok => "ok  ",
            Severity::Warn => "warn",
            Severity::Bad => "BAD ",
        };
        screen.line(mark, &format!("{}: {}", advice.subject, advice.finding));
        if !advice.advice.is_empty() {
            screen.line("", &format!("  {}", advice.advice));
        }
    }
}
