//! The one closed set of events. What is hashed is one of these; adding a kind is a compile error
//! in every projection, policy and machine that must know it.
//!
//! Source: record.md sections 2 to 4. Unknown types and unknown members are refused by the reader.

mod accepted;
mod agent;
mod effect;
mod erasure_order;
mod ledger;
mod lift_order;
mod named;
mod settlement;
mod signed_request;
mod window;

pub use accepted::{Derived, EngagedContract, EnvelopeAccepted, PayerBinding, UsedAgreement};
pub use agent::{AgentRegistered, AgentStatusChanged, AgentUpdated, KeyRotated, ReferenceSdk};
pub use effect::{
    Agreed, BreachKind, BreachRecorded, CloseReason, Effect, Engaged, Excluded, SessionClosed, Used,
};
pub use erasure_order::ErasureOrder;
pub use ledger::{
    BodiesErased, Continues, ExclusionLifted, LedgerKeyRotated, LedgerKeys, LedgerOpened,
    LedgerResumed, LedgerRole, NetworkBlind, NetworkSighted, NotALedgerRole, RulesChanged,
    StateRoot,
};
pub use lift_order::LiftOrder;
pub use settlement::{
    Claim, Confirmed, Evidence, Final, Finding, FindingStatus, Late, Level, Looked, NoticeIssued,
    Refuted, RefutedCause, Reversed, RevertReason, Seen, SettlementRecords, TransactionNamed,
};
pub use signed_request::NotOrdered;
pub use window::{AgreementWindow, ContractWindow, Lapsed, LapsedWindow, SessionWindow, Window};

use crate::parameters::Parameters;
use crate::round::CycleDrawn;
use serde::{Deserialize, Serialize, Serializer};

/// An event as it stands in a record.
///
/// An effect has its own `type`, so the enum is written and read by hand: see the implementations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// Position 0 of every log.
    LedgerOpened(LedgerOpened),
    /// Position 1, and again on change.
    ParametersSet(Parameters),
    /// New decision rules are in force from here.
    RulesChanged(RulesChanged),
    /// A server key was replaced.
    LedgerKeyRotated(LedgerKeyRotated),
    /// The ledger is back after a gap.
    LedgerResumed(LedgerResumed),
    /// An operator erased bodies of a finished interaction.
    BodiesErased(BodiesErased),
    /// No fresh head of this network.
    NetworkBlind(NetworkBlind),
    /// A fresh head again.
    NetworkSighted(NetworkSighted),
    /// A DID, its keys, wallets and capabilities.
    AgentRegistered(AgentRegistered),
    /// Other wallets or capabilities.
    AgentUpdated(AgentUpdated),
    /// One key replaced by another.
    KeyRotated(KeyRotated),
    /// The DID may come back.
    AgentDeactivated(AgentStatusChanged),
    /// The DID is back.
    AgentReactivated(AgentStatusChanged),
    /// The DID never comes back.
    AgentRevoked(AgentStatusChanged),
    /// A signed envelope was accepted.
    EnvelopeAccepted(EnvelopeAccepted),
    /// A window passed.
    Lapsed(Lapsed),
    /// A look for a payment was answered.
    Looked(Looked),
    /// A declared transaction is in a block.
    Seen(Seen),
    /// It is not in that block any more.
    Unseen(TransactionNamed),
    /// A declared transaction definitely does not pay.
    Refuted(Refuted),
    /// The payment is confirmed.
    Confirmed(Confirmed),
    /// The confirmed transfers are final.
    Final(Final),
    /// A confirmed transfer disappeared.
    Reversed(Reversed),
    /// A reversed transfer is back.
    Returned(TransactionNamed),
    /// A transfer came after the interaction had closed.
    Late(Late),
    /// A block drew in a cycle of rounds.
    CycleDrawn(CycleDrawn),
    /// The ledger told a party.
    NoticeIssued(NoticeIssued),
    /// An operator lifted an exclusion.
    ExclusionLifted(ExclusionLifted),
    /// Running root over post-states.
    StateRoot(StateRoot),
    /// What a record of one stream does to the subject of another.
    #[serde(skip)]
    Effect(Effect),
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Event::Effect(effect) = self {
            return effect.serialize(serializer);
        }
        Event::serialize(self, serializer)
    }
}

impl Event {
    /// The `type` member.
    pub fn type_name(&self) -> &'static str {
        match self {
            Event::LedgerOpened(_) => "ledger_opened",
            Event::ParametersSet(_) => "parameters_set",
            Event::RulesChanged(_) => "rules_changed",
            Event::LedgerKeyRotated(_) => "ledger_key_rotated",
            Event::LedgerResumed(_) => "ledger_resumed",
            Event::BodiesErased(_) => "bodies_erased",
            Event::NetworkBlind(_) => "network_blind",
            Event::NetworkSighted(_) => "network_sighted",
            Event::AgentRegistered(_) => "agent_registered",
            Event::AgentUpdated(_) => "agent_updated",
            Event::KeyRotated(_) => "key_rotated",
            Event::AgentDeactivated(_) => "agent_deactivated",
            Event::AgentReactivated(_) => "agent_reactivated",
            Event::AgentRevoked(_) => "agent_revoked",
            Event::EnvelopeAccepted(_) => "envelope_accepted",
            Event::Lapsed(_) => "lapsed",
            Event::Looked(_) => "looked",
            Event::Seen(_) => "seen",
            Event::Unseen(_) => "unseen",
            Event::Refuted(_) => "refuted",
            Event::Confirmed(_) => "confirmed",
            Event::Final(_) => "final",
            Event::Reversed(_) => "reversed",
            Event::Returned(_) => "returned",
            Event::Late(_) => "late",
            Event::CycleDrawn(_) => "cycle_drawn",
            Event::NoticeIssued(_) => "notice_issued",
            Event::ExclusionLifted(_) => "exclusion_lifted",
            Event::StateRoot(_) => "state_root",
            Event::Effect(effect) => effect.type_name(),
        }
    }

    /// Reads a record's `event` member.
    ///
    /// # Errors
    /// Unknown type, unknown member or a value out of shape; the reader must stop there.
    pub fn from_value(value: &serde_json::Value) -> Result<Event, serde_json::Error> {
        if Effect::is_named_by(value) {
            return Effect::deserialize(value).map(Event::Effect);
        }
        Event::deserialize(value)
    }

    /// The same from its JSON text.
    ///
    /// # Errors
    /// Those of [`Event::from_value`], and text that is no JSON.
    pub fn from_json(text: &[u8]) -> Result<Event, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_slice(text);
        let fault = match Event::deserialize(&mut reader).and_then(|event| {
            reader.end()?;
            Ok(event)
        }) {
            Ok(event) => return Ok(event),
            Err(fault) => fault,
        };
        match serde_json::from_slice::<serde_json::Value>(text) {
            Ok(value) if Effect::is_named_by(&value) => Event::from_value(&value),
            Ok(_) | Err(_) => Err(fault),
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
        if let Event::Confirmed(confirmed) = self {
            &confirmed.claims
        } else if let Event::Late(late) = self {
            &late.claims
        } else {
            &[]
        }
    }

    /// The envelope the event carries, with its body beside the log.
    pub fn envelope(&self) -> Option<&crate::envelope::AcceptedHeader> {
        match self {
            Event::EnvelopeAccepted(accepted) => Some(&accepted.envelope),
            Event::AgentRegistered(registered) => Some(&registered.envelope),
            Event::AgentUpdated(updated) => Some(&updated.envelope),
            Event::KeyRotated(rotated) => Some(&rotated.envelope),
            Event::AgentDeactivated(changed)
            | Event::AgentReactivated(changed)
            | Event::AgentRevoked(changed) => Some(&changed.envelope),
            Event::NoticeIssued(notice) => Some(&notice.envelope),
            Event::LedgerOpened(_)
            | Event::ParametersSet(_)
            | Event::RulesChanged(_)
            | Event::LedgerKeyRotated(_)
            | Event::LedgerResumed(_)
            | Event::BodiesErased(_)
            | Event::NetworkBlind(_)
            | Event::NetworkSighted(_)
            | Event::Lapsed(_)
            | Event::Looked(_)
            | Event::Seen(_)
            | Event::Unseen(_)
            | Event::Refuted(_)
            | Event::Confirmed(_)
            | Event::Final(_)
            | Event::Reversed(_)
            | Event::Returned(_)
            | Event::Late(_)
            | Event::ExclusionLifted(_)
            | Event::CycleDrawn(_)
            | Event::StateRoot(_)
            | Event::Effect(_) => None,
        }
    }
}
