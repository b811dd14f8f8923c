//! The decision indexes and the bodies against the log: every entry the log calls for is there and
//! says the same, and there are no others.

use super::Findings;
use crate::port::{IndexCounts, LedgerStore};
use std::collections::{BTreeMap, BTreeSet};
use x811_eventlog::{ReadError, Record};
use x811_protocol::digest::Digest;
use x811_protocol::event::{BodiesErased, Claim, Event, LedgerEvent};
use x811_protocol::evm::{ChainId, TxHash};
use x811_protocol::facts::Facts;
use x811_protocol::id::EnvelopeId;

/// What the records since the last comparison call for, and how much all of them did.
#[derive(Debug, Default)]
pub(super) struct Expected {
    envelopes: Vec<(EnvelopeId, u64, Digest)>,
    tags: Vec<(Digest, u64)>,
    claims: Vec<(Claim, u64)>,
    counts: IndexCounts,
    /// Bodies that are not there, though no record so far erased them.
    missing: BTreeSet<u64>,
    /// Those that one did and that are there.
    still_there: BTreeSet<u64>,
    erased: Vec<u64>,
}

impl Expected {
    pub(super) fn note(&mut self, record: &Record, event: &Event) {
        let position = record.position();
        if let Some(envelope) = event.envelope() {
            self.envelopes
                .push((envelope.id, position, envelope.digest));
            self.counts.envelope_ids += 1;
            self.counts.bodies += 1;
        }
        if let Event::EnvelopeAccepted(accepted) = event
            && let Facts::Request(request) = &accepted.facts
        {
            self.tags.push((request.idempotency_tag, position));
            self.counts.idempotency += 1;
        }
        if let Event::Ledger(LedgerEvent::BodiesErased(erased)) = event {
            self.erased.extend(&erased.positions);
        }
        let claims = event.claims();
        self.claims
            .extend(claims.iter().map(|claim| (*claim, position)));
        self.counts.claims += claims.len() as u64;
    }

    /// Looks up what was noted since the last time.
    pub(super) async fn compare<S: LedgerStore>(
        &mut self,
        store: &S,
        findings: &mut Findings,
    ) -> Result<(), ReadError> {
        self.compare_envelopes(store, findings).await?;
        self.compare_erased(store).await?;
        self.compare_tags(store, findings).await?;
        self.compare_claims(store, findings).await
    }

    async fn compare_envelopes<S: LedgerStore>(
        &mut self,
        store: &S,
        findings: &mut Findings,
    ) -> Result<(), ReadError> {
        let envelopes = std::mem::take(&mut self.envelopes);
        let ids: Vec<EnvelopeId> = envelopes.iter().map(|(id, _, _)| *id).collect();
        let positions: Vec<u64> = envelopes.iter().map(|(_, position, _)| *position).collect();
        let indexed = store.envelope_positions(&ids).await?;
        let bodies = store.bodies(&positions).await?;
        for (id, position, digest) in envelopes {
            if let Some(sentence) = differs(indexed.get(&id).copied(), position) {
                findings.add("envelope_ids", format!("envelope {id}: {sentence}"));
            }
            match bodies.get(&position) {
                None => {
                    self.missing.insert(position);
                }
                Some(body) if body.digest != digest => {
                    let sentence = format!("the body at {position} is filed under another digest");
                    findings.add("bodies", sentence);
                }
                Some(body) => {
                    if let Err(damaged) = body.check(digest) {
                        findings.add("bodies", damaged.to_string());
                    }
                }
            }
        }
        Ok(())
    }

    async fn compare_erased<S: LedgerStore>(&mut self, store: &S) -> Result<(), ReadError> {
        let erased = std::mem::take(&mut self.erased);
        let bodies = store.bodies(&erased).await?;
        for position in erased {
            self.missing.remove(&position);
            if bodies.contains_key(&position) {
                self.still_there.insert(position);
            }
        }
        Ok(())
    }

    /// At the end, for what was erased since the examination began: `later` are those records.
    pub(super) fn compare_bodies(&mut self, later: &[BodiesErased], findings: &mut Findings) {
        for position in later.iter().flat_map(|erased| &erased.positions) {
            self.missing.remove(position);
        }
        for position in &self.missing {
            let sentence = format!("position {position} has no body, and no record erased it");
            findings.add("bodies", sentence);
        }
        for position in &self.still_there {
            let sentence = format!("the body at {position} is there, though a record erased it");
            findings.add("bodies", sentence);
        }
    }

    async fn compare_tags<S: LedgerStore>(
        &mut self,
        store: &S,
        findings: &mut Findings,
    ) -> Result<(), ReadError> {
        let tags = std::mem::take(&mut self.tags);
        let asked: Vec<Digest> = tags.iter().map(|(tag, _)| *tag).collect();
        let indexed = store.idempotency(&asked).await?;
        for (tag, position) in tags {
            if let Some(sentence) = differs(indexed.get(&tag).copied(), position) {
                findings.add("idempotency", format!("tag {tag}: {sentence}"));
            }
        }
        Ok(())
    }

    async fn compare_claims<S: LedgerStore>(
        &mut self,
        store: &S,
        findings: &mut Findings,
    ) -> Result<(), ReadError> {
        let claims = std::mem::take(&mut self.claims);
        let mut hashes: BTreeMap<ChainId, Vec<TxHash>> = BTreeMap::new();
        for (claim, _) in &claims {
            hashes
                .entry(claim.chain_id)
                .or_default()
                .push(claim.tx_hash);
        }
        let mut indexed = BTreeMap::new();
        for (chain_id, hashes) in hashes {
            indexed.extend(store.claims(chain_id, &hashes).await?);
        }
        for (claim, position) in claims {
            if let Some(sentence) = differs(indexed.get(&claim).copied(), position) {
                let Claim {
                    tx_hash, ordinal, ..
                } = claim;
                findings.add(
                    "claims",
                    format!("transfer {ordinal} of {tx_hash}: {sentence}"),
                );
            }
        }
        Ok(())
    }

    /// Every entry was found; now there must be no others.
    pub(super) fn compare_counts(&self, found: IndexCounts, findings: &mut Findings) {
        let due = self.counts;
        for (part, found, due) in [
            ("bodies", found.bodies, due.bodies),
            ("envelope_ids", found.envelope_ids, due.envelope_ids),
            ("idempotency", found.idempotency, due.idempotency),
            ("claims", found.claims, due.claims),
        ] {
            if found > due {
                let more = found - due;
                findings.add(part, format!("{more} entries that no record calls for"));
            }
        }
    }
}

/// What is wrong with an index entry, if anything.
fn differs(found: Option<u64>, due: u64) -> Option<String> {
    match found {
        Some(found) if found == due => None,
        Some(found) => Some(format!("the index says position {found}, the log {due}")),
        None => Some(format!("not in the index; the log has it at {due}")),
    }
}
