//! Messages without signatures: the header as it would be recorded, and facts.

use std::sync::LazyLock;

use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{AcceptedHeader, CoreType, MessageType};
use x811_protocol::facts::{
    AcceptFacts, AcceptancePolicy, CoreFacts, DisputeCode, ErrorFacts, Facts, Location, OfferFacts,
    PaymentFacts, RejectCode, RejectFacts, RequestFacts, ResultFacts, VerifyFacts,
};
use x811_protocol::id::EnvelopeId;
use x811_protocol::interaction::table::Sender;
use x811_protocol::key::{KeyId, Profile, PublicKey, SecretKey};
use x811_protocol::signature::Signature;
use x811_protocol::time::TimestampMs;

use super::chain::{PAYEE, PAYER, micro, tx};
use super::world::{BASE, World};

/// The task everybody asks for.
pub(crate) const TASK: &str = "financial-analysis";
/// The default price, micro-USDC.
pub(crate) const PRICE: u64 = 1_000_000;
/// 2.5 % of it.
pub(crate) const FEE: u64 = 25_000;
/// Both.
pub(crate) const TOTAL: u64 = 1_025_000;
/// The most the initiator will pay.
pub(crate) const BUDGET: u64 = 2_000_000;
/// How long an OFFER holds by default, seconds.
pub(crate) const EXPIRY_S: u64 = 300;

/// Consumer and payer.
pub(crate) static INITIATOR: LazyLock<Did> =
    LazyLock::new(|| did("019c8c61-8129-7511-9f31-aa5142e65448"));
/// Worker and payee.
pub(crate) static PROVIDER: LazyLock<Did> =
    LazyLock::new(|| did("019c8c61-8129-7511-9f31-aa5142e65449"));
/// Anybody else.
pub(crate) static STRANGER: LazyLock<Did> =
    LazyLock::new(|| did("019c8c61-8129-7511-9f31-aa5142e6544a"));

static KEY: LazyLock<PublicKey> = LazyLock::new(|| SecretKey::from_seed([7; 32]).public());

fn did(uuid: &str) -> Did {
    format!("did:x811:{uuid}").parse().unwrap()
}

/// The six messages that move an interaction on.
pub(crate) const MOVES: [CoreType; 6] = [
    CoreType::Offer,
    CoreType::Accept,
    CoreType::Reject,
    CoreType::Result,
    CoreType::Verify,
    CoreType::Payment,
];

/// All three kinds of sender.
pub(crate) const SENDERS: [Sender; 3] = [Sender::Initiator, Sender::Provider, Sender::Stranger];

/// The DID of a sender.
pub(crate) fn did_of(sender: Sender) -> Did {
    match sender {
        Sender::Initiator => *INITIATOR,
        Sender::Provider => *PROVIDER,
        Sender::Stranger => *STRANGER,
    }
}

/// A message before it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) from: Did,
    pub(crate) to: Did,
    pub(crate) facts: Facts,
    /// A new one unless set.
    pub(crate) id: Option<EnvelopeId>,
    /// The ledger's now unless set.
    pub(crate) created_ms: Option<TimestampMs>,
}

/// A member of the facts, to be changed before the message is sent.
macro_rules! part {
    ($name:ident, $variant:ident, $facts:ty) => {
        pub(crate) fn $name(&mut self) -> &mut $facts {
            match &mut self.facts {
                Facts::$variant(facts) => facts,
                other => panic!("{other:?}"),
            }
        }
    };
}

impl Message {
    part!(request, Request, RequestFacts);
    part!(offer, Offer, OfferFacts);
    part!(accept, Accept, AcceptFacts);
    part!(reject, Reject, RejectFacts);
    part!(result, Result, ResultFacts);
    part!(verify, Verify, VerifyFacts);
    part!(payment, Payment, PaymentFacts);

    /// Sets price, fee and total of an OFFER.
    pub(crate) fn priced(mut self, price_micro_usdc: u64) -> Message {
        let price = micro(price_micro_usdc);
        let offer = self.offer();
        offer.price = price;
        offer.protocol_fee = price.protocol_fee();
        offer.total_cost = price.checked_add(price.protocol_fee()).unwrap();
        self
    }

    /// Sent by somebody else, to the party that is left.
    pub(crate) fn sent_by(mut self, sender: Sender) -> Message {
        self.from = did_of(sender);
        self.to = match sender {
            Sender::Initiator => *PROVIDER,
            Sender::Provider | Sender::Stranger => *INITIATOR,
        };
        self
    }
}

impl World {
    /// The message of that type that fits the interaction: right sender, right references.
    pub(crate) fn draft(&self, number: usize, kind: CoreType) -> Message {
        let stream = &self.streams[number];
        let (request_id, offer_id) = (stream.request_id, stream.offer_id);
        let result_hash = Digest::of(b"result");
        let facts = match kind {
            CoreType::Request => Facts::Request(request_facts(number)),
            CoreType::Offer => Facts::Offer(offer_facts(request_id)),
            CoreType::Accept => Facts::Accept(AcceptFacts {
                offer_id,
                offer_hash: Digest::of(b"offer"),
            }),
            CoreType::Reject => Facts::Reject(RejectFacts {
                offer_id,
                code: RejectCode::Other,
            }),
            CoreType::Result => Facts::Result(ResultFacts {
                request_id,
                offer_id,
                result_hash,
                content_type: "text/plain".to_owned(),
                result_size: Some(6),
                location: Location::Inline,
                content_matches: Some(true),
            }),
            CoreType::Verify => Facts::Verify(VerifyFacts {
                request_id,
                offer_id,
                result_hash,
                verified: true,
                dispute_code: None,
            }),
            CoreType::Payment => Facts::Payment(payment_facts(request_id, offer_id)),
            CoreType::Error => Facts::Error(ErrorFacts {
                code: Code::InternalError,
                related_message_id: Some(request_id),
            }),
        };
        let (from, to) = match kind {
            CoreType::Offer | CoreType::Result => (*PROVIDER, *INITIATOR),
            _ => (*INITIATOR, *PROVIDER),
        };
        Message {
            from,
            to,
            facts,
            id: None,
            created_ms: None,
        }
    }

    /// A VERIFY that says no.
    pub(crate) fn draft_dispute(&self, number: usize) -> Message {
        let mut message = self.draft(number, CoreType::Verify);
        message.verify().verified = false;
        message.verify().dispute_code = Some(DisputeCode::Quality);
        message
    }

    /// A PAYMENT that names these transactions.
    pub(crate) fn draft_payment(&self, number: usize, tx_hash: u8, fee: Option<u8>) -> Message {
        let mut message = self.draft(number, CoreType::Payment);
        message.payment().tx_hash = tx(tx_hash);
        message.payment().fee_tx_hash = fee.map(tx);
        message
    }
}

fn request_facts(number: usize) -> RequestFacts {
    RequestFacts {
        agreement_id: None,
        negotiation_id: None,
        task_type: TASK.to_owned(),
        max_budget: micro(BUDGET),
        deadline_s: 60,
        acceptance_policy: AcceptancePolicy::Auto,
        threshold_amount: None,
        idempotency_tag: Digest::of(&number.to_be_bytes()),
        payload_hash: Digest::of(b"request"),
    }
}

fn offer_facts(request_id: EnvelopeId) -> OfferFacts {
    OfferFacts {
        deliverables_hash: Digest::ZERO,
        request_id,
        price: micro(PRICE),
        protocol_fee: micro(FEE),
        total_cost: micro(TOTAL),
        estimated_time_s: 30,
        expiry_s: EXPIRY_S,
        payment_address: Some(PAYEE),
        payload_hash: Digest::of(b"offer"),
    }
}

fn payment_facts(request_id: EnvelopeId, offer_id: EnvelopeId) -> PaymentFacts {
    PaymentFacts {
        request_id,
        offer_id,
        tx_hash: tx(1),
        fee_tx_hash: None,
        amount: micro(TOTAL),
        payer_address: PAYER,
        payee_address: PAYEE,
        network: BASE.to_owned(),
        authorization_nonce: None,
    }
}

/// The header of `message` as it would be recorded.
pub(crate) fn header(id: EnvelopeId, message: &Message, created_ms: TimestampMs) -> AcceptedHeader {
    let tag = Digest::of(id.to_string().as_bytes());
    AcceptedHeader {
        id,
        message_type: MessageType::Core(kind_of(&message.facts)),
        version: "0.1.0".to_owned(),
        from: message.from,
        to: message.to,
        created_ms,
        expires_ms: None,
        key: KeyId {
            did: message.from,
            key: *KEY,
        },
        profile: Profile::Digest,
        digest: tag,
        signature: Signature::from_bytes([0x5a; 64]),
        nonce_tag: tag,
        size: 700,
    }
}

fn kind_of(facts: &Facts) -> CoreType {
    match facts.core().unwrap() {
        CoreFacts::Request(_) => CoreType::Request,
        CoreFacts::Offer(_) => CoreType::Offer,
        CoreFacts::Accept(_) => CoreType::Accept,
        CoreFacts::Reject(_) => CoreType::Reject,
        CoreFacts::Result(_) => CoreType::Result,
        CoreFacts::Verify(_) => CoreType::Verify,
        CoreFacts::Payment(_) => CoreType::Payment,
        CoreFacts::Error(_) => CoreType::Error,
    }
}
