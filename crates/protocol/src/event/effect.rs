//! Events that follow from a record of another stream: what one subject does to another
//! (machines.md section 4). They stand directly behind their cause, in the same commit.

use super::group::event_group;
use crate::capability::version::Version;
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::{RenewalReason, UsageLimits};
use crate::id::{AgreementId, InteractionId, SessionId};
use crate::round::{
    AnomalyNoted, Resubmitted, RoundDecided, RoundEscalated, RoundEvent, RoundOpened,
};
use crate::time::TimestampMs;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

event_group! {
    /// An effect of one record on another subject.
    Effect {
        /// A contract opened its interaction.
        "engaged" => Engaged(Engaged),
        /// A session ended.
        "session_closed" => SessionClosed(SessionClosed),
        /// An agreement, or another revision of it, is in force.
        "agreed" => Agreed(Box<Agreed>),
        /// A REQUEST was made under an agreement.
        "used" => Used(Used),
        /// An agreement was broken.
        "breach_recorded" => BreachRecorded(BreachRecorded),
        /// Breaches exclude an agent from new sessions and rounds.
        "excluded" => Excluded(Excluded),
        /// A round takes votes.
        "round_opened" => RoundOpened(RoundOpened),
        /// The outcome of a round.
        "round_decided" => RoundDecided(RoundDecided),
        /// A failed round was proposed again.
        "resubmitted" => Resubmitted(Resubmitted),
        /// Humans are asked about a round.
        "round_escalated" => RoundEscalated(RoundEscalated),
        /// Something was noticed in a round.
        "anomaly_noted" => AnomalyNoted(AnomalyNoted),
    }
}

impl Effect {
    /// Position of the record it follows from.
    pub const fn cause(&self) -> u64 {
        match self {
            Effect::Engaged(engaged) => engaged.cause,
            Effect::SessionClosed(closed) => closed.cause,
            Effect::Agreed(agreed) => agreed.cause,
            Effect::Used(used) => used.cause,
            Effect::BreachRecorded(breach) => breach.cause,
            Effect::Excluded(excluded) => excluded.cause,
            Effect::RoundOpened(opened) => opened.cause,
            Effect::RoundDecided(decided) => decided.cause,
            Effect::Resubmitted(resubmitted) => resubmitted.cause,
            Effect::RoundEscalated(escalated) => escalated.cause,
            Effect::AnomalyNoted(noted) => noted.cause,
        }
    }

    /// Whether a bundle may have it without the stream of its cause. What both parties signed, and what ends a
    /// session, stands in the session, and a bundle brings the sessions of its agreements (decision 0269).
    pub fn may_be_caused_elsewhere(&self) -> bool {
        match self {
            Effect::Agreed(_) | Effect::SessionClosed(_) => false,
            Effect::Engaged(_)
            | Effect::Used(_)
            | Effect::BreachRecorded(_)
            | Effect::Excluded(_)
            | Effect::RoundOpened(_)
            | Effect::RoundDecided(_)
            | Effect::Resubmitted(_)
            | Effect::RoundEscalated(_)
            | Effect::AnomalyNoted(_) => true,
        }
    }

    /// As the machine of rounds takes it; `None` for what follows elsewhere.
    pub fn of_round(&self) -> Option<RoundEvent> {
        Some(match self {
            Effect::RoundOpened(opened) => RoundEvent::RoundOpened(*opened),
            Effect::RoundDecided(decided) => RoundEvent::RoundDecided(*decided),
            Effect::Resubmitted(resubmitted) => RoundEvent::Resubmitted(*resubmitted),
            Effect::RoundEscalated(escalated) => RoundEvent::RoundEscalated(*escalated),
            Effect::AnomalyNoted(noted) => RoundEvent::AnomalyNoted(noted.clone()),
            Effect::Engaged(_)
            | Effect::SessionClosed(_)
            | Effect::Agreed(_)
            | Effect::Used(_)
            | Effect::BreachRecorded(_)
            | Effect::Excluded(_) => return None,
        })
    }
}

impl From<RoundEvent> for Effect {
    fn from(event: RoundEvent) -> Effect {
        match event {
            RoundEvent::RoundOpened(opened) => Effect::RoundOpened(opened),
            RoundEvent::RoundDecided(decided) => Effect::RoundDecided(decided),
            RoundEvent::Resubmitted(resubmitted) => Effect::Resubmitted(resubmitted),
            RoundEvent::RoundEscalated(escalated) => Effect::RoundEscalated(escalated),
            RoundEvent::AnomalyNoted(noted) => Effect::AnomalyNoted(noted),
        }
    }
}

/// `engaged`, in a contract's stream: its REQUEST was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engaged {
    /// Position of the REQUEST.
    pub cause: u64,
    /// The interaction it opened.
    pub interaction: InteractionId,
}

named! {
    /// How a session ended (CX-38).
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CloseReason {
        /// Both signed the agreement.
        Agreed = "agreed",
        /// The receiver of the last terms rejected them.
        Rejected = "rejected",
        /// One of the two closed it.
        Abandoned = "abandoned",
        /// A window passed.
        Timeout = "timeout",
        /// The target is not willing, or its capability unavailable.
        Declined = "declined",
    }
}

/// `session_closed`, the last record of every session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionClosed {
    /// Position of what ended it.
    pub cause: u64,
    /// Whose message ended it; absent where time did, or the ledger declined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<Did>,
    /// How the session ended.
    pub reason: CloseReason,
}

/// `agreed`, in an agreement's stream: the second signature was recorded.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreed {
    /// SHA-256 of the agreement's RFC 8785 form, which both signed.
    pub agreement_hash: Digest,
    /// The type of the capability.
    pub capability: String,
    /// Position of the second signature.
    pub cause: u64,
    /// Who may use the capability: the initiator of the first session, for ever.
    pub consumer: Did,
    /// From this moment on it is in force no longer. Signed, so downtime never moves it.
    pub ends_at_ms: TimestampMs,
    /// What use is held to.
    pub limits: UsageLimits,
    /// Hash of the terms of the revision before, if there was one.
    pub previous_terms_hash: Option<Digest>,
    /// Who provides it.
    pub provider: Did,
    /// Why it was negotiated again, if it was.
    pub reason: Option<RenewalReason>,
    /// 1, and one more with each re-negotiation.
    pub revision: u64,
    /// The session that made this revision.
    pub session: SessionId,
    /// Hashes of the two records with the signatures, in their order.
    pub signatures: [Digest; 2],
    /// When the second signature was recorded: from then on it is in force.
    pub starts_at_ms: TimestampMs,
    /// Hash of the terms.
    pub terms_hash: Digest,
    /// The version that is used.
    pub version: Version,
}

/// `used`, in an agreement's stream: a REQUEST under it was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Used {
    /// Position of the REQUEST.
    pub cause: u64,
    /// The interaction it opened.
    pub interaction: InteractionId,
}

named! {
    /// What a breach was (capability.md, "Breach and exclusion").
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum BreachKind {
        /// No RESULT came in time.
        ResultLapsed = "result_lapsed",
        /// A dispute was resolved against the provider.
        DisputeUpheld = "dispute_upheld",
    }
}

/// `breach_recorded`, in the stream of the provider's conduct.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreachRecorded {
    /// Of which agreement.
    pub agreement: AgreementId,
    /// Position of what was seen.
    pub cause: u64,
    /// Who did not get what was agreed on.
    pub consumer: Did,
    /// What it was.
    pub kind: BreachKind,
    /// Who answers for it.
    pub provider: Did,
}

/// `excluded`, in the stream of an agent's conduct: no new sessions and rounds from here on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Excluded {
    /// Position of the breach that was the last.
    pub cause: u64,
    /// Positions of the breaches that it is for, each for one exclusion only.
    pub causes: Vec<u64>,
    /// It holds while the ledger's clock is before this moment, which never moves.
    pub until_ms: TimestampMs,
}
