//! What the ledger signs itself, signed anew.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Value, json};
use x811_eventlog::Checkpoint;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::event::{LedgerKeyRotated, LedgerOpened, LedgerRole};
use x811_protocol::jws::{MEMBER, sign_object};
use x811_protocol::key::{KeyId, PublicKey, SecretKey};
use x811_protocol::round::{Outcome, signal_type};
use x811_protocol::time::TimestampMs;

/// Members of a message that its envelope repeats as they are.
const REPEATED: [&str; 5] = ["id", "type", "version", "from", "to"];

/// All keys of the ledger, and one of the forger's own.
pub(crate) struct Hand(HashMap<String, SecretKey>);

impl fmt::Debug for Hand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hand").finish_non_exhaustive()
    }
}

impl Hand {
    pub(crate) fn of(keys: impl IntoIterator<Item = SecretKey>) -> Hand {
        let keys = keys.into_iter().chain([Hand::forgers_own()]);
        Hand(keys.map(|key| (key.public().to_string(), key)).collect())
    }

    /// A key that no ledger ever had.
    pub(crate) fn forgers_own() -> SecretKey {
        SecretKey::from_seed([66; 32])
    }

    /// The secret of that key, where it is one of theirs.
    pub(crate) fn secret(&self, key: &PublicKey) -> Option<&SecretKey> {
        self.0.get(&key.to_string())
    }

    /// The checkpoint by that key, or by the forger's own where nobody has its secret.
    pub(crate) fn checkpoint(&self, checkpoint: &Checkpoint, key: Option<PublicKey>) -> String {
        let own = Hand::forgers_own();
        let key = key.and_then(|key| self.secret(&key)).unwrap_or(&own);
        let sign = |message: &[u8]| *key.sign(message).as_bytes();
        let note = checkpoint.sign(*key.public().as_bytes(), sign);
        note.unwrap_or_default()
    }
}

/// Puts the new key in force; the proof of the rotation `follows` what it says.
pub(crate) fn rotated(hand: &Hand, opened: &mut LedgerOpened, event: &mut Value, follows: bool) {
    let role = event["role"].as_str().and_then(|role| role.parse().ok());
    let key = |name: &str| -> Option<PublicKey> { event[name].as_str()?.parse().ok() };
    let (Some(role), Some(old), Some(new)) = (role, key("old_key"), key("new_key")) else {
        return;
    };
    if let Some(secret) = hand.secret(&old).filter(|_| follows) {
        let rotation = LedgerKeyRotated::sign(opened.did, role, secret, new);
        event["proof"] = json!(rotation.proof);
    }
    let role: LedgerRole = role;
    opened.keys = opened.keys.with(role, new);
}

/// A notice's message says what its record says.
pub(crate) fn follow(event: &Value, message: &mut Value) {
    let envelope = &event["envelope"];
    message["payload"]["cause_position"] = event["cause"].clone();
    match event.get("code") {
        Some(code) => message["payload"]["code"] = code.clone(),
        // Its code stands in the message alone.
        None if message["type"]
            .as_str()
            .is_some_and(|it| it.ends_with("/notice")) => {}
        None => {
            message["payload"].as_object_mut().unwrap().remove("code");
        }
    }
    for name in REPEATED {
        if let Some(value) = envelope.get(name) {
            message[name] = value.clone();
        }
    }
    for (name, of_record) in [("created", "created_ms"), ("expires", "expires_ms")] {
        let Some(at_ms) = envelope.get(of_record).and_then(Value::as_u64) else {
            continue;
        };
        let text = message[name].as_str().unwrap_or_default().to_owned();
        let said = TimestampMs::parse_rfc3339(&text).ok();
        if said != Some(TimestampMs::new(at_ms)) {
            message[name] = json!(TimestampMs::new(at_ms).to_rfc3339());
        }
    }
}

/// Signs the ledger's signal in the notice of an outcome.
fn signal_anew(payload: &mut Value, kid: &KeyId, key: &SecretKey) {
    let outcome = serde_json::from_value::<Outcome>(payload["outcome"].clone());
    if let (Ok(outcome), Some(said)) = (outcome, payload.as_object_mut())
        && said.remove(MEMBER).is_some()
    {
        let signature = sign_object(key, kid, signal_type(outcome), said);
        said.insert(MEMBER.to_owned(), json!(signature));
    }
}

/// The body of a notice, signed by the ledger's key in force where it is not the one that it `was`.
pub(crate) fn signed_anew(
    hand: &Hand,
    opened: Option<&LedgerOpened>,
    event: &mut Value,
    mut message: Value,
    was: Option<&[u8]>,
) -> Vec<u8> {
    let body = to_canonical(&message);
    let key = opened.and_then(|opened| hand.secret(&opened.keys.envelope));
    if Some(&*body) == was {
        return body;
    }
    let (Some(key), Some(opened)) = (key, opened) else {
        return body;
    };
    if was.is_some() {
        // Only where it stands is another place: what is signed inside says that too.
        let kid = KeyId {
            did: opened.did,
            key: key.public(),
        };
        signal_anew(&mut message["payload"], &kid, key);
    }
    let body = to_canonical(&message);
    let digest = Digest::of(&body);
    let envelope = &mut event["envelope"];
    envelope["digest"] = json!(digest);
    envelope["size"] = json!(body.len());
    envelope["signature"] = json!(key.sign(digest.as_bytes()));
    envelope["key"] = json!(format!("{}#{}", opened.did, key.public()));
    let nonce = message["nonce"].as_str().unwrap_or_default();
    let from = message["from"].as_str().unwrap_or_default();
    envelope["nonce_tag"] = json!(Digest::of_parts(&[from.as_bytes(), &[0], nonce.as_bytes()]));
    body
}
