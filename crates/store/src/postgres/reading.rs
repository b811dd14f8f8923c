//! Everything that is read.

use std::collections::HashMap;
use std::sync::Arc;

use sqlx::postgres::{PgExecutor, PgRow};
use sqlx::{PgPool, Row as _};
use x811_eventlog::{Head, ReadError, Record};
use x811_ledger::port::{Body, IndexCounts, NonceOutcome, SpentNonce};
use x811_protocol::digest::Digest;
use x811_protocol::event::Claim;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

use super::error::PostgresError;
use crate::leaves::{MAX_PAGE_RECORDS, in_order, record_at};

/// Where the log ends.
pub(super) async fn head(executor: impl PgExecutor<'_>) -> Result<Head, ReadError> {
    let last: Option<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT position, leaf FROM records ORDER BY position DESC LIMIT 1")
            .fetch_optional(executor)
            .await
            .map_err(PostgresError::from)?;
    let Some((position, leaf)) = last else {
        return Ok(Head::EMPTY);
    };
    let position = position.cast_unsigned();
    record_at(position, position, leaf).map(|record| Head::after(&record))
}

/// A page of records from `from` on.
pub(super) async fn page(pool: &PgPool, from: u64, limit: usize) -> Result<Vec<Record>, ReadError> {
    let Ok(first) = i64::try_from(from) else {
        return Ok(Vec::new());
    };
    let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "SELECT position, leaf FROM records WHERE position >= $1 ORDER BY position LIMIT $2",
    )
    .bind(first)
    .bind(limit.min(MAX_PAGE_RECORDS) as i64)
    .fetch_all(pool)
    .await
    .map_err(PostgresError::from)?;
    let rows = (from..).zip(rows);
    rows.map(|(due, (position, leaf))| record_at(due, position.cast_unsigned(), leaf))
        .collect()
}

/// The records at these positions, in their order.
pub(super) async fn records(pool: &PgPool, positions: &[u64]) -> Result<Vec<Record>, ReadError> {
    let rows: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT position, leaf FROM records WHERE position = ANY($1)")
            .bind(signed(positions))
            .fetch_all(pool)
            .await
            .map_err(PostgresError::from)?;
    let mut found = HashMap::with_capacity(rows.len());
    for (position, leaf) in rows {
        let position = position.cast_unsigned();
        found.insert(position, record_at(position, position, leaf)?);
    }
    Ok(in_order(positions, &found))
}

/// Size and running state of the tree.
pub(super) async fn frontier(pool: &PgPool) -> Result<Option<(u64, Vec<u8>)>, PostgresError> {
    let tree: Option<(i64, Vec<u8>)> = sqlx::query_as("SELECT size, frontier FROM tree")
        .fetch_optional(pool)
        .await?;
    Ok(tree.map(|(size, frontier)| (size.cast_unsigned(), frontier)))
}

/// Bodies; erased ones, whose bytes are zeros, are left out.
pub(super) async fn bodies(
    pool: &PgPool,
    positions: &[u64],
) -> Result<HashMap<u64, Body>, PostgresError> {
    let rows = sqlx::query("SELECT position, digest, bytes FROM bodies WHERE position = ANY($1)")
        .bind(signed(positions))
        .fetch_all(pool)
        .await?;
    let mut bodies = HashMap::with_capacity(rows.len());
    for row in &rows {
        let bytes: &[u8] = row.try_get(2)?;
        if bytes.iter().all(|byte| *byte == 0) {
            continue;
        }
        let body = Body {
            position: unsigned(row, 0)?,
            digest: Digest::from_bytes(fixed(row, 1, "bodies")?),
            bytes: bytes.into(),
        };
        bodies.insert(body.position, body);
    }
    Ok(bodies)
}

/// Returns those of these bodies that were stored ahead of their records, by position.
pub(super) async fn staged(
    pool: &PgPool,
    named: &[(u64, Digest)],
) -> Result<HashMap<u64, Arc<[u8]>>, PostgresError> {
    let positions: Vec<i64> = named.iter().map(|(at, _)| at.cast_signed()).collect();
    let digests: Vec<&[u8]> = named
        .iter()
        .map(|(_, digest)| digest.as_bytes().as_slice())
        .collect();
    let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "SELECT position, bytes FROM staged_bodies
         JOIN unnest($1::bigint[], $2::bytea[]) AS named (position, digest)
         USING (position, digest)",
    )
    .bind(positions)
    .bind(digests)
    .fetch_all(pool)
    .await?;
    let rows = rows.into_iter();
    Ok(rows
        .map(|(position, bytes)| (position.cast_unsigned(), bytes.into()))
        .collect())
}

/// A part of a body; what erasing leaves is none.
pub(super) async fn body_part(
    pool: &PgPool,
    position: u64,
    from: usize,
    most: usize,
) -> Result<Option<Vec<u8>>, PostgresError> {
    let counted = |bytes: usize| i32::try_from(bytes).unwrap_or(i32::MAX - 1);
    let part: Option<Vec<u8>> =
        sqlx::query_scalar("SELECT substr(bytes, $1, $2) FROM bodies WHERE position = $3")
            .bind(counted(from) + 1)
            .bind(counted(most))
            .bind(position.cast_signed())
            .fetch_optional(pool)
            .await?;
    Ok(part.filter(|part| !part.contains(&0)))
}

/// Which bodies were erased, and by which record.
pub(super) async fn erased(
    pool: &PgPool,
    positions: &[u64],
) -> Result<HashMap<u64, u64>, PostgresError> {
    let rows = sqlx::query("SELECT position, record FROM erased WHERE position = ANY($1)")
        .bind(signed(positions))
        .fetch_all(pool)
        .await?;
    rows.iter()
        .map(|row| Ok((unsigned(row, 0)?, unsigned(row, 1)?)))
        .collect()
}

/// Positions of REQUESTs by tag.
pub(super) async fn idempotency(
    pool: &PgPool,
    tags: &[Digest],
) -> Result<HashMap<Digest, u64>, PostgresError> {
    let asked: Vec<&[u8]> = tags.iter().map(|tag| tag.as_bytes().as_slice()).collect();
    let rows = sqlx::query("SELECT tag, position FROM idempotency WHERE tag = ANY($1)")
        .bind(asked)
        .fetch_all(pool)
        .await?;
    rows.iter()
        .map(|row| {
            let tag = Digest::from_bytes(fixed(row, 0, "idempotency")?);
            Ok((tag, unsigned(row, 1)?))
        })
        .collect()
}

/// Positions of envelopes by id.
pub(super) async fn envelope_positions(
    pool: &PgPool,
    ids: &[EnvelopeId],
) -> Result<HashMap<EnvelopeId, u64>, PostgresError> {
    let asked: HashMap<[u8; 16], EnvelopeId> =
        ids.iter().map(|id| (id.uuid().into_bytes(), *id)).collect();
    let keys: Vec<&[u8]> = asked.keys().map(<[u8; 16]>::as_slice).collect();
    let rows = sqlx::query("SELECT id, position FROM envelope_ids WHERE id = ANY($1)")
        .bind(keys)
        .fetch_all(pool)
        .await?;
    let mut positions = HashMap::with_capacity(rows.len());
    for row in &rows {
        if let Some(id) = asked.get(&fixed(row, 0, "envelope_ids")?) {
            positions.insert(*id, unsigned(row, 1)?);
        }
    }
    Ok(positions)
}

/// Claims on transfers of these transactions.
pub(super) async fn claims(
    pool: &PgPool,
    chain_id: ChainId,
    tx_hashes: &[TxHash],
) -> Result<Vec<(Claim, u64)>, PostgresError> {
    let asked: Vec<&[u8]> = tx_hashes
        .iter()
        .map(|hash| hash.as_bytes().as_slice())
        .collect();
    let rows = sqlx::query(
        "SELECT tx_hash, ordinal, position FROM claims
         WHERE chain_id = $1 AND tx_hash = ANY($2) ORDER BY tx_hash, ordinal",
    )
    .bind(chain_id.as_u64().cast_signed())
    .bind(asked)
    .fetch_all(pool)
    .await?;
    let claim = |row: &PgRow| {
        let claim = Claim {
            chain_id,
            tx_hash: TxHash::from_bytes(fixed(row, 0, "claims")?),
            ordinal: unsigned(row, 1)?,
        };
        Ok((claim, unsigned(row, 2)?))
    };
    rows.iter().map(claim).collect()
}

/// How many entries lie below `size`.
pub(super) async fn counts(pool: &PgPool, size: u64) -> Result<IndexCounts, PostgresError> {
    let row = sqlx::query(
        "SELECT (SELECT count(*) FROM bodies WHERE position < $1),
                (SELECT count(*) FROM envelope_ids WHERE position < $1),
                (SELECT count(*) FROM idempotency WHERE position < $1),
                (SELECT count(*) FROM claims WHERE position < $1)",
    )
    .bind(size.cast_signed())
    .fetch_one(pool)
    .await?;
    Ok(IndexCounts {
        bodies: unsigned(&row, 0)?,
        envelope_ids: unsigned(&row, 1)?,
        idempotency: unsigned(&row, 2)?,
        claims: unsigned(&row, 3)?,
    })
}

/// Nonces spent without a record.
pub(super) async fn spent_nonces(
    pool: &PgPool,
    since: TimestampMs,
) -> Result<Vec<SpentNonce>, PostgresError> {
    let rows = sqlx::query(
        "SELECT at_ms, tag, refused_code, repeated_position FROM nonce_journal
         WHERE at_ms >= $1 ORDER BY seq",
    )
    .bind(since.as_ms().cast_signed())
    .fetch_all(pool)
    .await?;
    rows.iter().map(spent_nonce).collect()
}

fn spent_nonce(row: &PgRow) -> Result<SpentNonce, PostgresError> {
    const TABLE: &str = "nonce_journal";
    let bad = |what: String| PostgresError::BadValue { table: TABLE, what };
    let (code, position): (Option<String>, Option<i64>) = (row.try_get(2)?, row.try_get(3)?);
    let outcome = match (code, position) {
        (Some(code), None) => NonceOutcome::Refused(
            code.parse()
                .map_err(|_| bad(format!("the unknown code {code:?}")))?,
        ),
        (None, Some(position)) => NonceOutcome::Repeated {
            position: position.cast_unsigned(),
        },
        (Some(_), Some(_)) | (None, None) => return Err(bad("a nonce without one outcome".into())),
    };
    Ok(SpentNonce {
        tag: Digest::from_bytes(fixed(row, 1, TABLE)?),
        at_ms: TimestampMs::new(unsigned(row, 0)?),
        outcome,
    })
}

/// When the ledger was last known to be up.
pub(super) async fn last_tick(pool: &PgPool) -> Result<Option<TimestampMs>, PostgresError> {
    let at_ms: Option<i64> = sqlx::query_scalar("SELECT at_ms FROM tick")
        .fetch_optional(pool)
        .await?;
    Ok(at_ms.map(|at_ms| TimestampMs::new(at_ms.cast_unsigned())))
}

/// Positions as PostgreSQL counts; one that it cannot have becomes one that no record has.
fn signed(positions: &[u64]) -> Vec<i64> {
    let positions = positions.iter();
    positions
        .map(|position| i64::try_from(*position).unwrap_or(-1))
        .collect()
}

fn unsigned(row: &PgRow, column: usize) -> Result<u64, PostgresError> {
    Ok(row.try_get::<i64, _>(column)?.cast_unsigned())
}

fn fixed<const BYTES: usize>(
    row: &PgRow,
    column: usize,
    table: &'static str,
) -> Result<[u8; BYTES], PostgresError> {
    let bytes: &[u8] = row.try_get(column)?;
    bytes.try_into().map_err(|_| PostgresError::BadValue {
        table,
        what: format!("{} bytes where {BYTES} belong", bytes.len()),
    })
}
