//! Repeats of accepted messages whose key counts no more. A rotation ends the very key that signed
//! it: sent once more because the answer was lost, it can be known by its bytes alone, and is
//! answered like every other repeat (AE-87).

use super::Ledger;
use crate::answer::Accepted;
use crate::port::LedgerStore;
use crate::turn::nonce_replay;
use crate::whole;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{AcceptedHeader, ParsedEnvelope};
use x811_protocol::event::Event;
use x811_protocol::id::EnvelopeId;
use x811_protocol::refusal::Refusal;
use x811_protocol::signature::Signature;

/// What tells whether two envelopes are the same one, bytes and signature.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) id: EnvelopeId,
    digest: Digest,
    signature: Signature,
}

impl Sent {
    pub(super) fn of(header: &AcceptedHeader) -> Sent {
        Sent {
            id: header.id,
            digest: header.digest,
            signature: header.signature,
        }
    }

    pub(super) fn of_parsed(parsed: &ParsedEnvelope) -> Sent {
        Sent {
            id: parsed.header.id,
            digest: parsed.digest,
            signature: parsed.signature,
        }
    }
}

impl<S: LedgerStore, R, C> Ledger<S, R, C> {
    /// The refusal, or X811-2001 with the first outcome if it is for the key of a message that was
    /// accepted before.
    pub(super) async fn unless_repeated(&self, sent: Sent, refusal: Refusal) -> Refusal {
        if refusal.code != Code::SignatureInvalid {
            return refusal;
        }
        // Boxed, so that messages that are taken do not carry the room for it along.
        match Box::pin(self.first_outcome(sent)).await {
            Some(first) => nonce_replay()
                .with_details(serde_json::json!({ "first": first }))
                .related_to(sent.id),
            None => refusal,
        }
    }

    async fn first_outcome(&self, sent: Sent) -> Option<Accepted> {
        let position = self.world.borrow().recent_envelope(&sent.id)?;
        let head = self.world.borrow().head();
        let record = whole::record(self.store.log(), position, head);
        let record = record.await.ok()??;
        let event = Event::from_named_json(record.event_type(), record.event_json()).ok()?;
        let envelope = event.envelope()?;
        if (envelope.digest, envelope.signature) != (sent.digest, sent.signature) {
            return None;
        }
        Accepted::from_record(&record, &event)
    }
}
