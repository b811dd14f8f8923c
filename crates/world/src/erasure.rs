//! Which bodies an operator may have erased (record.md sections 3 and 4, machines.md section 6): REQUEST
//! and RESULT of an interaction that is over and not in dispute, and every message of a negotiation that
//! is closed, once the interaction that it opened is over and not in dispute. OFFER, ACCEPT, VERIFY and
//! PAYMENT stay for ever, because receipts carry them; so do bodies that alone make their signature hold
//! (profile `direct`, ledger-contract.md section 4).
//!
//! Leaf, signature and facts stay: what the body proved is the ledger's word from then on.

use crate::agent::AgentStanding;
use crate::with_machine;
use crate::world::World;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use x811_eventlog::Record;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{BodiesErased, ErasureOrder, Event};
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{Interaction, State, StateName};
use x811_protocol::key::Profile;
use x811_protocol::machine::{Erasable, ErasureWords, Machine, Recorded};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

/// Most bodies that one record erases.
pub const MAX_POSITIONS: usize = 256;

/// Why bodies are erased, in 1 to 32 characters of `a`-`z`, `0`-`9` and `_`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasonCode(String);

/// A reason that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a reason code is 1 to 32 characters of a-z, 0-9 and _, such as `gdpr_request`")]
pub struct NotAReasonCode;

impl FromStr for ReasonCode {
    type Err = NotAReasonCode;

    fn from_str(text: &str) -> Result<ReasonCode, NotAReasonCode> {
        let is_code = matches!(text.len(), 1..=32)
            && text
                .bytes()
                .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
        is_code
            .then(|| ReasonCode(text.to_owned()))
            .ok_or(NotAReasonCode)
    }
}

impl fmt::Display for ReasonCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an operator asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasureRequest {
    /// The subject whose bodies are to be erased.
    pub subject: Subject,
    /// Who orders it; whether they may has been asked before.
    pub operator: Did,
    /// Why they are to be erased, in a code.
    pub reason_code: ReasonCode,
    /// What they signed; the record keeps it.
    pub order: Option<ErasureOrder>,
}

/// Bodies that may be erased once it is certain that what they are of is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// What was asked for.
    pub request: ErasureRequest,
    /// What has to be over beside it: the interaction that a contract opened, the agreement that a session
    /// made.
    pub rests_on: Option<Subject>,
    /// Positions of the bodies, in order.
    pub positions: Vec<u64>,
    /// Those of them that stay, because their signature holds with the body alone.
    pub kept: Vec<u64>,
}

impl Erasure {
    /// What may be erased of a subject; `records` are all of its stream, `opened` all of the interaction
    /// that it opened, where it is a contract that opened one, both in order, and `world` is no older than
    /// they are.
    ///
    /// # Errors
    /// 404 when there is no such subject; X811-4001 when it is not over, or in dispute.
    pub fn of(
        request: ErasureRequest,
        records: &[(Record, Event)],
        opened: &[(Record, Event)],
        world: &World,
    ) -> Result<Erasure, Refusal> {
        let subject = request.subject;
        if records.is_empty() {
            return Err(unknown(subject));
        }
        check_whole(subject, records)?;
        let rests_on = opened_by(subject, records);
        let interaction = if let Some(Subject::Interaction(id)) = rests_on {
            Some((id, opened))
        } else {
            subject.interaction().map(|id| (id, records))
        };
        if let Some((id, records)) = interaction {
            check_state(&state_of(id, records, world)?.ok_or_else(damaged)?)?;
        }
        let (mut positions, mut kept) = (Vec::new(), Vec::new());
        for (record, event) in records {
            match erasable_profile(event) {
                Some(Profile::Digest) => positions.push(record.position()),
                Some(Profile::Direct) => kept.push(record.position()),
                None => {}
            }
        }
        if positions.is_empty() && kept.is_empty() {
            return Err(Refusal::state(
                "there is no message of it whose body is ever erased: what both parties of an agreement \
                 signed stays",
            ));
        }
        if positions.is_empty() {
            return Err(Refusal::state(
                "every message that might be erased was signed with a key of profile direct, whose \
                 signatures hold with the body alone: such bodies are never erased",
            ));
        }
        Ok(Erasure {
            rests_on,
            request,
            positions,
            kept,
        })
    }
}

/// The subject that one opened or made, if it did; `records` are those of its stream.
pub fn opened_by(subject: Subject, records: &[(Record, Event)]) -> Option<Subject> {
    with_machine!(subject, M(_) => records.iter().find_map(|(_, event)| M::opens(event)))
}

/// The profile that a message was signed by whose body may be erased; `None` for what is never erased.
pub fn erasable_profile(event: &Event) -> Option<Profile> {
    let Event::EnvelopeAccepted(accepted) = event else {
        return None;
    };
    let is_erasable = accepted.facts.are_erasable();
    is_erasable.then_some(accepted.envelope.profile)
}

/// Whether a record of `bodies_erased` at `position` has its form.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check_form(erased: &BodiesErased, position: u64) -> Result<(), &'static str> {
    let positions = &erased.positions;
    if positions.is_empty() || positions.len() > MAX_POSITIONS {
        return Err("it names 1 to 256 bodies");
    }
    if !positions.is_sorted_by(|one, next| one < next) {
        return Err("the positions it names are in order, each once");
    }
    if positions.last().is_some_and(|last| *last >= position) {
        return Err("it names bodies of records before it");
    }
    if erased.reason_code.parse::<ReasonCode>().is_err() {
        return Err("its reason is 1 to 32 characters of a-z, 0-9 and _");
    }
    Ok(())
}

/// Refuses an operator that is no active agent of the ledger.
///
/// # Errors
/// X811-2003.
pub fn check_operator(world: &World, operator: Did, now: TimestampMs) -> Result<(), Refusal> {
    let standing = world.agent(operator).map(|agent| agent.standing(now));
    if standing == Some(AgentStanding::Active) {
        return Ok(());
    }
    let message = "the operator's DID is not registered here, or not active";
    Err(Refusal::new(
        Code::SignatureInvalid,
        Kind::Authentication,
        message,
    ))
}

/// Refuses an order that was signed for another time than the one at which it is carried out.
///
/// # Errors
/// X811-2002, or what is wrong with its form.
pub fn check_order(order: &ErasureOrder, now: TimestampMs) -> Result<(), Refusal> {
    order.check_fresh(now).map_err(|why| {
        let message = format!("nothing is erased at {}: {why}", now.to_rfc3339());
        Refusal::new(Code::TimestampInvalid, Kind::Authentication, message)
    })
}

/// Refuses a subject about which something may still be recorded, or whose bodies are never erased.
///
/// # Errors
/// X811-4001.
pub fn check_over(world: &World, subject: Subject, now: TimestampMs) -> Result<(), Refusal> {
    with_machine!(subject, M(id) => match (M::erasable(), world.unfinished::<M>(id, now)) {
        (Erasable::Never(why), _) => Err(Refusal::state(why)),
        (Erasable::WhenOver(words), Some(state)) => Err(not_over::<M>(&words, state)),
        (Erasable::WhenOver(_), None) => Ok(()),
    })
}

/// X811-4001: it is still in that state.
fn not_over<M: Machine>(words: &ErasureWords, state: &M::State) -> Refusal {
    let noun = M::subject(M::id(state)).noun();
    let why = if M::is_terminal(state) {
        words.settling
    } else {
        words.live
    };
    Refusal::state(format!("the {noun} is {}{why}", M::state_name(state)))
}

/// True if there are bodies about subjects of that kind that may be erased.
pub fn is_ever_erased(subject: Subject) -> bool {
    matches!(erasable(subject), Erasable::WhenOver(_))
}

fn erasable(subject: Subject) -> Erasable {
    with_machine!(subject, M(_) => M::erasable())
}

/// Which subject that is, and why its bodies may not be erased.
pub fn why_not(subject: Subject) -> String {
    let (noun, id) = (subject.noun(), subject.public_id());
    match erasable(subject) {
        Erasable::Never(_) => format!("the {noun} {id}"),
        Erasable::WhenOver(words) => format!("the {noun} {id}, {}", words.kept),
    }
}

/// Refuses a state whose bodies somebody may still need.
fn check_state(state: &State) -> Result<(), Refusal> {
    if let Erasable::WhenOver(words) = Interaction::erasable()
        && !Interaction::is_terminal(state)
    {
        return Err(not_over::<Interaction>(&words, state));
    }
    if is_disputed(state) {
        return Err(Refusal::state(
            "the interaction is in dispute, or its payment was reversed: its bodies are what the \
             parties have to show, and stay",
        ));
    }
    Ok(())
}

/// Whether the parties may still argue: about the result, or about a payment that disappeared.
pub fn is_disputed(state: &State) -> bool {
    let reversed = state.completion().map(|completion| &completion.reversed);
    state.name() == StateName::Disputed || reversed.is_some_and(|reversed| !reversed.is_empty())
}

/// Refuses records that are not those of the subject's stream, from its first on.
///
/// # Errors
/// X811-9002.
fn check_whole(subject: Subject, records: &[(Record, Event)]) -> Result<(), Refusal> {
    let stream = Stream::Of(subject).to_string();
    let mut places = (0_u64..).zip(records);
    let is_whole = places
        .all(|(place, (record, _))| record.stream() == stream && record.stream_seq() == place);
    is_whole.then_some(()).ok_or_else(damaged)
}

/// What the records of an interaction add up to, whatever downtime and blindness did to its clocks.
fn state_of(
    id: InteractionId,
    records: &[(Record, Event)],
    world: &World,
) -> Result<Option<State>, Refusal> {
    check_whole(Subject::Interaction(id), records)?;
    let mut state = None;
    for (record, event) in records {
        let recorded = Recorded {
            event,
            position: record.position(),
            hash: Digest::from_bytes(*record.hash().as_bytes()),
            recorded_at_ms: TimestampMs::new(record.recorded_at_ms()),
            parameters: opened_under(event, world),
        };
        state = Some(Interaction::evolve(state, &recorded).map_err(|_| damaged())?);
    }
    Ok(state)
}

fn opened_under<'a>(
    event: &Event,
    world: &'a World,
) -> Option<&'a Arc<x811_protocol::parameters::Parameters>> {
    let Event::EnvelopeAccepted(accepted) = event else {
        return None;
    };
    world.parameters_at(accepted.derived.parameters?)
}

/// 404: no such subject.
fn unknown(subject: Subject) -> Refusal {
    let hint = match erasable(subject) {
        Erasable::Never(_) => "",
        Erasable::WhenOver(words) => words.unknown,
    };
    let (noun, id) = (subject.noun(), subject.public_id());
    let message = format!("there is no {noun} {id}{hint}");
    Refusal::new(Code::DidNotFound, Kind::NotFound, message)
}

/// X811-9002: the rows lead to other records than those of the subject, or to one that is damaged.
pub fn damaged() -> Refusal {
    let message = "the records of it cannot be read: run `x811 doctor` on the data \
                   directory";
    Refusal::new(Code::InternalError, Kind::Internal, message)
}
