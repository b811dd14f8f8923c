//! One commit in one statement, which is its own transaction: whether this writer may, whether the
//! log ends where it thinks, and everything that is written.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{Postgres, Row as _};
use x811_ledger::port::{Commit, NonceOutcome};

use super::error::PostgresError;
use super::open::check_synchronous;

/// `mine` locks the writer's row until the commit, standbys included: who takes over waits for it,
/// and a writer that was replaced finds it changed. `allowed` sees the log as of the beginning of
/// the statement; a record that came in between is met at the primary key. The setting is read here and
/// not at the start alone: a reload, or a pooler, may change it (stores.md section 3). `running` keeps a
/// writer out that slept past its lease (`LEASE_MS`), wherever it was stopped, until `renewal` lets it in.
const APPEND: &str = "
WITH mine AS MATERIALIZED (
    SELECT FROM writer WHERE epoch = $1 AND holder = $2 FOR SHARE
), running AS MATERIALIZED (
    SELECT FROM lease WHERE renewed_at > clock_timestamp() - interval '3 seconds'
), allowed AS MATERIALIZED (
    SELECT FROM mine WHERE $3 = (SELECT coalesce(max(position) + 1, 0) FROM records)
        AND EXISTS (SELECT FROM running)
        AND current_setting('synchronous_commit') IN ('on', 'remote_apply')
), new_records AS (
    INSERT INTO records (position, leaf)
    SELECT new.position, new.leaf FROM unnest($4::bigint[], $5::bytea[]) AS new (position, leaf)
    WHERE EXISTS (SELECT FROM allowed)
), new_bodies AS (
    INSERT INTO bodies (position, digest, bytes)
    SELECT new.position, new.digest, new.bytes
    FROM unnest($6::bigint[], $7::bytea[], $8::bytea[]) AS new (position, digest, bytes)
    WHERE EXISTS (SELECT FROM allowed)
), new_nonces AS (
    INSERT INTO nonce_journal (at_ms, tag, refused_code, repeated_position)
    SELECT new.at_ms, new.tag, new.code, new.position
    FROM unnest($9::bigint[], $10::bytea[], $11::text[], $12::bigint[])
        WITH ORDINALITY AS new (at_ms, tag, code, position, place)
    WHERE EXISTS (SELECT FROM allowed) ORDER BY new.place
), new_ids AS (
    INSERT INTO envelope_ids (id, position)
    SELECT new.id, new.position FROM unnest($13::bytea[], $14::bigint[]) AS new (id, position)
    WHERE EXISTS (SELECT FROM allowed)
), new_tags AS (
    INSERT INTO idempotency (tag, position)
    SELECT new.tag, new.position FROM unnest($15::bytea[], $16::bigint[]) AS new (tag, position)
    WHERE EXISTS (SELECT FROM allowed)
), new_claims AS (
    INSERT INTO claims (chain_id, tx_hash, ordinal, position)
    SELECT new.chain_id, new.tx_hash, new.ordinal, new.position
    FROM unnest($17::bigint[], $18::bytea[], $19::bigint[], $20::bigint[])
        AS new (chain_id, tx_hash, ordinal, position)
    WHERE EXISTS (SELECT FROM allowed)
), new_erased AS (
    INSERT INTO erased (position, record)
    SELECT new.position, new.record FROM unnest($21::bigint[], $22::bigint[]) AS new (position, record)
    WHERE EXISTS (SELECT FROM allowed)
), new_tree AS (
    INSERT INTO tree (only_row, size, frontier)
    SELECT 0, $23, $24::bytea WHERE length($24::bytea) > 0 AND EXISTS (SELECT FROM allowed)
    ON CONFLICT (only_row) DO UPDATE SET size = excluded.size, frontier = excluded.frontier
)
SELECT EXISTS (SELECT FROM mine), EXISTS (SELECT FROM allowed), current_setting('synchronous_commit'),
    EXISTS (SELECT FROM running)";

/// The statement for `commit` by the writer `holder` of `epoch`. Its row says whether that is the
/// writer, and whether it was written, which it is where the log had the size it expects and commits
/// wait for the disk.
pub(super) fn append<'q>(
    commit: &'q Commit,
    epoch: u64,
    holder: &'q str,
) -> Query<'q, Postgres, PgArguments> {
    let size = commit.expected_size + commit.records.len() as u64;
    sqlx::query(APPEND)
        .bind(epoch.cast_signed())
        .bind(holder)
        .bind(commit.expected_size.cast_signed())
        .bind(each(&commit.records, |record| {
            record.position().cast_signed()
        }))
        .bind(each(&commit.records, |record| record.bytes()))
        .bind(each(&commit.bodies, |body| body.position.cast_signed()))
        .bind(each(&commit.bodies, |body| {
            body.digest.as_bytes().as_slice()
        }))
        .bind(each(&commit.bodies, |body| &*body.bytes))
        .bind(each(&commit.nonces, |spent| {
            spent.at_ms.as_ms().cast_signed()
        }))
        .bind(each(&commit.nonces, |spent| {
            spent.tag.as_bytes().as_slice()
        }))
        .bind(each(&commit.nonces, |spent| code_of(spent.outcome)))
        .bind(each(&commit.nonces, |spent| position_of(spent.outcome)))
        .bind(each(&commit.envelope_ids, |(id, _)| id.uuid().into_bytes()))
        .bind(each(&commit.envelope_ids, |(_, at)| at.cast_signed()))
        .bind(each(&commit.idempotency, |(tag, _)| {
            tag.as_bytes().as_slice()
        }))
        .bind(each(&commit.idempotency, |(_, at)| at.cast_signed()))
        .bind(each(&commit.claims, |(claim, _)| {
            claim.chain_id.as_u64().cast_signed()
        }))
        .bind(each(&commit.claims, |(claim, _)| {
            claim.tx_hash.as_bytes().as_slice()
        }))
        .bind(each(&commit.claims, |(claim, _)| {
            claim.ordinal.cast_signed()
        }))
        .bind(each(&commit.claims, |(_, at)| at.cast_signed()))
        .bind(each(&commit.erased, |erased| erased.position.cast_signed()))
        .bind(each(&commit.erased, |erased| erased.record.cast_signed()))
        .bind(size.cast_signed())
        .bind(&*commit.frontier)
}

/// What the row of [`append`] says; an error where commits of this writer do not wait for the disk, or
/// its lease has run out.
pub(super) fn is_mine_and_written(row: &PgRow) -> Result<(bool, bool), PostgresError> {
    let (is_mine, is_written) = (row.try_get(0)?, row.try_get(1)?);
    if is_mine {
        check_synchronous(row.try_get(2)?)?;
        if !row.try_get::<bool, _>(3)? {
            return Err(PostgresError::RanOut);
        }
    }
    Ok((is_mine, is_written))
}

/// One column of rows to write.
pub(super) fn each<'q, T, V>(items: &'q [T], value: impl Fn(&'q T) -> V) -> Vec<V> {
    items.iter().map(value).collect()
}

fn code_of(outcome: NonceOutcome) -> Option<&'static str> {
    match outcome {
        NonceOutcome::Refused(code) => Some(code.as_str()),
        NonceOutcome::Repeated { .. } => None,
    }
}

fn position_of(outcome: NonceOutcome) -> Option<i64> {
    match outcome {
        NonceOutcome::Refused(_) => None,
        NonceOutcome::Repeated { position } => Some(position.cast_signed()),
    }
}
