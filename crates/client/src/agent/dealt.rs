//! A session as decisions read it: every message as its author signed it, held against its record.

use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::event::{CloseReason, Effect, Event};
use x811_protocol::facts::{CapabilityFacts, Facts, SessionTerms};
use x811_protocol::id::{AgreementId, EnvelopeId, SessionId};
use x811_protocol::time::TimestampMs;

use crate::compose::AnsweredTerms;
use crate::http::{ClientError, LedgerClient};
use crate::session::Session;

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The target has not answered.
    Requested,
    /// The first terms are awaited.
    Open,
    /// The last terms may be answered.
    Terms,
    /// They are accepted, and signatures are awaited.
    Agreeing,
    /// It has ended.
    Closed(CloseReason),
}

/// Terms that somebody proposed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proposed {
    /// The agent that proposed them.
    pub author: Did,
    /// Envelope id of the message.
    pub step: EnvelopeId,
    /// All of them.
    pub terms: Map<String, Value>,
    /// What of them decides.
    pub facts: SessionTerms,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dealt {
    pub id: SessionId,
    pub initiator: Did,
    pub target: Did,
    /// The type of the capability.
    pub capability: String,
    /// Who uses it: the initiator of the agreement's first session.
    pub consumer: Did,
    /// The agreement that it makes or negotiates again.
    pub agreement: AgreementId,
    pub stage: Stage,
    /// All terms, oldest first.
    pub proposed: Vec<Proposed>,
    /// Counters so far, of both sides together.
    pub counters: u64,
    /// Whose acceptance of the last terms is recorded.
    pub accepted_by: Option<Did>,
    /// Who has signed.
    pub signed_by: Vec<Did>,
    /// End of the window that is open.
    pub deadline: Option<TimestampMs>,
    /// What both sign, once there are terms.
    pub object: Option<Map<String, Value>>,
}

impl Dealt {
    /// Reads a session: each message is fetched whole, and what its author signed counts.
    pub(crate) async fn fetch(
        client: &LedgerClient,
        id: SessionId,
        ledger: Did,
    ) -> Result<Dealt, ClientError> {
        let session = Session::fetch(client, id).await?;
        let (initiator, target) = session.parties();
        let view = &session.view;
        let object = session.agreement(client, ledger).await?;
        let consumer = match view.revision {
            1 => initiator,
            _ => client.agreement(view.agreement_id).await?.consumer,
        };
        let mut dealt = Dealt {
            id,
            initiator,
            target,
            capability: session.capability().to_owned(),
            consumer,
            agreement: view.agreement_id,
            stage: Stage::Requested,
            proposed: Vec::new(),
            counters: 0,
            accepted_by: None,
            signed_by: Vec::new(),
            deadline: view.deadline_at_ms,
            object,
        };
        for entry in &session.entries {
            dealt.note(&entry.event, client).await?;
        }
        Ok(dealt)
    }

    async fn note(&mut self, event: &Event, client: &LedgerClient) -> Result<(), ClientError> {
        if let Event::Effect(Effect::SessionClosed(closed)) = event {
            self.stage = Stage::Closed(closed.reason);
        }
        let Event::EnvelopeAccepted(accepted) = event else {
            return Ok(());
        };
        let Facts::Capability(facts) = &accepted.facts else {
            return Ok(());
        };
        let header = &accepted.envelope;
        let terms = match facts {
            CapabilityFacts::Offer(offer) => Some(offer.terms),
            CapabilityFacts::Counter(counter) => Some(counter.terms),
            CapabilityFacts::Advertise(_)
            | CapabilityFacts::Request(_)
            | CapabilityFacts::Response(_)
            | CapabilityFacts::Accept(_)
            | CapabilityFacts::Reject(_)
            | CapabilityFacts::Close(_)
            | CapabilityFacts::Agree(_)
            | CapabilityFacts::Revoke(_) => None,
        };
        if let Some(facts) = terms {
            let envelope = client.message(header.id).await?.envelope;
            self.proposed.push(Proposed {
                author: header.from,
                step: header.id,
                terms: crate::session::object(&envelope, "terms", facts.terms_hash)?,
                facts,
            });
        }
        self.take(facts, header.from);
        Ok(())
    }

    fn take(&mut self, facts: &CapabilityFacts, from: Did) {
        match facts {
            CapabilityFacts::Response(response) if response.willing => self.stage = Stage::Open,
            CapabilityFacts::Offer(_) => self.stage = Stage::Terms,
            CapabilityFacts::Counter(_) => {
                self.stage = Stage::Terms;
                self.counters += 1;
            }
            CapabilityFacts::Accept(_) => {
                self.stage = Stage::Agreeing;
                self.accepted_by = Some(from);
            }
            CapabilityFacts::Agree(_) => self.signed_by.push(from),
            CapabilityFacts::Advertise(_)
            | CapabilityFacts::Request(_)
            | CapabilityFacts::Response(_)
            | CapabilityFacts::Reject(_)
            | CapabilityFacts::Close(_)
            | CapabilityFacts::Revoke(_) => {}
        }
    }

    /// The last terms.
    pub(crate) fn last(&self) -> Option<&Proposed> {
        self.proposed.last()
    }

    /// What to name in an answer to the last terms.
    pub(crate) fn answers(&self) -> Option<AnsweredTerms> {
        Some(AnsweredTerms {
            session: self.id,
            step: self.last()?.step,
        })
    }

    /// The other party.
    pub(crate) fn counterparty(&self, me: Did) -> Did {
        if self.initiator == me {
            self.target
        } else {
            self.initiator
        }
    }
}
