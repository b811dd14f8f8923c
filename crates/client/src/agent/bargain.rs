//! A negotiation as decisions read it: every message as its author signed it, held against its record.

use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{ContractWindow, Effect, Event, LapsedWindow};
use x811_protocol::facts::{Facts, NegotiationFacts, TermsFacts};
use x811_protocol::id::{ContractId, EnvelopeId};
use x811_protocol::payload::{self, PayloadRules};
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

use crate::compose::Answered;
use crate::http::{ClientError, LedgerClient};

/// How a negotiation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BargainStanding {
    /// Somebody may still answer.
    Open,
    /// The last terms are agreed on, and wait for their REQUEST.
    Agreed,
    /// They opened their interaction.
    Engaged,
    /// No agreement, or none that can be used any more.
    Over,
}

/// Terms that somebody proposed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Turn {
    /// Who proposed them.
    pub author: Did,
    /// Envelope id of the message.
    pub step: EnvelopeId,
    /// The terms that are proposed.
    pub terms: Map<String, Value>,
    /// What of them decides.
    pub facts: TermsFacts,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bargain {
    pub id: ContractId,
    pub initiator: Did,
    pub responder: Did,
    pub standing: BargainStanding,
    /// From this moment on the last terms cannot be accepted.
    pub expires_at: TimestampMs,
    /// The most turns that its offer allows.
    pub max_turns: Option<u64>,
    /// All terms, oldest first; at least one.
    pub turns: Vec<Turn>,
    /// What was accepted, as the accepting party signed it.
    accepted: Option<(EnvelopeId, Digest)>,
}

impl Bargain {
    /// Reads a negotiation: each message is fetched whole, and what its author signed counts.
    pub(crate) async fn fetch(
        client: &LedgerClient,
        id: ContractId,
    ) -> Result<Bargain, ClientError> {
        let mut bargain: Option<Bargain> = None;
        for record in client.records_of(Subject::Contract(id)).await? {
            let event = record.event()?;
            let unread = |what: &str| ClientError::Untrusted {
                cause: format!("negotiation {}: {what}", id.to_public()),
            };
            let Event::EnvelopeAccepted(accepted) = &event else {
                bargain
                    .as_mut()
                    .ok_or_else(|| unread("it has no offer"))?
                    .note(&event);
                continue;
            };
            let header = &accepted.envelope;
            let envelope = client.message(header.id).await?.envelope;
            let facts = payload::facts(
                &envelope.header().message_type,
                envelope.header().from,
                envelope.payload(),
                &PayloadRules::default(),
            );
            let Ok(Facts::Negotiation(facts)) = facts else {
                return Err(unread("a message of it cannot be read"));
            };
            if envelope.digest() != header.digest {
                return Err(unread("a message is not the one of its record"));
            }
            let terms = envelope.payload().get("terms").and_then(Value::as_object);
            let turn = facts.terms().zip(terms).map(|(facts, terms)| Turn {
                author: envelope.header().from,
                step: header.id,
                terms: terms.clone(),
                facts: facts.clone(),
            });
            match (&mut bargain, turn) {
                (None, Some(turn)) => {
                    let (from, to) = (envelope.header().from, envelope.header().to);
                    bargain = Bargain::opened(id, (from, to), &facts, turn);
                }
                (Some(bargain), turn) => bargain.take(&facts, turn),
                (None, None) => {}
            }
        }
        bargain.ok_or_else(|| ClientError::Untrusted {
            cause: format!("negotiation {} has no offer", id.to_public()),
        })
    }

    fn opened(
        id: ContractId,
        parties: (Did, Did),
        facts: &NegotiationFacts,
        turn: Turn,
    ) -> Option<Bargain> {
        let NegotiationFacts::Offer(offer) = facts else {
            return None;
        };
        Some(Bargain {
            expires_at: offer.expires_at_ms,
            max_turns: offer.max_turns,
            ..Bargain::of(id, parties, turn)
        })
    }

    /// One that has these terms alone, and never ends.
    pub(super) fn of(id: ContractId, (initiator, responder): (Did, Did), turn: Turn) -> Bargain {
        Bargain {
            id,
            initiator,
            responder,
            standing: BargainStanding::Open,
            expires_at: TimestampMs::new(u64::MAX),
            max_turns: None,
            turns: vec![turn],
            accepted: None,
        }
    }

    fn take(&mut self, facts: &NegotiationFacts, turn: Option<Turn>) {
        self.turns.extend(turn);
        match facts {
            NegotiationFacts::Offer(_) => {}
            NegotiationFacts::Counter(counter) => {
                self.expires_at = counter.expires_at_ms.unwrap_or(self.expires_at);
            }
            NegotiationFacts::Accept(accept) => {
                self.accepted = Some((accept.step_id, accept.terms_hash));
                self.standing = BargainStanding::Agreed;
            }
            NegotiationFacts::Reject(_) | NegotiationFacts::Withdraw(_) => {
                self.standing = BargainStanding::Over;
            }
        }
    }

    fn note(&mut self, event: &Event) {
        if let Event::Effect(Effect::Engaged(_)) = event {
            self.standing = BargainStanding::Engaged;
        }
        if let Event::Lapsed(lapsed) = event
            && let LapsedWindow::Contract(ContractWindow::Contract | ContractWindow::Engagement) =
                lapsed.window
        {
            self.standing = BargainStanding::Over;
        }
    }

    /// The last terms.
    pub(crate) fn last(&self) -> Option<&Turn> {
        self.turns.last()
    }

    /// What to name in an answer to the last terms.
    pub(crate) fn answered(&self) -> Option<Answered> {
        Some(Answered {
            negotiation: self.id,
            step: self.last()?.step,
        })
    }

    /// The terms that both parties signed for.
    pub(crate) fn agreed(&self) -> Option<&Turn> {
        let last = self.last()?;
        let accepted = (last.step, last.facts.terms_hash);
        (self.accepted == Some(accepted)).then_some(last)
    }

    /// The other party.
    pub(crate) fn counterparty(&self, me: Did) -> Did {
        if self.initiator == me {
            self.responder
        } else {
            self.initiator
        }
    }
}
