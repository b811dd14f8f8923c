//! What is sent: conversations between many agents, signed before the clock starts.
//!
//! Two conversations of three are carried to the end, REQUEST, OFFER, ACCEPT, RESULT, VERIFY and
//! PAYMENT; they are free of charge, so that they complete without a chain, or paid on one that is
//! made up ([`super::chain`]). The third ends with a REJECT. Each message is a record; that an
//! interaction has completed is another one, and two more say that a payment was seen and is final.

use std::sync::Arc;

use ed25519_dalek::{Signature, VerifyingKey};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use x811_client::clock::{Clock, SystemClock};
use x811_client::compose::{
    Accept, ComposeError, Composer, Delivery, Judgement, Offer, Payload, Payment, Registration,
    Reject, Request, ResultContent, SessionStep, Verify, offer_hash,
};
use x811_client::entropy::SystemEntropy;
use x811_client::identity::{AgentName, Identity};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::facts::{AcceptancePolicy, RejectCode};
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;

use super::broken;
use x811_console::failure::Failure;

/// What every provider here offers.
pub(super) const TASK: &str = "translation";

/// The capability of who takes part in rounds.
const CONSENSUS: &str = "x811.consensus";

/// What every REQUEST brings along: half a kilobyte, as in the specification's examples.
const TEXT: &str = "The quick brown fox jumps over the lazy dog, and the dog, who has seen foxes \
    before, thinks nothing of it and goes back to sleep under the old pear tree in the yard.";

/// Who pays on a chain, and who is paid.
pub(super) const PAYER: EvmAddress = EvmAddress::from_bytes([0x22; 20]);
pub(super) const PAYEE: EvmAddress = EvmAddress::from_bytes([0x11; 20]);

/// What a provider asks for that asks for anything.
const PRICE_MICRO_USDC: u64 = 100_000;

/// The same with the ledger's fee, 250 basis points.
const TOTAL_MICRO_USDC: u64 = 102_500;

/// A signed envelope, and what its signature is checked with.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// The envelope as it is sent.
    pub(super) bytes: Arc<[u8]>,
    key: VerifyingKey,
    digest: Digest,
    signature: Signature,
}

impl Message {
    /// Checks the signature with the library's `verify_strict`, and nothing else.
    pub(super) fn is_authentic(&self) -> bool {
        let digest = self.digest.as_bytes();
        self.key.verify_strict(digest, &self.signature).is_ok()
    }
}

impl From<SealedEnvelope> for Message {
    fn from(envelope: SealedEnvelope) -> Message {
        Message {
            bytes: envelope.json.into(),
            key: envelope.key.key.into(),
            digest: envelope.digest,
            signature: Signature::from_bytes(envelope.signature.as_bytes()),
        }
    }
}

/// The messages of one interaction, in order.
pub(super) type Conversation = Vec<Message>;

/// Messages of an average conversation.
pub(super) const MESSAGES_EACH: usize = 5;

/// How many conversations make about so many records: three of them make 17 where they are free.
pub(super) fn conversations_of_records(records: usize) -> usize {
    records * 3 / 17
}

/// The same where they are paid: three of them make 21.
pub(super) fn paid_conversations_of_records(records: usize) -> usize {
    records * 3 / 21
}

/// Agents that do business with each other.
#[derive(Debug)]
pub(super) struct Agents {
    identities: Vec<Identity>,
    network: String,
    price: MicroUsdc,
    total: MicroUsdc,
    capabilities: Vec<String>,
}

impl Agents {
    /// New agents: each is initiator and provider.
    pub(super) fn generate(count: usize, network: &str) -> Result<Agents, Failure> {
        let identities = (0..count)
            .map(|number| {
                let name: AgentName = format!("agent-{number}").parse().map_err(broken)?;
                Identity::generate(name, &SystemEntropy, &SystemClock).map_err(Failure::from)
            })
            .collect::<Result<_, _>>()?;
        Ok(Agents {
            identities,
            network: network.to_owned(),
            price: MicroUsdc::default(),
            total: MicroUsdc::default(),
            capabilities: vec![TASK.to_owned()],
        })
    }

    /// The same agents, paid for what they do.
    pub(super) fn paid(self) -> Agents {
        let amount = |micro_usdc| MicroUsdc::from_micro_usdc(micro_usdc).unwrap_or_default();
        Agents {
            price: amount(PRICE_MICRO_USDC),
            total: amount(TOTAL_MICRO_USDC),
            ..self
        }
    }

    /// The same agents, who take part in rounds too.
    pub(super) fn taking_part(mut self) -> Agents {
        self.capabilities.push(CONSENSUS.to_owned());
        self
    }

    /// The agent of that number; they are numbered round and round.
    pub(super) fn did(&self, number: usize) -> Did {
        self.identities[number % self.identities.len()].did
    }

    /// How many they are.
    pub(super) fn count(&self) -> usize {
        self.identities.len()
    }

    /// What the agent of that number says to somebody.
    pub(super) fn tell(
        &self,
        number: usize,
        to: Did,
        payload: &dyn Payload,
    ) -> Result<SealedEnvelope, ComposeError> {
        self.tell_at(number, to, payload, &SystemClock)
    }

    /// The same, dated by `clock`.
    pub(super) fn tell_at(
        &self,
        number: usize,
        to: Did,
        payload: &dyn Payload,
        clock: &dyn Clock,
    ) -> Result<SealedEnvelope, ComposeError> {
        let from = &self.identities[number % self.identities.len()];
        seal(from, to, payload, clock)
    }

    /// What is paid for each interaction.
    pub(super) fn total(&self) -> MicroUsdc {
        self.total
    }

    /// Their registrations with `ledger`.
    pub(super) fn registrations(&self, ledger: Did) -> Result<Vec<Message>, Failure> {
        self.registrations_at(ledger, &SystemClock)
    }

    /// The same, dated by `clock`.
    pub(super) fn registrations_at(
        &self,
        ledger: Did,
        clock: &dyn Clock,
    ) -> Result<Vec<Message>, Failure> {
        let register = |identity: &Identity| {
            let payload = Registration::new(identity, ledger, self.capabilities.clone(), None)?;
            seal(identity, ledger, &payload, clock).map(Message::from)
        };
        self.identities
            .par_iter()
            .map(|identity| register(identity).map_err(Failure::from))
            .collect()
    }

    /// `count` conversations, the first of them with the number `first`.
    pub(super) fn conversations(
        &self,
        first: usize,
        count: usize,
    ) -> Result<Vec<Conversation>, Failure> {
        self.conversations_at(first, count, &SystemClock)
    }

    /// The same, dated by `clock`.
    pub(super) fn conversations_at(
        &self,
        first: usize,
        count: usize,
        clock: &dyn Clock,
    ) -> Result<Vec<Conversation>, Failure> {
        (first..first + count)
            .into_par_iter()
            .map(|number| self.conversation(number, clock).map_err(Failure::from))
            .collect()
    }

    /// Who carries on the conversation of that number.
    pub(super) fn pair(&self, number: usize) -> Pair<'_> {
        let count = self.identities.len();
        let initiator = number % count;
        // Everybody meets everybody: the distance between the two moves on with every round.
        let distance = 1 + (number / count) % (count - 1);
        Pair {
            initiator: &self.identities[initiator],
            provider: &self.identities[(initiator + distance) % count],
            clock: &SystemClock,
        }
    }

    fn conversation(&self, number: usize, clock: &dyn Clock) -> Result<Conversation, ComposeError> {
        let pair = self.pair(number).at(clock);
        let request = pair.ask(&request(number))?;
        let interaction = InteractionId::from(request.header.id);
        let offered = offer(interaction, self.price);
        let hash = offer_hash(&offered.members()?);
        let offer = pair.reply(&offered)?;
        let offer_id = offer.header.id;
        let mut conversation = vec![request.into(), offer.into()];
        if number % 3 == 2 {
            let reject = Reject {
                offer_id,
                reason: "another offer was better".to_owned(),
                code: RejectCode::Other,
                error_code: None,
            };
            conversation.push(pair.ask(&reject)?.into());
            return Ok(conversation);
        }
        let accept = Accept {
            offer_id,
            offer_hash: hash,
        };
        let content = ResultContent::Inline(format!("{TEXT} ({number})"));
        let verify = Verify {
            interaction,
            offer_id,
            result_hash: content.hash(),
            judgement: Judgement::Verified,
        };
        let result = delivery(interaction, offer_id, content);
        let payment = payment(interaction, offer_id, number, self);
        conversation.push(pair.ask(&accept)?.into());
        conversation.push(pair.reply(&result)?.into());
        conversation.push(pair.ask(&verify)?.into());
        conversation.push(pair.ask(&payment)?.into());
        Ok(conversation)
    }
}

/// Two agents that talk to each other.
pub(super) struct Pair<'a> {
    initiator: &'a Identity,
    provider: &'a Identity,
    clock: &'a dyn Clock,
}

impl<'a> Pair<'a> {
    /// The same two by another clock.
    pub(super) fn at(self, clock: &'a dyn Clock) -> Pair<'a> {
        Pair { clock, ..self }
    }

    /// Both sign that agreement, the initiator first.
    pub(super) fn sign(
        &self,
        agreement: &Map<String, Value>,
    ) -> Result<[SealedEnvelope; 2], ComposeError> {
        let by = |identity| SessionStep::agree(agreement.clone(), identity);
        Ok([
            self.ask(&by(self.initiator))?,
            self.reply(&by(self.provider))?,
        ])
    }
}

impl Pair<'_> {
    pub(super) fn initiator(&self) -> Did {
        self.initiator.did
    }

    pub(super) fn provider(&self) -> Did {
        self.provider.did
    }

    pub(super) fn ask(&self, payload: &dyn Payload) -> Result<SealedEnvelope, ComposeError> {
        seal(self.initiator, self.provider.did, payload, self.clock)
    }

    pub(super) fn reply(&self, payload: &dyn Payload) -> Result<SealedEnvelope, ComposeError> {
        seal(self.provider, self.initiator.did, payload, self.clock)
    }
}

fn seal(
    from: &Identity,
    to: Did,
    payload: &dyn Payload,
    clock: &dyn Clock,
) -> Result<SealedEnvelope, ComposeError> {
    Composer::new(from, &SystemEntropy, clock).seal(to, payload)
}

fn request(number: usize) -> Request {
    let mut parameters = Map::new();
    parameters.insert("text".to_owned(), json!(TEXT));
    parameters.insert("to".to_owned(), json!("de"));
    Request {
        task_type: TASK.to_owned(),
        parameters,
        max_budget: MicroUsdc::from_micro_usdc(1_000_000).unwrap_or_default(),
        deadline_s: 60,
        acceptance_policy: AcceptancePolicy::Auto,
        threshold_amount: None,
        callback_url: None,
        idempotency_key: format!("bench-{number}"),
    }
}

fn offer(interaction: InteractionId, price: MicroUsdc) -> Offer {
    Offer {
        interaction,
        price,
        estimated_time_s: 10,
        deliverables: vec!["the text in German".to_owned()],
        expiry_s: 300,
        terms: None,
        payment_address: Some(PAYEE),
    }
}

fn delivery(
    interaction: InteractionId,
    offer_id: x811_protocol::id::EnvelopeId,
    content: ResultContent,
) -> Delivery {
    Delivery {
        interaction,
        offer_id,
        content,
        content_type: "text/plain".to_owned(),
        execution_time_ms: 7,
        model_used: None,
        methodology: None,
    }
}

fn payment(
    interaction: InteractionId,
    offer_id: x811_protocol::id::EnvelopeId,
    number: usize,
    agents: &Agents,
) -> Payment {
    let digest = Digest::of(&number.to_be_bytes());
    Payment {
        interaction,
        offer_id,
        tx_hash: TxHash::from_bytes(*digest.as_bytes()),
        fee_tx_hash: None,
        authorization_nonce: None,
        amount: agents.total,
        network: agents.network.clone(),
        payer: PAYER,
        payee: PAYEE,
    }
}
