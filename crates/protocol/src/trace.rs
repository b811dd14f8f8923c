//! Traces: what was decided or agreed on and what it rests on, as execution-context tokens (round.md, "Trace";
//! CC-94 to CC-101, CX-44 to CX-46).
//!
//! A trace is a projection of records and has none of its own: nodes, each after those that it rests on,
//! so that they form a DAG. Nothing of it is an input to anything. [`token`] writes a node as a JWT that
//! the ledger signs, and [`check`] holds a stored trace to its form. What agents put into their messages as
//! tokens of their own is listed beside it, and [`check_own`] takes it step by step.

mod agreement;
mod content;
mod contract;
mod own;
mod round;
mod token;
mod verify;
mod wid;

pub use agreement::sessions_of;
pub use own::{Own, OwnStep, OwnToken, check_own, check_presented, owns};
pub use token::{Claims, SKEW_S, TraceFault, check, token};
pub use verify::{NotShown, Verified, verify};
pub use wid::{NotAWid, Wid};

use serde::Serialize;
use serde_json::{Map, Value, json};
use uuid::{Builder, Uuid};

use crate::canonical::to_canonical;
use crate::did::Did;
use crate::digest::Digest;
use crate::envelope::AcceptedHeader;
use crate::event::Event;
use crate::facts::{CapabilityFacts, ConsensusFacts, Facts};
use crate::stream::Subject;
use crate::time::TimestampMs;
use content::{Place, ShownText};

/// What a node's id is hashed over besides its record.
const DOMAIN: &[u8] = b"x811 ect v1";

/// The longest text of an agent's that stands in a node as it is, in bytes of its JSON form; of a longer one
/// its hash and its beginning do (CX-45).
const MOST_TEXT_BYTES: usize = 1_024;

/// How much of it that is.
const BEGINNING_BYTES: usize = 512;

/// The longest terms that stand in a node, in bytes of their RFC 8785 form (CX-45).
const MOST_TERMS_BYTES: usize = 1_200;

/// Messages with more bytes are shown by their hashes alone, so that a trace takes bounded memory.
const MOST_BODY_BYTES: u64 = 65_536;

/// The most attempts of a round, or sessions of an agreement, that one trace has.
pub const MOST_PARTS: usize = 64;

named! {
    /// What was done: `exec_act`.
    pub enum Act {
        /// A decision was put to participants.
        Propose = "consensus_propose",
        /// A vote that was counted.
        Vote = "consensus_vote",
        /// Up to 100 votes that were counted.
        Votes = "consensus_votes",
        /// The outcome, commit or abort.
        Commit = "consensus_commit",
        /// Humans were asked.
        Escalate = "consensus_escalate",
        /// What a human decided.
        HumanDecision = "consensus_human_decision",
        /// A session is over.
        SessionClose = "capability_negotiation_close",
        /// Both have signed an agreement.
        AgreementCreate = "capability_agreement_create",
        /// One has taken it back.
        AgreementRevoke = "capability_agreement_revoke",
        /// Both have signed other terms for it.
        Renegotiate = "capability_renegotiate",
        /// First terms of a contract.
        ContractOffer = "contract_offer",
        /// Other terms in place of the last ones.
        ContractCounter = "contract_counter",
        /// The last terms were accepted.
        ContractAccept = "contract_accept",
        /// They were rejected.
        ContractReject = "contract_reject",
        /// They were taken back.
        ContractWithdraw = "contract_withdraw",
        /// A window of the contract passed.
        ContractLapse = "contract_lapse",
        /// A REQUEST named the contract.
        ContractEngage = "contract_engage",
    }
}

impl Act {
    /// The member of `ect_ext` that holds what a node says (CX-44; `contract` is a name of our own).
    pub const fn area(self) -> &'static str {
        match self {
            Act::Propose
            | Act::Vote
            | Act::Votes
            | Act::Commit
            | Act::Escalate
            | Act::HumanDecision => "consensus",
            Act::SessionClose | Act::AgreementCreate | Act::AgreementRevoke | Act::Renegotiate => {
                "capability_negotiation"
            }
            Act::ContractOffer
            | Act::ContractCounter
            | Act::ContractAccept
            | Act::ContractReject
            | Act::ContractWithdraw
            | Act::ContractLapse
            | Act::ContractEngage => "contract",
        }
    }
}

impl Act {
    /// The members of a node that rest on bodies of messages, which may be erased.
    pub const fn of_bodies(self) -> &'static [&'static str] {
        match self {
            Act::Propose => &["ect", "subject"],
            Act::Vote | Act::HumanDecision | Act::SessionClose => &["ect", "rationale"],
            Act::AgreementCreate | Act::Renegotiate => &["ect", "previous_terms", "terms"],
            Act::AgreementRevoke => &["ect", "reason"],
            Act::ContractOffer
            | Act::ContractCounter
            | Act::ContractAccept
            | Act::ContractReject
            | Act::ContractWithdraw => &["ect", "message", "terms"],
            Act::Votes | Act::Commit | Act::Escalate | Act::ContractLapse | Act::ContractEngage => {
                &[]
            }
        }
    }
}

/// A record of what is traced.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// What it holds.
    pub event: &'a Event,
    /// Hash of the record.
    pub hash: Digest,
    /// The payload of its message, where its body is at hand; [`SHOWN_MEMBERS`] of it are enough.
    pub payload: Option<&'a Map<String, Value>>,
    /// Place in the log.
    pub position: u64,
    /// The ledger's clock when it was decided.
    pub recorded_at_ms: TimestampMs,
    /// In whose stream it stands.
    pub subject: Subject,
}

/// One node of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What was done: `exec_act`.
    pub act: Act,
    /// Its id: a UUIDv8 of its record's hash.
    pub jti: Uuid,
    /// Tokens that agents put into the messages that it stands for.
    pub own: Vec<Own>,
    /// Nodes that it rests on, all of them before it.
    pub pred: Vec<Uuid>,
    /// When its record was recorded.
    pub recorded_at_ms: TimestampMs,
    /// What `ect_ext` says, under [`Act::area`].
    pub said: Map<String, Value>,
}

/// The members of an object.
fn members_of(object: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(object) {
        Ok(Value::Object(members)) => members,
        Ok(_) | Err(_) => Map::new(),
    }
}

fn jti(parts: &[&[u8]]) -> Uuid {
    let digest = Digest::of_parts(&[&[DOMAIN], parts].concat());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    Builder::from_custom_bytes(bytes).into_uuid()
}

impl Recorded<'_> {
    /// Its node with this content.
    fn node(&self, act: Act, pred: Vec<Uuid>, content: &impl Serialize) -> Node {
        let place = Place {
            ect: None,
            position: self.position,
            record_hash: self.hash,
        };
        let mut said = members_of(&place);
        said.extend(members_of(content));
        Node {
            act,
            jti: jti(&[self.hash.as_bytes()]),
            own: Vec::new(),
            pred,
            recorded_at_ms: self.recorded_at_ms,
            said,
        }
    }

    /// The text of that name in its message, if that is at hand.
    fn text(&self, name: &str) -> Option<ShownText> {
        let text = self.payload.and_then(|payload| payload.get(name));
        text.and_then(Value::as_str).map(ShownText::of)
    }

    /// The token of the agent's own in its message.
    fn own(&self, by: Did) -> Option<Own> {
        Own::of(self.payload?, by)
    }
}

impl Node {
    /// The same with the tokens of agents that belong to it: the ledger signs their hashes.
    fn with_own(mut self, own: impl IntoIterator<Item = Own>) -> Node {
        self.own.extend(own);
        if !self.own.is_empty() {
            let each = self.own.iter();
            let named = each.map(|own| json!({ "by": own.by, "hash": own.hash() }));
            self.said.insert("ect".to_owned(), named.collect());
        }
        self
    }
}

/// Members of payloads of which nodes show something.
pub const SHOWN_MEMBERS: [&str; 7] = [
    "agreement",
    "ect",
    "message",
    "rationale",
    "reason",
    "subject",
    "terms",
];

/// The nodes of a trace that is named by `subject`, whose `records` come in order of position; none of a subject
/// that has no traces.
pub fn nodes<'a>(subject: Subject, records: impl IntoIterator<Item = Recorded<'a>>) -> Vec<Node> {
    if let Subject::Round(_) = subject {
        round::round_nodes(records)
    } else if let Subject::Contract(_) = subject {
        contract::contract_nodes(records)
    } else {
        agreement::agreement_nodes(records)
    }
}

/// The envelope of a message whose body a trace shows something of.
pub fn shown_message(event: &Event) -> Option<&AcceptedHeader> {
    let Event::EnvelopeAccepted(accepted) = event else {
        return None;
    };
    let is_shown = matches!(
        accepted.facts,
        Facts::Negotiation(_)
            | Facts::Consensus(
                ConsensusFacts::Propose(_)
                    | ConsensusFacts::Vote(_)
                    | ConsensusFacts::Reveal(_)
                    | ConsensusFacts::HumanDecision(_)
            )
            | Facts::Capability(
                CapabilityFacts::Agree(_)
                    | CapabilityFacts::Reject(_)
                    | CapabilityFacts::Close(_)
                    | CapabilityFacts::Revoke(_)
            )
    );
    let header = &accepted.envelope;
    (is_shown && header.size <= MOST_BODY_BYTES).then_some(header)
}

/// Terms, where they are those of that hash, and neither long nor deep.
fn shown_terms(terms: Option<&Value>, hash: Digest) -> Option<Value> {
    let whole = terms.filter(|terms| {
        let bytes = to_canonical(terms);
        let fits =
            bytes.len() <= MOST_TERMS_BYTES && crate::json::depth(terms) <= token::MOST_TERMS_DEPTH;
        fits && Digest::of(&bytes) == hash
    });
    whole.cloned()
}

#[cfg(test)]
mod tests;
