//! Who keeps others from changing a table: holders of its metadata lock, from the Performance Schema.
//!
//! Every transaction that has touched a table, if only by a SELECT, holds such a lock until it ends. DDL waits
//! for it, and every later statement on the table queues up behind the DDL. `metadata_locks` is on by default
//! since 8.0 and reading it stops nobody (unlike `data_locks`).

use std::fmt;

use sqlx::MySqlConnection;

/// A session that holds a table's metadata lock.
#[derive(Debug, Clone, PartialEq)]
pub struct Holder {
    /// Its connection id: what KILL takes.
    pub connection: u64,
    /// `app@10.0.0.7`.
    pub account: String,
    /// `SHARED_READ`, …; several where it has several.
    pub locks: String,
    /// `Sleep`, `Query`, …
    pub command: String,
    /// Seconds in this command.
    pub command_s: f64,
    /// Seconds since its open transaction began, if one is open.
    pub transaction_s: Option<f64>,
    /// Its current or last statement, shortened.
    pub statement: Option<String>,
}

impl Holder {
    /// How long it has been at it, as far as can be told: the lock itself has no age.
    pub fn age_s(&self) -> f64 {
        self.transaction_s.unwrap_or(0.0).max(self.command_s)
    }
}

impl fmt::Display for Holder {
    /// `connection 12 (app@localhost) holds SHARED_READ, in a transaction for 806 s, now Sleep; its last
    /// statement: SELECT …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "connection {} ({}) holds {}", self.connection, self.account, self.locks)?;
        match self.transaction_s {
            Some(seconds) => write!(f, ", in a transaction for {seconds:.0} s, now {}", self.command)?,
            None => write!(f, ", {} for {:.0} s", self.command, self.command_s)?,
        }
        match &self.statement {
            Some(statement) => write!(f, "; its last statement: {statement}"),
            None => Ok(()),
        }
    }
}

/// Characters of a statement that are shown.
const STATEMENT_MAX: usize = 160;

type HolderRow = (u64, String, String, String, f64, Option<f64>, Option<String>);

/// The other sessions that hold a metadata lock on a table of the connection's schema, oldest first; empty
/// where there are none. `None` where the server does not say: no privilege, or the instruments are off.
pub async fn holders(
    connection: &mut MySqlConnection,
    table: &str,
) -> Result<Option<Vec<Holder>>, sqlx::Error> {
    let read: Result<Vec<HolderRow>, _> = sqlx::query_as(
        "SELECT CAST(t.PROCESSLIST_ID AS UNSIGNED),
                CONCAT(COALESCE(t.PROCESSLIST_USER, '?'), '@', COALESCE(t.PROCESSLIST_HOST, '?')),
                CAST(GROUP_CONCAT(DISTINCT m.LOCK_TYPE ORDER BY m.LOCK_TYPE SEPARATOR ', ') AS CHAR),
                CAST(COALESCE(MAX(t.PROCESSLIST_COMMAND), '?') AS CHAR),
                CAST(COALESCE(MAX(t.PROCESSLIST_TIME), 0) AS DOUBLE),
                CAST(MAX(IF(x.STATE = 'ACTIVE', x.TIMER_WAIT, NULL)) / 1e12 AS DOUBLE),
                CAST(MAX(COALESCE(t.PROCESSLIST_INFO, s.SQL_TEXT)) AS CHAR)
         FROM performance_schema.metadata_locks m
         JOIN performance_schema.threads t ON t.THREAD_ID = m.OWNER_THREAD_ID
         LEFT JOIN performance_schema.events_transactions_current x ON x.THREAD_ID = t.THREAD_ID
         LEFT JOIN performance_schema.events_statements_current s
           ON s.THREAD_ID = t.THREAD_ID AND s.NESTING_EVENT_LEVEL = 0
         WHERE m.OBJECT_TYPE = 'TABLE' AND m.OBJECT_SCHEMA = DATABASE() AND m.OBJECT_NAME = ?
           AND m.LOCK_STATUS = 'GRANTED' AND t.PROCESSLIST_ID <> CONNECTION_ID()
         GROUP BY t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_HOST",
    )
    .bind(table)
    .fetch_all(connection)
    .await;
    let rows = match read {
        Err(sqlx::Error::Database(_)) => return Ok(None),
        other => other?,
    };
    let mut holders: Vec<Holder> = rows.into_iter().map(holder).collect();
    holders.sort_by(|a, b| b.age_s().total_cmp(&a.age_s()));
    Ok(Some(holders))
}

fn holder((connection, account, locks, command, command_s, transaction_s, statement): HolderRow) -> Holder {
    let one_line = |text: String| {
        let text: Vec<&str> = text.split_whitespace().collect();
        let mut text = text.join(" ");
        if let Some((end, _)) = text.char_indices().nth(STATEMENT_MAX) {
            text.truncate(end);
            text.push('…');
        }
        text
    };
    Holder {
        connection,
        account,
        locks,
        command,
        command_s,
        transaction_s,
        statement: statement.map(one_line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocker_is_named_with_its_age_and_its_statement() {
        let row = |transaction_s| -> HolderRow {
            let statement = Some(format!("SELECT  *\n FROM t{}", " ".repeat(300)));
            (12, "app@h".into(), "SHARED_READ".into(), "Sleep".into(), 3.0, transaction_s, statement)
        };
        let held = holder(row(Some(806.2)));
        assert_eq!(
            held.to_string(),
            "connection 12 (app@h) holds SHARED_READ, in a transaction for 806 s, now Sleep; its last \
             statement: SELECT * FROM t"
        );
        assert_eq!((held.age_s(), holder(row(None)).age_s()), (806.2, 3.0));
    }
}
