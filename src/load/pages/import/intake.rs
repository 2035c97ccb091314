//! Files taken by the running server, several at a time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sqlx::{Executor, MySqlConnection};
use tokio::task::JoinSet;

use super::reach::Reach;
use super::{ImportError, session_statements};
use crate::load::error::sql;
use crate::load::pages::build::{self, Job};
use crate::load::{LoadError, Progress};
use crate::server::{Server, new_file};
use crate::table::staging;
use crate::units::Rows;

/// How often a stop is heard while the server works.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);

/// One table and its new file.
#[derive(Debug)]
pub(super) struct Intake {
    stage: String,
    path: PathBuf,
    rows: u64,
}

/// Imports all; the first failure keeps the others from beginning.
pub(super) async fn import_all(
    server: &Server,
    reach: &Reach,
    table: &str,
    progress: &Arc<Progress>,
    mut waiting: Vec<Intake>,
) -> Result<(), LoadError> {
    let at_a_time = build::at_a_time(waiting.len());
    let mut running = JoinSet::new();
    let mut first_error = None;
    waiting.reverse();
    loop {
        while first_error.is_none()
            && running.len() < at_a_time
            && let Some(intake) = waiting.pop()
        {
            let worker = Worker {
                server: server.in_schema(&server.address().database),
                session: session_statements(server, reach),
                table: table.to_owned(),
                progress: Arc::clone(progress),
            };
            running.spawn(async move { worker.import(intake).await });
        }
        let error = match running.join_next().await {
            None => return first_error.map_or(Ok(()), Err),
            Some(Ok(Ok(()))) => continue,
            Some(Ok(Err(error))) => error,
            Some(Err(error)) => LoadError::TaskEnded { table: table.to_owned(), reason: error.to_string() },
        };
        first_error.get_or_insert(error);
    }
}

impl Intake {
    /// The stage's name is its file's.
    pub(super) fn of(job: &Job) -> Intake {
        let stage = job.path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
        Intake { stage, path: job.path.clone(), rows: job.rows.end - job.rows.start }
    }

    /// Keeps what the server has written about the empty table: with it the import compares definitions and
    /// need not look for roots.
    pub(super) fn keep_description(&self) -> Result<(), LoadError> {
        let (from, to) = (self.path.with_extension("cfg"), self.path.with_extension("cfg.new"));
        fs::copy(&from, &to).map_err(failed("keep", &from))?;
        let like = fs::metadata(&from).map_err(failed("read", &from))?;
        Ok(super::super::files::give_to(&to, &like).map_err(failed("give the server", &to))?)
    }

    fn put_in_place(&self) -> Result<(), LoadError> {
        let put = |new: &Path, place: &Path| fs::rename(new, place).map_err(failed("put into place", new));
        put(&self.path.with_extension("cfg.new"), &self.path.with_extension("cfg"))?;
        Ok(put(&new_file(&self.path), &self.path)?)
    }
}

fn failed(act: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> ImportError {
    let path = path.to_owned();
    move |source| ImportError::File { act, path, source }
}

/// Imports one file after another over a connection of its own each.
struct Worker {
    server: Server,
    session: Vec<&'static str>,
    table: String,
    progress: Arc<Progress>,
}

impl Worker {
    async fn import(self, intake: Intake) -> Result<(), LoadError> {
        let stage = intake.stage.as_str();
        let mut connection = self.server.connect().await?;
        for statement in &self.session {
            connection.execute(*statement).await.map_err(sql("set up a session to import", stage))?;
        }
        if self.progress.is_stopped() {
            return Err(self.stopped());
        }
        staging::discard(&mut connection, stage).await.map_err(sql("discard the empty file of", stage))?;
        self.progress.reached("discarded");
        intake.put_in_place()?;
        self.progress.reached("placed");
        let warnings = self.watched(&mut connection, stage).await?;
        if !warnings.is_empty() {
            let (stage, warnings) = (stage.to_owned(), warnings.join("; "));
            return Err(ImportError::Warned { stage, warnings }.into());
        }
        let description = intake.path.with_extension("cfg");
        fs::remove_file(&description).map_err(failed("remove", &description))?;
        self.progress.add_rows(intake.rows);
        self.progress.reached("imported");
        Ok(())
    }

    /// An import of a large file takes minutes: a stop need not wait for its end. Gives back the server's
    /// warnings.
    async fn watched(&self, connection: &mut MySqlConnection, stage: &str) -> Result<Vec<String>, LoadError> {
        let session = staging::session_number(connection).await.map_err(sql("import the file of", stage))?;
        let mut looks = tokio::time::interval(BETWEEN_LOOKS);
        looks.tick().await;
        let importing = staging::import(connection, stage);
        tokio::pin!(importing);
        let mut stopping = false;
        loop {
            tokio::select! {
                imported = &mut importing => return match imported {
                    Err(_) if stopping => Err(self.stopped()),
                    imported => imported.map_err(sql("import the file of", stage)),
                },
                _ = looks.tick() => {
                    self.progress.reached("importing");
                    if self.progress.is_stopped() && !stopping {
                        stopping = true;
                        let mut other = self.server.connect().await?;
                        staging::stop_statement(&mut other, session).await.map_err(sql("stop the import of", stage))?;
                    }
                }
            }
        }
    }

    fn stopped(&self) -> LoadError {
        LoadError::Stopped { table: self.table.clone(), rows: Rows(0) }
    }
}
