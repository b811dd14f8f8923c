//! Things to store.

use crate::port::{Body, Commit, NonceOutcome, SpentNonce};
use serde_json::json;
use std::sync::Arc;
use x811_eventlog::{Draft, Head, Record};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::Claim;
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

pub(super) const CHAIN: ChainId = ChainId::new(84_532);

/// A commit of `count` small records that continue `head`, with a frontier and nothing else.
pub(super) fn commit(head: Head, count: u64) -> Commit {
    let (mut end, mut records) = (head, Vec::new());
    for _ in 0..count {
        let record = sealed(end, "s", json!({ "type": "t" }));
        end = Head::after(&record);
        records.push(record);
    }
    Commit {
        expected_size: head.size,
        records,
        frontier: format!("frontier of {}", head.size + count).into_bytes(),
        ..Commit::default()
    }
}

/// One record that continues `head`.
pub(super) fn sealed(head: Head, stream: &str, event: serde_json::Value) -> Record {
    let draft = Draft {
        recorded_at_ms: head.recorded_at_ms + 1,
        stream: stream.to_owned(),
        stream_seq: head.size,
        event,
    };
    Record::seal(head.size, head.hash, draft).unwrap()
}

/// Two records that continue the empty log, and one of everything beside them.
pub(super) fn full() -> Commit {
    Commit {
        bodies: vec![body(0, b"{}"), body(1, &[0xff; 70_000])],
        nonces: vec![
            nonce(1, NonceOutcome::Refused(Code::InvalidStateTransition)),
            nonce(2, NonceOutcome::Repeated { position: 1 }),
        ],
        envelope_ids: vec![(envelope_id(1), 0), (envelope_id(2), 1)],
        idempotency: vec![(digest(1), 0), (digest(2), 1)],
        claims: vec![(claim(1, 0), 1), (claim(1, 2), 1), (claim(2, 0), 1)],
        ..commit(Head::EMPTY, 2)
    }
}

pub(super) fn nonce(n: u64, outcome: NonceOutcome) -> SpentNonce {
    SpentNonce {
        tag: digest(n),
        at_ms: TimestampMs::new(n),
        outcome,
    }
}

pub(super) fn body(position: u64, bytes: &[u8]) -> Body {
    Body {
        position,
        digest: Digest::of(bytes),
        bytes: Arc::from(bytes),
    }
}

pub(super) fn digest(n: u64) -> Digest {
    Digest::of(&n.to_be_bytes())
}

/// In order of `n`, as UUIDv7 are in order of time.
pub(super) fn envelope_id(n: u64) -> EnvelopeId {
    EnvelopeId::from_parts(1_767_225_600_000 + n, &[7; 10])
}

pub(super) fn did(n: u8) -> Did {
    Did::from_uuid(uuid::Uuid::from_bytes([
        n, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0,
    ]))
    .unwrap()
}

pub(super) fn claim(transaction: u8, ordinal: u64) -> Claim {
    Claim {
        chain_id: CHAIN,
        tx_hash: TxHash::from_bytes([transaction; 32]),
        ordinal,
    }
}
