//! Members of `ect_ext` by what a node says was done. Whoever makes a trace writes these, and whoever verifies
//! one reads them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;

use super::{Act, BEGINNING_BYTES, MOST_TEXT_BYTES, Wid};
use crate::canonical::to_canonical;
use crate::capability::version::Version;
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::event::{CloseReason, LapsedWindow};
use crate::evm::BlockHash;
use crate::facts::RenewalReason;
use crate::facts::consensus::{Decision, HumanRuling, Mechanism};
use crate::id::{AgreementId, EnvelopeId, InteractionId, RoundId, SessionId};
use crate::round::{EscalationReason, Outcome, Reason, Tally};
use crate::time::TimestampMs;

/// The members of every node: the place of its record, and the tokens of agents in its messages.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Place {
    pub(super) ect: Option<Vec<NamedToken>>,
    pub(super) position: u64,
    pub(super) record_hash: Digest,
}

/// The names of those members.
pub(super) const PLACE: [&str; 3] = ["ect", "position", "record_hash"];

/// An agent's token as a node names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedToken {
    /// The sender of its message.
    pub(super) by: Did,
    pub(super) hash: Digest,
}

/// A text of an agent's: whole, or its hash and its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum ShownText {
    Whole(String),
    Long(LongText),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LongText {
    pub(super) begins: String,
    pub(super) sha256: Digest,
}

impl ShownText {
    /// The JSON form is measured: characters that are escaped are longer there.
    pub(super) fn of(text: &str) -> ShownText {
        if json_bytes(text) <= MOST_TEXT_BYTES {
            return ShownText::Whole(text.to_owned());
        }
        let mut end = text.floor_char_boundary(BEGINNING_BYTES);
        while json_bytes(&text[..end]) > BEGINNING_BYTES {
            end = text.floor_char_boundary(end.saturating_sub(1));
        }
        ShownText::Long(LongText {
            begins: text[..end].to_owned(),
            sha256: Digest::of(text.as_bytes()),
        })
    }
}

/// Bytes of a text in its JSON form, without the quotes.
pub(super) fn json_bytes(text: &str) -> usize {
    to_canonical(text).len().saturating_sub(2)
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Propose {
    pub(super) action_hash: Digest,
    pub(super) action_type: String,
    pub(super) attempt: u64,
    pub(super) leader: Did,
    pub(super) mechanism: Mechanism,
    pub(super) proposal_hash: Digest,
    pub(super) proposal_id: RoundId,
    pub(super) proposer: Did,
    pub(super) subject: Option<ShownText>,
    pub(super) subject_hash: Digest,
    pub(super) timeout_ms: TimestampMs,
    pub(super) weights_hash: Option<Digest>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Vote {
    pub(super) decision: Decision,
    pub(super) proposal_id: RoundId,
    pub(super) rationale: Option<ShownText>,
    pub(super) rationale_hash: Option<Digest>,
    pub(super) vote_hash: Digest,
    pub(super) voter: Did,
}

/// Up to 100 votes that a decision rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Votes {
    /// Number of the node among those of the decision, from 0.
    pub(super) chunk: u64,
    pub(super) proposal_id: RoundId,
    pub(super) votes: u64,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Commit {
    pub(super) outcome: Outcome,
    pub(super) proposal_id: RoundId,
    pub(super) reason: Reason,
    pub(super) seed: Option<BlockHash>,
    pub(super) tally: Tally,
    pub(super) votes_digest: Digest,
    pub(super) winner: Option<RoundId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Escalation {
    pub(super) proposal_id: RoundId,
    pub(super) reason: EscalationReason,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HumanDecision {
    pub(super) decision: HumanRuling,
    pub(super) human: Did,
    pub(super) proposal_id: RoundId,
    pub(super) rationale: Option<ShownText>,
    pub(super) rationale_hash: Digest,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionClose {
    pub(super) capability_type: Option<String>,
    pub(super) closed_by: Option<Did>,
    pub(super) outcome: CloseReason,
    pub(super) rationale: Option<ShownText>,
    pub(super) session_id: SessionId,
}

/// A revision of an agreement.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revision {
    pub(super) agreement_hash: Digest,
    pub(super) agreement_id: AgreementId,
    pub(super) capability_type: String,
    pub(super) consumer: Did,
    pub(super) ends_at_ms: TimestampMs,
    pub(super) outcome: CloseReason,
    pub(super) previous_terms: Option<Value>,
    pub(super) previous_terms_hash: Option<Digest>,
    pub(super) provider: Did,
    pub(super) reason: Option<RenewalReason>,
    pub(super) revision: u64,
    pub(super) session_id: SessionId,
    pub(super) starts_at_ms: TimestampMs,
    pub(super) terms: Option<Value>,
    pub(super) terms_hash: Digest,
    pub(super) version: Version,
}

/// The one outcome of a revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Revoked {
    Revoked,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Revocation {
    pub(super) agreement_id: AgreementId,
    pub(super) outcome: Revoked,
    pub(super) reason: Option<ShownText>,
    pub(super) reason_hash: Digest,
    pub(super) revision: u64,
    pub(super) revoked_by: Did,
}

/// A message of a negotiation.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContractStep {
    pub(super) by: Did,
    pub(super) message: Option<ShownText>,
    pub(super) negotiation_id: Wid,
    pub(super) step_id: EnvelopeId,
    pub(super) terms: Option<Value>,
    pub(super) terms_hash: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContractLapse {
    pub(super) code: Code,
    pub(super) negotiation_id: Wid,
    pub(super) window: LapsedWindow,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContractEngage {
    pub(super) interaction_id: InteractionId,
    pub(super) negotiation_id: Wid,
}

/// Content of a node, besides its [`Place`].
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    Propose(Propose),
    Vote(Vote),
    Votes(Votes),
    Commit(Commit),
    Escalation(Escalation),
    HumanDecision(HumanDecision),
    SessionClose(SessionClose),
    Revision(Box<Revision>),
    Revocation(Revocation),
    ContractStep(ContractStep),
    ContractLapse(ContractLapse),
    ContractEngage(ContractEngage),
}

impl Content {
    /// Reads the members of a node that says `act`; the error says what is wrong with them.
    pub(super) fn read(act: Act, members: Map<String, Value>) -> Result<Content, String> {
        Ok(match act {
            Act::Propose => Content::Propose(read(members)?),
            Act::Vote => Content::Vote(read(members)?),
            Act::Votes => Content::Votes(read(members)?),
            Act::Commit => Content::Commit(read(members)?),
            Act::Escalate => Content::Escalation(read(members)?),
            Act::HumanDecision => Content::HumanDecision(read(members)?),
            Act::SessionClose => Content::SessionClose(read(members)?),
            Act::AgreementCreate | Act::Renegotiate => Content::Revision(Box::new(read(members)?)),
            Act::AgreementRevoke => Content::Revocation(read(members)?),
            Act::ContractOffer
            | Act::ContractCounter
            | Act::ContractAccept
            | Act::ContractReject
            | Act::ContractWithdraw => Content::ContractStep(read(members)?),
            Act::ContractLapse => Content::ContractLapse(read(members)?),
            Act::ContractEngage => Content::ContractEngage(read(members)?),
        })
    }

    /// The agents whose messages the node stands for, and whose tokens it may name.
    pub(super) fn senders(&self) -> Vec<Did> {
        match self {
            Content::Propose(propose) => vec![propose.proposer],
            Content::Vote(vote) => vec![vote.voter],
            Content::HumanDecision(decision) => vec![decision.human],
            Content::SessionClose(close) => {
                let by_message = matches!(
                    close.outcome,
                    CloseReason::Rejected | CloseReason::Abandoned
                );
                close.closed_by.filter(|_| by_message).into_iter().collect()
            }
            Content::Revision(revision) => vec![revision.consumer, revision.provider],
            Content::Revocation(revocation) => vec![revocation.revoked_by],
            Content::ContractStep(step) => vec![step.by],
            Content::Votes(_)
            | Content::Commit(_)
            | Content::Escalation(_)
            | Content::ContractLapse(_)
            | Content::ContractEngage(_) => Vec::new(),
        }
    }
}

/// Reads these members in the one spelling that they have.
pub(super) fn read<T: Serialize + for<'de> Deserialize<'de>>(
    members: Map<String, Value>,
) -> Result<T, String> {
    let given = Value::Object(members);
    let content =
        T::deserialize(&given).map_err(|error| format!("its content cannot be read: {error}"))?;
    match serde_json::to_value(&content) {
        Ok(written) if written == given => Ok(content),
        Ok(_) | Err(_) => Err("a member is not in the one spelling that it has".to_owned()),
    }
}
