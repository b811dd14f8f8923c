//! What may be used once in the whole log: envelope ids, the bytes that a sender signed, idempotency keys,
//! transfers; and nonces, once within their window (ledger-contract.md section 3).

use std::hash::Hash;

use x811_protocol::digest::Digest;
use x811_protocol::event::{Claim, Event};
use x811_protocol::facts::Facts;
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

use crate::finding::findings::{Cause, Findings, Spot};
use crate::record::numbered::{Entered, Keyed, Numbered};

/// How long a nonce stays spent at least (AX-27).
const NONCE_WINDOW_MS: u64 = 15 * 60_000;

/// Everything used so far, with its position.
#[derive(Debug, Clone, Default)]
pub(crate) struct Used {
    envelopes: Numbered<UsedAt<EnvelopeId>>,
    /// First halves of the digests of their bodies. They tell messages apart whose bodies were erased, because a
    /// signature covers one digest.
    digests: Numbered<UsedAt<Half>>,
    idempotency: Numbered<UsedAt<Digest>>,
    claims: Numbered<UsedAt<Claim>>,
    nonces: Nonces,
}

/// What was used, and where first.
#[derive(Debug, Clone)]
struct UsedAt<K> {
    what: K,
    position: u64,
}

impl<K: Eq + Hash> Keyed for UsedAt<K> {
    type Key = K;

    fn key(&self) -> &K {
        &self.what
    }
}

/// The first half of a digest: two that share it take 2^64 attempts to find, and would be a false alarm, never a
/// miss.
type Half = [u8; 16];

/// Nonces spent lately, in two generations: when the younger is a window old, all of the older lie
/// outside of it.
#[derive(Debug, Clone, Default)]
struct Nonces {
    younger: Numbered<Spent>,
    older: Numbered<Spent>,
    /// When the younger generation began.
    since: TimestampMs,
}

/// When and at which position, by the first half of the tag.
#[derive(Debug, Clone)]
struct Spent {
    half: Half,
    at: TimestampMs,
    position: u64,
}

impl Keyed for Spent {
    type Key = Half;

    fn key(&self) -> &Half {
        &self.half
    }
}

impl Used {
    /// Position of the envelope of that id.
    pub(crate) fn envelope(&self, id: EnvelopeId) -> Option<u64> {
        self.envelopes.get(&id).map(|used| used.position)
    }

    /// Whether the transfer pays an interaction already.
    pub(crate) fn claimed(&self, claim: &Claim) -> Option<u64> {
        self.claims.get(claim).map(|used| used.position)
    }

    /// Nothing follows that could spend a nonce.
    pub(crate) fn forget_nonces(&mut self) {
        self.nonces = Nonces::default();
    }

    /// Notes what the event uses, and names what was used before.
    pub(crate) fn take(
        &mut self,
        spot: &Spot,
        at: TimestampMs,
        nonce_window_ms: u64,
        event: &Event,
        findings: &mut Findings,
    ) {
        let position = spot.position;
        if let Some(envelope) = event.envelope() {
            let first = self.envelopes.first(envelope.id, position);
            let signed = self.digests.first(first_half(envelope.digest), position);
            if first != position {
                let id = envelope.id.uuid();
                let sentence = format!("envelope {id} was accepted at position {first} already");
                findings.add(spot, "envelope.id", Cause::EnvelopeUsedTwice, sentence);
            } else if signed != position {
                let sentence = format!(
                    "these bytes were signed for the envelope at position {signed}, and no two envelopes have \
                     the same bytes"
                );
                findings.add(spot, "envelope.digest", Cause::EnvelopeUsedTwice, sentence);
            }
            self.spend(spot, at, nonce_window_ms, envelope.nonce_tag, findings);
        }
        if let Event::EnvelopeAccepted(accepted) = event
            && let Facts::Request(request) = &accepted.facts
        {
            let tag = request.idempotency_tag;
            let first = self.idempotency.first(tag, position);
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
        let claimed = UsedAt {
            what: *claim,
            position: spot.position,
        };
        let Entered { number, is_new } = self.claims.enter(claimed);
        if !is_new {
            let first = self.claims[number].position;
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

impl<K: Eq + Hash> Numbered<UsedAt<K>> {
    /// Where it was used first: at `position`, if nowhere before.
    fn first(&mut self, what: K, position: u64) -> u64 {
        let number = self.enter(UsedAt { what, position }).number;
        self[number].position
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
            .filter(|spent| at.since(spent.at) <= window_ms && spent.position != position)
            .map(|spent| spent.position);
        if first.is_none() {
            self.younger.put(Spent { half, at, position });
        }
        first
    }
}

fn first_half(digest: Digest) -> Half {
    let (halves, _) = digest.as_bytes().as_chunks();
    halves[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window counts from the use of the nonce, whatever generation that falls into.
    #[test]
    fn ax_27_a_nonce_is_spent_for_a_whole_window() {
        let (mut nonces, window_ms) = (Nonces::default(), 1_000);
        let mut spend = |text: &str, at_ms: u64| {
            let tag = Digest::of(text.as_bytes());
            nonces.spend(tag, TimestampMs::new(at_ms), at_ms, window_ms)
        };
        assert_eq!(spend("first", 2_000), None);
        assert_eq!(spend("late", 2_900), None);
        // Another generation begins.
        assert_eq!(spend("next", 3_001), None);
        assert_eq!(spend("late", 3_900), Some(2_900));
        assert_eq!(spend("late", 3_901), None);
        assert_eq!(spend("late", 3_902), Some(3_901));
    }
}
