//! What may be used once in the whole log: envelope ids, idempotency keys, transfers; and nonces,
//! once within their window (ledger-contract.md section 3).

use std::collections::{BTreeMap, HashMap, VecDeque};

use foldhash::fast::RandomState;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Claim, Event};
use x811_protocol::facts::Facts;
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

use super::finding::{Cause, Findings, Spot};

/// How long a nonce stays spent at least (AX-27).
const NONCE_WINDOW_MS: u64 = 15 * 60_000;

/// Everything used so far, with its position.
#[derive(Debug, Clone, Default)]
pub(super) struct Used {
    envelopes: HashMap<EnvelopeId, u64, RandomState>,
    idempotency: HashMap<Digest, u64, RandomState>,
    claims: BTreeMap<Claim, u64>,
    nonces: HashMap<Digest, (TimestampMs, u64), RandomState>,
    nonces_by_time: VecDeque<(TimestampMs, Digest)>,
}

impl Used {
    /// Position of the envelope of that id.
    pub(super) fn envelope(&self, id: EnvelopeId) -> Option<u64> {
        self.envelopes.get(&id).copied()
    }

    /// Whether the transfer pays an interaction already.
    pub(super) fn claimed(&self, claim: &Claim) -> Option<u64> {
        self.claims.get(claim).copied()
    }

    /// Notes what the event uses, and names what was used before.
    pub(super) fn take(
        &mut self,
        spot: &Spot,
        at: TimestampMs,
        nonce_window_ms: u64,
        event: &Event,
        findings: &mut Findings,
    ) {
        let position = spot.position;
        if let Some(envelope) = event.envelope() {
            let first = *self.envelopes.entry(envelope.id).or_insert(position);
            if first != position {
                let id = envelope.id.uuid();
                let sentence = format!("envelope {id} was accepted at position {first} already");
                findings.add(spot, "envelope.id", Cause::EnvelopeUsedTwice, sentence);
            }
            self.spend(spot, at, nonce_window_ms, envelope.nonce_tag, findings);
        }
        if let Event::EnvelopeAccepted(accepted) = event
            && let Facts::Request(request) = &accepted.facts
        {
            let tag = request.idempotency_tag;
            let first = *self.idempotency.entry(tag).or_insert(position);
            if first != position {
                let sentence =
                    format!("the same idempotency key opened an interaction at position {first}");
                let field = "facts.idempotency_tag";
                findings.add(spot, field, Cause::IdempotencyKeyUsedTwice, sentence);
            }
        }
        for (index, claim) in event.claims().iter().enumerate() {
            self.claim(spot, index, claim, findings);
        }
    }

    fn claim(&mut self, spot: &Spot, index: usize, claim: &Claim, findings: &mut Findings) {
        if let Some(first) = self.claims.insert(*claim, spot.position) {
            self.claims.insert(*claim, first);
            let sentence = format!(
                "transfer {} of transaction {} paid at position {first} already",
                claim.ordinal, claim.tx_hash
            );
            let field = format!("claims[{index}]");
            findings.add(spot, field, Cause::TransferUsedTwice, sentence);
        }
    }

    fn spend(
        &mut self,
        spot: &Spot,
        at: TimestampMs,
        nonce_window_ms: u64,
        tag: Digest,
        findings: &mut Findings,
    ) {
        let window_ms = nonce_window_ms.max(NONCE_WINDOW_MS);
        while let Some((spent_at, old)) = self.nonces_by_time.front()
            && at.since(*spent_at) > window_ms
        {
            self.nonces.remove(old);
            self.nonces_by_time.pop_front();
        }
        if let Some((_, first)) = self.nonces.get(&tag)
            && *first != spot.position
        {
            let sentence = format!("the same sender spent this nonce at position {first}");
            findings.add(spot, "envelope.nonce_tag", Cause::NonceUsedTwice, sentence);
            return;
        }
        self.nonces.insert(tag, (at, spot.position));
        self.nonces_by_time.push_back((at, tag));
    }
}
