//! One interaction as the ledger recorded it, held against itself: every record's hash is that of
//! its leaf, every leaf's signature holds, every envelope used is one whose sender signed it.
//!
//! This is what a party looks at before it answers. It proves what was signed, not that the ledger
//! shows everything: that takes the whole log (`x811 audit`).

use x811_protocol::envelope::{CoreType, MessageType, VerifiedEnvelope};
use x811_protocol::event::{EnvelopeAccepted, Event};
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::facts::{Facts, OfferFacts, RequestFacts, ResultFacts};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::key::Profile;
use x811_protocol::payload::{self, PayloadRules};

use crate::http::{ClientError, HistoryRecord, InteractionView, LedgerClient};

/// How often an interaction is read that goes on meanwhile.
const READS: u32 = 5;

/// An interaction and its records.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// How it stands.
    pub view: InteractionView,
    /// Its records, oldest first.
    pub entries: Vec<Entry>,
}

/// A record and what it means.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The record as it is stored.
    pub record: HistoryRecord,
    /// The event of the record, read.
    pub event: Event,
}

impl Transcript {
    /// Reads an interaction.
    ///
    /// # Errors
    /// [`ClientError::Untrusted`] when a hash, an order or a signature does not hold; else as
    /// [`ClientError`] says.
    pub async fn fetch(
        client: &LedgerClient,
        id: InteractionId,
    ) -> Result<Transcript, ClientError> {
        for _ in 0..READS {
            let entries = checked(client.history(id).await?)?;
            let last_position = entries.last().map(|entry| entry.record.position);
            let view = client.interaction(id, last_position).await?;
            // A record that came between the two reads is in the view alone.
            if Some(view.last_position) <= last_position {
                return Ok(Transcript { view, entries });
            }
        }
        Err(ClientError::Untrusted {
            cause: format!("the history of interaction {id} lacks its last record"),
        })
    }

    /// Id of the interaction that it is of.
    pub fn id(&self) -> InteractionId {
        self.view.id
    }

    /// Accepted messages of this type, oldest first.
    pub fn accepted(&self, core: CoreType) -> impl Iterator<Item = &EnvelopeAccepted> {
        let of_type = MessageType::Core(core);
        self.entries.iter().filter_map(move |entry| {
            let Event::EnvelopeAccepted(accepted) = &entry.event else {
                return None;
            };
            (accepted.envelope.message_type == of_type).then_some(accepted)
        })
    }

    /// Whether a PAYMENT has been recorded.
    pub fn has_payment(&self) -> bool {
        self.accepted(CoreType::Payment).next().is_some()
    }

    /// The transactions that PAYMENTs name, oldest first.
    pub fn declared(&self) -> impl Iterator<Item = TxHash> {
        let accepted = self.accepted(CoreType::Payment);
        accepted.filter_map(|accepted| {
            let Facts::Payment(payment) = &accepted.facts else {
                return None;
            };
            Some(payment.tx_hash)
        })
    }

    /// What the REQUEST asks.
    pub fn request(&self) -> Option<&RequestFacts> {
        let accepted = self.accepted(CoreType::Request).next()?;
        let Facts::Request(facts) = &accepted.facts else {
            return None;
        };
        Some(facts)
    }

    /// Id and terms of the OFFER, once there is one.
    pub fn offer(&self) -> Option<(EnvelopeId, &OfferFacts)> {
        let accepted = self.accepted(CoreType::Offer).next()?;
        let Facts::Offer(facts) = &accepted.facts else {
            return None;
        };
        Some((accepted.envelope.id, facts))
    }

    /// What the RESULT says of itself, once there is one.
    pub fn result(&self) -> Option<&ResultFacts> {
        let accepted = self.accepted(CoreType::Result).next()?;
        let Facts::Result(facts) = &accepted.facts else {
            return None;
        };
        Some(facts)
    }

    /// Who has to be paid, fixed when the OFFER was recorded.
    pub fn payee(&self) -> Option<EvmAddress> {
        let mut offers = self.accepted(CoreType::Offer);
        offers.find_map(|accepted| accepted.derived.payee)
    }

    /// The first message of this type as its sender signed it, fetched whole and checked; `None`
    /// when there is none yet.
    ///
    /// # Errors
    /// [`ClientError::Untrusted`] when it is not the message the record names, or the facts in the
    /// record are not those of the message; else as [`ClientError`] says.
    pub async fn envelope(
        &self,
        client: &LedgerClient,
        core: CoreType,
    ) -> Result<Option<VerifiedEnvelope>, ClientError> {
        let Some(accepted) = self.accepted(core).next() else {
            return Ok(None);
        };
        let id = accepted.envelope.id;
        let envelope = client.message(id).await?.envelope;
        let is_recorded = envelope.digest() == accepted.envelope.digest;
        if is_recorded && is_fact_of(&accepted.facts, &envelope) {
            return Ok(Some(envelope));
        }
        Err(ClientError::Untrusted {
            cause: format!("envelope {id} is not what the record says of it"),
        })
    }
}

/// True if the facts follow from the payload. Addresses are read leniently, because the ledger may be lenient;
/// it makes no difference to the facts.
fn is_fact_of(facts: &Facts, envelope: &VerifiedEnvelope) -> bool {
    let header = envelope.header();
    let rules = PayloadRules {
        ledger: None,
        lenient_addresses: true,
        reference_sdk: true,
        max_inline_content_bytes: u64::MAX,
    };
    let payload = envelope.payload();
    let read = payload::facts(&header.message_type, header.from, payload, &rules);
    read.as_ref() == Ok(facts)
}

/// Records of one subject, as [`LedgerClient::history`] and [`LedgerClient::records_of`]
/// give them, each held against itself.
///
/// # Errors
/// [`ClientError::Untrusted`] when an event cannot be read or carries a signature that its sender
/// never made.
pub fn checked(records: Vec<HistoryRecord>) -> Result<Vec<Entry>, ClientError> {
    let checked = records.into_iter().map(|record| {
        let event = record.event()?;
        check_signature(&record, &event)?;
        Ok(Entry { record, event })
    });
    checked.collect()
}

fn check_signature(record: &HistoryRecord, event: &Event) -> Result<(), ClientError> {
    match event.envelope() {
        Some(header) if header.profile == Profile::Digest && !header.verify_from_leaf() => {
            let position = record.position;
            Err(ClientError::Untrusted {
                cause: format!("record {position} carries a signature that its sender never made"),
            })
        }
        _ => Ok(()),
    }
}
