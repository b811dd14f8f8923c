//! Becoming the writer (stores.md section 2): the lease of the one before has run out, its sessions
//! are ended, the epoch is raised. The lease only saves strife; epoch and expected position make it
//! safe, also against a writer that slept through its lease.

use std::sync::LazyLock;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnection;
use tokio::time::{Instant, sleep};

use super::error::PostgresError;
use super::quorum::Quorum;
use super::session;
use super::url::StoreUrl;
use crate::purpose::Purpose;
use crate::sqlite::{Step, migrator};

/// A writer that has not renewed its lease for so long may be replaced.
pub(super) const LEASE_MS: u64 = 3_000;

/// Time between two renewals.
pub(super) const RENEW_EVERY: Duration = Duration::from_millis(500);

/// A writer that was killed holds its lease a little longer.
const LEASE_PATIENCE: Duration = Duration::from_millis(LEASE_MS + 1_000);

/// Time between two looks at a lease that is held.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The tables of a ledger.
pub(super) const LEDGER: Step = (
    1,
    "ledger",
    include_str!("../../../../migrations/postgres/0001_ledger.sql"),
);

/// What processes that stand by read.
pub(super) const STANDBYS: Step = (
    3,
    "standbys",
    include_str!("../../../../migrations/postgres/0003_standbys.sql"),
);

/// Of a log of its own.
pub(super) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| migrator(&[LEDGER, STANDBYS]));

/// A session that has what it needs to write: a new enough primary with the tables; and a name that
/// no other opening has, which the session bears.
pub(super) async fn prepared(
    tables: &Migrator,
    url: &StoreUrl,
) -> Result<(PgConnection, String), PostgresError> {
    let mut connection = session::connect(&url.as_session("x811 opening")).await?;
    check_server(&mut connection).await?;
    let holder: String = sqlx::query_scalar("SELECT replace(gen_random_uuid()::text, '-', '')")
        .fetch_one(&mut connection)
        .await?;
    sqlx::query("SELECT set_config('application_name', $1, false)")
        .bind(session_name(&holder))
        .execute(&mut connection)
        .await?;
    let has_tables: bool = sqlx::query_scalar("SELECT to_regclass('records') IS NOT NULL")
        .fetch_one(&mut connection)
        .await?;
    let owns: bool = sqlx::query_scalar(
        "SELECT NOT EXISTS (SELECT FROM pg_tables
             WHERE schemaname = current_schema() AND tablename = 'records'
               AND NOT pg_has_role(tableowner, 'USAGE'))",
    )
    .fetch_one(&mut connection)
    .await?;
    // Who only uses the tables may not look at the migrations either: their owner sees to them.
    if owns {
        // Not `run`: a task could not wait for it.
        let migrated = tables.run_direct(None, &mut connection, false).await;
        migrated.map_err(PostgresError::Migration)?;
    }
    if owns && !has_tables {
        tracing::info!("the tables of the ledger were made in the database");
    }
    Ok((connection, holder))
}

/// Refuses what loses acknowledged commits, or takes none.
async fn check_server(connection: &mut PgConnection) -> Result<(), PostgresError> {
    let (version, found, is_standby, synchronous): (i32, String, bool, String) = sqlx::query_as(
        "SELECT current_setting('server_version_num')::int, current_setting('server_version'),
                pg_is_in_recovery(), current_setting('synchronous_commit')",
    )
    .fetch_one(&mut *connection)
    .await?;
    if !is_new_enough(version) {
        return Err(PostgresError::Version { found });
    }
    if is_standby {
        return Err(PostgresError::Standby);
    }
    session::check_writable(connection).await?;
    check_synchronous(&synchronous)
}

/// Refuses a `synchronous_commit` by which a commit does not wait for disks.
pub(super) fn check_synchronous(found: &str) -> Result<(), PostgresError> {
    if ["on", "remote_apply"].contains(&found) {
        return Ok(());
    }
    Err(PostgresError::Asynchronous {
        found: found.to_owned(),
    })
}

fn is_new_enough(version: i32) -> bool {
    let (major, minor) = (version / 10_000, version % 10_000);
    match major {
        15 => minor >= 13,
        16 => minor >= 9,
        17 => minor >= 5,
        _ => major > 17,
    }
}

/// Raises the epoch for `holder`, once nobody holds the lease; waits for that as `wait` says.
/// Everything that the writer before had under way has ended when this returns.
pub(super) async fn take_over(
    connection: &mut PgConnection,
    holder: &str,
    quorum: Option<&Quorum>,
    purpose: Purpose,
    wait: Wait,
) -> Result<u64, PostgresError> {
    if let Some(quorum) = quorum {
        quorum.check_settings(&mut *connection).await?;
    }
    let (begun, mut told) = (Instant::now(), false);
    loop {
        match seize(connection, holder, purpose, LEASE_MS).await? {
            Seized::Epoch(epoch) => return Ok(epoch),
            Seized::Held { age_ms } if begun.elapsed() >= LEASE_PATIENCE => {
                if wait == Wait::ForTheLease {
                    return Err(PostgresError::Held { age_ms });
                }
                if !std::mem::replace(&mut told, true) {
                    tracing::info!("another process writes to this ledger: waiting to take over");
                }
                sleep(LOOK_EVERY).await;
            }
            Seized::Held { .. } => sleep(LOOK_EVERY).await,
        }
    }
}

/// How long another writer is waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wait {
    /// Until the lease of one that was killed has run out; a living one is an error.
    #[default]
    ForTheLease,
    /// For as long as it lives: this process is to take over.
    ForTheWriter,
}

/// What became of an attempt to take over.
#[derive(Debug)]
pub(super) enum Seized {
    /// Done: this is the new epoch.
    Epoch(u64),
    /// Somebody holds the lease.
    Held { age_ms: u64 },
}

/// Takes over from a writer whose lease is `lease_ms` old.
pub(super) async fn seize(
    connection: &mut PgConnection,
    holder: &str,
    purpose: Purpose,
    lease_ms: u64,
) -> Result<Seized, PostgresError> {
    let mut turn = connection.begin().await?;
    // Of several candidates one after the other. Of the schema, as other ledgers have theirs.
    sqlx::query("SELECT pg_advisory_xact_lock(8117, hashtext(current_schema()))")
        .execute(&mut *turn)
        .await?;
    let (age_ms, before): (i64, Option<String>) = sqlx::query_as(
        "SELECT (extract(epoch FROM clock_timestamp() - renewed_at) * 1000)::bigint,
                holder FROM lease",
    )
    .fetch_one(&mut *turn)
    .await?;
    let age_ms = age_ms.max(0).cast_unsigned();
    if age_ms < lease_ms {
        return Ok(Seized::Held { age_ms });
    }
    // A dead client's session that waits for standbys would hold the writer's row.
    if let Some(before) = before {
        end_sessions(&mut turn, &before).await?;
    }
    let (epoch, is_empty): (i64, bool) =
        sqlx::query_as("SELECT epoch, NOT EXISTS (SELECT FROM records) FROM writer FOR UPDATE")
            .fetch_one(&mut *turn)
            .await?;
    let epoch = purpose.next_epoch(epoch, is_empty)?;
    sqlx::query("UPDATE writer SET epoch = $1, holder = $2")
        .bind(epoch)
        .bind(holder)
        .execute(&mut *turn)
        .await?;
    sqlx::query("UPDATE lease SET holder = $1, renewed_at = clock_timestamp()")
        .bind(holder)
        .execute(&mut *turn)
        .await?;
    turn.commit().await?;
    Ok(Seized::Epoch(epoch.cast_unsigned()))
}

/// Ends what sessions of `holder` have under way, and waits until it has ended: only then is the
/// tail of the log what it will be. Their idle sessions hold nothing; the epoch keeps them out.
pub(super) async fn end_sessions(
    connection: &mut PgConnection,
    holder: &str,
) -> Result<(), PostgresError> {
    let begun = Instant::now();
    loop {
        // A transaction would see the sessions of its first look for ever.
        sqlx::query("SELECT pg_stat_clear_snapshot()")
            .execute(&mut *connection)
            .await?;
        let left: i64 = sqlx::query_scalar(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE application_name = $1 AND pid <> pg_backend_pid() AND state <> 'idle'",
        )
        .bind(session_name(holder))
        .fetch_one(&mut *connection)
        .await?;
        if left == 0 {
            return Ok(());
        }
        if begun.elapsed() > Duration::from_secs(5) {
            let stuck = "a session of the writer before does not end";
            return Err(PostgresError::Other(sqlx::Error::Protocol(
                stuck.to_owned(),
            )));
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// What the writing session of `holder` calls itself.
pub(super) fn session_name(holder: &str) -> String {
    format!("x811 {holder}")
}

#[cfg(test)]
mod tests {
    use super::is_new_enough;

    #[test]
    fn releases_that_lose_commits_are_refused() {
        for (version, is_fit) in [
            (140_020, false),
            (150_012, false),
            (150_013, true),
            (160_008, false),
            (160_009, true),
            (170_004, false),
            (170_005, true),
            (180_000, true),
        ] {
            assert_eq!(is_new_enough(version), is_fit, "{version}");
        }
    }
}
