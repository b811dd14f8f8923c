//! The outbox: envelopes that were sealed and whose outcome is not known yet (agents.md section 2).
//!
//! An envelope is in the file before it is sent, so whoever is interrupted sends the same bytes
//! again and never seals a second one for the same step. This file decides, and does nothing:
//! what an answer means for an envelope, and when another may be sealed in its place.

use serde::{Deserialize, Serialize};
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::CoreType;
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::time::TimestampMs;

use super::money::Transfer;
use crate::http::{Accepted, ClientError};

/// Behind `created` plus this, by the ledger's time, an envelope that is not accepted never will be:
/// five minutes for which it is good, and half a minute for clocks.
pub const DEAD_AFTER_MS: u64 = 330_000;

/// Between one try and the next, in milliseconds, as they follow each other.
const DELAYS_MS: [u64; 5] = [500, 1_000, 2_000, 4_000, 8_000];

/// How many envelopes are sealed for one step at most; then a person has to look.
pub(crate) const MAX_SEALED: u32 = 3;

/// What an agent says in an interaction, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// A REQUEST that opens an interaction.
    Request,
    /// An OFFER in answer to a REQUEST.
    Offer,
    /// An ACCEPT of an OFFER.
    Accept,
    /// A REJECT of an OFFER.
    Reject,
    /// A RESULT: the work that is delivered.
    Result,
    /// ERROR: that there will be no RESULT.
    Error,
    /// A VERIFY of a RESULT.
    Verify,
    /// A PAYMENT: the transactions that paid.
    Payment,
    /// Terms of a negotiation: its offer, or a counter.
    Terms,
    /// That a negotiation's last terms are agreed on.
    Agree,
    /// That there will be no agreement.
    Decline,
    /// The request that opens a session.
    Ask,
    /// That this agent negotiates in a session.
    Answer,
    /// The signature under an agreement.
    Sign,
}

impl Act {
    /// The envelope's type; `None` where it is no core type.
    pub fn core_type(self) -> Option<CoreType> {
        Some(match self {
            Act::Request => CoreType::Request,
            Act::Offer => CoreType::Offer,
            Act::Accept => CoreType::Accept,
            Act::Reject => CoreType::Reject,
            Act::Result => CoreType::Result,
            Act::Error => CoreType::Error,
            Act::Verify => CoreType::Verify,
            Act::Payment => CoreType::Payment,
            Act::Terms | Act::Agree | Act::Decline | Act::Ask | Act::Answer | Act::Sign => {
                return None;
            }
        })
    }

    /// The name in lists and file names.
    pub fn as_str(self) -> &'static str {
        match self {
            Act::Request => "request",
            Act::Offer => "offer",
            Act::Accept => "accept",
            Act::Reject => "reject",
            Act::Result => "result",
            Act::Error => "error",
            Act::Verify => "verify",
            Act::Payment => "payment",
            Act::Terms => "terms",
            Act::Agree => "agree",
            Act::Decline => "decline",
            Act::Ask => "ask",
            Act::Answer => "answer",
            Act::Sign => "sign",
        }
    }

    /// Whether its proof of inclusion is fetched and kept: what binds this agent or the other party.
    pub fn is_proven(self) -> bool {
        matches!(self, Act::Accept | Act::Result | Act::Verify | Act::Payment)
    }
}

/// A sealed envelope on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// In which interaction.
    pub interaction: InteractionId,
    /// What it says.
    pub act: Act,
    /// Id of the envelope that is in the outbox.
    pub envelope_id: EnvelopeId,
    /// SHA-256 of its body: what its record must hold.
    pub digest: Digest,
    /// When it was sealed.
    pub created_ms: TimestampMs,
    /// The envelope, byte for byte.
    pub envelope: String,
    /// The transfer that a PAYMENT names; in the file before either leaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
    /// How often it was sent without a clear answer.
    #[serde(default)]
    pub tries: u32,
    /// Not sent again before this moment.
    #[serde(default)]
    pub not_before_ms: TimestampMs,
    /// The ledger is asked for its outcome before anything else.
    #[serde(default)]
    pub is_doubtful: bool,
}

/// What came back for an envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It is in the log; also when the first of two equal sendings was.
    Accepted(Box<Accepted>),
    /// It was refused, and would be again.
    Refused {
        /// The code that says why.
        code: Code,
        /// The ledger's words.
        message: String,
    },
    /// The answer is about this sending alone: an earlier one may have been accepted.
    Doubtful,
    /// No answer, or one that says nothing of the envelope.
    Silence,
}

impl Reply {
    /// Sorts an answer. X811-9001, 9002 and 3003 leave the nonce unspent and mean "again".
    pub fn of(answer: Result<Accepted, ClientError>) -> Reply {
        match answer {
            Ok(accepted) => Reply::Accepted(Box::new(accepted)),
            Err(ClientError::Refused(refused)) if is_again(refused.code) => Reply::Silence,
            Err(ClientError::Refused(refused)) if is_of_this_sending(refused.code) => {
                Reply::Doubtful
            }
            Err(ClientError::Refused(refused)) => Reply::Refused {
                code: refused.code,
                message: refused.message,
            },
            Err(_) => Reply::Silence,
        }
    }
}

/// Codes that leave the nonce unspent.
fn is_again(code: Code) -> bool {
    matches!(
        code,
        Code::RateLimitExceeded | Code::InternalError | Code::AgentOffline
    )
}

/// Codes that say nothing of an earlier sending of the same bytes: too old by now, or a nonce whose
/// first outcome the answer does not tell.
fn is_of_this_sending(code: Code) -> bool {
    matches!(code, Code::TimestampInvalid | Code::NonceReplay)
}

/// What the ledger says of an envelope's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// The ledger accepted it, with this answer.
    Accepted(Box<Accepted>),
    /// Not accepted as of that ledger time; `None` from a ledger that does not say when.
    Absent {
        /// The ledger's time.
        as_of_ms: Option<TimestampMs>,
    },
    /// No answer, or one that says nothing of the envelope.
    Silence,
}

impl Lookup {
    /// Sorts an answer of [`crate::http::LedgerClient::outcome`].
    pub fn of(answer: Result<Accepted, ClientError>) -> Lookup {
        match answer {
            Ok(accepted) => Lookup::Accepted(Box::new(accepted)),
            Err(ClientError::Refused(refused)) if refused.status == 404 => Lookup::Absent {
                as_of_ms: refused.as_of_ms(),
            },
            Err(_) => Lookup::Silence,
        }
    }
}

/// What becomes of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It leaves: accepted.
    Delivered(Box<Accepted>),
    /// It leaves: refused, so that another may be sealed for its step.
    Refused {
        /// The code that says why.
        code: Code,
        /// The ledger's words.
        message: String,
    },
    /// It leaves: never accepted and too old to be.
    Dead,
    /// It stays, and the same bytes are sent again.
    Again,
    /// It stays, and the ledger is asked for its id first.
    Ask,
}

impl Entry {
    /// Whether the ledger is to be asked for the id before the bytes are sent again: they may be
    /// too old to be taken, while an earlier sending was.
    pub fn asks_first(&self, now: TimestampMs) -> bool {
        self.is_doubtful || now > self.created_ms.saturating_add_ms(DEAD_AFTER_MS)
    }

    /// What an answer to sending it means.
    pub fn after(&self, reply: Reply) -> Fate {
        match reply {
            Reply::Accepted(accepted) => Fate::Delivered(accepted),
            Reply::Refused { code, message } => Fate::Refused { code, message },
            Reply::Doubtful => Fate::Ask,
            Reply::Silence => Fate::Again,
        }
    }

    /// What the answer to its id means. It is dead only beyond [`DEAD_AFTER_MS`] by the ledger's own
    /// time; a ledger that says no time never makes it so.
    pub fn after_lookup(&self, lookup: Lookup) -> Fate {
        let dead_at = self.created_ms.saturating_add_ms(DEAD_AFTER_MS);
        match lookup {
            Lookup::Accepted(accepted) => Fate::Delivered(accepted),
            Lookup::Absent {
                as_of_ms: Some(as_of_ms),
            } if as_of_ms > dead_at => Fate::Dead,
            Lookup::Absent { .. } | Lookup::Silence => Fate::Ask,
        }
    }

    /// The moment of the next try after `tries` without a clear answer.
    pub fn next_try(&self, now: TimestampMs) -> TimestampMs {
        let place = usize::try_from(self.tries).unwrap_or(usize::MAX);
        let last = DELAYS_MS.len() - 1;
        now.saturating_add_ms(DELAYS_MS[place.min(last)])
    }
}

#[cfg(test)]
mod tests;
