//! Messages that are recorded in another order than their sender signed them.
//!
//! Two messages of one sender can be exchanged by whoever holds the ledger's keys. Both carry the time at which they
//! were signed, so an exchange shows as an inversion. An inversion can be honest, because a message can be delivered
//! after one that was signed later. It is therefore a remark with both times. The proofs that a client keeps show
//! which of the two was recorded first.
//!
//! Memory: some 30 bytes for each sender in a stream, and 30 for each sender.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use x811_protocol::did::Did;
use x811_protocol::event::Event;
use x811_protocol::stream::Stream;
use x811_protocol::time::TimestampMs;

use crate::finding::attested::Attested;
use crate::finding::remarks::Remarks;

/// The message of each sender that was signed last, in each stream and in all of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SigningOrder {
    /// By the hash of stream and sender. Two pairs with one hash would be a false remark, once in 2^64 pairs.
    in_stream: HashMap<u64, SignedMessage, RandomState>,
    of_sender: BTreeMap<Did, TimestampMs>,
}

#[derive(Debug, Clone, Copy)]
struct SignedMessage {
    signed_at: TimestampMs,
    position: u64,
}

impl SigningOrder {
    /// Takes a record that was replayed: an inversion within one stream is a remark, one between streams is counted.
    pub(crate) fn take(
        &mut self,
        (stream, position): (&Stream, u64),
        event: &Event,
        remarks: &mut Remarks,
    ) {
        let Some(envelope) = event.envelope() else {
            return;
        };
        // The ledger signs notices in parallel.
        if let Event::NoticeIssued(_) = event {
            return;
        }
        let signed_at = envelope.created_ms;
        let message = SignedMessage {
            signed_at,
            position,
        };
        let key = self.in_stream.hasher().hash_one((stream, envelope.from));
        let last = self.in_stream.entry(key).or_insert(message);
        let of_sender = self.of_sender.entry(envelope.from).or_insert(signed_at);
        if signed_at < last.signed_at {
            let sentence = format!(
                "signed at {}, before the message of the same sender at position {}, which was signed at {}: \
                 delivered late, or the ledger exchanged the two",
                signed_at.to_rfc3339(),
                last.position,
                last.signed_at.to_rfc3339()
            );
            remarks.add(position, sentence);
        } else if signed_at < *of_sender {
            remarks.attest(Attested::SigningOrder, position);
        }
        if signed_at >= last.signed_at {
            *last = message;
        }
        *of_sender = signed_at.max(*of_sender);
    }
}
