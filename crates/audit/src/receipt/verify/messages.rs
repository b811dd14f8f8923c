//! The signed messages: that they are the ones the confirmation rests on, and of one deal.

use super::paid::Terms;
use super::steps::{Broken, Steps, broken};
use crate::receipt::form::Receipt;
use crate::receipt::leaf::LeafPlace;
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{Confirmed, EnvelopeAccepted};
use x811_protocol::facts::{
    AcceptFacts, CoreFacts, OfferFacts, PaymentFacts, RequestFacts, VerifyFacts,
};
use x811_protocol::id::{ContractId, EnvelopeId, InteractionId};
use x811_protocol::key::AgentKey;
use x811_protocol::observation::NetworkHead;
use x811_protocol::time::TimestampMs;

/// A message as its record has it, and where that stands.
#[derive(Debug)]
pub(super) struct Message<F> {
    pub(super) accepted: EnvelopeAccepted,
    pub(super) facts: F,
    pub(super) place: LeafPlace,
}

impl<F> Message<F> {
    pub(super) fn recorded_at(&self) -> TimestampMs {
        TimestampMs::new(self.place.recorded_at_ms)
    }

    fn recorded(&self) -> (&AcceptedHeader, TimestampMs) {
        (&self.accepted.envelope, self.recorded_at())
    }

    /// What it is called, who says it, by which key and where.
    fn signed(&self) -> SignedBy<'_> {
        let envelope = &self.accepted.envelope;
        SignedBy {
            name: envelope.message_type.as_str().trim_start_matches("x811/"),
            key: AgentKey {
                key: envelope.key.key,
                profile: envelope.profile,
            },
            position: self.place.position,
        }
    }
}

/// By which key a message is signed.
#[derive(Debug, Clone, Copy)]
pub(super) struct SignedBy<'a> {
    /// The message's type without its prefix, in lower case.
    pub(super) name: &'a str,
    pub(super) key: AgentKey,
    /// Place of its record in the log.
    pub(super) position: u64,
}

const OUT_OF_ORDER: &str = "the messages are not in the order in which they were recorded";

/// The messages, each as its record has it.
pub(super) struct Messages {
    /// Where the interaction was opened by a contract.
    pub(super) request: Option<Message<RequestFacts>>,
    pub(super) offer: Message<OfferFacts>,
    pub(super) accept: Message<AcceptFacts>,
    pub(super) verify: Message<VerifyFacts>,
    /// In order; one at least.
    pub(super) payments: Vec<Message<PaymentFacts>>,
}

impl Messages {
    pub(super) fn read(receipt: &Receipt, confirmed: &Confirmed) -> Result<Messages, Broken> {
        let about = "messages";
        let named = &confirmed.records;
        let mut hashes = vec![named.offer, named.accept, named.verify];
        hashes.extend(&named.payments);
        if receipt.envelopes.len() == hashes.len() + 1 {
            hashes.insert(0, named.request);
        }
        if hashes.len() != receipt.envelopes.len() {
            let sentence = "the file has not the messages that the confirmation names";
            return Err(broken(about, sentence));
        }
        let mut read = Vec::new();
        for (hash, enclosed) in hashes.iter().zip(&receipt.envelopes) {
            let made = enclosed.record(receipt.stream());
            let (record, accepted) = made.map_err(|sentence| broken(about, sentence))?;
            if record.hash().as_bytes() != hash.as_bytes() {
                let sentence = format!(
                    "the record of the {} hashes to {}, the confirmation names {hash}",
                    accepted.envelope.message_type,
                    record.hash()
                );
                return Err(broken(about, sentence));
            }
            read.push((accepted, enclosed.place));
        }
        let each = receipt.envelopes.iter().map(|it| it.place.position);
        if !each.is_sorted_by(|one, next| one < next) {
            return Err(broken("terms", OUT_OF_ORDER));
        }
        Messages::sorted(read)
    }

    fn sorted(read: Vec<(EnvelopeAccepted, LeafPlace)>) -> Result<Messages, Broken> {
        let (mut request, mut offer, mut accept, mut verify) = (None, None, None, None);
        let mut payments = Vec::new();
        for (accepted, place) in read {
            let Some(facts) = accepted.facts.core() else {
                continue;
            };
            match facts {
                CoreFacts::Request(facts) => {
                    request = Some(message(facts.clone(), accepted, place))
                }
                CoreFacts::Offer(facts) => offer = Some(message(facts.clone(), accepted, place)),
                CoreFacts::Accept(facts) => accept = Some(message(facts.clone(), accepted, place)),
                CoreFacts::Verify(facts) if facts.verified => {
                    verify = Some(message(facts.clone(), accepted, place));
                }
                CoreFacts::Payment(facts) => payments.push(message(facts.clone(), accepted, place)),
                CoreFacts::Reject(_)
                | CoreFacts::Result(_)
                | CoreFacts::Verify(_)
                | CoreFacts::Error(_) => {}
            }
        }
        match (offer, accept, verify) {
            (Some(offer), Some(accept), Some(verify)) if !payments.is_empty() => Ok(Messages {
                request,
                offer,
                accept,
                verify,
                payments,
            }),
            _ => Err(broken(
                "messages",
                "OFFER, ACCEPT, a VERIFY that says yes or PAYMENT is missing",
            )),
        }
    }

    /// What the initiator signed, in order.
    pub(super) fn of_initiator(&self) -> Vec<SignedBy<'_>> {
        let first = [self.accept.signed(), self.verify.signed()];
        let request = self.request.iter().map(Message::signed);
        request
            .chain(first)
            .chain(self.payments.iter().map(Message::signed))
            .collect()
    }

    /// Every message with the time of its record.
    pub(super) fn recorded(&self) -> impl Iterator<Item = (&AcceptedHeader, TimestampMs)> {
        let [offer, accept, verify] = [
            self.offer.recorded(),
            self.accept.recorded(),
            self.verify.recorded(),
        ];
        let request = self.request.iter().map(Message::recorded);
        let payments = self.payments.iter().map(Message::recorded);
        request.chain([offer, accept, verify]).chain(payments)
    }

    /// The provider's key.
    pub(super) fn provider_key(&self) -> AgentKey {
        self.offer.signed().key
    }

    pub(super) fn provider(&self) -> Did {
        self.offer.accepted.envelope.from
    }

    pub(super) fn initiator(&self) -> Did {
        self.accept.accepted.envelope.from
    }

    /// The OFFER's facts.
    pub(super) fn offered(&self) -> &OfferFacts {
        &self.offer.facts
    }

    /// The heads that were recorded with the ACCEPT, and when that was.
    pub(super) fn accepted_at(&self) -> (&[NetworkHead], TimestampMs) {
        let heads = self.accept.accepted.derived.heads.as_deref();
        (heads.unwrap_or_default(), self.accept.recorded_at())
    }

    pub(super) fn terms(
        &self,
        interaction: InteractionId,
        steps: &mut Steps,
    ) -> Result<Terms, Broken> {
        let about = "terms";
        self.one_deal(interaction)?;
        let contract = self.contract(interaction, steps)?;
        let (terms, consent) = (&self.offer.facts, &self.accept.facts);
        let (header, accept) = (
            &self.offer.accepted.envelope,
            &self.accept.accepted.envelope,
        );
        // The REQUEST has one OFFER, and its id or its idempotency key stands for that where a leniency
        // for the published SDK is recorded (decision 0190).
        let is_named =
            consent.offer_id == header.id || self.is_request(interaction, consent.offer_id);
        if !is_named || consent.offer_hash != terms.payload_hash {
            return Err(broken(about, "the ACCEPT is of another OFFER"));
        }
        let payee = terms.payment_address.or(self.offer.accepted.derived.payee);
        let payee = payee.ok_or_else(|| broken(about, "the OFFER has no account to pay"))?;
        let sentence = format!(
            "{} offered it for {} USDC ({} with the fee), {} accepted that and found the result \
             good: signed by the keys named above",
            header.from,
            terms.price.to_usdc_decimal(),
            terms.total_cost.to_usdc_decimal(),
            accept.from
        );
        steps.by_the_log(about, sentence);
        let account = payee.to_checksum();
        match terms.payment_address {
            Some(_) => steps.by_the_log("payee", format!("{account}, by the signed OFFER")),
            None => {
                let sentence = format!("{account}, which the provider had registered");
                steps.asserted("payee", sentence);
            }
        }
        Ok(Terms {
            contract,
            initiator: accept.from,
            provider: header.from,
            price: terms.price,
            protocol_fee: terms.protocol_fee,
            total_cost: terms.total_cost,
            payee,
            payee_is_signed: terms.payment_address.is_some(),
        })
    }

    /// The contract that the REQUEST names, as the ledger held it to that.
    fn contract(
        &self,
        interaction: InteractionId,
        steps: &mut Steps,
    ) -> Result<Option<ContractId>, Broken> {
        let about = "contract";
        let Some(request) = &self.request else {
            return Ok(None);
        };
        let header = &request.accepted.envelope;
        if header.id != EnvelopeId::from(interaction) {
            return Err(broken(about, "the REQUEST is of another interaction"));
        }
        let held_to = request.accepted.derived.contract;
        let named = request.facts.negotiation_id;
        if (named, held_to) == (None, None) && self.names_key(interaction) {
            return Ok(None);
        }
        let Some(contract) = named.filter(|named| held_to.map(|it| it.id) == Some(*named)) else {
            let sentence = "the file has the REQUEST, and no contract that opened the interaction";
            return Err(broken(about, sentence));
        };
        let sentence = format!(
            "the REQUEST of {} names the contract {}; that the OFFER is what was agreed there, the \
             bundle of the interaction proves",
            header.from,
            contract.to_public()
        );
        steps.by_the_log(about, sentence);
        Ok(Some(contract))
    }

    /// Whether `reference` is what this interaction's REQUEST is called: its id, or the idempotency key
    /// of the one that the file has.
    fn is_request(&self, interaction: InteractionId, reference: EnvelopeId) -> bool {
        let is_key = self.request.as_ref().is_some_and(|request| {
            let from = request.accepted.envelope.from;
            RequestFacts::tag(from, &reference.to_string()) == request.facts.idempotency_tag
        });
        is_key || reference == EnvelopeId::from(interaction)
    }

    /// Whether a message refers to the REQUEST by its idempotency key.
    pub(super) fn names_key(&self, interaction: InteractionId) -> bool {
        let payments = self.payments.iter().map(|payment| payment.facts.request_id);
        let mut named = payments.chain([
            self.offer.facts.request_id,
            self.accept.facts.offer_id,
            self.verify.facts.request_id,
        ]);
        let ids = [
            EnvelopeId::from(interaction),
            self.offer.accepted.envelope.id,
        ];
        named.any(|id| !ids.contains(&id) && self.is_request(interaction, id))
    }

    /// Every message is of this interaction and between the same two agents: signatures that are
    /// good prove nothing about another deal.
    fn one_deal(&self, interaction: InteractionId) -> Result<(), Broken> {
        let (offer, judged) = (&self.offer.accepted.envelope, &self.verify.facts);
        let payments = self.payments.iter();
        let named = payments.clone().map(|payment| &payment.facts);
        let named = named.map(|facts| (facts.request_id, facts.offer_id));
        let mut named = named.chain([(judged.request_id, judged.offer_id)]);
        let is_of_it = |(request, of): (EnvelopeId, EnvelopeId)| {
            self.is_request(interaction, request)
                && (of == offer.id || self.is_request(interaction, of))
        };
        let offered = self.offer.facts.request_id;
        if !self.is_request(interaction, offered) || !named.all(is_of_it) {
            return Err(broken("terms", "a message is of another interaction"));
        }
        let request = self.request.iter().map(|request| &request.accepted);
        let mut asking = payments
            .map(|payment| &payment.accepted)
            .chain([&self.accept.accepted, &self.verify.accepted])
            .chain(request)
            .map(|accepted| (accepted.envelope.from, accepted.envelope.to));
        let (provider, initiator) = (offer.from, offer.to);
        if !asking.all(|pair| pair == (initiator, provider)) {
            let sentence = "the messages are not between the same two agents";
            return Err(broken("terms", sentence));
        }
        let offer = [self.offer.place.position];
        let mut positions: Vec<u64> = self.of_initiator().iter().map(|by| by.position).collect();
        let behind = usize::from(self.request.is_some());
        positions.splice(behind..behind, offer);
        if !positions.is_sorted_by(|one, next| one < next) {
            return Err(broken("terms", OUT_OF_ORDER));
        }
        Ok(())
    }
}

fn message<F>(facts: F, accepted: EnvelopeAccepted, place: LeafPlace) -> Message<F> {
    Message {
        accepted,
        facts,
        place,
    }
}
