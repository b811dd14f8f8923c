//! Makes chains under either profile, with the keys of both parties: somebody who holds keys can compute
//! every link and signature of a changed chain anew.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use x811_client::negotiation::Profile;
use x811_protocol::digest::Digest;
use x811_protocol::key::SecretKey;

use crate::{ADA, BERT, judge, keys, published};

/// The bytes that links (`is_link`) and signatures cover, as the published implementations write them:
/// `serde_json` keeps the keys of an object in order of bytes, which is Python's `sort_keys`.
fn covered(profile: Profile, message: &Value, is_link: bool) -> Vec<u8> {
    let mut message = message.clone();
    if !(is_link && profile == Profile::Sdk) {
        message.as_object_mut().unwrap().remove("signature");
    }
    let text = message.to_string();
    if profile == Profile::Sdk {
        return text.into_bytes();
    }
    let mut ascii = String::new();
    for unit in text.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte @ b' '..=b'~') => ascii.push(char::from(byte)),
            _ => write!(ascii, "\\u{unit:04x}").unwrap(),
        }
    }
    ascii.into_bytes()
}

/// The name of a step in the next one.
pub(crate) fn link(profile: Profile, message: &Value) -> String {
    format!("sha256:{}", Digest::of(&covered(profile, message, true)))
}

/// Signs a step as the agent whose key has this seed.
pub(crate) fn sign(profile: Profile, message: &mut Value, seed: u8) {
    let signature = SecretKey::from_seed([seed; 32]).sign(&covered(profile, message, false));
    message["signature"] = json!(match profile {
        Profile::Sdk => format!("ed25519:{}", STANDARD.encode(signature.as_bytes())),
        Profile::Reference => signature.to_string(),
    });
}

/// The key of an agent; whoever is neither Ada nor Bert has a third.
pub(crate) fn seed(agent: &Value) -> u8 {
    match agent.as_str() {
        Some(ADA) => 1,
        Some(BERT) => 2,
        _ => 3,
    }
}

/// Computes links and signatures anew from step `from` on.
pub(crate) fn seal(profile: Profile, steps: &mut [Value], from: usize) {
    for index in from..steps.len() {
        if index > 0 {
            steps[index]["previous_state_hash"] = json!(link(profile, &steps[index - 1]));
        }
        let is_unsigned = steps[index]["signature"] == "";
        if profile == Profile::Sdk || !is_unsigned || index > 0 {
            let seed = seed(&steps[index]["from_agent"]);
            sign(profile, &mut steps[index], seed);
        }
    }
}

/// A step behind `last`, not sealed: by `from`, to the other party, as an honest peer fills it in.
pub(crate) fn answer(profile: Profile, last: &Value, state: &str, from: &str) -> Value {
    let mut next = last.clone();
    next["state"] = json!(state);
    next["from_agent"] = json!(from);
    next["to_agent"] = json!(if from == ADA { BERT } else { ADA });
    let adds = state == "COUNTER" || profile == Profile::Sdk;
    next["round_number"] = json!(last["round_number"].as_u64().unwrap() + u64::from(adds));
    next["signature"] = json!("to be made");
    next
}

/// Ada's OFFER and `counters` answers to it.
pub(crate) fn haggled(profile: Profile, counters: usize) -> Vec<Value> {
    let mut steps = vec![published(profile)[0].clone()];
    for turn in 0..counters {
        let from = if turn % 2 == 0 { BERT } else { ADA };
        let mut next = answer(profile, &steps[turn], "COUNTER", from);
        next["pricing"]["amount_minor_units"] = json!(1_000 - turn);
        steps.push(next);
    }
    seal(profile, &mut steps, 0);
    steps
}

/// Without this no refusal below would mean anything: the forger's bytes are those of the publishers.
#[test]
fn xn_6_the_forger_makes_the_very_bytes_of_the_published_chains() {
    for profile in [Profile::Sdk, Profile::Reference] {
        let honest = published(profile);
        let mut forged = honest.clone();
        for step in &mut forged[1..] {
            step["signature"] = json!("to be made");
            step["previous_state_hash"] = json!("to be made");
        }
        seal(profile, &mut forged, 0);
        assert_eq!(forged, honest);
        assert!(judge(&haggled(profile, 19), &keys()).is_ok());
    }
}
