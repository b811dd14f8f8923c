//! The terms of an agreement, against the object that its parties signed (capability.md, "agreement"). Bodies of the
//! steps that named the terms may be erased, so that their facts are attested by the ledger only; bodies of
//! signatures are never erased.

use x811_protocol::capability::session::State;
use x811_protocol::envelope::{AcceptedHeader, ParsedEnvelope};
use x811_protocol::payload::capability::signed_terms;

use crate::finding::findings::{Cause, Findings};
use crate::replay::decided::Decided;

impl Decided<'_> {
    /// Compares the terms of the session with those in the body of a signature.
    pub(crate) fn terms_are_signed(
        &self,
        state: Option<&State>,
        envelope: &AcceptedHeader,
        findings: &mut Findings,
    ) {
        let proposed = state.and_then(|state| state.terms);
        let (Some(proposed), Some(body)) = (proposed, self.body) else {
            return;
        };
        let parsed = ParsedEnvelope::from_body(body, envelope.signature);
        let signed = parsed.ok().and_then(|it| signed_terms(&it.payload).ok());
        // Terms with another hash are refused by the replay.
        let signed = signed.filter(|signed| signed.terms_hash == proposed.terms.terms_hash);
        if signed.is_some_and(|signed| signed != proposed.terms) {
            let sentence = format!(
                "the terms at position {}, whose body is not here, are not those that were signed",
                proposed.record.position
            );
            findings.add(self.spot, "facts.terms_hash", Cause::FactsDiffer, sentence);
        }
    }
}
