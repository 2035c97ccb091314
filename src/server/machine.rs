//! The machine that we and, unless it is attached, the server run on.

use std::path::{Path, PathBuf};

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::disk::DiskSpeed;
use crate::results::Machine;
use crate::units::Bytes;

/// Main memory, or what the control group allows of it; 0 on a system that does not say.
pub fn memory() -> Bytes {
    let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let Ok(system) = System::new_with_specifics(kind) else { return Bytes(0) };
    let limit = system.cgroup_limits().map(|limits| limits.total_memory).filter(|limit| *limit > 0);
    Bytes(limit.unwrap_or(u64::MAX).min(system.total_memory()))
}

/// Files that this process, and so a server that it starts, may have open.
pub fn open_files_limit() -> Option<u64> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    // A server raises its own limit as far as it is allowed to.
    limit.maximum
}

/// The most memory that this process has had in RAM so far; `None` on a system that does not say.
pub fn peak_memory() -> Option<Bytes> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix(" kB")?;
    Some(Bytes(kib.parse::<u64>().ok()? << 10))
}

/// What a run says about the machine. `data_directory` is the server's, when it lies here, and `disk` the
/// measured speed of its disk.
pub fn describe(data_directory: Option<&Path>, disk: Option<&DiskSpeed>) -> Machine {
    Machine {
        cpu: processor(),
        cpus: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
        memory_bytes: memory().0,
        system: system(),
        file_system: data_directory.and_then(file_system),
        disk_write_mib_per_s: disk.map(|disk| disk.write_mib_per_s),
        disk_fsync_per_s: disk.map(|disk| disk.fsync_per_s),
        disk_read_16k_per_s: disk.and_then(|disk| disk.read_16k_per_s),
    }
}

fn processor() -> String {
    let kind = RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing());
    let found = System::new_with_specifics(kind).ok();
    let brand = found.and_then(|system| Some(system.cpus().first()?.brand().trim().to_owned()));
    brand.filter(|brand| !brand.is_empty()).unwrap_or_else(|| format!("unknown ({})", std::env::consts::ARCH))
}

fn system() -> String {
    let name = System::long_os_version().unwrap_or_else(|_| std::env::consts::OS.to_owned());
    match System::kernel_version() {
        Ok(kernel) => format!("{name}, kernel {kernel}"),
        Err(_) => name,
    }
}

/// The file system of a path with its device and mount options: `ext4 on /dev/vda (rw,relatime)`.
pub fn file_system(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    file_system_in(&mounts, &path)
}

/// The mount with the longest path that leads to this one, from the text of `/proc/self/mountinfo`:
/// `36 35 98:0 /root /mount/point rw,noatime master:1 - ext4 /dev/vda rw,discard`. Of two mounts on one path
/// the later one hides the earlier.
fn file_system_in(mounts: &str, path: &Path) -> Option<String> {
    let parsed = mounts.lines().filter_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(4);
        let mut kind = kind.split(' ');
        let point = PathBuf::from(unescaped(place.next()?));
        Some((point, place.next()?, kind.next()?, kind.next()?, kind.next().unwrap_or_default()))
    });
    let (_, options, kind, device, more) = parsed
        .filter(|(point, ..)| path.starts_with(point))
        .max_by_key(|(point, ..)| point.components().count())?;
    // Paths among the options (an overlay's layers) say nothing here and are long.
    let more =
        more.split(',').filter(|option| !option.contains('/') && !options.split(',').any(|o| o == *option));
    let options: Vec<_> = options.split(',').chain(more).filter(|option| !option.is_empty()).collect();
    Some(format!("{kind} on {} ({})", unescaped(device), options.join(",")))
}

/// Blanks in paths are written `\040`.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
21 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
22 21 0:5 / /dev/shm rw - tmpfs tmpfs rw,size=100k
23 21 254:1 / /data rw,noatime shared:1 - xfs /dev/vdb rw,logbufs=8
24 21 254:2 / /data rw - btrfs /dev/vdc rw
25 21 254:3 / /my\\040disk rw - overlay overlay rw,lowerdir=/a:/b,index=off
";

    #[test]
    fn a_path_lies_on_the_mount_with_the_longest_prefix_and_the_later_one_hides_the_earlier() {
        for (path, expect) in [
            ("/home/me", "ext4 on /dev/vda (rw,relatime,discard)"),
            ("/dev/shm/x", "tmpfs on tmpfs (rw,size=100k)"),
            ("/data/x", "btrfs on /dev/vdc (rw)"),
            ("/database", "ext4 on /dev/vda (rw,relatime,discard)"),
            ("/my disk/x", "overlay on overlay (rw,index=off)"),
        ] {
            assert_eq!(file_system_in(MOUNTS, Path::new(path)).as_deref(), Some(expect), "{path}");
        }
        assert_eq!(file_system_in("nonsense", Path::new("/")), None);
    }

    #[test]
    fn this_machine_has_memory_and_a_processor() {
        let machine = describe(Some(Path::new("/")), None);
        assert!(machine.memory_bytes > 0 && machine.cpus > 0);
        assert!(!machine.cpu.is_empty() && !machine.system.is_empty());
        println!("{machine:?}");
    }
}
