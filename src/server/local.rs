//! What the kernel and the file system say about a server on this machine.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::units::Bytes;

/// CPU time that a process has used so far, in all its threads, user and system; `None` when there is no
/// such process or no `/proc`.
pub fn cpu_time(pid: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks = ticks_in(&stat)?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// utime + stime, fields 14 and 15 of `/proc/PID/stat`. The second field, the program's name in brackets,
/// may hold spaces and brackets itself.
fn ticks_in(stat: &str) -> Option<u64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// The files of a table in a data directory, one for each partition, with their sizes, by name.
pub fn table_files(data_directory: &Path, schema: &str, table: &str) -> io::Result<Vec<(String, Bytes)>> {
    let table = file_name(table);
    let (whole, partition) = (format!("{table}.ibd"), format!("{table}#p#"));
    let mut files = Vec::new();
    for entry in fs::read_dir(data_directory.join(file_name(schema)))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        // On file systems that ignore case the separator is written `#P#`.
        let lower = name.to_ascii_lowercase();
        let ours =
            name == whole || (lower.starts_with(&partition.to_ascii_lowercase()) && lower.ends_with(".ibd"));
        if ours {
            files.push((name, Bytes(entry.metadata()?.len())));
        }
    }
    files.sort();
    Ok(files)
}

/// A schema's or table's name as the server writes it in the file system: what is neither a letter nor a
/// digit of ASCII nor `_` becomes `@` and four hexadecimal digits. (The server writes some letters beyond
/// ASCII shorter; such tables are not found here.)
fn file_name(name: &str) -> String {
    name.chars()
        .map(|character| match character {
            c if c.is_ascii_alphanumeric() || c == '_' => c.to_string(),
            c => format!("@{:04x}", c as u32),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_ticks_are_found_behind_any_program_name() {
        let stat = "4711 (my) sqld 1) S 1 4711 4711 0 -1 4194560 9 0 0 0 250 50 0 0 20 0 40 0 99 1 2";
        assert_eq!(ticks_in(stat), Some(300));
        assert_eq!(ticks_in("4711 (x) S 1"), None);
        assert!(cpu_time(std::process::id()).is_some());
        assert_eq!(cpu_time(u32::MAX), None);
    }

    #[test]
    fn a_tables_files_are_its_partitions_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let schema = folder.path().join("my@002ddb");
        fs::create_dir(&schema).expect("a schema");
        for name in ["t#p#p0.ibd", "t#p#p1.ibd", "t2.ibd", "t_old#p#p0.ibd", "t.sdi"] {
            fs::write(schema.join(name), "12345").expect("a file");
        }
        let files = table_files(folder.path(), "my-db", "t").expect("files");
        assert_eq!(files, [("t#p#p0.ibd".into(), Bytes(5)), ("t#p#p1.ibd".into(), Bytes(5))]);
        let files = table_files(folder.path(), "my-db", "t2").expect("files");
        assert_eq!(files, [("t2.ibd".into(), Bytes(5))]);
    }
}
