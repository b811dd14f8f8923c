//! Somebody with the ledger's database and all of its keys: puts records in, takes them out, moves
//! them, and hashes everything anew. What agents signed they cannot sign.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use x811_audit::{Cause, Report};
use x811_eventlog::Draft;
use x811_protocol::envelope::{ParsedEnvelope, SealedEnvelope};
use x811_protocol::id::InteractionId;
use x811_protocol::payload::{self, PayloadRules};

use super::ledgerbox::Ledgerbox;
use super::party::Party;
use super::scene::{Kept, Parts, audit, exported, found};

/// A log in their hands.
#[derive(Debug, Clone)]
pub(crate) struct Forger {
    pub(crate) parts: Parts,
}

/// The stream of an interaction.
pub(crate) fn of_interaction(id: InteractionId) -> String {
    format!("interaction:{id}")
}

/// Somebody's mail.
pub(crate) fn mail_of(party: &Party) -> String {
    format!("mail:{}", party.did)
}

/// What is recorded of a message that was accepted, with nothing derived.
pub(crate) fn accepted(envelope: &SealedEnvelope) -> Value {
    let parsed = ParsedEnvelope::from_body(&envelope.body, envelope.signature).unwrap();
    accepted_of(envelope, &parsed.payload)
}

/// The same of a message whose body nobody would read.
pub(crate) fn accepted_of(envelope: &SealedEnvelope, payload: &Map<String, Value>) -> Value {
    let (header, rules) = (&envelope.header, PayloadRules::default());
    let facts = payload::facts(&header.message_type, header.from, payload, &rules);
    json!({
        "type": "envelope_accepted",
        "envelope": envelope.accepted_header(),
        "facts": facts.unwrap(),
        "derived": {},
    })
}

impl Forger {
    /// With a copy of the log, which is clean so far.
    #[track_caller]
    pub(crate) fn of(bytes: &[u8]) -> Forger {
        assert_eq!(found(&audit(bytes)), [], "an honest log");
        let parts = Parts::of(bytes);
        Forger { parts }
    }

    /// With a copy of the ledger's log.
    pub(crate) async fn at(ledgerbox: &Ledgerbox) -> Forger {
        Forger::of(&exported(ledgerbox).await)
    }

    /// Puts a record behind the last one; its position.
    pub(crate) fn put(&mut self, stream: &str, event: Value, body: Option<&[u8]>) -> u64 {
        let last = self.parts.records.last().unwrap();
        let draft = Draft {
            recorded_at_ms: last.draft.recorded_at_ms,
            stream: stream.to_owned(),
            stream_seq: 0,
            event,
        };
        self.parts.records.push(Kept {
            draft,
            leaf: Vec::new(),
            body: body.map(<[u8]>::to_vec),
        });
        self.parts.records.len() as u64 - 1
    }

    /// Puts a message that an agent signed behind the last record.
    pub(crate) fn put_message(&mut self, stream: &str, envelope: &SealedEnvelope) -> u64 {
        self.put(stream, accepted(envelope), Some(&envelope.body))
    }

    /// The place of the first record of that type in a stream.
    pub(crate) fn place(&self, stream: &str, event_type: &str) -> usize {
        let is_it = |kept: &Kept| kept.draft.stream == stream && kept.event_type() == event_type;
        self.parts.find(is_it)
    }

    /// The audit of the log, every place in a stream and every hash anew.
    pub(crate) fn report(&self) -> Report {
        let mut parts = self.parts.clone();
        let mut places = BTreeMap::<String, u64>::new();
        for kept in &mut parts.records {
            let next = places.entry(kept.draft.stream.clone()).or_default();
            kept.draft.stream_seq = *next;
            *next += 1;
        }
        audit(&parts.rehashed())
    }

    /// Asserts that exactly this is found, and gives the sentence of the first finding.
    #[track_caller]
    pub(crate) fn is_found(&self, expected: &[(u64, &str, Cause)]) -> String {
        let report = self.report();
        assert_eq!(found(&report), expected, "{:?}", report.findings);
        report.findings[0].sentence.clone()
    }
}
