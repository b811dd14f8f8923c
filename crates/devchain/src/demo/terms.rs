//! Terms before work: three turns, and an agreement that the interaction is then held to.

use super::DemoError;
use super::act::{DELIVERABLE, Stage, TASK, TASK_S, amount};
use super::cast::Agent;
use serde_json::{Map, Value, json};
use x811_client::clock::{Clock, SystemClock};
use x811_client::compose::{Answered, NegotiationStep};
use x811_client::http::Accepted;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::id::{ContractId, EnvelopeId};
use x811_protocol::money::MicroUsdc;

/// What Ada offers, what Bert asks, and what Ada offers then, in micro-USDC without the fee.
const PRICES_MICRO_USDC: [u64; 3] = [20_000, 29_000, 25_000];

/// How long the terms stand, in milliseconds.
const LIFE_MS: u64 = 60_000;

/// What Ada and Bert agreed on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Contract {
    pub(super) id: ContractId,
    /// What Bert gets.
    pub(super) price: MicroUsdc,
    /// Where its offer stands in the log.
    pub(super) first_position: u64,
}

impl Stage<'_, '_> {
    /// Ada offers, Bert counters, Ada counters, Bert accepts.
    pub(super) async fn negotiate(&self) -> Result<Contract, DemoError> {
        let [first, asked, last] = PRICES_MICRO_USDC;
        let offer = NegotiationStep::Offer {
            terms: self.terms(first)?,
            expires_at: SystemClock.now().saturating_add_ms(LIFE_MS),
            max_turns: None,
            parent: None,
            message: None,
        };
        let offered = self.ada.send(self.bert.did(), &offer).await?;
        self.tell_turn("offer", "Ada → Bert", Some(first), &offered)?;
        let id = ContractId::from(offered.envelope_id);
        let countered = self.counter(id, self.bert, &offered, asked).await?;
        self.tell_turn("counter", "Bert → Ada", Some(asked), &countered)?;
        let again = self.counter(id, self.ada, &countered, last).await?;
        self.tell_turn("counter", "Ada → Bert", Some(last), &again)?;
        // Bert agrees to the terms that Ada signed, not to what somebody says they are.
        let terms = self.signed_terms(self.bert, again.envelope_id).await?;
        let accept = NegotiationStep::Accept {
            answers: answered(id, &again),
            terms_hash: Digest::of(&to_canonical(&terms)),
        };
        let accepted = self.bert.send(self.ada.did(), &accept).await?;
        self.tell_turn("accept", "Bert → Ada", None, &accepted)?;
        self.story.fact("contract", &id.to_public());
        Ok(Contract {
            id,
            price: amount(last)?,
            first_position: offered.position,
        })
    }

    async fn counter(
        &self,
        id: ContractId,
        by: &Agent,
        answers: &Accepted,
        micro_usdc: u64,
    ) -> Result<Accepted, DemoError> {
        let counter = NegotiationStep::Counter {
            answers: answered(id, answers),
            terms: self.terms(micro_usdc)?,
            expires_at: None,
            message: None,
        };
        let to = match by.did() == self.ada.did() {
            true => self.bert.did(),
            false => self.ada.did(),
        };
        by.send(to, &counter).await
    }

    fn terms(&self, micro_usdc: u64) -> Result<Map<String, Value>, DemoError> {
        let price = amount(micro_usdc)?.to_usdc_decimal();
        let terms = json!({
            "payer": self.ada.did(),
            "payee": self.bert.did(),
            "amount": {"value": price, "currency": "USDC"},
            "amount_of": "price",
            "task_type": TASK,
            "deadline_s": TASK_S,
            "deliverables": [DELIVERABLE],
        });
        let terms = terms.as_object().cloned();
        terms.ok_or(DemoError::Setup("terms"))
    }

    async fn signed_terms(
        &self,
        reader: &Agent,
        step: EnvelopeId,
    ) -> Result<Map<String, Value>, DemoError> {
        let message = reader.ledger().message(step).await?;
        let terms = message.envelope.payload().get("terms");
        let terms = terms.and_then(Value::as_object).cloned();
        terms.ok_or(DemoError::Setup("the last terms"))
    }

    fn tell_turn(
        &self,
        name: &str,
        between: &str,
        micro_usdc: Option<u64>,
        accepted: &Accepted,
    ) -> Result<(), DemoError> {
        let said = match micro_usdc {
            Some(micro_usdc) => format!("{} USDC", amount(micro_usdc)?.to_usdc_decimal()),
            None => "agreed".to_owned(),
        };
        self.story.step(name, between, &said, accepted);
        Ok(())
    }
}

fn answered(id: ContractId, terms: &Accepted) -> Answered {
    Answered {
        negotiation: id,
        step: terms.envelope_id,
    }
}
