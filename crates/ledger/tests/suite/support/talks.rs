//! Two who negotiate: what has been said so far, and how to say more.

use super::base::PAYEE;
use super::deal::Deal;
use super::ledgerbox::{Ledgerbox, TASK};
use super::party::{Account, Party};
use serde_json::{Value, json};
use x811_ledger::answer::Accepted;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::id::{ContractId, EnvelopeId};
use x811_protocol::parameters::Contracts;

/// How long every set of terms here is good for.
pub(crate) const LIFE_MS: u64 = 60_000;

/// A ledger that takes contracts, with these parameters of them.
pub(crate) async fn talking(block: Contracts) -> Ledgerbox {
    Ledgerbox::but(|it| it.contracts = Some(block)).await
}

/// Two parties who negotiate; the payer speaks first.
pub(crate) struct Talks {
    pub(crate) payer: Party,
    pub(crate) payee: Party,
    pub(crate) stranger: Party,
    pub(crate) id: Option<ContractId>,
    /// The last step and its terms' hash.
    pub(crate) step: Option<(EnvelopeId, Digest)>,
}

impl Talks {
    /// Between new parties.
    pub(crate) async fn new(ledgerbox: &Ledgerbox) -> Talks {
        let payer = ledgerbox.initiator(&Account::new(0x46)).await;
        let payee = ledgerbox.provider().await;
        let stranger = ledgerbox.provider().await;
        Talks::between(payer, payee, stranger)
    }

    /// Between these two.
    pub(crate) fn between(payer: Party, payee: Party, stranger: Party) -> Talks {
        Talks {
            payer,
            payee,
            stranger,
            id: None,
            step: None,
        }
    }

    pub(crate) fn terms(&self, value: &str) -> Value {
        json!({
            "payer": self.payer.did,
            "payee": self.payee.did,
            "amount": {"value": value, "currency": "USDC"},
            "amount_of": "total",
            "task_type": TASK,
            "deliverables": ["the text in German"],
            "deadline_s": 60,
            "tone": "formal",
        })
    }

    pub(crate) fn named(&self) -> (String, EnvelopeId) {
        let (step, _) = self.step.unwrap();
        (self.id.unwrap().to_public(), step)
    }

    /// Payload of that message about the negotiation as it stands.
    pub(crate) fn payload(
        &self,
        ledgerbox: &Ledgerbox,
        verb: NegotiationVerb,
        value: &str,
    ) -> Value {
        let expires_at = ledgerbox.now().saturating_add_ms(LIFE_MS).to_rfc3339();
        if verb == NegotiationVerb::Offer {
            return json!({"terms": self.terms(value), "expires_at": expires_at});
        }
        let (id, step) = self.named();
        let mut payload = json!({"negotiation_id": id, "step_id": step});
        match verb {
            NegotiationVerb::Counter => {
                payload["terms"] = self.terms(value);
                payload["expires_at"] = expires_at.into();
            }
            NegotiationVerb::Accept => {
                payload["terms_hash"] = json!(self.step.unwrap().1);
            }
            NegotiationVerb::Offer | NegotiationVerb::Reject | NegotiationVerb::Withdraw => {}
        }
        payload
    }

    pub(crate) fn seal(
        &self,
        ledgerbox: &Ledgerbox,
        from: &Party,
        verb: NegotiationVerb,
        payload: Value,
    ) -> SealedEnvelope {
        let to = if from.did == self.payee.did {
            &self.payer
        } else {
            &self.payee
        };
        ledgerbox.seal(from, verb.as_str(), to, payload)
    }

    /// Sends that message and notes what it leads to.
    pub(crate) async fn say(
        &mut self,
        ledgerbox: &Ledgerbox,
        from: &Party,
        verb: NegotiationVerb,
        value: &str,
    ) -> Accepted {
        let payload = self.payload(ledgerbox, verb, value);
        let terms_hash = payload
            .get("terms")
            .map(|terms| Digest::of(&to_canonical(terms)));
        let envelope = self.seal(ledgerbox, from, verb, payload);
        let accepted = ledgerbox.accept(&envelope).await;
        if let Some(terms_hash) = terms_hash {
            self.step = Some((accepted.envelope_id, terms_hash));
        }
        if verb == NegotiationVerb::Offer {
            self.id = Some(ContractId::from(accepted.envelope_id));
        }
        accepted
    }

    /// Three turns, then agreed on 1.025 USDC in all.
    pub(crate) async fn agree(&mut self, ledgerbox: &Ledgerbox) {
        let (payer, payee) = (self.payer.clone(), self.payee.clone());
        self.say(ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
            .await;
        self.say(ledgerbox, &payee, NegotiationVerb::Counter, "2.05")
            .await;
        self.say(ledgerbox, &payer, NegotiationVerb::Counter, "1.025")
            .await;
        self.say(ledgerbox, &payee, NegotiationVerb::Accept, "")
            .await;
    }

    /// A REQUEST that names the contract.
    pub(crate) fn request(
        &self,
        ledgerbox: &Ledgerbox,
        change: impl FnOnce(&mut Value),
    ) -> (EnvelopeId, SealedEnvelope) {
        let mut letter = ledgerbox.letter("x811/request", &self.payee, json!({}));
        letter.payload = Deal::request_payload(&letter.id.to_string());
        letter.payload["parameters"]["negotiation_id"] = self.id.unwrap().to_public().into();
        change(&mut letter.payload);
        (letter.id, self.payer.seal(&letter))
    }

    pub(crate) fn offer(
        &self,
        ledgerbox: &Ledgerbox,
        request: EnvelopeId,
        amounts: [&str; 3],
        deliverable: &str,
    ) -> SealedEnvelope {
        let [price, fee, total] = amounts;
        let payload = json!({
            "request_id": request, "price": price, "protocol_fee": fee, "total_cost": total,
            "currency": "USDC", "estimated_time": 10, "deliverables": [deliverable],
            "expiry": 300, "payment_address": PAYEE.to_checksum(),
        });
        ledgerbox.seal(&self.payee, "x811/offer", &self.payer, payload)
    }

    pub(crate) fn state(&self, ledgerbox: &Ledgerbox) -> String {
        let rows = ledgerbox.rows.rows();
        let subject = self.id.unwrap().into();
        rows.subjects[&subject].state.clone()
    }
}
