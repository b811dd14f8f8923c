//! The first half of a message's way: everything that needs no order. Runs in parallel, before the
//! sequencer; what it finds is checked again at the message's turn.

use crate::agent::{Agent, Status};
use crate::world::World;
use std::sync::Arc;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::envelope::{
    AcceptedHeader, EnvelopeRules, MessageType, ParsedEnvelope, VerifiedEnvelope, check_times,
    verify,
};
use x811_protocol::facts::Facts;
use x811_protocol::parameters::{Leniency, Parameters};
use x811_protocol::payload::registration::Registration;
use x811_protocol::payload::{self, PayloadRules};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::time::TimestampMs;

/// The message that registers a DID (ledger-contract.md section 4).
pub const REGISTER: &str = "x811.registry/register";

/// What an authentic message says.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    /// One of the eight core messages, or a custom one.
    Facts(Facts),
    /// A registration.
    Register(Box<Registration>),
}

/// An authentic message, waiting for its turn.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) envelope: VerifiedEnvelope,
    pub(crate) header: AcceptedHeader,
    /// A message whose content is refused still spends its nonce.
    pub(crate) content: Result<Content, Refusal>,
}

impl Submission {
    pub(crate) fn body(&self) -> &Arc<[u8]> {
        self.envelope.body()
    }
}

/// Parses `bytes`, checks version, members, times and signature, and reads the content.
///
/// # Errors
/// The refusal to answer with. No nonce is spent by it: nothing shows yet that the sender sent it.
pub(crate) fn receive(
    bytes: &[u8],
    world: &World,
    now: TimestampMs,
) -> Result<Submission, Refusal> {
    let (_, parameters) = world.parameters().ok_or_else(not_open)?;
    let parsed = ParsedEnvelope::parse(bytes, &envelope_rules(parameters))?;
    let id = parsed.header.id;
    authenticate(parsed, world, parameters, now).map_err(|refusal| refusal.related_to(id))
}

fn authenticate(
    parsed: ParsedEnvelope,
    world: &World,
    parameters: &Parameters,
    now: TimestampMs,
) -> Result<Submission, Refusal> {
    check_times(&parsed.header, now, parameters.limits.clock_tolerance_ms)?;
    if is_registration(&parsed.header.message_type) {
        return register(parsed, world);
    }
    let agent = sender(world, parsed.header.from)?;
    let envelope = verify(parsed, &agent.keys)?;
    let content = read(&envelope, &payload_rules(parameters));
    Ok(Submission {
        header: envelope.accepted_header(),
        envelope,
        content,
    })
}

/// A registration is signed by a key of the document it brings.
fn register(parsed: ParsedEnvelope, world: &World) -> Result<Submission, Refusal> {
    let ledger = world.identity().ok_or_else(not_open)?.did;
    if parsed.header.to != ledger {
        return Err(Refusal::new(
            Code::DidDocumentInvalid,
            Kind::Sender,
            format!("a registration is addressed to the ledger: set `to` to {ledger}"),
        ));
    }
    let registration = Registration::parse(parsed.header.from, ledger, &parsed.payload)?;
    let envelope = verify(parsed, &registration.keys)?;
    Ok(Submission {
        header: envelope.accepted_header(),
        envelope,
        content: Ok(Content::Register(Box::new(registration))),
    })
}

fn read(envelope: &VerifiedEnvelope, rules: &PayloadRules) -> Result<Content, Refusal> {
    let header = envelope.header();
    payload::facts(&header.message_type, header.from, envelope.payload(), rules).map(Content::Facts)
}

/// The registered, active sender; anything else answers as AX-30 says.
pub(crate) fn sender(world: &World, did: Did) -> Result<&Arc<Agent>, Refusal> {
    let agent = world.agent(did).ok_or_else(|| {
        Refusal::new(
            Code::DidNotFound,
            Kind::NotFound,
            "the sender's DID is not registered here: register it first",
        )
    })?;
    if agent.status == Status::Active {
        return Ok(agent);
    }
    let status = agent.status.as_str();
    Err(Refusal::new(
        Code::SignatureInvalid,
        Kind::Authentication,
        format!("the sender's DID is {status}: its messages are not taken"),
    )
    .with_details(serde_json::json!({ "did_status": status })))
}

pub(crate) fn is_registration(message_type: &MessageType) -> bool {
    message_type.as_str() == REGISTER
}

/// How envelopes are read under `parameters`.
pub fn envelope_rules(parameters: &Parameters) -> EnvelopeRules {
    EnvelopeRules {
        max_bytes: usize::try_from(parameters.limits.envelope_bytes).unwrap_or(usize::MAX),
        lenient_ids: parameters.is_lenient(Leniency::Uuids),
    }
}

/// How payloads are read under `parameters`.
pub fn payload_rules(parameters: &Parameters) -> PayloadRules {
    PayloadRules {
        lenient_addresses: parameters.is_lenient(Leniency::Addresses),
        max_inline_content_bytes: parameters.limits.inline_content_bytes,
    }
}

/// X811-9002 before the ledger has an identity and parameters.
pub(crate) fn not_open() -> Refusal {
    Refusal::new(
        Code::InternalError,
        Kind::Internal,
        "the ledger is not open yet: try again",
    )
}
