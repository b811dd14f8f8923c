//! What a database keeps beside a log that is elsewhere, in a stream: the bodies of records that are
//! not in the stream yet, and the stream's name. Everything else is as for a log of its own.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use sqlx::Row as _;
use sqlx::migrate::Migrator;
use x811_eventlog::AppendError;
use x811_ledger::port::Commit;

use super::append::each;
use super::error::PostgresError;
use super::open::{LEDGER, STANDBYS, Wait, check_synchronous};
use super::quorum::Quorum;
use super::store::PostgresStore;
use super::url::StoreUrl;
use crate::purpose::Purpose;
use crate::sqlite::migrator;

static BESIDE: LazyLock<Migrator> = LazyLock::new(|| {
    const STREAM: &str = include_str!("../../../../migrations/eventstore/0002_beside_a_stream.sql");
    migrator(&[LEDGER, (2, "beside a stream", STREAM), STANDBYS])
});

/// Whether this writer may, no key is taken, and commits wait for the disk; then the bodies are staged. What
/// was staged for positions that the log has by now is in its place, or is nobody's.
const STAGE: &str = "
WITH mine AS MATERIALIZED (
    SELECT FROM writer WHERE epoch = $10 AND holder = $11 FOR SHARE
), taken AS MATERIALIZED (
    SELECT 'envelope_ids_pkey' AS name FROM envelope_ids WHERE id = ANY($1)
    UNION ALL SELECT 'idempotency_pkey' FROM idempotency WHERE tag = ANY($2)
    UNION ALL SELECT 'claims_pkey' FROM claims
        JOIN unnest($3::bigint[], $4::bytea[], $5::bigint[]) AS new (chain_id, tx_hash, ordinal)
        USING (chain_id, tx_hash, ordinal)
    LIMIT 1
), swept AS (
    DELETE FROM staged_bodies
    WHERE position < $9 AND EXISTS (SELECT FROM mine)
), staged AS (
    INSERT INTO staged_bodies (position, digest, bytes)
    SELECT new.position, new.digest, new.bytes
    FROM unnest($6::bigint[], $7::bytea[], $8::bytea[]) AS new (position, digest, bytes)
    WHERE EXISTS (SELECT FROM mine) AND NOT EXISTS (SELECT FROM taken)
        AND current_setting('synchronous_commit') IN ('on', 'remote_apply')
    ON CONFLICT DO NOTHING
)
SELECT EXISTS (SELECT FROM mine), (SELECT name FROM taken), current_setting('synchronous_commit')";

impl PostgresStore {
    /// As [`PostgresStore::open_for`], for what lies beside a stream.
    pub(crate) async fn open_beside(
        purpose: Purpose,
        url: &StoreUrl,
        quorum: Option<Quorum>,
        wait: Wait,
    ) -> Result<PostgresStore, PostgresError> {
        PostgresStore::open_with(&BESIDE, purpose, url, quorum, wait).await
    }

    /// As a writer finds it that slept through its lease.
    #[cfg(test)]
    pub(crate) async fn open_over_beside(url: &StoreUrl) -> Result<PostgresStore, PostgresError> {
        PostgresStore::open_over_with(&BESIDE, url).await
    }

    /// The stream that has the log.
    pub(crate) async fn stream_name(&self) -> Result<String, PostgresError> {
        let name = sqlx::query_scalar("SELECT name FROM stream");
        Ok(name.fetch_one(self.readers()).await?)
    }

    /// Makes the bodies of `commit` durable before its records are appended, and finds out whether
    /// everything else of it can be stored behind them. Nothing of the log changes.
    pub(crate) async fn stage(&self, commit: &Commit) -> Result<(), AppendError> {
        if let Some(constraint) = twice_in(commit) {
            let constraint = constraint.to_owned();
            return Err(PostgresError::Duplicate { constraint }.into());
        }
        let owner = self.owner()?;
        let stage = sqlx::query(STAGE)
            .bind(each(&commit.envelope_ids, |(id, _)| id.uuid().into_bytes()))
            .bind(each(&commit.idempotency, |(tag, _)| {
                tag.as_bytes().as_slice()
            }))
            .bind(each(&commit.claims, |(claim, _)| {
                claim.chain_id.as_u64().cast_signed()
            }))
            .bind(each(&commit.claims, |(claim, _)| {
                claim.tx_hash.as_bytes().as_slice()
            }))
            .bind(each(&commit.claims, |(claim, _)| {
                claim.ordinal.cast_signed()
            }))
            .bind(each(&commit.bodies, |body| body.position.cast_signed()))
            .bind(each(&commit.bodies, |body| {
                body.digest.as_bytes().as_slice()
            }))
            .bind(each(&commit.bodies, |body| &*body.bytes))
            .bind(commit.expected_size.cast_signed());
        let row = owner.write_on_standbys(stage).await?;
        check_synchronous(row.try_get(2).map_err(PostgresError::from)?)?;
        let taken: Option<String> = row.try_get(1).map_err(PostgresError::from)?;
        match taken {
            None => Ok(()),
            Some(constraint) => Err(PostgresError::Duplicate { constraint }.into()),
        }
    }
}

/// The constraint that `commit` breaks by itself.
fn twice_in(commit: &Commit) -> Option<&'static str> {
    if has_twice(commit.envelope_ids.iter().map(|(id, _)| id)) {
        return Some("envelope_ids_pkey");
    }
    if has_twice(commit.idempotency.iter().map(|(tag, _)| tag)) {
        return Some("idempotency_pkey");
    }
    has_twice(commit.claims.iter().map(|(claim, _)| claim)).then_some("claims_pkey")
}

fn has_twice<T: Ord>(keys: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    !keys.into_iter().all(|key| seen.insert(key))
}
