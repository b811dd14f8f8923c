//! The X811Envelope: from bytes to a message whose sender is known (AE-68 to AE-85).
//!
//! ```text
//! bytes ──ParsedEnvelope::parse──▶ ParsedEnvelope ──verify──▶ VerifiedEnvelope ──▶ AcceptedHeader
//! ```
//!
//! The order of checks is that of AX-28: shape, version, required members, times, key, signature.
//! The **body** is the canonical form of every member but `signature`, unknown ones included
//! (AX-21): what is signed, what is hashed, what is stored beside the log. Nothing can be built
//! from an unverified envelope that later steps would take for a verified one.

mod accepted;
mod header;
mod heartbeat;
mod message_type;
mod parse;
mod reference_sdk;
mod seal;
mod times;
mod verify;

pub use accepted::{AcceptedHeader, nonce_tag};
pub use header::{CAPABILITY_NOTICE, CONSENSUS_NOTICE, Header, PROTOCOL_VERSION};
pub use heartbeat::{ParsedHeartbeat, SdkHeartbeat};
pub use message_type::{CoreType, CustomType, MessageType, MessageTypeError};
pub use parse::{EnvelopeRules, ParsedEnvelope};
pub use seal::{SealedEnvelope, seal, signature_member, wire_json};
pub use times::check_times;
pub use verify::{MAX_KEYS, Unverified, VerifiedEnvelope, verify, verify_together};
