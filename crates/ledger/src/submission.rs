//! The first half of a message's way: everything that needs no order. Runs in parallel, before the
//! sequencer; what it finds is checked again at the message's turn.

use serde_json::{Map, Value};
use std::sync::Arc;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::envelope::{
    AcceptedHeader, ParsedEnvelope, Unverified, VerifiedEnvelope, check_times, verify,
};
use x811_protocol::facts::Facts;
use x811_protocol::key::{AgentKey, KeyId, PublicKey};
use x811_protocol::parameters::Parameters;
use x811_protocol::payload::form::all_faults;
use x811_protocol::payload::registry::{Operation, Registration, Verb};
use x811_protocol::payload::{self, PayloadRules};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::shown::is_hidden;
use x811_protocol::time::TimestampMs;
use x811_world::World;
use x811_world::agent::AgentStanding;
use x811_world::reading::{envelope_rules, not_open, payload_rules};
use x811_world::sender::{registered, sender};

/// What an authentic message says.
#[derive(Debug, Clone)]
pub(crate) enum MessageContent {
    /// One of the eight core messages, or a custom one.
    Facts(Facts),
    /// What is asked of the registry.
    Registry(Operation),
}

/// An authentic message, waiting for its turn. It is large and changes hands often: boxed at once.
#[derive(Debug, Clone)]
pub(crate) struct Submission {
    pub(crate) header: AcceptedHeader,
    /// The canonical signable bytes.
    pub(crate) body: Arc<[u8]>,
    /// A message whose content is refused still spends its nonce.
    pub(crate) content: Result<MessageContent, Refusal>,
}

/// A message that was read, as far as that needs nobody else's signature check.
pub(crate) enum Opened {
    /// The signature is to be checked.
    Sealed(Box<Sealed>),
    /// What is asked of the registry, authentic.
    Authentic(Box<Submission>),
}

/// A message in its sender's name, with the keys that may have signed it.
pub(crate) struct Sealed {
    parsed: ParsedEnvelope,
    keys: Arc<[AgentKey]>,
}

/// Parses `bytes`, checks version, members, times and signature, and reads the content.
///
/// # Errors
/// The refusal to answer with. No nonce is spent by it: nothing shows yet that the sender sent it.
pub(crate) fn receive(
    bytes: &[u8],
    world: &World,
    now: TimestampMs,
) -> Result<Box<Submission>, Refusal> {
    authenticate(parse(bytes, world)?, world, now)
}

/// Parses `bytes` under the parameters in force.
///
/// # Errors
/// As of [`receive`].
pub(crate) fn parse(bytes: &[u8], world: &World) -> Result<ParsedEnvelope, Refusal> {
    let (_, parameters) = world.parameters().ok_or_else(not_open)?;
    ParsedEnvelope::parse(bytes, &envelope_rules(parameters))
}

/// Checks times and signature of a parsed message, and reads its content.
///
/// # Errors
/// As of [`receive`].
pub(crate) fn authenticate(
    parsed: ParsedEnvelope,
    world: &World,
    now: TimestampMs,
) -> Result<Box<Submission>, Refusal> {
    match open(parsed, world, now)? {
        Opened::Sealed(sealed) => verified(sealed.verify()?, world),
        Opened::Authentic(submission) => Ok(submission),
    }
}

/// The same up to the signature, where it can be checked apart.
///
/// # Errors
/// As of [`receive`].
pub(crate) fn open(
    parsed: ParsedEnvelope,
    world: &World,
    now: TimestampMs,
) -> Result<Opened, Refusal> {
    let (_, parameters) = world.parameters().ok_or_else(not_open)?;
    let id = parsed.header.id;
    admit(parsed, world, parameters, now).map_err(|refusal| refusal.related_to(id))
}

/// Whether a verdict rests on who is registered and with which keys, so that it may be another one
/// in a newer world (AX-29).
pub(crate) fn deserves_fresh_look(verdict: &Result<Box<Submission>, Refusal>) -> bool {
    let refused = verdict.as_ref().err();
    refused
        .is_some_and(|refusal| matches!(refusal.code, Code::SignatureInvalid | Code::DidNotFound))
}

/// Everything of a world that a verdict on the signature of an agent's message depends on. Two
/// worlds with the same basis give the same verdict, whatever was recorded between them.
#[derive(Debug, PartialEq)]
pub(crate) struct VerdictBasis<'a> {
    /// Position of the parameters in force.
    parameters: Option<u64>,
    sender: Option<SenderBasis<'a>>,
}

#[derive(Debug, PartialEq)]
struct SenderBasis<'a> {
    standing: AgentStanding,
    keys: &'a [AgentKey],
    /// True if the agent registered in the form of the published SDK.
    is_of_reference_sdk: bool,
}

impl<'a> VerdictBasis<'a> {
    /// The basis for messages of `from` that arrived at `now`.
    pub(crate) fn of(world: &'a World, from: Did, now: TimestampMs) -> VerdictBasis<'a> {
        let sender = world.agent(from).map(|agent| SenderBasis {
            standing: agent.standing(now),
            keys: &agent.keys,
            is_of_reference_sdk: agent.reference_sdk.is_some(),
        });
        VerdictBasis {
            parameters: world.parameters().map(|(position, _)| position),
            sender,
        }
    }
}

fn admit(
    parsed: ParsedEnvelope,
    world: &World,
    parameters: &Parameters,
    now: TimestampMs,
) -> Result<Opened, Refusal> {
    check_times(&parsed.header, now, parameters.limits.clock_tolerance_ms)?;
    if let Some(key) = parsed.offered_key {
        return register_of_reference_sdk(parsed, key).map(Opened::Authentic);
    }
    if parsed.header.from == parsed.header.to && !parsed.header.is_own_notice() {
        return deactivate_of_reference_sdk(parsed, world).map(Opened::Authentic);
    }
    match Verb::of(&parsed.header.message_type)? {
        Some(Verb::Register) => register(parsed, world).map(Opened::Authentic),
        Some(verb) => ask_registry(parsed, verb, world).map(Opened::Authentic),
        None => {
            let keys = sender(world, parsed.header.from, now)?.keys.clone();
            Ok(Opened::Sealed(Box::new(Sealed { parsed, keys })))
        }
    }
}

impl Sealed {
    /// With its key, where one key only can have signed it.
    pub(crate) fn by_one_key(self: Box<Self>) -> Result<Box<Unverified>, Box<Sealed>> {
        match *self.keys {
            [key] => Ok(Box::new(Unverified {
                parsed: self.parsed,
                key,
            })),
            _ => Err(self),
        }
    }

    /// Checks the signature with each key.
    pub(crate) fn verify(self) -> Result<VerifiedEnvelope, Refusal> {
        verify(self.parsed, &self.keys)
    }
}

/// Reads the content of a message whose signature holds.
pub(crate) fn verified(
    envelope: VerifiedEnvelope,
    world: &World,
) -> Result<Box<Submission>, Refusal> {
    let rules = payload_rules(world).ok_or_else(not_open)?;
    let content = read(&envelope, &rules);
    Ok(submission(envelope, content))
}

/// What is not needed at the message's turn goes here, where it was made.
fn submission(
    envelope: VerifiedEnvelope,
    content: Result<MessageContent, Refusal>,
) -> Box<Submission> {
    Box::new(Submission {
        header: envelope.accepted_header(),
        body: envelope.into_parsed().body,
        content,
    })
}

/// A registration is signed by a key of the document it brings.
fn register(parsed: ParsedEnvelope, world: &World) -> Result<Box<Submission>, Refusal> {
    let ledger = addressed_to_ledger(&parsed, world)?;
    let registration = Registration::parse(parsed.header.from, ledger, &parsed.payload)
        .map_err(|first| with_all_faults(first, Verb::Register, &parsed.payload, world))?;
    newly_named(&registration.entry.capabilities, &[])?;
    let envelope = verify(parsed, &registration.keys)?;
    let operation = Operation::Register(Box::new(registration));
    Ok(submission(
        envelope,
        Ok(MessageContent::Registry(operation)),
    ))
}

/// A registration of the published SDK is signed by the key that it offers (decision 0190).
fn register_of_reference_sdk(
    parsed: ParsedEnvelope,
    key: PublicKey,
) -> Result<Box<Submission>, Refusal> {
    let from = parsed.header.from;
    let registration = Registration::of_reference_sdk(from, key, &parsed.payload)?;
    newly_named(&registration.entry.capabilities, &[])?;
    let envelope = verify(parsed, &registration.keys)?;
    let operation = Operation::Register(Box::new(registration));
    Ok(submission(
        envelope,
        Ok(MessageContent::Registry(operation)),
    ))
}

/// The published SDK leaves by a REQUEST of the agent to itself that says nothing (decision 0190).
fn deactivate_of_reference_sdk(
    parsed: ParsedEnvelope,
    world: &World,
) -> Result<Box<Submission>, Refusal> {
    let registered = registered(world, parsed.header.from)?;
    if registered.reference_sdk.is_none() {
        return Err(Refusal::shape(
            "`from` and `to` are the same agent: address another one",
        ));
    }
    let envelope = verify(parsed, &registered.keys)?;
    let operation = Operation::of_reference_sdk(envelope.payload());
    Ok(submission(
        envelope,
        operation.map(MessageContent::Registry),
    ))
}

/// Every other verb is signed by a key of the registered DID, whatever its standing: who it is
/// comes first, and what its standing allows is decided at the message's turn (AX-30).
fn ask_registry(
    parsed: ParsedEnvelope,
    verb: Verb,
    world: &World,
) -> Result<Box<Submission>, Refusal> {
    let ledger = addressed_to_ledger(&parsed, world)?;
    let from = parsed.header.from;
    let registered = registered(world, from)?;
    let envelope = verify(parsed, &registered.keys)?;
    let signing_key = envelope.key().key;
    let operation = Operation::parse(verb, from, ledger, signing_key, envelope.payload());
    let operation =
        operation.map_err(|first| with_all_faults(first, verb, envelope.payload(), world));
    let operation = operation.and_then(|operation| {
        if let Operation::Update(update) = &operation {
            newly_named(&update.entry.capabilities, &registered.capabilities)?;
        }
        Ok(operation)
    });
    Ok(submission(
        envelope,
        operation.map(MessageContent::Registry),
    ))
}

/// The refusal of a payload for the registry, with everything else that is wrong with it.
fn with_all_faults(
    first: Refusal,
    verb: Verb,
    payload: &Map<String, Value>,
    world: &World,
) -> Refusal {
    match payload_rules(world) {
        Some(rules) => all_faults(first, verb.as_str(), payload, &rules),
        None => first,
    }
}

/// X811-1005 for a capability that a reader would take for another one. Asked here, where messages
/// come in, and not of what is recorded: an earlier ledger took such names, and its log holds. Who
/// has one keeps it.
fn newly_named(names: &[String], known: &[String]) -> Result<(), Refusal> {
    let hides = |name: &&String| name.chars().any(is_hidden) && !known.contains(name);
    match names.iter().find(hides) {
        None => Ok(()),
        Some(name) => {
            let shown = name.escape_unicode();
            Err(Refusal::new(
                Code::DidDocumentInvalid,
                Kind::Shape,
                format!("the capability {shown} has characters that nobody sees: rename it"),
            ))
        }
    }
}

/// X811-1005 for a message to the registry that names another recipient than this ledger.
fn addressed_to_ledger(parsed: &ParsedEnvelope, world: &World) -> Result<Did, Refusal> {
    let ledger = world.identity().ok_or_else(not_open)?.did;
    if parsed.header.to == ledger {
        return Ok(ledger);
    }
    Err(Refusal::new(
        Code::DidDocumentInvalid,
        Kind::Sender,
        format!("a message to the registry is addressed to the ledger: set `to` to {ledger}"),
    ))
}

fn read(envelope: &VerifiedEnvelope, rules: &PayloadRules) -> Result<MessageContent, Refusal> {
    let header = envelope.header();
    payload::check_size(&header.message_type, envelope.body().len())?;
    let key = KeyId {
        did: header.from,
        key: envelope.key().key,
    };
    payload::facts_of(header, &key, envelope.payload(), rules)
        .map(MessageContent::Facts)
        .map_err(|first| {
            all_faults(
                first,
                header.message_type.as_str(),
                envelope.payload(),
                rules,
            )
        })
}
