//! A session about a capability from the side of one of its parties: read from records whose hashes and
//! signatures hold, and from messages whose senders signed them (capability.md).

use serde_json::{Map, Value, json};
use x811_protocol::canonical::members_to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::VerifiedEnvelope;
use x811_protocol::event::Event;
use x811_protocol::facts::{CapabilityFacts, Facts, SessionRequest};
use x811_protocol::id::{EnvelopeId, SessionId};
use x811_protocol::stream::Subject;

use crate::compose::AnsweredTerms;
use crate::http::{ClientError, LedgerClient, SessionView};
use crate::transcript::{self, Entry};

/// How often a session is read that goes on meanwhile.
const READS: u32 = 5;

/// A session and its records.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// How it stands, by the ledger's word.
    pub view: SessionView,
    /// Its records, oldest first.
    pub entries: Vec<Entry>,
    /// Who asked, and who was asked.
    parties: (Did, Did),
    request: SessionRequest,
    /// The last message with terms, and their hash.
    last_terms: Option<(EnvelopeId, Digest)>,
}

impl Session {
    /// Reads a session.
    ///
    /// # Errors
    /// [`ClientError::Untrusted`] when a hash, an order or a signature does not hold; else as
    /// [`ClientError`] says.
    pub async fn fetch(client: &LedgerClient, id: SessionId) -> Result<Session, ClientError> {
        for _ in 0..READS {
            let view = client.session(id).await?;
            let entries = transcript::checked(client.records_of(Subject::Session(id)).await?)?;
            let session = Session::of(view, entries)?;
            // A message that came between the two reads is in the records alone.
            if session.last_terms.map(|(step, _)| step) == session.view.step_id {
                return Ok(session);
            }
        }
        Err(untrusted(format!(
            "the last terms of session {id} are not those of its records"
        )))
    }

    fn of(view: SessionView, entries: Vec<Entry>) -> Result<Session, ClientError> {
        let (mut request, mut last_terms) = (None, None);
        for entry in &entries {
            let Event::EnvelopeAccepted(accepted) = &entry.event else {
                continue;
            };
            let Facts::Capability(facts) = &accepted.facts else {
                continue;
            };
            let header = &accepted.envelope;
            match facts {
                CapabilityFacts::Request(facts) => {
                    request = Some((header.id, (header.from, header.to), (**facts).clone()));
                }
                CapabilityFacts::Offer(facts) => {
                    last_terms = Some((header.id, facts.terms.terms_hash));
                }
                CapabilityFacts::Counter(facts) => {
                    last_terms = Some((header.id, facts.terms.terms_hash));
                }
                CapabilityFacts::Advertise(_)
                | CapabilityFacts::Response(_)
                | CapabilityFacts::Accept(_)
                | CapabilityFacts::Reject(_)
                | CapabilityFacts::Close(_)
                | CapabilityFacts::Agree(_)
                | CapabilityFacts::Revoke(_) => {}
            }
        }
        match request {
            Some((id, parties, request)) if SessionId::from(id) == view.id => Ok(Session {
                view,
                entries,
                parties,
                request,
                last_terms,
            }),
            _ => Err(untrusted(format!(
                "the records of session {} do not begin with its request",
                view.id
            ))),
        }
    }

    /// The type of the capability, as the initiator signed it.
    pub fn capability(&self) -> &str {
        &self.request.capability
    }

    /// Who asked, and who was asked.
    pub const fn parties(&self) -> (Did, Did) {
        self.parties
    }

    /// The other party; `None` for those who take no part in it.
    pub fn other_than(&self, me: Did) -> Option<Did> {
        let (initiator, target) = self.parties;
        match me {
            me if me == initiator => Some(target),
            me if me == target => Some(initiator),
            _ => None,
        }
    }

    /// The last terms as messages name them, and their hash; `None` before the first.
    pub fn last_terms(&self) -> Option<(AnsweredTerms, Digest)> {
        self.last_terms.map(|(step, terms_hash)| {
            let session = self.view.id;
            (AnsweredTerms { session, step }, terms_hash)
        })
    }

    /// The last terms as their author signed them; `None` before the first.
    ///
    /// # Errors
    /// [`ClientError::Untrusted`] when they are others than the record says; else as [`ClientError`]
    /// says.
    pub async fn terms(
        &self,
        client: &LedgerClient,
    ) -> Result<Option<Map<String, Value>>, ClientError> {
        let Some((step, terms_hash)) = self.last_terms else {
            return Ok(None);
        };
        let envelope = client.message(step).await?.envelope;
        object(&envelope, "terms", terms_hash).map(Some)
    }

    /// What the capability is to be used with, as the initiator signed it.
    ///
    /// # Errors
    /// As [`Session::terms`].
    pub async fn parameters(
        &self,
        client: &LedgerClient,
    ) -> Result<Map<String, Value>, ClientError> {
        let envelope = client.message(self.view.id.request_id()).await?.envelope;
        object(&envelope, "parameters", self.request.parameters_hash)
    }

    /// The object that both sign (capability.md, "agreement"): made from what the two said, so that
    /// neither has to take it from the other. `None` before there are terms.
    ///
    /// # Errors
    /// [`ClientError::Untrusted`] when the agreement that is negotiated again is not one of these two;
    /// else as [`Session::terms`].
    pub async fn agreement(
        &self,
        client: &LedgerClient,
        ledger: Did,
    ) -> Result<Option<Map<String, Value>>, ClientError> {
        let Some(terms) = self.terms(client).await? else {
            return Ok(None);
        };
        let (consumer, provider) = self.sides(client).await?;
        let agreement = self.request.agreement_id;
        let agreement = agreement.unwrap_or_else(|| self.view.id.into());
        let members = json!({
            "ledger": ledger,
            "agreement_id": agreement,
            "revision": self.request.revision.unwrap_or(0) + 1,
            "session_id": self.view.id,
            "consumer": consumer,
            "provider": provider,
            "type": self.request.capability,
            "version": self.view.version,
            "parameters": self.parameters(client).await?,
            "terms": terms,
        });
        let Value::Object(members) = members else {
            return Ok(None);
        };
        Ok(Some(members))
    }

    /// The consumer and the provider: whoever asked first is the consumer, for ever.
    async fn sides(&self, client: &LedgerClient) -> Result<(Did, Did), ClientError> {
        let Some(agreement) = self.request.agreement_id else {
            return Ok(self.parties);
        };
        let agreement = client.agreement(agreement).await?;
        let sides = (agreement.consumer, agreement.provider);
        let (initiator, target) = self.parties;
        if sides == (initiator, target) || sides == (target, initiator) {
            return Ok(sides);
        }
        Err(untrusted(format!(
            "agreement {} is one of others than session {} is between",
            agreement.id, self.view.id
        )))
    }
}

/// A member of a message, if it is the one whose hash was recorded.
pub(crate) fn object(
    envelope: &VerifiedEnvelope,
    name: &str,
    hash: Digest,
) -> Result<Map<String, Value>, ClientError> {
    let members = envelope.payload().get(name).and_then(Value::as_object);
    let members = members.filter(|members| Digest::of(&members_to_canonical(members)) == hash);
    members.cloned().ok_or_else(|| {
        let id = envelope.header().id;
        untrusted(format!(
            "{name} of envelope {id} are not what the record says of them"
        ))
    })
}

const fn untrusted(cause: String) -> ClientError {
    ClientError::Untrusted { cause }
}
