//! Two who negotiate about a capability: what was said so far, and how to say more.

use super::deal::Deal;
use super::descriptors::{ADVERTISE, descriptor};
use super::ledgerbox::{Ledgerbox, parameters};
use super::party::{Account, Party};
use serde_json::{Value, json};
use x811_ledger::answer::Accepted;
use x811_protocol::canonical::to_canonical;
use x811_protocol::capability::agreement::JWS_TYPE;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::facts::CapabilityVerb;
use x811_protocol::id::{AgreementId, EnvelopeId, SessionId};
use x811_protocol::jws;
use x811_protocol::key::KeyId;
use x811_protocol::parameters::Capabilities;

/// The type that they negotiate about: its schema asks for `to`.
pub(crate) const TRANSLATE: &str = "com.example.translate";

/// Two parties, the consumer speaks first, and somebody else.
#[derive(Clone)]
pub(crate) struct Bargain {
    pub(crate) consumer: Party,
    pub(crate) provider: Party,
    pub(crate) stranger: Party,
    pub(crate) parameters: Value,
    pub(crate) session: Option<SessionId>,
    /// The message with the last terms, and those.
    pub(crate) step: Option<(EnvelopeId, Value)>,
    /// The agreement, and the revision that the session makes.
    pub(crate) agreement: Option<(AgreementId, u64)>,
}

/// A ledger that takes sessions.
pub(crate) async fn taking(block: Capabilities) -> Ledgerbox {
    Ledgerbox::but(|it| it.capabilities = Some(block)).await
}

/// The same, where two parties may have any number of interactions open.
pub(crate) async fn taking_crowds(block: Capabilities) -> Ledgerbox {
    let mut parameters = parameters();
    parameters.capabilities = Some(block);
    parameters.limits.open_per_pair = 1_000;
    Ledgerbox::with(parameters).await
}

impl Bargain {
    /// Between new parties, of whom the provider has published what it can do.
    pub(crate) async fn new(ledgerbox: &Ledgerbox) -> Bargain {
        let consumer = ledgerbox.initiator(&Account::new(0x46)).await;
        let provider = ledgerbox.provider().await;
        Bargain::with(ledgerbox, consumer, provider).await
    }

    /// Between these, of whom the provider publishes what it can do.
    pub(crate) async fn with(ledgerbox: &Ledgerbox, consumer: Party, provider: Party) -> Bargain {
        let stranger = ledgerbox.provider().await;
        let advert = descriptor(&provider, 1);
        let advert = ledgerbox.seal(&provider, ADVERTISE, &ledgerbox.identity, advert);
        ledgerbox.accept(&advert).await;
        Bargain::between(consumer, provider, stranger)
    }

    /// Between these two.
    pub(crate) fn between(consumer: Party, provider: Party, stranger: Party) -> Bargain {
        Bargain {
            consumer,
            provider,
            stranger,
            parameters: json!({"to": "de"}),
            session: None,
            step: None,
            agreement: None,
        }
    }

    /// Terms for that long, with at most so many requests.
    pub(crate) fn terms(duration_s: u64, max_requests: u64) -> Value {
        json!({
            "duration_s": duration_s,
            "max_requests": max_requests,
            "requests_per_minute": 2,
            "max_request_bytes": 4096,
            "data_handling": {"kept": "for a day"},
            "tone": "formal",
        })
    }

    /// The object that both sign.
    pub(crate) fn object(&self, ledgerbox: &Ledgerbox) -> Value {
        let (agreement, revision) = self.agreement.unwrap();
        json!({
            "ledger": ledgerbox.identity.did,
            "agreement_id": agreement,
            "revision": revision,
            "session_id": self.session,
            "consumer": self.consumer.did,
            "provider": self.provider.did,
            "type": TRANSLATE,
            "version": "2.1.0",
            "parameters": self.parameters,
            "terms": self.step.as_ref().map(|(_, terms)| terms),
        })
    }

    /// An `agree` by that party over that object.
    pub(crate) fn signature(party: &Party, object: &Value) -> Value {
        let kid = KeyId {
            did: party.did,
            key: party.key.public(),
        };
        let signed = jws::sign(kid, JWS_TYPE, &to_canonical(object), &party.key);
        json!({
            "agreement": object,
            "protected": signed.protected,
            "signature": signed.signature,
        })
    }

    /// Payload of that message about the session as it stands; `extra` is its terms, if it has some.
    pub(crate) fn payload(
        &self,
        ledgerbox: &Ledgerbox,
        from: &Party,
        verb: CapabilityVerb,
        extra: &Value,
    ) -> Value {
        let step = self.step.as_ref().map(|(step, _)| step);
        let session = self.session;
        match verb {
            CapabilityVerb::Request => {
                let mut payload = json!({
                    "type": TRANSLATE,
                    "protocol": {"min": "1.0.0", "max": "3.0.0", "deprecated": []},
                    "parameters": self.parameters,
                });
                if let Some((agreement, revision)) = self.agreement {
                    payload["agreement_id"] = json!(agreement);
                    payload["revision"] = json!(revision);
                    payload["reason"] = json!("inadequate");
                }
                payload
            }
            CapabilityVerb::Response => json!({"session_id": session, "willing": true}),
            CapabilityVerb::Offer => json!({"session_id": session, "terms": extra}),
            CapabilityVerb::Counter => {
                json!({"session_id": session, "step_id": step, "terms": extra})
            }
            CapabilityVerb::Accept => {
                let (step, terms) = self.step.as_ref().unwrap();
                let terms_hash = Digest::of(&to_canonical(terms));
                json!({"session_id": session, "step_id": step, "terms_hash": terms_hash})
            }
            CapabilityVerb::Reject => {
                json!({"session_id": session, "step_id": step, "rationale": "too dear"})
            }
            CapabilityVerb::Close => json!({"session_id": session}),
            CapabilityVerb::Agree => Bargain::signature(from, &self.object(ledgerbox)),
            CapabilityVerb::Revoke => {
                let (agreement, revision) = self.agreement.unwrap();
                json!({"agreement_id": agreement, "revision": revision, "reason": "moved away"})
            }
            CapabilityVerb::Advertise => descriptor(from, 1),
        }
    }

    pub(crate) fn seal(
        &self,
        ledgerbox: &Ledgerbox,
        from: &Party,
        verb: CapabilityVerb,
        payload: Value,
    ) -> SealedEnvelope {
        let to = if from.did == self.provider.did {
            &self.consumer
        } else {
            &self.provider
        };
        ledgerbox.seal(from, verb.as_str(), to, payload)
    }

    /// That message as the session stands.
    pub(crate) fn message(
        &self,
        ledgerbox: &Ledgerbox,
        from: &Party,
        verb: CapabilityVerb,
        extra: &Value,
    ) -> SealedEnvelope {
        let payload = self.payload(ledgerbox, from, verb, extra);
        self.seal(ledgerbox, from, verb, payload)
    }

    /// Sends that message and notes what it leads to.
    pub(crate) async fn say(
        &mut self,
        ledgerbox: &Ledgerbox,
        from: &Party,
        verb: CapabilityVerb,
        extra: &Value,
    ) -> Accepted {
        let envelope = self.message(ledgerbox, from, verb, extra);
        let accepted = ledgerbox.accept(&envelope).await;
        self.note(verb, extra, accepted.envelope_id);
        accepted
    }

    /// Notes what an accepted message leads to.
    pub(crate) fn note(&mut self, verb: CapabilityVerb, extra: &Value, envelope: EnvelopeId) {
        if verb == CapabilityVerb::Request {
            let session = SessionId::from(envelope);
            self.session = Some(session);
            self.step = None;
            self.agreement = Some(match self.agreement {
                None => (session.into(), 1),
                Some((agreement, revision)) => (agreement, revision + 1),
            });
        } else if [CapabilityVerb::Offer, CapabilityVerb::Counter].contains(&verb) {
            self.step = Some((envelope, extra.clone()));
        }
    }

    /// From the request to accepted terms; whoever speaks first is named.
    pub(crate) async fn accept(&mut self, ledgerbox: &Ledgerbox, first: &Party, terms: &Value) {
        let second = if first.did == self.consumer.did {
            self.provider.clone()
        } else {
            self.consumer.clone()
        };
        let none = Value::Null;
        self.say(ledgerbox, first, CapabilityVerb::Request, &none)
            .await;
        self.say(ledgerbox, &second, CapabilityVerb::Response, &none)
            .await;
        self.say(ledgerbox, first, CapabilityVerb::Offer, terms)
            .await;
        self.say(ledgerbox, &second, CapabilityVerb::Accept, &none)
            .await;
    }

    /// The whole way to an agreement, or to its next revision.
    pub(crate) async fn agree(&mut self, ledgerbox: &Ledgerbox, terms: &Value) {
        let (consumer, provider) = (self.consumer.clone(), self.provider.clone());
        self.accept(ledgerbox, &consumer, terms).await;
        for party in [consumer, provider] {
            self.say(ledgerbox, &party, CapabilityVerb::Agree, &Value::Null)
                .await;
        }
    }

    /// A REQUEST that names the agreement.
    pub(crate) fn use_it(
        &self,
        ledgerbox: &Ledgerbox,
        change: impl FnOnce(&mut Value),
    ) -> (EnvelopeId, SealedEnvelope) {
        let mut letter = ledgerbox.letter("x811/request", &self.provider, json!({}));
        letter.payload = Deal::request_payload(&letter.id.to_string());
        letter.payload["task_type"] = json!(TRANSLATE);
        letter.payload["parameters"]["agreement_id"] = json!(self.agreement.unwrap().0);
        change(&mut letter.payload);
        (letter.id, self.consumer.seal(&letter))
    }
}
