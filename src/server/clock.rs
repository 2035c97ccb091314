//! What time it is by the server, and in which zone its own clock runs.

use sqlx::{Executor, MySqlConnection};

/// The server's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerClock {
    /// Seconds since 1970, UTC.
    pub now_s: i64,
    /// How far `@@GLOBAL.time_zone` is east of UTC at this moment.
    pub minutes_east: i32,
}

/// Reads the clock. The session's zone is the driver's own (UTC); the server's is looked at and left again.
pub async fn read(connection: &mut MySqlConnection) -> Result<ServerClock, sqlx::Error> {
    connection.execute("SET SESSION time_zone = @@GLOBAL.time_zone").await?;
    let (now_s, minutes_east): (i64, i64) = sqlx::query_as(
        "SELECT CAST(UNIX_TIMESTAMP() AS SIGNED), CAST(TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), NOW()) AS SIGNED)",
    )
    .fetch_one(&mut *connection)
    .await?;
    connection.execute("SET SESSION time_zone = '+00:00'").await?;
    Ok(ServerClock { now_s, minutes_east: minutes_east as i32 })
}
