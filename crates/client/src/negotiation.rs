//! Negotiation chains of XAP 0.2, verified offline (requirements-xap.md part 3).
//!
//! XAP is another protocol in which agents negotiate: one signed JSON object a step, each naming the
//! hash of the one before. Its published SDK and its reference implementation write different bytes,
//! so there are two *profiles*, one for each. A chain has one profile from its first step to its last.
//!
//! Verification reads the file and the keys it is given and nothing else. No rule of this ledger is
//! applied, and nothing of a chain enters the log: what two agents agreed on in XAP binds nobody here.
//!
//! What a chain cannot show: that steps were dropped at its end, and that a step was made when it says.
//! Without keys it shows no author either: whoever has the file can write all of it anew.

mod chain;
mod fault;
mod keys;
mod message;
mod profile;
mod xap_reference;
mod xap_sdk;

pub use chain::{Authorship, Chain, Outcome, Step, verify};
pub use fault::{ChainError, StepFault};
pub use keys::{Keys, KeysError};
pub use message::{AgentId, MessageError, State};
pub use profile::Profile;

/// The longest file that is read, in bytes.
pub const MAX_CHAIN_BYTES: usize = 8 << 20;
