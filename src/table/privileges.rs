//! What an account must be allowed to before a server takes files from it.

use sqlx::mysql::MySqlDatabaseError;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection};

use super::session;
use crate::spec::ddl::quote_name;

/// Privileges that an account lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Missing {
    /// `'user'@'host'`, as GRANT wants it.
    pub account: String,
    /// Privileges on everything.
    pub global: Vec<&'static str>,
    /// Privileges on the schema.
    pub schema: Vec<&'static str>,
}

/// Not a table of anybody's: privileges are looked at before tables are.
const NO_TABLE: &str = "idembench_import_no_such_table";
/// The server's numbers for privileges that are missing: on the schema, on the table, on everything.
const DENIED: [u16; 3] = [1044, 1142, 1227];
/// The server's numbers for a table that is not there.
const NO_SUCH_TABLE: [u16; 2] = [1051, 1146];

/// Finds out by trying: grants come by roles and by patterns, and only the server can add them up. What is
/// tried changes nothing but the session's own `sql_log_bin`.
pub async fn missing_for_import(
    connection: &mut MySqlConnection,
    no_binary_log: bool,
) -> Result<Missing, sqlx::Error> {
    let account: String =
        sqlx::query_scalar("SELECT CAST(CURRENT_USER() AS CHAR)").fetch_one(&mut *connection).await?;
    let mut missing = Missing { account: quote_account(&account), ..Missing::default() };
    let name = quote_name(NO_TABLE);
    if is_denied(connection, format!("FLUSH TABLES {name} FOR EXPORT"), &[1227]).await? {
        missing.global.push("FLUSH_TABLES");
    }
    if no_binary_log && is_denied(connection, session::NO_BINARY_LOG.to_owned(), &DENIED).await? {
        missing.global.push("SESSION_VARIABLES_ADMIN");
    }
    for (statement, privileges) in [
        (format!("LOCK TABLES {name} WRITE"), "SELECT, LOCK TABLES"),
        (format!("ALTER TABLE {name} DISCARD TABLESPACE"), "ALTER"),
        (format!("DROP TABLE {name}"), "DROP"),
    ] {
        if is_denied(connection, statement, &DENIED).await? {
            missing.schema.push(privileges);
        }
    }
    Ok(missing)
}

impl Missing {
    /// The statements that give the account what it lacks; `None` when it lacks nothing.
    pub fn grants(&self, schema: &str) -> Option<String> {
        let grant = |privileges: &[&str], on: &str| {
            let privileges = privileges.join(", ");
            (!privileges.is_empty()).then(|| format!("GRANT {privileges} ON {on} TO {}", self.account))
        };
        let on_schema = format!("{}.*", quote_name(schema));
        let grants = [grant(&self.global, "*.*"), grant(&self.schema, &on_schema)];
        let grants: Vec<String> = grants.into_iter().flatten().collect();
        (!grants.is_empty()).then(|| grants.join("; "))
    }
}

/// Whether the server refuses for one of these reasons; that there is no such table is no refusal.
async fn is_denied(
    connection: &mut MySqlConnection,
    statement: String,
    reasons: &[u16],
) -> Result<bool, sqlx::Error> {
    let Err(error) = connection.execute(AssertSqlSafe(statement)).await else { return Ok(false) };
    let number = error
        .as_database_error()
        .and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>())
        .map(MySqlDatabaseError::number);
    match number {
        Some(number) if reasons.contains(&number) => Ok(true),
        Some(number) if NO_SUCH_TABLE.contains(&number) || DENIED.contains(&number) => Ok(false),
        _ => Err(error),
    }
}

/// `user@host` as GRANT wants it: the last `@` parts the two.
fn quote_account(account: &str) -> String {
    let (user, host) = account.rsplit_once('@').unwrap_or((account, "%"));
    format!("'{}'@'{}'", user.replace('\'', "''"), host.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_account_lacks_is_said_as_grants() {
        let check = |account: &str,
                     global: &[&'static str],
                     schema: &[&'static str],
                     expect: Option<&str>| {
            let missing =
                Missing { account: quote_account(account), global: global.to_vec(), schema: schema.to_vec() };
            assert_eq!(missing.grants("s").as_deref(), expect);
        };
        check("u@h", &[], &[], None);
        check("a@b@%", &[], &["ALTER", "DROP"], Some("GRANT ALTER, DROP ON `s`.* TO 'a@b'@'%'"));
        check(
            "u@h",
            &["FLUSH_TABLES", "SESSION_VARIABLES_ADMIN"],
            &["ALTER"],
            Some(
                "GRANT FLUSH_TABLES, SESSION_VARIABLES_ADMIN ON *.* TO 'u'@'h'; GRANT ALTER ON `s`.* TO 'u'@'h'",
            ),
        );
    }
}
