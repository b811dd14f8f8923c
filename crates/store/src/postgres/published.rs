//! How far the log is known to lie wherever it must (stores.md section 3), for processes that stand by
//! and for the operator; and who follows it.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::Row as _;
use sqlx::postgres::PgRow;
use tokio::sync::watch;

use super::assured::Assured;
use super::error::PostgresError;
use super::moment::Moment;
use super::open::LEASE_MS;
use super::renewal::Gate;

/// A follower that was not seen for so long is not told of any more.
const FORGOTTEN: &str = "1 hour";

/// The last published head, as one look at the database found it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// Records that are known to lie wherever they must.
    pub size: u64,
    /// When the writer said so, in milliseconds since the Unix epoch by the database's clock.
    pub at_ms: u64,
    /// The database's clock at the look.
    pub now_ms: u64,
    /// The writer's epoch.
    pub epoch: u64,
    /// Who holds the lease; `None` before anybody ever did.
    pub holder: Option<String>,
    /// The last checkpoint that was signed and stored.
    pub checkpoint: Option<String>,
}

impl Published {
    /// How old it was at the look, in milliseconds.
    #[must_use]
    pub fn age_ms(&self) -> u64 {
        self.now_ms.saturating_sub(self.at_ms)
    }
}

/// A process that follows the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follower {
    /// What it calls itself: where it listens.
    pub name: String,
    /// Records that it shows.
    pub size: u64,
    /// How long ago it said so, in milliseconds.
    pub age_ms: u64,
}

/// A standby of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseStandby {
    /// The `application_name` of the standby's connection.
    pub name: String,
    /// `streaming` when all is well; `None` where the role may not see it (`pg_read_all_stats`).
    pub state: Option<String>,
    /// Bytes of the database's log that it has not flushed yet.
    pub behind_bytes: Option<u64>,
}

/// Looks at the published head.
pub(super) async fn look(pool: &PgPool) -> Result<Published, PostgresError> {
    let row = sqlx::query(
        "SELECT lease.published, (extract(epoch FROM lease.renewed_at) * 1000)::bigint,
                (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                writer.epoch, lease.holder, (SELECT note FROM checkpoint)
         FROM lease, writer",
    )
    .fetch_one(pool)
    .await?;
    let number = |place| -> Result<u64, PostgresError> {
        Ok(PgRow::try_get::<i64, _>(&row, place)?
            .max(0)
            .cast_unsigned())
    };
    Ok(Published {
        size: number(0)?,
        at_ms: number(1)?,
        now_ms: number(2)?,
        epoch: number(3)?,
        holder: row.try_get(4)?,
        checkpoint: row.try_get(5)?,
    })
}

/// Notes how far the follower `name` has come. Nothing waits for standbys for that.
pub(super) async fn note_follower(
    pool: &PgPool,
    name: &str,
    size: u64,
) -> Result<(), PostgresError> {
    let mut turn = pool.begin().await?;
    sqlx::query("SET LOCAL synchronous_commit = off")
        .execute(&mut *turn)
        .await?;
    sqlx::query(
        "INSERT INTO followers (name, size, seen_at) VALUES ($1, $2, clock_timestamp())
         ON CONFLICT (name) DO UPDATE SET size = excluded.size, seen_at = excluded.seen_at",
    )
    .bind(name)
    .bind(size.cast_signed())
    .execute(&mut *turn)
    .await?;
    sqlx::query("DELETE FROM followers WHERE seen_at < clock_timestamp() - $1::interval")
        .bind(FORGOTTEN)
        .execute(&mut *turn)
        .await?;
    Ok(turn.commit().await?)
}

/// Who follows, but for `except`.
pub(super) async fn followers(pool: &PgPool, except: &str) -> Result<Vec<Follower>, PostgresError> {
    let rows: Vec<(String, i64, i64)> = sqlx::query_as(
        "SELECT name, size, (extract(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint
         FROM followers WHERE name <> $1 ORDER BY name",
    )
    .bind(except)
    .fetch_all(pool)
    .await?;
    let followers = rows.into_iter().map(|(name, size, age_ms)| Follower {
        name,
        size: size.max(0).cast_unsigned(),
        age_ms: age_ms.max(0).cast_unsigned(),
    });
    Ok(followers.collect())
}

/// The standbys of this server; none where it is one itself.
pub(super) async fn standbys(pool: &PgPool) -> Result<Vec<DatabaseStandby>, PostgresError> {
    let rows: Vec<(String, Option<String>, Option<i64>)> = sqlx::query_as(
        "SELECT coalesce(application_name, ''), state,
                CASE WHEN pg_is_in_recovery() THEN NULL
                     ELSE pg_wal_lsn_diff(pg_current_wal_insert_lsn(), flush_lsn)::bigint END
         FROM pg_stat_replication ORDER BY 1",
    )
    .fetch_all(pool)
    .await?;
    let standbys = rows
        .into_iter()
        .map(|(name, state, behind)| DatabaseStandby {
            name,
            state,
            behind_bytes: behind.map(|bytes| bytes.max(0).cast_unsigned()),
        });
    Ok(standbys.collect())
}

/// Bytes of the ledger's tables and indexes, and where the database's own log ends.
pub(super) async fn bytes(pool: &PgPool) -> Result<(u64, u64), PostgresError> {
    let (tables, log): (i64, i64) = sqlx::query_as(
        "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint,
                (pg_current_wal_insert_lsn() - '0/0')::bigint
         FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
    )
    .fetch_one(pool)
    .await?;
    Ok((tables.cast_unsigned(), log.cast_unsigned()))
}

/// The lease of the process that writes, as that process knows it.
#[derive(Debug, Clone)]
pub struct Lease {
    pub(super) renewed: watch::Receiver<Renewed>,
    /// Absent where no standby has to confirm.
    pub(super) assured: Option<watch::Receiver<Assured>>,
    pub(super) gate: Arc<Gate>,
}

/// When a lease was renewed last, and whether another process has it by now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Renewed {
    pub(super) at: Moment,
    pub(super) is_lost: bool,
}

impl Lease {
    /// Whether nobody else can have taken over: it was renewed within the time it lasts.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        let renewed = *self.renewed.borrow();
        !renewed.is_lost && renewed.at.elapsed() < Duration::from_millis(LEASE_MS)
    }

    /// Whether the standbys that must have what is acknowledged confirmed something within the last three
    /// seconds, and the database waits for them; true where there are none (stores.md section 3).
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        let assured = self.assured.as_ref();
        assured.is_none_or(|assured| assured.borrow().is_sure())
    }

    /// Ready once the process has to compare its log with those of its peers: its lease ran out, or the
    /// standbys that must confirm did not for as long. Until [`Lease::go_on`] nothing is acknowledged.
    /// Where nobody has called this, the process goes on by itself.
    pub async fn interrupted(&self) {
        self.gate.shut().await;
    }

    /// Lets the process write again: no peer is ahead of it.
    pub fn go_on(&self) {
        self.gate.open();
    }

    /// Ends the lease of this process: a peer is ahead of it.
    pub fn give_up(&self) {
        self.gate.end();
    }

    /// Ready once another process has it.
    pub async fn lost(mut self) {
        if self
            .renewed
            .wait_for(|renewed| renewed.is_lost)
            .await
            .is_err()
        {
            // Who renews it is gone with the store, and loses nothing any more.
            std::future::pending::<()>().await;
        }
    }
}
