//! What was seen lately, in rows of fixed width, bucket by bucket: a million of them are read in
//! the time a few thousand lines of JSON take.

use super::Rejection;
use std::collections::BTreeMap;
use uuid::Uuid;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::id::EnvelopeId;
use x811_world::FirstAnswer;

const NONCE_BYTES: usize = 41;
const ID_BYTES: usize = 24;
/// Number of the bucket and how many rows follow, 8 bytes each.
const BUCKET_BYTES: usize = 16;

const RECORD: u8 = 0;
/// The kinds of row of a refused nonce, and what the codes in such rows begin with.
const REFUSED: [(u8, &str); 2] = [(1, "X811-"), (2, "CCN-")];
/// A code of another family: such a row is not read back, so that its snapshot is refused.
const UNKNOWN: u8 = u8::MAX;

/// Tag, kind of answer, position of the record or digits of the code.
pub(super) fn nonces(entries: &[(Digest, FirstAnswer, u64)]) -> Vec<u8> {
    packed::<NONCE_BYTES, _, _>(entries, |(tag, answer, _), row| {
        let (kind, value) = match answer {
            FirstAnswer::Record(position) => (RECORD, *position),
            FirstAnswer::Refused(code) => refused(*code),
        };
        row[..32].copy_from_slice(tag.as_bytes());
        row[32] = kind;
        row[33..].copy_from_slice(&value.to_be_bytes());
    })
}

/// UUID of the envelope, position of its record.
pub(super) fn envelope_ids(entries: &[(EnvelopeId, u64, u64)]) -> Vec<u8> {
    packed::<ID_BYTES, _, _>(entries, |(id, position, _), row| {
        row[..16].copy_from_slice(id.uuid().as_bytes());
        row[16..].copy_from_slice(&position.to_be_bytes());
    })
}

pub(super) fn read_nonces(bytes: &[u8]) -> Result<Vec<(Digest, FirstAnswer, u64)>, Rejection> {
    unpacked::<NONCE_BYTES, _>(bytes, |row, bucket| {
        let (tag, rest) = row.split_first_chunk::<32>()?;
        let (kind, value) = rest.split_first()?;
        let value = u64::from_be_bytes(value.try_into().ok()?);
        let answer = match *kind {
            RECORD => FirstAnswer::Record(value),
            kind => {
                let (_, prefix) = REFUSED.iter().find(|(other, _)| *other == kind)?;
                FirstAnswer::Refused(format!("{prefix}{value:04}").parse().ok()?)
            }
        };
        Some((Digest::from_bytes(*tag), answer, bucket))
    })
}

pub(super) fn read_envelope_ids(bytes: &[u8]) -> Result<Vec<(EnvelopeId, u64, u64)>, Rejection> {
    unpacked::<ID_BYTES, _>(bytes, |row, bucket| {
        let (id, position) = row.split_first_chunk::<16>()?;
        let id = EnvelopeId::from_uuid(Uuid::from_bytes(*id)).ok()?;
        Some((id, u64::from_be_bytes(position.try_into().ok()?), bucket))
    })
}

fn refused(code: Code) -> (u8, u64) {
    let row = |&(kind, prefix): &(u8, &str)| {
        let digits = code.as_str().strip_prefix(prefix)?;
        Some((kind, digits.parse().ok()?))
    };
    REFUSED.iter().find_map(row).unwrap_or((UNKNOWN, 0))
}

fn packed<const ROW_BYTES: usize, K, V>(
    entries: &[(K, V, u64)],
    fill: impl Fn(&(K, V, u64), &mut [u8; ROW_BYTES]),
) -> Vec<u8> {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for entry in entries {
        *counts.entry(entry.2).or_default() += 1;
    }
    let mut out = vec![0; counts.len() * BUCKET_BYTES + entries.len() * ROW_BYTES];
    let mut rows: BTreeMap<u64, std::slice::IterMut<'_, [u8; ROW_BYTES]>> = BTreeMap::new();
    let mut rest = out.as_mut_slice();
    for (bucket, count) in counts {
        let (head, behind) = rest.split_at_mut(BUCKET_BYTES);
        let (of_bucket, behind) = behind.split_at_mut(count * ROW_BYTES);
        head[..8].copy_from_slice(&bucket.to_be_bytes());
        head[8..].copy_from_slice(&(count as u64).to_be_bytes());
        rows.insert(bucket, of_bucket.as_chunks_mut().0.iter_mut());
        rest = behind;
    }
    for entry in entries {
        if let Some(row) = rows.get_mut(&entry.2).and_then(Iterator::next) {
            fill(entry, row);
        }
    }
    drop(rows);
    out
}

fn unpacked<const ROW_BYTES: usize, T>(
    mut bytes: &[u8],
    row: impl Fn(&[u8; ROW_BYTES], u64) -> Option<T>,
) -> Result<Vec<T>, Rejection> {
    let broken = || Rejection::Unreadable("a table of what was seen lately is broken".to_owned());
    let mut entries = Vec::with_capacity(bytes.len() / ROW_BYTES);
    while !bytes.is_empty() {
        let (head, rest) = bytes
            .split_first_chunk::<BUCKET_BYTES>()
            .ok_or_else(broken)?;
        let (bucket, count) = head.split_at(8);
        let bucket = u64::from_be_bytes(bucket.try_into().map_err(|_| broken())?);
        let count = u64::from_be_bytes(count.try_into().map_err(|_| broken())?);
        let length = usize::try_from(count)
            .ok()
            .and_then(|count| count.checked_mul(ROW_BYTES));
        let (rows, rest) = length
            .and_then(|length| rest.split_at_checked(length))
            .ok_or_else(broken)?;
        for one in rows.as_chunks::<ROW_BYTES>().0 {
            entries.push(row(one, bucket).ok_or_else(broken)?);
        }
        bytes = rest;
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A code that is not read back makes every snapshot useless while its nonce is remembered.
    #[test]
    fn lc_1_a_refusal_of_every_code_is_read_back() {
        let entries: Vec<_> = Code::ALL
            .into_iter()
            .map(|code| {
                (
                    Digest::of(code.as_str().as_bytes()),
                    FirstAnswer::Refused(code),
                    7,
                )
            })
            .chain([(Digest::of(b"record"), FirstAnswer::Record(4001), 8)])
            .collect();
        assert_eq!(read_nonces(&nonces(&entries)).unwrap(), entries);
    }

    /// Rows as snapshots have had them since the first: kind 1, digits of an X811 code.
    #[test]
    fn lc_1_rows_of_older_snapshots_keep_their_meaning() {
        let tag = Digest::of(b"tag");
        let entry = (tag, FirstAnswer::Refused(Code::InvalidStateTransition), 3);
        let mut bytes = [3_u64.to_be_bytes(), 1_u64.to_be_bytes()].concat();
        bytes.extend(tag.as_bytes());
        bytes.push(1);
        bytes.extend(4001_u64.to_be_bytes());
        assert_eq!(nonces(&[entry]), bytes);
        assert_eq!(read_nonces(&bytes).unwrap(), [entry]);
        for (kind, digits) in [(1, 1_u64), (2, 9999), (3, 4001), (UNKNOWN, 0)] {
            bytes[48] = kind;
            bytes[49..].copy_from_slice(&digits.to_be_bytes());
            assert!(read_nonces(&bytes).is_err(), "kind {kind}, digits {digits}");
        }
    }
}
