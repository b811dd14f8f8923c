//! Every message is sealed, read back with the protocol's own reader, and verified.

use serde_json::json;
use x811_protocol::code::Code;
use x811_protocol::envelope::{
    EnvelopeRules, ParsedEnvelope, VerifiedEnvelope, check_times, verify,
};
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::facts::consensus::{ConsensusFacts, Decision, Mechanism, Said, Voting};
use x811_protocol::facts::{AcceptancePolicy, DisputeCode, Facts, RejectCode};
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;

use super::*;
use crate::round::{Proposed, Secret};
use crate::testing::{CountingEntropy, ManualClock, NOW_MS, identity};

struct World {
    entropy: CountingEntropy,
    clock: ManualClock,
    alice: Identity,
    bob: Identity,
}

impl World {
    fn new() -> World {
        let entropy = CountingEntropy::default();
        let (alice, bob) = (identity("alice", &entropy), identity("bob", &entropy));
        World {
            entropy,
            clock: ManualClock::default(),
            alice,
            bob,
        }
    }

    fn try_seal(&self, payload: &dyn Payload) -> Result<SealedEnvelope, ComposeError> {
        Composer::new(&self.alice, &self.entropy, &self.clock).seal(self.bob.did, payload)
    }

    /// Seals, reads and verifies.
    fn round_trip(&self, payload: &dyn Payload) -> (VerifiedEnvelope, Facts) {
        let sealed = self.try_seal(payload).unwrap();
        let parsed = ParsedEnvelope::parse(&sealed.json, &EnvelopeRules::default()).unwrap();
        assert_eq!(parsed.digest, sealed.digest);
        check_times(&parsed.header, self.clock.now(), 0).unwrap();
        let verified = verify(parsed, &[self.alice.agent_key()]).unwrap();
        let header = verified.header();
        let rules = PayloadRules::default();
        let key = KeyId {
            did: header.from,
            key: verified.key().key,
        };
        let facts = facts_of(header, &key, verified.payload(), &rules).unwrap();
        (verified, facts)
    }
}

fn usdc(text: &str) -> MicroUsdc {
    MicroUsdc::from_usdc_decimal(text).unwrap()
}

fn interaction() -> InteractionId {
    "0190a1b2-c3d4-7e5f-8901-234567890abc".parse().unwrap()
}

fn offer_id() -> EnvelopeId {
    "0190a1b2-c3d4-7e5f-8901-234567890abd".parse().unwrap()
}

fn address(byte: u8) -> EvmAddress {
    EvmAddress::from_bytes([byte; 20])
}

fn request() -> Request {
    Request {
        task_type: "echo".to_owned(),
        parameters: Map::new(),
        max_budget: usdc("0.05"),
        deadline_s: 60,
        acceptance_policy: AcceptancePolicy::Threshold,
        threshold_amount: Some(usdc("0.03")),
        callback_url: Some("https://example.org/done".to_owned()),
        idempotency_key: "key-1".to_owned(),
    }
}

fn offer() -> Offer {
    Offer {
        interaction: interaction(),
        price: usdc("0.029"),
        estimated_time_s: 30,
        deliverables: vec!["an echo".to_owned()],
        expiry_s: 300,
        terms: None,
        payment_address: Some(address(0xab)),
    }
}

#[test]
fn ae_070_and_ae_076_ids_are_fresh_and_of_now() {
    let world = World::new();
    let (one, other) = (
        world.try_seal(&request()).unwrap().header,
        world.try_seal(&request()).unwrap().header,
    );
    assert_eq!(one.id.unix_ms(), Some(NOW_MS));
    assert_eq!(one.created_ms.as_ms(), NOW_MS);
    assert_ne!(one.id, other.id);
    assert_ne!(one.nonce, other.nonce);
}

#[test]
fn ae_040_to_ae_048_request() {
    let (envelope, facts) = World::new().round_trip(&request());
    let Facts::Request(facts) = facts else {
        panic!("{facts:?}");
    };
    assert_eq!(facts.max_budget, usdc("0.05"));
    assert_eq!(facts.threshold_amount, Some(usdc("0.03")));
    assert_eq!((facts.task_type.as_str(), facts.deadline_s), ("echo", 60));
    assert_eq!(facts.acceptance_policy, AcceptancePolicy::Threshold);
    assert_eq!(envelope.payload()["max_budget"], json!(0.05));
}

#[test]
fn ax_004_offer_carries_its_fee_and_total() {
    let (envelope, facts) = World::new().round_trip(&offer());
    let Facts::Offer(facts) = facts else {
        panic!("{facts:?}");
    };
    assert_eq!(envelope.payload()["protocol_fee"], "0.000725");
    assert_eq!(envelope.payload()["total_cost"], "0.029725");
    assert_eq!(facts.total_cost, offer().total_cost().unwrap());
    assert_eq!(facts.payment_address, Some(address(0xab)));
    assert_eq!((facts.estimated_time_s, facts.expiry_s), (30, 300));
}

#[test]
fn ae_057_accept_repeats_the_hash_the_ledger_computes() {
    let world = World::new();
    let (envelope, facts) = world.round_trip(&offer());
    let Facts::Offer(offer) = facts else {
        panic!("{facts:?}");
    };
    let accept = Accept::of(&envelope);
    assert_eq!(accept.offer_hash, offer.payload_hash);
    let (_, facts) = world.round_trip(&accept);
    let Facts::Accept(facts) = facts else {
        panic!("{facts:?}");
    };
    assert_eq!(facts.offer_id, envelope.header().id);
    assert_eq!(facts.offer_hash, offer.payload_hash);
}

#[test]
fn ae_058_and_ax_036_reject() {
    let reject = Reject {
        offer_id: offer_id(),
        reason: "too dear".to_owned(),
        code: RejectCode::PriceTooHigh,
        error_code: Some(Code::PolicyRejected),
    };
    let (envelope, facts) = World::new().round_trip(&reject);
    assert_eq!(envelope.payload()["error_code"], "X811-4030");
    assert!(matches!(facts, Facts::Reject(facts) if facts.code == RejectCode::PriceTooHigh));
}

#[test]
fn ae_059_and_ax_019_result_inline_and_linked() {
    let world = World::new();
    let delivery = |content| Delivery {
        interaction: interaction(),
        offer_id: offer_id(),
        content,
        content_type: "text/plain".to_owned(),
        execution_time_ms: 12,
        model_used: None,
        methodology: None,
    };
    let (_, inline) = world.round_trip(&delivery(ResultContent::Inline("hällo".to_owned())));
    let Facts::Result(inline) = inline else {
        panic!("{inline:?}");
    };
    assert_eq!(inline.content_matches, Some(true));
    assert_eq!(inline.result_size, Some(6));

    let linked = ResultContent::Linked {
        url: "https://example.org/result".to_owned(),
        hash: Digest::of(b"there"),
        size_bytes: 5,
    };
    let (_, facts) = world.round_trip(&delivery(linked));
    let Facts::Result(facts) = facts else {
        panic!("{facts:?}");
    };
    assert_eq!(facts.result_hash, Digest::of(b"there"));
    assert_eq!(facts.content_matches, None);
}

#[test]
fn ae_061_to_ae_063_verify() {
    let world = World::new();
    let verify = |judgement| Verify {
        interaction: interaction(),
        offer_id: offer_id(),
        result_hash: Digest::of(b"result"),
        judgement,
    };
    let (_, good) = world.round_trip(&verify(Judgement::Verified));
    assert!(matches!(good, Facts::Verify(facts) if facts.verified));
    let disputed = Judgement::Disputed {
        reason: "half is missing".to_owned(),
        code: DisputeCode::Incomplete,
    };
    let (_, facts) = world.round_trip(&verify(disputed));
    let Facts::Verify(facts) = facts else {
        panic!("{facts:?}");
    };
    assert_eq!(facts.dispute_code, Some(DisputeCode::Incomplete));
    assert_eq!(facts.result_hash, Digest::of(b"result"));
}

#[test]
fn ae_064_payment() {
    let payment = Payment {
        interaction: interaction(),
        offer_id: offer_id(),
        tx_hash: TxHash::from_bytes([7; 32]),
        fee_tx_hash: None,
        authorization_nonce: None,
        amount: usdc("0.029725"),
        network: "base".to_owned(),
        payer: address(1),
        payee: address(0xab),
    };
    let (_, facts) = World::new().round_trip(&payment);
    let Facts::Payment(facts) = facts else {
        panic!("{facts:?}");
    };
    assert_eq!(facts.tx_hash, payment.tx_hash);
    assert_eq!(facts.amount, payment.amount);
    assert_eq!(
        (facts.payer_address, facts.payee_address),
        (address(1), address(0xab))
    );
    let members = payment.members().unwrap();
    assert!(!members.contains_key("authorization_nonce"));
    let authorised = Payment {
        authorization_nonce: Some(Digest::of(b"this interaction")),
        ..payment
    };
    let members = authorised.members().unwrap();
    let nonce = Digest::of(b"this interaction").to_string();
    assert_eq!(members["authorization_nonce"], nonce);
}

#[test]
fn ae_066_error_and_ae_122_custom() {
    let world = World::new();
    let report = ErrorReport {
        code: Code::InternalError,
        message: "out of memory".to_owned(),
        related: Some(offer_id()),
    };
    let (_, facts) = world.round_trip(&report);
    assert!(matches!(facts, Facts::Error(facts) if facts.related_message_id == Some(offer_id())));
    let custom = Custom {
        message_type: "x811.ext/hello".parse().unwrap(),
        payload: Map::new(),
    };
    let (envelope, _) = world.round_trip(&custom);
    assert_eq!(envelope.header().message_type.as_str(), "x811.ext/hello");
}

#[test]
fn ae_036_what_the_ledger_would_refuse_is_not_signed() {
    let world = World::new();
    let refused = |payload: &dyn Payload| match world.try_seal(payload) {
        Err(ComposeError::Refused(refusal)) => refusal.code,
        other => panic!("{other:?}"),
    };
    let mut nameless = request();
    nameless.task_type.clear();
    assert_eq!(refused(&nameless), Code::InvalidStateTransition);
    let mut empty = offer();
    empty.deliverables.clear();
    assert_eq!(refused(&empty), Code::InvalidStateTransition);
    let mut beyond = offer();
    beyond.price = MicroUsdc::MAX;
    assert!(matches!(
        world.try_seal(&beyond),
        Err(ComposeError::TotalTooLarge)
    ));
}

fn proposal(world: &World, voting: Voting) -> NewProposal {
    let action = json!({"type": "com.example.route", "risk": "low"});
    NewProposal {
        action: action.as_object().unwrap().clone(),
        blocked_by: Vec::new(),
        f: None,
        leader: world.bob.did,
        mechanism: Mechanism::Majority,
        participants: vec![world.alice.did, world.bob.did],
        quorum: 2,
        retry: None,
        reveal_ms: None,
        specificity: Some(3),
        subject: "Use the second link".to_owned(),
        threshold: None,
        timeout: world.clock.now().saturating_add_ms(60_000),
        urgency: None,
        voting,
        weights: None,
    }
}

/// CX-4, CX-9: a proposal is named by its envelope, and is signed inside as well; votes repeat its hash.
#[test]
fn cx_9_what_is_said_in_a_round_is_signed_inside() {
    let world = World::new();
    let step = RoundStep::Propose(Box::new(proposal(&world, Voting::Open)));
    let (verified, facts) = world.round_trip(&step);
    let Facts::Consensus(ConsensusFacts::Propose(facts)) = facts else {
        panic!("{facts:?}");
    };
    assert_eq!(facts.proposal_id.proposal_id(), verified.header().id);
    assert_eq!((facts.attempt, facts.specificity), (1, 3));
    let proposed = Proposed {
        facts: *facts,
        proposer: world.alice.did,
        subject: String::new(),
        action: Map::new(),
    };
    let ballot = Ballot {
        decision: Decision::Approve,
        rationale: None,
    };
    for step in [
        proposed.ready(),
        proposed.opening(),
        proposed.vote(ballot, Vec::new()),
    ] {
        let (verified, facts) = world.round_trip(&step);
        let Facts::Consensus(facts) = facts else {
            panic!("{facts:?}");
        };
        assert_eq!(facts.round(), proposed.facts.proposal_id);
        let repeated = &verified.payload()["proposal_hash"];
        assert_eq!(repeated, &json!(proposed.facts.proposal_hash));
    }
    let bare = Ballot {
        decision: Decision::Reject,
        rationale: Some("  ".to_owned()),
    };
    let refused = world.try_seal(&proposed.vote(bare, Vec::new()));
    assert!(matches!(refused, Err(ComposeError::Refused(_))), "CC-20");
}

/// What is revealed is what was committed to, and two secrets of one vote are not alike.
#[test]
fn cx_51_a_sealed_vote_is_revealed_as_it_was_sealed() {
    let world = World::new();
    let step = RoundStep::Propose(Box::new(proposal(&world, Voting::Sealed)));
    let (_, facts) = world.round_trip(&step);
    let Facts::Consensus(ConsensusFacts::Propose(facts)) = facts else {
        panic!("{facts:?}");
    };
    let proposed = Proposed {
        facts: *facts,
        proposer: world.alice.did,
        subject: String::new(),
        action: Map::new(),
    };
    let secret = || {
        let ballot = Ballot {
            decision: Decision::Reject,
            rationale: Some("it is slow".to_owned()),
        };
        let round = proposed.facts.proposal_id;
        Secret::draw(round, ballot, world.clock.now(), &world.entropy).unwrap()
    };
    let (first, second) = (secret(), secret());
    assert_ne!(first.salt, second.salt);
    let (verified, facts) = world.round_trip(&proposed.commitment(&first, world.alice.did));
    for shown in ["decision", "rationale", "salt"] {
        assert_eq!(verified.payload().get(shown), None);
    }
    let Facts::Consensus(ConsensusFacts::Vote(vote)) = facts else {
        panic!("{facts:?}");
    };
    let (_, facts) = world.round_trip(&first.reveal());
    let Facts::Consensus(ConsensusFacts::Reveal(reveal)) = facts else {
        panic!("{facts:?}");
    };
    assert_eq!(vote.said().unwrap(), Said::Sealed(reveal.commitment));
    assert_eq!(vote.timestamp_ms, reveal.timestamp_ms);
    let (_, facts) = world.round_trip(&second.reveal());
    let Facts::Consensus(ConsensusFacts::Reveal(other)) = facts else {
        panic!("{facts:?}");
    };
    assert_ne!(other.commitment, reveal.commitment);
}
