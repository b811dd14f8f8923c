//! The one closed set of events. What is hashed is one of these; adding a kind is a compile error
//! in every projection, policy and machine that must know it.
//!
//! Source: record.md sections 2 to 4. Unknown types and unknown members are refused by the reader.

mod accepted;
mod agent;
mod effect;
mod erasure_order;
mod group;
mod ledger;
mod lift_order;
mod named;
mod network;
mod settlement;
mod signed_request;
mod window;

pub use accepted::{Derived, EngagedContract, EnvelopeAccepted, PayerBinding, UsedAgreement};
pub use agent::{
    AgentEvent, AgentRegistered, AgentStatusChanged, AgentUpdated, KeyRotated, ReferenceSdk,
};
pub use effect::{
    Agreed, BreachKind, BreachRecorded, CloseReason, Effect, Engaged, Excluded, SessionClosed, Used,
};
pub use erasure_order::ErasureOrder;
pub use ledger::{
    BodiesErased, Continues, ExclusionLifted, LedgerEvent, LedgerKeyRotated, LedgerKeys,
    LedgerOpened, LedgerResumed, LedgerRole, NotALedgerRole, RulesChanged, StateRoot,
    unknown_rules,
};
pub use lift_order::LiftOrder;
pub use network::{NetworkBlind, NetworkEvent, NetworkSighted};
pub use settlement::{
    Claim, Confirmed, Evidence, Final, Finding, FindingStatus, Late, Level, Looked, NoticeIssued,
    Refuted, RefutedCause, Reversed, RevertReason, Seen, SettlementEvent, SettlementRecords,
    TransactionNamed,
};
pub use signed_request::NotOrdered;
pub use window::{AgreementWindow, ContractWindow, Lapsed, LapsedWindow, SessionWindow, Window};

use crate::round::CycleDrawn;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;

/// An event as it stands in a record.
///
/// A group has its own `type` members, so this enum derives the reading of what stands alone, and is
/// read and written by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The ledger and its operator, of the ledger itself.
    #[serde(skip)]
    Ledger(LedgerEvent),
    /// Whether the ledger sees a network.
    #[serde(skip)]
    Network(NetworkEvent),
    /// Who an agent is.
    #[serde(skip)]
    Agent(AgentEvent),
    /// A signed envelope was accepted.
    EnvelopeAccepted(EnvelopeAccepted),
    /// A window passed.
    Lapsed(Lapsed),
    /// What the watcher saw of a payment.
    #[serde(skip)]
    Settlement(SettlementEvent),
    /// A block drew in a cycle of rounds.
    CycleDrawn(CycleDrawn),
    /// The ledger told a party.
    NoticeIssued(NoticeIssued),
    /// Running root over post-states.
    StateRoot(StateRoot),
    /// What a record of one stream does to the subject of another.
    #[serde(skip)]
    Effect(Effect),
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Event::Ledger(event) => event.serialize(serializer),
            Event::Network(event) => event.serialize(serializer),
            Event::Agent(event) => event.serialize(serializer),
            Event::Settlement(event) => event.serialize(serializer),
            Event::Effect(effect) => effect.serialize(serializer),
            Event::EnvelopeAccepted(_)
            | Event::Lapsed(_)
            | Event::CycleDrawn(_)
            | Event::NoticeIssued(_)
            | Event::StateRoot(_) => Event::serialize(self, serializer),
        }
    }
}

/// The member that says which event an object is.
#[derive(Deserialize)]
struct Named<'a> {
    #[serde(rename = "type", borrow)]
    type_name: Cow<'a, str>,
}

/// The `type` of each event that stands in no group.
const ALONE: [&str; 5] = [
    "cycle_drawn",
    "envelope_accepted",
    "lapsed",
    "notice_issued",
    "state_root",
];

/// The most that is quoted of a type nobody knows, in characters.
const QUOTED_CHARS: usize = 64;

impl Event {
    /// The `type` member.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Event::Ledger(event) => event.type_name(),
            Event::Network(event) => event.type_name(),
            Event::Agent(event) => event.type_name(),
            Event::EnvelopeAccepted(_) => "envelope_accepted",
            Event::Lapsed(_) => "lapsed",
            Event::Settlement(event) => event.type_name(),
            Event::CycleDrawn(_) => "cycle_drawn",
            Event::NoticeIssued(_) => "notice_issued",
            Event::StateRoot(_) => "state_root",
            Event::Effect(effect) => effect.type_name(),
        }
    }

    /// Reads a record's `event` member.
    ///
    /// # Errors
    /// Unknown type, unknown member or a value out of shape; the reader must stop there.
    pub fn from_value(value: &serde_json::Value) -> Result<Event, serde_json::Error> {
        let Named { type_name } = Named::deserialize(value)?;
        Event::read(&type_name, value)
    }

    /// The same from its JSON text.
    ///
    /// # Errors
    /// Those of [`Event::from_value`], and text that is no JSON.
    pub fn from_json(text: &[u8]) -> Result<Event, serde_json::Error> {
        let Named { type_name } = serde_json::from_slice(text)?;
        let mut reader = serde_json::Deserializer::from_slice(text);
        let event = Event::read(&type_name, &mut reader)?;
        reader.end()?;
        Ok(event)
    }

    fn read<'de, D: Deserializer<'de>>(type_name: &str, input: D) -> Result<Event, D::Error> {
        let is_of = |types: &[&str]| types.contains(&type_name);
        if is_of(LedgerEvent::TYPES) {
            LedgerEvent::deserialize(input).map(Event::Ledger)
        } else if is_of(NetworkEvent::TYPES) {
            NetworkEvent::deserialize(input).map(Event::Network)
        } else if is_of(AgentEvent::TYPES) {
            AgentEvent::deserialize(input).map(Event::Agent)
        } else if is_of(SettlementEvent::TYPES) {
            SettlementEvent::deserialize(input).map(Event::Settlement)
        } else if is_of(Effect::TYPES) {
            Effect::deserialize(input).map(Event::Effect)
        } else if is_of(&ALONE) {
            Event::deserialize(input)
        } else {
            let begins: String = type_name.chars().take(QUOTED_CHARS).collect();
            Err(de::Error::custom(format_args!(
                "there is no event of type `{begins}`"
            )))
        }
    }

    /// The same from its JSON text, of which it is known that the member `type` is `type_name`: that
    /// takes half the time.
    ///
    /// # Errors
    /// Those of [`Event::from_json`].
    pub fn from_named_json(type_name: &[u8], text: &[u8]) -> Result<Event, serde_json::Error> {
        named::read(type_name, text).map_or_else(|| Event::from_json(text), Ok)
    }

    /// The transfers that the event binds to its interaction.
    pub fn claims(&self) -> &[Claim] {
        if let Event::Settlement(SettlementEvent::Confirmed(confirmed)) = self {
            &confirmed.claims
        } else if let Event::Settlement(SettlementEvent::Late(late)) = self {
            &late.claims
        } else {
            &[]
        }
    }

    /// The message of a machine or of mail that was accepted.
    pub const fn accepted(&self) -> Option<&EnvelopeAccepted> {
        if let Event::EnvelopeAccepted(accepted) = self {
            Some(accepted)
        } else {
            None
        }
    }

    /// The envelope the event carries, with its body beside the log.
    pub fn envelope(&self) -> Option<&crate::envelope::AcceptedHeader> {
        match self {
            Event::EnvelopeAccepted(accepted) => Some(&accepted.envelope),
            Event::NoticeIssued(notice) => Some(&notice.envelope),
            Event::Agent(event) => Some(event.envelope()),
            Event::Ledger(_)
            | Event::Network(_)
            | Event::Lapsed(_)
            | Event::Settlement(_)
            | Event::CycleDrawn(_)
            | Event::StateRoot(_)
            | Event::Effect(_) => None,
        }
    }
}
