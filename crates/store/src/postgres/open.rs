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
use super::moment::Moment;
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

/// How far a host's clock may be off the database's before its process leaves a free lease to others.
const OFF_MS: u64 = 5_000;

/// How long it leaves it to them. A take-over by a process alone stays within 5 s.
const YIELDS: Duration = Duration::from_millis(1_000);

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
        migrated.map_err(PostgresError::of_migrating)?;
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

/// Raises the epoch for `holder`, once nobody holds the lease; waits for that as `wait` says. Where this
/// host's clock is wrong, others that wait come first (stores.md section 2).
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
    let mut free_since = None;
    let mut ahead = None;
    loop {
        let is_off = is_off(connection).await?;
        let free_for = free_since.map(|since: Instant| since.elapsed());
        let lease_ms = match is_off && yields(free_for) {
            true => u64::MAX,
            false => LEASE_MS,
        };
        let patience = match is_off {
            true => LEASE_PATIENCE + YIELDS,
            false => LEASE_PATIENCE,
        };
        let is_stale = ahead.is_some_and(|(most_ms, now_ms)| most_ms - now_ms >= LEASE_MS);
        let age_ms = match seize(connection, holder, purpose, (lease_ms, is_stale)).await? {
            Seized::Epoch(epoch) => {
                if is_off {
                    tracing::warn!("this host's clock is more than 5 s off the database's: set it");
                }
                return Ok(epoch);
            }
            Seized::Held { age_ms, ahead_ms } => {
                ahead = ahead_of(ahead, ahead_ms);
                age_ms
            }
        };
        if age_ms >= LEASE_MS {
            free_since.get_or_insert_with(Instant::now);
        } else {
            free_since = None;
        }
        if begun.elapsed() >= patience {
            if wait == Wait::ForTheLease {
                return Err(PostgresError::Held { age_ms });
            }
            if !std::mem::replace(&mut told, true) {
                tracing::info!("another process writes to this ledger: waiting to take over");
            }
        }
        sleep(LOOK_EVERY).await;
    }
}

/// The most that a lease was seen to lie ahead of the database's clock since it was renewed, and what it
/// does now; `None` where it does not. A server that was promoted has a clock of its own.
fn ahead_of(before: Option<(u64, u64)>, ahead_ms: u64) -> Option<(u64, u64)> {
    let most_ms = match before {
        Some((most_ms, last_ms)) if ahead_ms <= last_ms => most_ms,
        Some(_) | None => ahead_ms,
    };
    (ahead_ms > 0).then_some((most_ms, ahead_ms))
}

/// Whether a process with a wrong clock still leaves a lease to others that was seen free for so long.
fn yields(free_for: Option<Duration>) -> bool {
    free_for.is_none_or(|free_for| free_for < YIELDS)
}

/// Whether this host's wall clock is too far off the database's to be the first to take over.
async fn is_off(connection: &mut PgConnection) -> Result<bool, PostgresError> {
    let asked = Moment::now();
    let now_ms: i64 =
        sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
            .fetch_one(connection)
            .await?;
    let own_ms = asked.wall_ms().midpoint(Moment::now().wall_ms());
    Ok(own_ms.abs_diff(now_ms.max(0).cast_unsigned()) > OFF_MS)
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
    Held {
        /// Time since it was renewed.
        age_ms: u64,
        /// By how much that moment lies ahead of the database's clock.
        ahead_ms: u64,
    },
}

/// Takes over from a writer whose lease is `lease_ms` old, or lies ahead of the database's clock where
/// that `is_stale`.
pub(super) async fn seize(
    connection: &mut PgConnection,
    holder: &str,
    purpose: Purpose,
    (lease_ms, is_stale): (u64, bool),
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
    let ahead_ms = age_ms.min(0).unsigned_abs();
    let age_ms = age_ms.max(0).cast_unsigned();
    if age_ms < lease_ms && !(is_stale && ahead_ms > 0) {
        return Ok(Seized::Held { age_ms, ahead_ms });
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
    use super::{YIELDS, ahead_of, is_new_enough, yields};

    #[test]
    fn stores_2_a_lease_that_lies_ahead_is_stale_once_nobody_renews_it() {
        let seen = |all: &[u64]| all.iter().fold(None, |before, now| ahead_of(before, *now));
        assert_eq!(seen(&[20_000, 19_800, 16_000]), Some((20_000, 16_000)));
        assert_eq!(seen(&[20_000, 16_000, 19_900]), Some((19_900, 19_900)));
        assert_eq!(seen(&[20_000, 0]), None);
    }

    #[test]
    fn stores_2_a_process_with_a_wrong_clock_leaves_a_free_lease_to_others_for_a_while() {
        assert!(yields(None));
        assert!(yields(Some(YIELDS / 2)));
        assert!(!yields(Some(YIELDS)));
    }

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
