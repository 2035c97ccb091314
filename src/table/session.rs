//! What the sessions of a load set and ask.

/// Whether LOAD DATA LOCAL is let in.
pub const LOCAL_INFILE: &str = "SELECT @@GLOBAL.local_infile";
/// The longest statement that the server takes.
pub const MAX_ALLOWED_PACKET: &str = "SELECT @@SESSION.max_allowed_packet";

/// Changes a global setting; both parts come from this program or its own ledger.
pub fn set_global(name: &str, value: &str) -> String {
    format!("SET GLOBAL {name} = {value}")
}

/// What a loading session sets, whatever the server's defaults are:
/// - strict, and CHAR without padding: a value that does not fit is an error and none is read back longer;
/// - UTC, so that TIMESTAMP and partition bounds mean the same everywhere;
/// - no checks of what cannot be wrong: keys are unique by construction, and foreign keys are not loaded;
/// - READ COMMITTED, which takes no gap locks.
pub const LOAD: &str = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO', \
     time_zone = '+00:00', unique_checks = 0, foreign_key_checks = 0, \
     transaction_isolation = 'READ-COMMITTED'";

/// Keeps a load out of the binary log: only on servers of our own, which have no replicas.
pub const NO_BINARY_LOG: &str = "SET SESSION sql_log_bin = 0";

/// Begins, ends, takes back.
pub const BEGIN: &str = "START TRANSACTION";
/// Makes a chunk's rows and its checkpoint last.
pub const COMMIT: &str = "COMMIT";
/// Takes a chunk back.
pub const ROLLBACK: &str = "ROLLBACK";
/// What the server complained of in the last statement.
pub const WARNINGS: &str = "SHOW WARNINGS LIMIT 5";
