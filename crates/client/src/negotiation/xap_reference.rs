//! Profile `xap-reference`: chains as the Python reference of XAP 0.2 makes them.
//!
//! Bytes are those of Python's `json.dumps` with sorted keys, no blanks, and everything outside
//! printable ASCII as `\uXXXX`. Links and signatures both leave the signature out, so a link proves
//! nothing about the signature before it. A signature is base64url without padding. ACCEPT and REJECT
//! keep the round.
//!
//! The reference has habits that a verifier must know, or it would refuse every chain it makes: it
//! never signs the OFFER, whose signature stays empty; its ACCEPT leaves `to_agent` as it was, which
//! then names the sender; and it lets the author of the last terms REJECT them.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use x811_protocol::canonical::members_to_canonical;
use x811_protocol::signature::Signature;

use super::message::Message;
use super::profile::Rules;

pub(super) const RULES: Rules = Rules {
    linked: covered,
    signed: covered,
    signature: |text| text.parse::<Signature>().ok(),
    rounds_of_answer: 0,
    leaves_offer_unsigned: true,
    has_withdrawal: true,
    accepts_to_itself: true,
};

fn covered(message: &Message) -> Vec<u8> {
    in_ascii(&message.without_signature())
}

/// RFC 8785 sorts ASCII keys as Python does and escapes the same control characters in the same way;
/// what is left are DEL and all beyond ASCII.
fn in_ascii(members: &Map<String, Value>) -> Vec<u8> {
    let canonical = members_to_canonical(members);
    let mut ascii = String::with_capacity(canonical.len());
    for c in String::from_utf8_lossy(&canonical).chars() {
        if matches!(c, ' '..='~') {
            ascii.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(ascii, "\\u{unit:04x}");
        }
    }
    ascii.into_bytes()
}
