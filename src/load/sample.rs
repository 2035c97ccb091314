//! The age of a real table: a file that is named, or the files of a table on a server whose data directory
//! can be read.

use std::path::{Path, PathBuf};

use super::LoadError;
use super::error::sql;
use super::pages::files::encoded as encoded_name;
use crate::pages::sample::{Sample, SampleError, sample};
use crate::server::Server;
use crate::table::inspect;

/// Why a table's age is not known.
#[derive(Debug, thiserror::Error)]
pub enum AgeError {
    /// The server's files are not here.
    #[error(
        "take the age of {table}: the server is {kind} and its files are not here — give the path of a copy of the \
         table's .ibd file"
    )]
    NoFiles {
        /// The table.
        table: String,
        /// What the server is.
        kind: &'static str,
    },
    /// The table has no file of its own.
    #[error(
        "take the age of {table}: no file of its name is in {folder} — only tables with files of their own can be \
         looked at"
    )]
    NoFile {
        /// The table.
        table: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// The files tell nothing.
    #[error(transparent)]
    Sample(#[from] SampleError),
}

/// Looks at one file.
///
/// # Errors
/// [`AgeError`]
pub fn sample_file(path: &Path) -> Result<Sample, AgeError> {
    Ok(sample(&path.display().to_string(), &[path.to_owned()])?)
}

/// Looks at a table's files, flushed for the moment; `table` is `schema.table`, or a table in our schema.
///
/// # Errors
/// [`LoadError`]
pub async fn sample_table(server: &Server, table: &str) -> Result<Sample, LoadError> {
    let database = server.address().database.clone();
    let (schema, name) = table.split_once('.').unwrap_or((&database, table));
    let Some(data) = server.data_directory() else {
        return Err(AgeError::NoFiles { table: table.to_owned(), kind: server.kind() }.into());
    };
    let folder = data.join(encoded_name(schema));
    let mut connection = server.connect().await?;
    inspect::flush_for_export(&mut connection, schema, name).await.map_err(sql("flush", table))?;
    let sampled = sample_files(table, folder, encoded_name(name)).await;
    // Should this fail, the lock goes with the connection.
    let _ = inspect::unlock_tables(&mut connection).await;
    Ok(sampled?)
}

async fn sample_files(table: &str, folder: PathBuf, name: String) -> Result<Sample, AgeError> {
    let (table, place) = (table.to_owned(), folder.clone());
    let files = files_of(&folder, &name);
    if files.is_empty() {
        return Err(AgeError::NoFile { table, folder: place });
    }
    let sampled = tokio::task::spawn_blocking({
        let table = table.clone();
        move || sample(&table, &files)
    });
    match sampled.await {
        Ok(sampled) => Ok(sampled?),
        // The runtime is going down: nobody waits for the answer.
        Err(_) => Err(AgeError::NoFile { table, folder: place }),
    }
}

/// The table's file, or its partitions' files, in the order of their names.
fn files_of(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let (whole, partition) = (format!("{name}.ibd").to_lowercase(), format!("{name}#p#").to_lowercase());
    let belongs = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        file == whole || file.starts_with(&partition) && file.ends_with(".ibd")
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(belongs).collect();
    files.sort();
    files
}
