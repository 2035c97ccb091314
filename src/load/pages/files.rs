//! Where the server keeps the file of a table or partition.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file of a table or partition. The server writes partition names in lower case, and characters other
/// than digits, letters and `_` as `@` and four hexadecimal digits.
pub(super) fn find(folder: &Path, table: &str, partition: Option<&str>) -> Option<PathBuf> {
    let wanted = match partition {
        Some(partition) => format!("{}#p#{}.ibd", encoded(table), encoded(&partition.to_lowercase())),
        None => format!("{}.ibd", encoded(table)),
    };
    let exact = folder.join(&wanted);
    if exact.is_file() {
        return Some(exact);
    }
    let entries = std::fs::read_dir(folder).ok()?;
    let mut alike =
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().eq_ignore_ascii_case(&wanted));
    let found = alike.next().map(|entry| entry.path());
    // Two that differ only in case: which one is meant cannot be known.
    found.filter(|_| alike.next().is_none())
}

/// A schema's, table's or partition's name as the server writes it in the file system.
pub(in crate::load) fn encoded(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => text.push(character),
            other => text.push_str(&format!("@{:04x}", u32::from(other))),
        }
    }
    text
}

/// Gives a new file the owner of another one: the server must be able to open it.
pub(super) fn give_to(path: &Path, like: &Metadata) -> io::Result<()> {
    let is = std::fs::metadata(path)?;
    if (is.uid(), is.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    std::os::unix::fs::chown(path, Some(like.uid()), Some(like.gid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_under_the_names_that_the_server_gives_them() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["t#p#p1.ibd", "t@002da.ibd", "T#P#P2.ibd"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let check = |table: &str, partition: Option<&str>, expect: Option<&str>| {
            let found = find(folder.path(), table, partition);
            assert_eq!(found, expect.map(|name| folder.path().join(name)));
        };
        check("t", Some("P1"), Some("t#p#p1.ibd"));
        check("t-a", None, Some("t@002da.ibd"));
        check("t", Some("p2"), Some("T#P#P2.ibd"));
        check("t", None, None);
    }
}
