//! Why a call gave no good answer. Whoever handles it tells four cases apart: the ledger said no,
//! nobody answered, somebody else answered, or the answer cannot be believed.

use serde_json::Value;
use x811_protocol::code::Code;
use x811_protocol::id::EnvelopeId;
use x811_protocol::time::TimestampMs;

use crate::entropy::EntropyError;

/// Why a call gave no good answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The ledger refused.
    #[error("{} {}: {}", .0.code, .0.code.name(), .0.message)]
    Refused(Box<Refused>),
    /// No answer in time, after all retries. A message may or may not have been accepted: the same
    /// bytes can be sent again without harm.
    #[error("the ledger at {url} does not answer ({cause}); check the address and that it runs")]
    Unreachable {
        /// Whom we asked.
        url: String,
        /// What the network said.
        cause: String,
    },
    /// Something answered that does not speak this interface.
    #[error("{url} answers, but not as an x811 ledger ({cause}); check the address and version")]
    NotALedger {
        /// Whom we asked.
        url: String,
        /// What is wrong with the answer.
        cause: String,
    },
    /// The answer does not hold: a signature, a hash or an order is wrong. Do not act on it.
    #[error("what the ledger gave does not hold: {cause}; do not act on it, tell its operator")]
    Untrusted {
        /// What is wrong.
        cause: String,
    },
    /// The message was accepted and its body erased since.
    #[error(
        "the body of message {id} was erased{}: its record and the facts in it are what is left",
        at_position(*.at)
    )]
    Erased {
        /// Envelope id of the message whose body is gone.
        id: EnvelopeId,
        /// Position of the record that says so, as the ledger has it.
        at: Option<u64>,
    },
    /// The address is none.
    #[error("{text:?} is no ledger address; write one such as http://127.0.0.1:8811")]
    Address {
        /// What was given.
        text: String,
    },
    /// A read could not be signed.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The HTTP client could not be set up.
    #[error("no HTTPS client could be set up ({cause}); install the system's CA certificates")]
    Setup {
        /// What went wrong.
        cause: String,
    },
}

fn at_position(at: Option<u64>) -> String {
    at.map_or_else(String::new, |at| format!(", as the record at {at} says"))
}

/// A refusal as it came over the wire (AX-42).
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// Status code of the HTTP answer.
    pub status: u16,
    /// The registry's code.
    pub code: Code,
    /// The ledger's words: what happened and what to do.
    pub message: String,
    /// The envelope it is about.
    pub related_message_id: Option<String>,
    /// More for a program.
    pub details: Option<Value>,
}

impl Refused {
    /// The ledger time as of which the answer holds, where it says one: a 404 of an envelope id.
    pub fn as_of_ms(&self) -> Option<TimestampMs> {
        let as_of_ms = self
            .details
            .as_ref()?
            .get("as_of")?
            .get("at_ms")?
            .as_u64()?;
        Some(TimestampMs::new(as_of_ms))
    }

    /// The ledger's time minus the signed time in milliseconds, where a signed read is refused for its
    /// time.
    pub(super) fn clock_offset_ms(&self) -> Option<i64> {
        if self.code != Code::TimestampInvalid {
            return None;
        }
        self.details.as_ref()?.get("offset_ms")?.as_i64()
    }
}
