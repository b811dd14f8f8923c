//! Reading what is committed beside the records.

use std::collections::HashMap;

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use x811_ledger::port::{Body, IndexCounts, NonceOutcome, SpentNonce};
use x811_protocol::digest::Digest;
use x811_protocol::event::Claim;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

use super::error::StoreError;
use super::insert::{MAX_IN, select_in};
use super::packed::{Packed, blob, places};
use super::readers::Readers;

/// Bodies of some positions.
const BODIES: &str = concat!(
    "SELECT ",
    places!("bytes"),
    ", ",
    blob!("bytes"),
    ", ",
    blob!("digest"),
    " FROM bodies WHERE position",
);

pub(super) async fn bodies(
    readers: &Readers,
    positions: &[u64],
) -> Result<HashMap<u64, Body>, StoreError> {
    let mut bodies = HashMap::with_capacity(positions.len());
    for chunk in positions.chunks(MAX_IN) {
        let mut select = select_in(BODIES, chunk, |list, position| {
            list.push_bind(position.cast_signed());
        });
        let row = select.build().fetch_one(&mut *readers.get().await?).await?;
        read_bodies(&row, 0, &mut bodies)?;
    }
    Ok(bodies)
}

/// A part of a body; what erasing leaves is none.
pub(super) async fn body_part(
    readers: &Readers,
    position: u64,
    from: usize,
    most: usize,
) -> Result<Option<Vec<u8>>, StoreError> {
    let counted = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
    // A part at a time is read: an erasure in between shows in the next one.
    let part: Option<(Vec<u8>,)> =
        sqlx::query_as("SELECT substr(bytes, ?, ?) FROM bodies WHERE position = ?")
            .bind(counted(from).saturating_add(1))
            .bind(counted(most))
            .bind(position.cast_signed())
            .fetch_optional(&mut *readers.get().await?)
            .await?;
    Ok(part.map(|(part,)| part).filter(|part| !part.contains(&0)))
}

/// Adds the bodies that `row` has, packed, from its column `first` on: their bytes, then digests.
pub(super) fn read_bodies(
    row: &SqliteRow,
    first: usize,
    bodies: &mut HashMap<u64, Body>,
) -> Result<(), StoreError> {
    let packed = Packed::read(row, first, "bodies")?;
    let digests: Option<&[u8]> = row.try_get(first + 2)?;
    let (digests, odd) = digests.unwrap_or_default().as_chunks();
    if digests.len() != packed.len() || !odd.is_empty() {
        return Err(StoreError::BadValue {
            table: "bodies",
            what: "digests that are not 32 bytes long".to_owned(),
        });
    }
    for ((position, bytes), digest) in packed.iter().zip(digests) {
        // Zeros are what erasing leaves; a body is JSON.
        if bytes.iter().all(|byte| *byte == 0) {
            continue;
        }
        let body = Body {
            position,
            digest: Digest::from_bytes(*digest),
            bytes: bytes.into(),
        };
        bodies.insert(position, body);
    }
    Ok(())
}

pub(super) async fn erased(
    readers: &Readers,
    positions: &[u64],
) -> Result<HashMap<u64, u64>, StoreError> {
    let mut erased = HashMap::new();
    for chunk in positions.chunks(MAX_IN) {
        let mut select = select_in(
            "SELECT position, record FROM erased WHERE position",
            chunk,
            |list, position| {
                list.push_bind(position.cast_signed());
            },
        );
        for row in select.build().fetch_all(&mut *readers.get().await?).await? {
            erased.insert(unsigned(&row, 0)?, unsigned(&row, 1)?);
        }
    }
    Ok(erased)
}

/// Those that have been filed.
pub(super) async fn idempotency(
    readers: &Readers,
    tags: &[Digest],
) -> Result<HashMap<Digest, u64>, StoreError> {
    let mut positions = HashMap::with_capacity(tags.len());
    for chunk in tags.chunks(MAX_IN) {
        let mut select = select_in(
            "SELECT tag, position FROM idempotency WHERE tag",
            chunk,
            |list, tag| {
                list.push_bind(tag.as_bytes().as_slice());
            },
        );
        for row in select.build().fetch_all(&mut *readers.get().await?).await? {
            let tag = Digest::from_bytes(fixed(&row, 0, "idempotency")?);
            positions.insert(tag, unsigned(&row, 1)?);
        }
    }
    Ok(positions)
}

pub(super) async fn envelope_positions(
    readers: &Readers,
    ids: &[EnvelopeId],
) -> Result<HashMap<EnvelopeId, u64>, StoreError> {
    let mut positions = HashMap::with_capacity(ids.len());
    for chunk in ids.chunks(MAX_IN) {
        let asked: HashMap<[u8; 16], EnvelopeId> = chunk
            .iter()
            .map(|id| (id.uuid().into_bytes(), *id))
            .collect();
        let mut select = select_in(
            "SELECT id, position FROM envelope_ids WHERE id",
            chunk,
            |list, id| {
                list.push_bind(id.uuid().as_bytes().as_slice());
            },
        );
        for row in select.build().fetch_all(&mut *readers.get().await?).await? {
            if let Some(id) = asked.get(&fixed(&row, 0, "envelope_ids")?) {
                positions.insert(*id, unsigned(&row, 1)?);
            }
        }
    }
    Ok(positions)
}

pub(super) async fn claims(
    readers: &Readers,
    chain_id: ChainId,
    tx_hashes: &[TxHash],
) -> Result<Vec<(Claim, u64)>, StoreError> {
    let mut claims = Vec::new();
    for chunk in tx_hashes.chunks(MAX_IN) {
        let mut select = select_in(
            "SELECT tx_hash, ordinal, position FROM claims WHERE tx_hash",
            chunk,
            |list, tx_hash| {
                list.push_bind(tx_hash.as_bytes().as_slice());
            },
        );
        select
            .push(" AND chain_id = ")
            .push_bind(chain_id.as_u64().cast_signed())
            .push(" ORDER BY tx_hash, ordinal");
        for row in select.build().fetch_all(&mut *readers.get().await?).await? {
            let claim = Claim {
                chain_id,
                tx_hash: TxHash::from_bytes(fixed(&row, 0, "claims")?),
                ordinal: unsigned(&row, 1)?,
            };
            claims.push((claim, unsigned(&row, 2)?));
        }
    }
    Ok(claims)
}

pub(super) async fn counts(readers: &Readers, size: u64) -> Result<IndexCounts, StoreError> {
    let size = size.cast_signed();
    let row = sqlx::query(
        "SELECT (SELECT count(*) FROM bodies WHERE position < ?1),
                (SELECT count(*) FROM envelope_ids WHERE position < ?1),
                (SELECT count(*) FROM idempotency WHERE position < ?1)
                    + (SELECT count(*) FROM new_idempotency AS new WHERE position < ?1
                       AND NOT EXISTS (SELECT 1 FROM idempotency WHERE tag = new.tag)),
                (SELECT count(*) FROM claims WHERE position < ?1)",
    )
    .bind(size)
    .fetch_one(&mut *readers.get().await?)
    .await?;
    Ok(IndexCounts {
        bodies: unsigned(&row, 0)?,
        envelope_ids: unsigned(&row, 1)?,
        idempotency: unsigned(&row, 2)?,
        claims: unsigned(&row, 3)?,
    })
}

pub(super) async fn spent_nonces(
    readers: &Readers,
    since: TimestampMs,
) -> Result<Vec<SpentNonce>, StoreError> {
    let rows = sqlx::query(
        "SELECT at_ms, tag, refused_code, repeated_position FROM nonce_journal
         WHERE at_ms >= ? ORDER BY seq",
    )
    .bind(since.as_ms().cast_signed())
    .fetch_all(&mut *readers.get().await?)
    .await?;
    rows.iter().map(spent_nonce).collect()
}

fn spent_nonce(row: &SqliteRow) -> Result<SpentNonce, StoreError> {
    const TABLE: &str = "nonce_journal";
    let bad = |what: String| StoreError::BadValue { table: TABLE, what };
    let outcome = match (
        row.try_get::<Option<String>, _>(2)?,
        row.try_get::<Option<i64>, _>(3)?,
    ) {
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

fn unsigned(row: &SqliteRow, column: usize) -> Result<u64, StoreError> {
    Ok(row.try_get::<i64, _>(column)?.cast_unsigned())
}

fn fixed<const BYTES: usize>(
    row: &SqliteRow,
    column: usize,
    table: &'static str,
) -> Result<[u8; BYTES], StoreError> {
    let bytes: &[u8] = row.try_get(column)?;
    bytes.try_into().map_err(|_| StoreError::BadValue {
        table,
        what: format!("{} bytes where {BYTES} belong", bytes.len()),
    })
}
