//! Profile `xap-sdk`: chains as PyPI `xap-sdk` 0.4 makes them.
//!
//! Bytes are RFC 8785. A link covers the whole message before it, its signature included. A signature
//! is `ed25519:` and padded standard base64. ACCEPT and REJECT count as a round of their own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use x811_protocol::canonical::members_to_canonical;
use x811_protocol::signature::Signature;

use super::message::Message;
use super::profile::Rules;

/// How a signature begins.
pub(super) const PREFIX: &str = "ed25519:";

pub(super) const RULES: Rules = Rules {
    linked,
    signed,
    signature,
    rounds_of_answer: 1,
    leaves_offer_unsigned: false,
    has_withdrawal: false,
    accepts_to_itself: false,
};

fn linked(message: &Message) -> Vec<u8> {
    members_to_canonical(&message.whole)
}

fn signed(message: &Message) -> Vec<u8> {
    members_to_canonical(&message.without_signature())
}

fn signature(text: &str) -> Option<Signature> {
    let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
    bytes.try_into().ok().map(Signature::from_bytes)
}
