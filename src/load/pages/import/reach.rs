//! Whether we get at a running server's files, and whether it takes ours.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sqlx::MySqlConnection;

use super::ImportError;
use crate::load::LoadError;
use crate::load::error::sql;
use crate::load::pages::files;
use crate::server::Server;
use crate::table::privileges;
use crate::table::staging::{self, Facts};

/// The only page size that is written.
const PAGE_BYTES: u64 = 16384;

/// A server whose files are in our reach.
#[derive(Debug)]
pub(super) struct Reach {
    /// The schema's folder in its data directory.
    pub(super) folder: PathBuf,
    /// Whether it keeps a binary log.
    pub(super) binary_log: bool,
}

impl Reach {
    /// Asks the server and tries its folder.
    pub(super) async fn find(server: &Server, connection: &mut MySqlConnection) -> Result<Reach, LoadError> {
        let facts = staging::facts(connection)
            .await
            .map_err(sql("ask whether files can be imported for", &server.address().database))?;
        suitable(&facts, server.kind())?;
        let folder = folder(server, &facts).and_then(|folder| try_out(&folder).map(|()| folder));
        let folder = folder.map_err(|reason| ImportError::OutOfReach { kind: server.kind(), reason })?;
        let reach = Reach { folder, binary_log: facts.binary_log };
        allowed(server, &reach).await?;
        Ok(reach)
    }
}

/// A server of our own lets us do everything; others are asked before anything is made.
async fn allowed(server: &Server, reach: &Reach) -> Result<(), LoadError> {
    if server.kind() == "owned" {
        return Ok(());
    }
    let schema = &server.address().database;
    // A connection of its own: what is tried must not stay with the one that loads.
    let mut trial = server.connect().await?;
    let missing = privileges::missing_for_import(&mut trial, reach.binary_log)
        .await
        .map_err(sql("ask whether the account may import into", schema))?;
    // A goodbye that fails changes nothing.
    let _ = sqlx::Connection::close(trial).await;
    match missing.grants(schema) {
        None => Ok(()),
        Some(grants) => {
            Err(ImportError::Denied { kind: server.kind(), account: missing.account, grants }.into())
        }
    }
}

/// The schema's folder, whether it can be written or not.
pub(super) async fn folder_of(
    server: &Server,
    connection: &mut MySqlConnection,
) -> Result<Option<PathBuf>, sqlx::Error> {
    let facts = staging::facts(connection).await?;
    Ok(folder(server, &facts).ok().filter(|folder| folder.is_dir()))
}

/// Why files cannot be imported, in words; `None` when they can.
pub(in crate::load) async fn why_out_of_reach(
    server: &Server,
    connection: &mut MySqlConnection,
) -> Result<Option<String>, LoadError> {
    match Reach::find(server, connection).await {
        Ok(_) => Ok(None),
        Err(LoadError::Import(error)) => Ok(Some(match *error {
            ImportError::OutOfReach { reason, .. } | ImportError::Unsuitable { reason, .. } => reason,
            ImportError::Denied { account, grants, .. } => {
                format!("{account} may not import files: {grants}")
            }
            other => other.to_string(),
        })),
        Err(error) => Err(error),
    }
}

fn suitable(facts: &Facts, kind: &'static str) -> Result<(), ImportError> {
    let reason = if !facts.file_per_table {
        "innodb_file_per_table is off, so its tables have no files of their own: SET GLOBAL innodb_file_per_table = ON"
            .to_owned()
    } else if facts.page_bytes != PAGE_BYTES {
        format!(
            "innodb_page_size is {} and only pages of {PAGE_BYTES} bytes are written: use a server made with that size",
            facts.page_bytes
        )
    } else if facts.binary_log && facts.replicas > 0 {
        format!(
            "{} replicas follow it and would not get the rows: stop them and copy the table to them afterwards",
            facts.replicas
        )
    } else if facts.group_member {
        "group replication is on, and the other members would not get the rows: take it out of its group (STOP \
         GROUP_REPLICATION), load, and clone the others from it"
            .to_owned()
    } else {
        return Ok(());
    };
    Err(ImportError::Unsuitable { kind, reason })
}

/// Where the files of a server on this machine lie.
fn folder(server: &Server, facts: &Facts) -> Result<PathBuf, String> {
    let schema = files::encoded(&server.address().database);
    match (server.data_directory(), &server.address().socket) {
        (Some(data), _) => Ok(data.join(schema)),
        // Behind a socket of this machine; what it names is tried out.
        (None, Some(_)) => Ok(Path::new(&facts.data_directory).join(schema)),
        (None, None) => Err(match server.kind() {
            "contained" => "its files are in a container".to_owned(),
            _ => "it answers over TCP, so where its files are cannot be known".to_owned(),
        }),
    }
}

/// Whether we may make files there that the server can open.
fn try_out(folder: &Path) -> Result<(), String> {
    let unseen = |source: io::Error| format!("its files in {} cannot be seen ({source})", folder.display());
    let owner = fs::metadata(folder).map_err(unseen)?;
    let probe = folder.join(format!(".idembench-{}", std::process::id()));
    let tried = File::create(&probe).and_then(|_| files::give_to(&probe, &owner));
    // What could not be made needs no removing.
    let _ = fs::remove_file(&probe);
    tried.map_err(|source| {
        let owner = owner.uid();
        format!("no files can be made for it (user {owner}) in {} ({source})", folder.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_would_not_take_files_is_refused_with_the_way_out() {
        let good = Facts {
            file_per_table: true,
            page_bytes: 16384,
            data_directory: "/d/".to_owned(),
            binary_log: true,
            replicas: 0,
            group_member: false,
        };
        assert!(suitable(&good, "owned").is_ok());
        for (facts, expect) in [
            (Facts { file_per_table: false, ..good.clone() }, "SET GLOBAL innodb_file_per_table = ON"),
            (Facts { page_bytes: 8192, ..good.clone() }, "innodb_page_size is 8192"),
            (Facts { replicas: 2, ..good.clone() }, "2 replicas follow it"),
            (Facts { group_member: true, ..good.clone() }, "STOP GROUP_REPLICATION"),
        ] {
            let text = suitable(&facts, "attached").unwrap_err().to_string();
            assert!(text.contains(expect) && text.contains("--method sql"), "{text}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_out_of_reach_and_a_probe_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert!(try_out(&folder.path().join("none")).unwrap_err().contains("cannot be seen"));
        try_out(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
