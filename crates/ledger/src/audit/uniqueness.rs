//! What may be used once in the whole log: envelope ids, idempotency keys, transfers; and nonces,
//! once within their window (ledger-contract.md section 3).

use std::collections::{BTreeMap, HashMap};

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
    nonces: Nonces,
}

/// Nonces spent lately, in two generations: when the younger is a window old, all of the older lie
/// outside of it.
#[derive(Debug, Clone, Default)]
struct Nonces {
    younger: Spent,
    older: Spent,
    /// When the younger generation began.
    since: TimestampMs,
}

/// When and at which position, by the first half of the tag: two that share it take 2^64 attempts
/// to find, and would be a false alarm, never a miss.
type Spent = HashMap<[u8; 16], (TimestampMs, u64), RandomState>;

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
        if let Some(first) = self.nonces.spend(tag, at, spot.position, window_ms) {
            let sentence = format!("the same sender spent this nonce at position {first}");
            findings.add(spot, "envelope.nonce_tag", Cause::NonceUsedTwice, sentence);
        }
    }
}

impl Nonces {
    /// Spends one, and gives the position where it was spent before within the window.
    fn spend(
        &mut self,
        tag: Digest,
        at: TimestampMs,
        position: u64,
        window_ms: u64,
    ) -> Option<u64> {
        if at.since(self.since) > window_ms {
            self.older = std::mem::take(&mut self.younger);
            self.since = at;
        }
        let half = first_half(tag);
        let known = self.younger.get(&half).or_else(|| self.older.get(&half));
        let first = known
            .filter(|(spent_at, first)| at.since(*spent_at) <= window_ms && *first != position)
            .map(|(_, first)| *first);
        if first.is_none() {
            self.younger.insert(half, (at, position));
        }
        first
    }
}

fn first_half(tag: Digest) -> [u8; 16] {
    let (halves, _) = tag.as_bytes().as_chunks();
    halves[0]
}
