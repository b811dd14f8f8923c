//! The signed messages: that they are the ones the confirmation rests on, and of one deal.

use super::{Broken, Steps, Terms, broken};
use crate::receipt::Receipt;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Confirmed, EnvelopeAccepted};
use x811_protocol::facts::{AcceptFacts, Facts, OfferFacts, PaymentFacts, VerifyFacts};
use x811_protocol::id::{EnvelopeId, InteractionId};

/// The messages, each as its record has it.
pub(super) struct Messages {
    offer: (EnvelopeAccepted, OfferFacts),
    accept: (EnvelopeAccepted, AcceptFacts),
    verify: (EnvelopeAccepted, VerifyFacts),
    pub(super) payments: Vec<(EnvelopeAccepted, PaymentFacts)>,
}

impl Messages {
    pub(super) fn read(
        receipt: &Receipt,
        confirmed: &Confirmed,
        steps: &mut Steps,
    ) -> Result<Messages, Broken> {
        let about = "messages";
        let named = &confirmed.records;
        let mut hashes = vec![named.offer, named.accept, named.verify];
        hashes.extend(&named.payments);
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
            read.push(accepted);
        }
        let messages = Messages::sorted(read)?;
        let sentence = format!(
            "{} was the initiator's key and {} the provider's: the ledger's word, which an audit of \
             the whole log proves",
            messages.accept.0.envelope.key.key, messages.offer.0.envelope.key.key
        );
        steps.asserted("keys", sentence);
        let sentence = "OFFER, ACCEPT, VERIFY and PAYMENT are signed by the keys named above, and \
                        the records that follow from them are those that the confirmation names";
        steps.proven(about, sentence);
        Ok(messages)
    }

    fn sorted(read: Vec<EnvelopeAccepted>) -> Result<Messages, Broken> {
        let (mut offer, mut accept, mut verify, mut payments) = (None, None, None, Vec::new());
        for accepted in read {
            match accepted.facts.clone() {
                Facts::Offer(facts) => offer = Some((accepted, facts)),
                Facts::Accept(facts) => accept = Some((accepted, facts)),
                Facts::Verify(facts) if facts.verified => verify = Some((accepted, facts)),
                Facts::Payment(facts) => payments.push((accepted, facts)),
                Facts::Request(_)
                | Facts::Reject(_)
                | Facts::Result(_)
                | Facts::Verify(_)
                | Facts::Error(_)
                | Facts::Custom(_) => {}
            }
        }
        match (offer, accept, verify) {
            (Some(offer), Some(accept), Some(verify)) => Ok(Messages {
                offer,
                accept,
                verify,
                payments,
            }),
            _ => Err(broken(
                "messages",
                "OFFER, ACCEPT or a VERIFY that says yes is missing",
            )),
        }
    }

    /// What the ACCEPT repeats, and nonces are made of.
    pub(super) fn offer_hash(&self) -> Digest {
        self.offer.1.payload_hash
    }

    pub(super) fn terms(
        &self,
        interaction: InteractionId,
        steps: &mut Steps,
    ) -> Result<Terms, Broken> {
        let about = "terms";
        self.one_deal(interaction)?;
        let ((offer, terms), (accept, consent)) = (&self.offer, &self.accept);
        let (header, accept) = (&offer.envelope, &accept.envelope);
        if consent.offer_id != header.id || consent.offer_hash != terms.payload_hash {
            return Err(broken(about, "the ACCEPT is of another OFFER"));
        }
        let payee = terms.payment_address.or(offer.derived.payee);
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
            initiator: accept.from,
            provider: header.from,
            price: terms.price,
            protocol_fee: terms.protocol_fee,
            total_cost: terms.total_cost,
            payee,
            payee_is_signed: terms.payment_address.is_some(),
        })
    }

    /// Every message is of this interaction and between the same two agents: signatures that are
    /// good prove nothing about another deal.
    fn one_deal(&self, interaction: InteractionId) -> Result<(), Broken> {
        let interaction = EnvelopeId::from(interaction);
        let (offer, terms) = &self.offer;
        let (verify, judged) = &self.verify;
        let payments = self.payments.iter();
        let named = payments
            .clone()
            .map(|(_, facts)| (facts.request_id, facts.offer_id));
        let mut named = named.chain([(judged.request_id, judged.offer_id)]);
        let is_of_it = |(request, of): (EnvelopeId, EnvelopeId)| {
            request == interaction && of == offer.envelope.id
        };
        if terms.request_id != interaction || !named.all(is_of_it) {
            return Err(broken("terms", "a message is of another interaction"));
        }
        let mut asking = payments
            .map(|(payment, _)| payment)
            .chain([&self.accept.0, verify])
            .map(|accepted| (accepted.envelope.from, accepted.envelope.to));
        let (provider, initiator) = (offer.envelope.from, offer.envelope.to);
        if !asking.all(|pair| pair == (initiator, provider)) {
            let sentence = "the messages are not between the same two agents";
            return Err(broken("terms", sentence));
        }
        Ok(())
    }
}
