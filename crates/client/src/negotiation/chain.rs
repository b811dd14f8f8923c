//! A chain and the rules both profiles share.

use serde::Serialize;
use serde_json::value::RawValue;
use x811_protocol::digest::Digest;
use x811_protocol::money::MicroUsdc;
use x811_protocol::signature::Signature;
use x811_protocol::time::TimestampMs;

use super::MAX_CHAIN_BYTES;
use super::fault::{ChainError, StepFault};
use super::keys::Keys;
use super::message::{AgentId, Members, Message, State};
use super::profile::Profile;

/// The rounds of a negotiation whose OFFER names no number (XX-4).
const DEFAULT_MAX_ROUNDS: u64 = 20;

/// A chain that holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Chain {
    /// By whose rules it was made.
    pub profile: Profile,
    /// `neg_` and 8 hex digits, as in the file.
    pub negotiation_id: String,
    /// The negotiation that this one continues, by its own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_negotiation_id: Option<String>,
    /// Who made the OFFER.
    pub initiator: AgentId,
    /// The agent that the offer is made to.
    pub responder: AgentId,
    /// How it ended, as far as the file goes.
    pub outcome: Outcome,
    /// The highest round of a COUNTER.
    pub max_rounds: u64,
    /// Every step, oldest first.
    pub steps: Vec<Step>,
}

/// How a negotiation ended, as far as a file goes: later steps may be missing from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The last terms are not answered.
    Open,
    /// Both parties agreed on the terms.
    Accepted,
    /// The other party said no.
    Rejected,
    /// The author of the last terms took them back.
    Withdrawn,
}

/// One step of a chain that holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Its place, from 0.
    pub index: usize,
    /// What it does.
    pub state: State,
    /// Its round, by the profile's own count.
    pub round: u64,
    /// Who made it.
    pub from: AgentId,
    /// The price it says or repeats, in the currency's smallest unit; micro-USDC for USDC (XX-7).
    pub amount_minor_units: u64,
    /// The currency that the amount is in.
    pub currency: String,
    /// The same in USDC, where that is the currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usdc: Option<String>,
    /// When it was made, by its own word, in milliseconds since the Unix epoch.
    pub created_at_ms: TimestampMs,
    /// From when on its terms cannot be answered, in milliseconds since the Unix epoch; of an answer
    /// it means nothing.
    pub expires_at_ms: TimestampMs,
    /// Whether it says that it was made before the step that it answers. Clocks of two agents differ,
    /// but it may also hide that the step came late.
    pub is_dated_back: bool,
    /// What is known of its author.
    pub authorship: Authorship,
}

/// What is known of the author of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Authorship {
    /// The key that was given for its sender signed it.
    Proven,
    /// No key was given for its sender: its signature was not checked.
    NoKey,
    /// It has no signature.
    Unsigned,
}

impl Chain {
    /// Whether every step was signed by the key that was given for its sender.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        let mut steps = self.steps.iter();
        steps.all(|step| step.authorship == Authorship::Proven)
    }
}

/// Verifies the chain in a file: a JSON array of messages, or messages behind each other, such as one
/// a line. Links, turns, rounds, expiry and the terms of the ACCEPT are checked, and the signatures of
/// every agent whose key is in `keys`.
///
/// # Errors
/// The file is none, or the first step that does not hold, by its index.
pub fn verify(bytes: &[u8], keys: &Keys) -> Result<Chain, ChainError> {
    let mut texts = texts(bytes)?.into_iter();
    let Some(first) = texts.next() else {
        return Err(ChainError::Empty);
    };
    let fault = |profile, index| {
        move |fault| ChainError::Step {
            index,
            profile,
            fault,
        }
    };
    let first = Message::read(first).map_err(|error| fault(None, 0)(error.into()))?;
    let profile = Profile::of_signature(&first.members.signature);
    let mut chain = begin(profile, &first, keys).map_err(fault(Some(profile), 0))?;
    let mut last = first;
    for (text, index) in texts.zip(1..) {
        let read = Message::read(text).map_err(StepFault::from);
        let next = read.and_then(|next| follow(&mut chain, &last, next, keys));
        last = next.map_err(fault(Some(profile), index))?;
    }
    chain.outcome = match last.members.state {
        State::Offer | State::Counter => Outcome::Open,
        State::Accept => Outcome::Accepted,
        State::Reject if is_by_author(&chain) => Outcome::Withdrawn,
        State::Reject => Outcome::Rejected,
    };
    Ok(chain)
}

/// The text of every step.
fn texts(bytes: &[u8]) -> Result<Vec<&str>, ChainError> {
    if bytes.len() > MAX_CHAIN_BYTES {
        return Err(ChainError::TooLarge {
            max: MAX_CHAIN_BYTES,
        });
    }
    let begins = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    let read: Result<Vec<&RawValue>, _> = match begins {
        Some(b'[') => serde_json::from_slice(bytes),
        _ => serde_json::Deserializer::from_slice(bytes)
            .into_iter()
            .collect(),
    };
    match read {
        Ok(values) => Ok(values.into_iter().map(RawValue::get).collect()),
        Err(error) => Err(ChainError::Json {
            why: error.to_string(),
        }),
    }
}

/// The first step.
fn begin(profile: Profile, offer: &Message, keys: &Keys) -> Result<Chain, StepFault> {
    let members = &offer.members;
    let is_offer = members.state == State::Offer;
    if !is_offer || members.round_number != 1 || members.previous_state_hash.is_some() {
        return Err(StepFault::NoOffer);
    }
    if members.from_agent == members.to_agent {
        return Err(StepFault::OneParty {
            agent: members.from_agent.clone(),
        });
    }
    let max_rounds = members.max_rounds.unwrap_or(DEFAULT_MAX_ROUNDS);
    let mut chain = Chain {
        profile,
        negotiation_id: members.negotiation_id.clone(),
        parent_negotiation_id: members.parent_negotiation_id.clone(),
        initiator: members.from_agent.clone(),
        responder: members.to_agent.clone(),
        outcome: Outcome::Open,
        max_rounds,
        steps: Vec::new(),
    };
    check_rounds(&chain, members)?;
    check_own_expiry(members)?;
    let authorship = authorship(&chain, offer, keys)?;
    add(&mut chain, offer, false, authorship);
    Ok(chain)
}

/// A step behind the `last` one; gives it back.
fn follow(
    chain: &mut Chain,
    last: &Message,
    next: Message,
    keys: &Keys,
) -> Result<Message, StepFault> {
    check_parties(chain, &next.members)?;
    check_turn(chain, &last.members, &next.members)?;
    check_link(chain.profile, last, &next)?;
    check_rounds(chain, &next.members)?;
    check_time(&last.members, &next.members)?;
    if next.members.state == State::Accept && next.members.terms() != last.members.terms() {
        return Err(StepFault::OtherTerms);
    }
    let authorship = authorship(chain, &next, keys)?;
    let is_dated_back = next.members.created_at < last.members.created_at;
    add(chain, &next, is_dated_back, authorship);
    Ok(next)
}

fn add(chain: &mut Chain, message: &Message, is_dated_back: bool, authorship: Authorship) {
    let (members, price) = (&message.members, &message.price);
    let usdc = (price.currency == "USDC")
        .then(|| MicroUsdc::from_micro_usdc(price.amount_minor_units).ok())
        .flatten();
    chain.steps.push(Step {
        index: chain.steps.len(),
        state: members.state,
        round: members.round_number,
        from: members.from_agent.clone(),
        amount_minor_units: price.amount_minor_units,
        currency: price.currency.clone(),
        usdc: usdc.map(MicroUsdc::to_usdc_decimal),
        created_at_ms: members.created_at,
        expires_at_ms: members.expires_at,
        is_dated_back,
        authorship,
    });
}

fn check_parties(chain: &Chain, next: &Members) -> Result<(), StepFault> {
    if next.negotiation_id != chain.negotiation_id {
        return Err(StepFault::OtherNegotiation {
            found: next.negotiation_id.clone(),
        });
    }
    let parent = &next.parent_negotiation_id;
    if parent.is_some() && *parent != chain.parent_negotiation_id {
        return Err(StepFault::OtherParent);
    }
    let is_stranger = |agent: &&AgentId| ![&chain.initiator, &chain.responder].contains(agent);
    match [&next.from_agent, &next.to_agent]
        .into_iter()
        .find(is_stranger)
    {
        Some(agent) => Err(StepFault::Stranger {
            agent: agent.clone(),
        }),
        None => Ok(()),
    }
}

/// XN-3, XN-4: whose turn it is, and to whom.
fn check_turn(chain: &Chain, last: &Members, next: &Members) -> Result<(), StepFault> {
    let rules = chain.profile.rules();
    let (state, agent) = (next.state, &next.from_agent);
    if !last.state.has_terms() {
        let end = last.state;
        return Err(StepFault::AfterTheEnd { state, end });
    }
    if state == State::Offer {
        return Err(StepFault::SecondOffer);
    }
    let may_withdraw = state == State::Reject && rules.has_withdrawal;
    if *agent == last.from_agent && !may_withdraw {
        let agent = agent.clone();
        return Err(StepFault::WrongTurn { agent });
    }
    let may_be_to_itself = state == State::Accept && rules.accepts_to_itself;
    if next.to_agent == *agent && !may_be_to_itself {
        let to = next.to_agent.clone();
        return Err(StepFault::Receiver { to });
    }
    Ok(())
}

/// XN-6, XN-7: each step names the one before it by a hash, in one way throughout.
fn check_link(profile: Profile, last: &Message, next: &Message) -> Result<(), StepFault> {
    let names = |profile: Profile| {
        let linked = Digest::of(&(profile.rules().linked)(last));
        next.members.previous_state_hash == Some(linked)
    };
    if names(profile) {
        return Ok(());
    }
    let found = profile.other();
    match names(found) {
        true => Err(StepFault::Mixed {
            what: "link",
            found,
        }),
        false => Err(StepFault::Link),
    }
}

/// XX-4: rounds count on, and no COUNTER is beyond the last one that the OFFER allows.
fn check_rounds(chain: &Chain, next: &Members) -> Result<(), StepFault> {
    let max_rounds = chain.max_rounds;
    if let Some(found) = next.max_rounds.filter(|found| *found != max_rounds) {
        return Err(StepFault::OtherMaxRounds { found, max_rounds });
    }
    let (before, found) = (chain.steps.last(), next.round_number);
    let added = match next.state {
        State::Offer | State::Counter => 1,
        State::Accept | State::Reject => chain.profile.rules().rounds_of_answer,
    };
    let expected = before.map_or(0, |step| step.round) + added;
    if found != expected {
        return Err(StepFault::Round { found, expected });
    }
    if next.state.has_terms() && found > max_rounds {
        let round = found;
        return Err(StepFault::TooManyRounds { round, max_rounds });
    }
    Ok(())
}

/// XX-3: terms can be answered while their expiry is still to come.
fn check_time(last: &Members, next: &Members) -> Result<(), StepFault> {
    if next.created_at >= last.expires_at {
        return Err(StepFault::Late {
            created_at: next.created_at.to_rfc3339(),
            expires_at: last.expires_at.to_rfc3339(),
        });
    }
    match next.state.has_terms() {
        true => check_own_expiry(next),
        false => Ok(()),
    }
}

fn check_own_expiry(members: &Members) -> Result<(), StepFault> {
    match members.created_at < members.expires_at {
        true => Ok(()),
        false => Err(StepFault::BornExpired),
    }
}

/// What a step's signature proves.
fn authorship(chain: &Chain, message: &Message, keys: &Keys) -> Result<Authorship, StepFault> {
    let (profile, text) = (chain.profile, message.members.signature.as_str());
    let rules = profile.rules();
    let is_offer = message.members.state == State::Offer;
    if text.is_empty() && is_offer && rules.leaves_offer_unsigned {
        return Ok(Authorship::Unsigned);
    }
    let Some(signature) = (rules.signature)(text) else {
        let found = profile.other();
        return Err(match (found.rules().signature)(text) {
            Some(_) => StepFault::Mixed {
                what: "signature",
                found,
            },
            None => StepFault::SignatureForm { profile },
        });
    };
    let agent = &message.members.from_agent;
    match keys.of(agent) {
        None => Ok(Authorship::NoKey),
        Some(key) if holds(key, message, profile, &signature) => Ok(Authorship::Proven),
        Some(_) => Err(StepFault::Signature {
            agent: agent.clone(),
        }),
    }
}

fn holds(
    key: &x811_protocol::key::PublicKey,
    message: &Message,
    profile: Profile,
    signature: &Signature,
) -> bool {
    key.verify(&(profile.rules().signed)(message), signature)
}

fn is_by_author(chain: &Chain) -> bool {
    match chain.steps.as_slice() {
        [.., terms, answer] => terms.from == answer.from,
        _ => false,
    }
}
