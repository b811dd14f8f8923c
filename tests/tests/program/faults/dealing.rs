//! Whole interactions between two agents, one after the other: from the REQUEST to the PAYMENT, which
//! completes them without a chain, for nothing is due.

use super::client::{Agent, TASK};
use x811_client::compose::{
    Accept, Delivery, Judgement, Offer, Payload as _, Payment, ResultContent, Verify, offer_hash,
};
use x811_client::identity::Identity;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::money::MicroUsdc;

/// What the ledger calls its network.
const NETWORK: &str = "base";

/// The two, and how far they have come.
pub(crate) struct Pair {
    initiator: Agent,
    provider: Agent,
    next: Next,
    /// Interactions whose PAYMENT was acknowledged.
    pub(crate) paid: Vec<InteractionId>,
}

/// What is said next.
#[derive(Debug, Clone, Copy)]
enum Next {
    Initiator,
    Provider,
    /// After the PAYMENT of the interaction before, if there was one.
    Request(Option<InteractionId>),
    Offer(InteractionId),
    Accept(Agreed),
    Result(Agreed),
    Verify(Agreed),
    Payment(Agreed),
}

/// What was offered.
#[derive(Debug, Clone, Copy)]
struct Agreed {
    interaction: InteractionId,
    offer_id: EnvelopeId,
    offer_hash: Digest,
}

impl Pair {
    /// Two agents that are not registered yet.
    pub(crate) fn new(name: &str) -> Pair {
        Pair {
            initiator: Agent::new(&format!("{name}-initiator")),
            provider: Agent::new(&format!("{name}-provider")),
            next: Next::Initiator,
            paid: Vec::new(),
        }
    }

    /// The next message, once the one before was acknowledged.
    pub(crate) fn say(&mut self, ledger: Did) -> SealedEnvelope {
        let initiator = self.initiator.identity.did;
        let provider = self.provider.identity.did;
        match self.next {
            Next::Initiator => {
                self.next = Next::Provider;
                self.initiator.registration(ledger)
            }
            Next::Provider => {
                self.next = Next::Request(None);
                self.provider.registration(ledger)
            }
            Next::Request(before) => {
                self.paid.extend(before);
                let request = self.initiator.request(provider);
                self.next = Next::Offer(InteractionId::from(request.header.id));
                request
            }
            Next::Offer(interaction) => self.offer(interaction),
            Next::Accept(agreed) => {
                self.next = Next::Result(agreed);
                self.initiator.seal(provider, &agreed.accept())
            }
            Next::Result(agreed) => {
                self.next = Next::Verify(agreed);
                self.provider.seal(initiator, &agreed.delivery())
            }
            Next::Verify(agreed) => {
                self.next = Next::Payment(agreed);
                self.initiator.seal(provider, &agreed.verify())
            }
            Next::Payment(agreed) => {
                self.next = Next::Request(Some(agreed.interaction));
                let [payer, payee] =
                    [&self.initiator, &self.provider].map(|agent| wallet(&agent.identity));
                self.initiator.seal(provider, &agreed.payment(payer, payee))
            }
        }
    }

    fn offer(&mut self, interaction: InteractionId) -> SealedEnvelope {
        let offered = offer(interaction, wallet(&self.provider.identity));
        let offer_hash = offer_hash(&offered.members().unwrap());
        let initiator = self.initiator.identity.did;
        let offer = self.provider.seal(initiator, &offered);
        self.next = Next::Accept(Agreed {
            interaction,
            offer_id: offer.header.id,
            offer_hash,
        });
        offer
    }
}

impl Agreed {
    fn accept(self) -> Accept {
        Accept {
            offer_id: self.offer_id,
            offer_hash: self.offer_hash,
        }
    }

    fn delivery(self) -> Delivery {
        Delivery {
            interaction: self.interaction,
            offer_id: self.offer_id,
            content: result(),
            content_type: "text/plain".to_owned(),
            execution_time_ms: 7,
            model_used: None,
            methodology: None,
        }
    }

    fn verify(self) -> Verify {
        Verify {
            interaction: self.interaction,
            offer_id: self.offer_id,
            result_hash: result().hash(),
            judgement: Judgement::Verified,
        }
    }

    fn payment(self, payer: EvmAddress, payee: EvmAddress) -> Payment {
        Payment {
            interaction: self.interaction,
            offer_id: self.offer_id,
            // Any will do where nothing is due.
            tx_hash: TxHash::from_bytes(*self.offer_hash.as_bytes()),
            fee_tx_hash: None,
            authorization_nonce: None,
            amount: MicroUsdc::default(),
            network: NETWORK.to_owned(),
            payer,
            payee,
        }
    }
}

fn offer(interaction: InteractionId, payment_address: EvmAddress) -> Offer {
    Offer {
        interaction,
        price: MicroUsdc::default(),
        estimated_time_s: 10,
        deliverables: vec![TASK.to_owned()],
        expiry_s: 300,
        terms: None,
        payment_address: Some(payment_address),
    }
}

fn result() -> ResultContent {
    ResultContent::Inline("Bonjour le monde".to_owned())
}

fn wallet(identity: &Identity) -> EvmAddress {
    identity.wallet_key.as_ref().unwrap().address()
}
