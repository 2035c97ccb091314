//! What a server that failed has said: its last ERROR lines.
//!
//! A line reads `2026-12-01T02:17:00.123456Z 0 [ERROR] [MY-012345] [InnoDB] text`.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The end of the log that is looked at: crash recovery and stack traces fit.
const TAIL_BYTES: u64 = 64 << 10;
/// As many lines as a message can carry.
const LINES_MAX: usize = 4;

/// InnoDB was killed while its redo log was off: the files are worth nothing.
pub const REDO_WAS_OFF: &str = "MY-013598";
/// The TCP port is taken.
pub const PORT_IN_USE: &str = "MY-010262";

/// What a failed server has left to read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastWords {
    /// The last lines that tell of an error, or the last lines of all, without their time stamps.
    pub lines: Vec<String>,
    /// The codes of all ERROR lines.
    pub codes: Vec<String>,
}

impl LastWords {
    /// Reads the end of an error log; a log that cannot be read has said nothing.
    pub fn read(log: &Path) -> LastWords {
        LastWords::parse(&tail(log).unwrap_or_default())
    }

    fn parse(log: &str) -> LastWords {
        let errors: Vec<_> = log.lines().filter(|line| line.contains("[ERROR]")).collect();
        let codes = errors.iter().filter_map(|line| code(line)).map(str::to_owned).collect();
        let told = if errors.is_empty() {
            log.lines().filter(|line| !line.trim().is_empty()).collect()
        } else {
            // The last one only says that the server aborts.
            let rest: Vec<_> =
                errors.iter().copied().filter(|line| code(line) != Some("MY-010119")).collect();
            if rest.is_empty() { errors } else { rest }
        };
        let lines = told.iter().rev().take(LINES_MAX).rev().map(|line| without_stamp(line)).collect();
        LastWords { lines, codes }
    }

    /// Whether an ERROR line has this code.
    pub fn has(&self, code: &str) -> bool {
        self.codes.iter().any(|found| found == code)
    }
}

impl std::fmt::Display for LastWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.lines.is_empty() {
            return f.write_str("it left no message");
        }
        f.write_str(&self.lines.join(" | "))
    }
}

fn tail(log: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn code(line: &str) -> Option<&str> {
    let start = line.find("[MY-")? + 1;
    let length = line[start..].find(']')?;
    Some(&line[start..start + length])
}

fn without_stamp(line: &str) -> String {
    line.find("[ERROR]").map_or(line, |start| &line[start..]).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_lines_are_kept_without_their_stamps_and_the_last_few_count() {
        let mut log = String::from("2026-12-01T00:00:00Z 0 [System] [MY-010116] [Server] starting\n");
        for number in 0..6 {
            log.push_str(&format!(
                "2026-12-01T00:00:01Z 1 [ERROR] [MY-01352{number}] [InnoDB] no {number}\n"
            ));
        }
        log.push_str("2026-12-01T00:00:01Z 0 [ERROR] [MY-010119] [Server] Aborting\n");
        let words = LastWords::parse(&log);
        assert_eq!(words.lines.first().map(String::as_str), Some("[ERROR] [MY-013522] [InnoDB] no 2"));
        assert_eq!(words.lines.last().map(String::as_str), Some("[ERROR] [MY-013525] [InnoDB] no 5"));
        assert!(words.has("MY-013520") && words.has("MY-010119") && !words.has("MY-010116"));
    }

    #[test]
    fn without_error_lines_the_last_lines_speak() {
        let words = LastWords::parse("sh: 3: exec: mysqld: not found\n\n");
        assert_eq!(words.to_string(), "sh: 3: exec: mysqld: not found");
        assert_eq!(LastWords::parse("").to_string(), "it left no message");
    }
}
