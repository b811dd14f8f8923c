//! What the registry decides (ledger-contract.md section 4, AX-30, AX-31): a pure function of the
//! agent as of now, the message and the moment.
//!
//! | standing | register | update | rotate | deactivate | reactivate | revoke |
//! |---|---|---|---|---|---|---|
//! | unknown | yes | 1001 | 1001 | 1001 | 1001 | 1001 |
//! | active | 1005 | yes | yes | yes | 4001 | yes |
//! | expired | 1005 | yes | 2003 | 2003 | 2003 | yes |
//! | deactivated | 1005 | 1003 | 1003 | 1003 | yes | yes |
//! | revoked | 1005 | 1002 | 1002 | 1002 | 1002 | 1002 |

use crate::agent::{Agent, AgentStanding};
use crate::sender::not_taken;
use x811_protocol::code::Code;
use x811_protocol::envelope::{AcceptedHeader, CoreType, MessageType};
use x811_protocol::event::{
    AgentEvent, AgentRegistered, AgentStatusChanged, AgentUpdated, Event, KeyRotated,
};
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::parameters::{Leniency, Parameters};
use x811_protocol::payload::registry::{Operation, Verb};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::time::TimestampMs;

/// The event that `operation`, asked for by `envelope`, makes of the sender.
///
/// # Errors
/// The code of the table above; X811-1005 also for keys that do not fit and an expiry that is over.
pub fn decide(
    agent: Option<&Agent>,
    envelope: &AcceptedHeader,
    operation: &Operation,
    now: TimestampMs,
) -> Result<Event, Refusal> {
    permitted(agent, operation.verb(), now)?;
    if let Some(agent) = agent {
        keys_fit(agent, operation)?;
    }
    let event = event(envelope, operation);
    new_keys_fit(&event)?;
    if expiry(&event).is_some_and(|expires| expires <= now) {
        return Err(Refusal::new(
            Code::DidDocumentInvalid,
            Kind::Shape,
            "expires_at_ms lies in the past: name a later moment, or leave it out",
        ));
    }
    Ok(event)
}

/// Whether the DID's standing at `at` lets it ask for `verb`.
///
/// # Errors
/// The code of the table above.
pub fn permitted(agent: Option<&Agent>, verb: Verb, at: TimestampMs) -> Result<(), Refusal> {
    let standing = match (agent, verb) {
        (None, Verb::Register) => return Ok(()),
        (Some(_), Verb::Register) => return Err(taken()),
        (None, _) => return Err(unknown()),
        (Some(agent), _) => agent.standing(at),
    };
    match (standing, verb) {
        (AgentStanding::Revoked, _) => Err(revoked()),
        (_, Verb::Revoke)
        | (AgentStanding::Active | AgentStanding::Expired, Verb::Update)
        | (AgentStanding::Active, Verb::Rotate | Verb::Deactivate)
        | (AgentStanding::Deactivated, Verb::Reactivate) => Ok(()),
        (AgentStanding::Deactivated, _) => Err(deactivated()),
        (AgentStanding::Expired, _) => Err(not_taken(standing)),
        (AgentStanding::Active, _) => Err(Refusal::state(
            "the DID is active already: there is nothing to reactivate",
        )),
    }
}

/// Whether the document an operation brings lists the keys it must.
pub fn keys_fit(agent: &Agent, operation: &Operation) -> Result<(), Refusal> {
    match operation {
        Operation::Update(update) => update.keeps(&agent.keys),
        Operation::Rotate(rotation) => rotation.replaces_one_of(&agent.keys),
        Operation::Register(_)
        | Operation::Deactivate
        | Operation::Reactivate
        | Operation::Revoke => Ok(()),
    }
}

/// Refuses keys that no group of signatures can be checked with.
pub fn new_keys_fit(event: &Event) -> Result<(), Refusal> {
    let keys = new_keys(event);
    if keys.iter().all(|known| known.key.is_torsion_free()) {
        return Ok(());
    }
    Err(Refusal::new(
        Code::DidDocumentInvalid,
        Kind::Shape,
        "a key has a part of small order, which no key has that is made as RFC 8032 says: make \
         another",
    ))
}

/// The keys that an event brings.
#[expect(clippy::wildcard_enum_match_arm, reason = "only these bring keys")]
fn new_keys(event: &Event) -> &[AgentKey] {
    match event {
        Event::Agent(AgentEvent::Registered(registered)) => &registered.keys,
        Event::Agent(AgentEvent::KeyRotated(rotated)) => std::slice::from_ref(&rotated.new_key),
        _ => &[],
    }
}

/// How an operation is recorded.
pub fn event(envelope: &AcceptedHeader, operation: &Operation) -> Event {
    let envelope = envelope.clone();
    match operation {
        Operation::Register(registration) => {
            Event::Agent(AgentEvent::Registered(AgentRegistered {
                keys: registration.keys.clone(),
                wallets: registration.entry.wallets.clone(),
                capabilities: registration.entry.capabilities.clone(),
                document_digest: registration.entry.document_digest,
                expires_at_ms: registration.entry.expires_at_ms,
                reference_sdk: registration.reference_sdk,
                envelope,
            }))
        }
        Operation::Update(update) => Event::Agent(AgentEvent::Updated(AgentUpdated {
            wallets: update.entry.wallets.clone(),
            capabilities: update.entry.capabilities.clone(),
            document_digest: update.entry.document_digest,
            expires_at_ms: update.entry.expires_at_ms,
            envelope,
        })),
        Operation::Rotate(rotation) => Event::Agent(AgentEvent::KeyRotated(KeyRotated {
            old_key: rotation.old_key,
            new_key: rotation.new_key,
            proof: rotation.proof,
            document_digest: rotation.document_digest,
            envelope,
        })),
        Operation::Deactivate => {
            Event::Agent(AgentEvent::Deactivated(AgentStatusChanged { envelope }))
        }
        Operation::Reactivate => {
            Event::Agent(AgentEvent::Reactivated(AgentStatusChanged { envelope }))
        }
        Operation::Revoke => Event::Agent(AgentEvent::Revoked(AgentStatusChanged { envelope })),
    }
}

/// Whether a registration may be recorded in its form under `parameters`: that of the
/// published SDK only where that is a recorded leniency, and only as it is made (decision 0190).
pub fn form_fits(registered: &AgentRegistered, parameters: Option<&Parameters>) -> bool {
    if registered.reference_sdk.is_none() {
        return true;
    }
    let envelope = &registered.envelope;
    let key = AgentKey {
        key: envelope.key.key,
        profile: Profile::Direct,
    };
    parameters.is_some_and(|parameters| parameters.is_lenient(Leniency::ReferenceSdk))
        && envelope.message_type == MessageType::Core(CoreType::Request)
        && envelope.to == envelope.from
        && envelope.profile == Profile::Direct
        && registered.keys == [key]
        && registered.wallets.is_empty()
        && registered.expires_at_ms.is_none()
}

/// The verb that is recorded as `event`; `None` for events of other streams.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only these are the registry's"
)]
pub fn verb(event: &Event) -> Option<Verb> {
    match event {
        Event::Agent(AgentEvent::Registered(_)) => Some(Verb::Register),
        Event::Agent(AgentEvent::Updated(_)) => Some(Verb::Update),
        Event::Agent(AgentEvent::KeyRotated(_)) => Some(Verb::Rotate),
        Event::Agent(AgentEvent::Deactivated(_)) => Some(Verb::Deactivate),
        Event::Agent(AgentEvent::Reactivated(_)) => Some(Verb::Reactivate),
        Event::Agent(AgentEvent::Revoked(_)) => Some(Verb::Revoke),
        _ => None,
    }
}

/// The expiry that `event` sets.
#[expect(clippy::wildcard_enum_match_arm, reason = "only these set one")]
pub fn expiry(event: &Event) -> Option<TimestampMs> {
    match event {
        Event::Agent(AgentEvent::Registered(registered)) => registered.expires_at_ms,
        Event::Agent(AgentEvent::Updated(updated)) => updated.expires_at_ms,
        _ => None,
    }
}

/// X811-1005, HTTP 409.
pub fn taken() -> Refusal {
    Refusal::new(
        Code::DidDocumentInvalid,
        Kind::Conflict,
        "this DID already exists here: choose another",
    )
}

fn unknown() -> Refusal {
    Refusal::new(
        Code::DidNotFound,
        Kind::NotFound,
        "this DID is not registered here: register it first",
    )
}

fn revoked() -> Refusal {
    Refusal::new(
        Code::DidRevoked,
        Kind::State,
        "this DID is revoked, and that is for ever: register a new DID",
    )
}

fn deactivated() -> Refusal {
    Refusal::new(
        Code::DidDeactivated,
        Kind::State,
        "this DID is deactivated: reactivate it first with x811.registry/reactivate, or revoke it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use curve25519_dalek::constants::EIGHT_TORSION;
    use curve25519_dalek::edwards::CompressedEdwardsY;
    use serde_json::json;
    use x811_protocol::key::PublicKey;

    fn rotated_to(key: PublicKey) -> Event {
        let digest = "ab".repeat(32);
        let did = "did:x811:019c8c61-8129-7511-9f31-aa5142e65441";
        let old = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";
        let key = json!({ "key": key, "profile": "digest" });
        let event = json!({
            "document_digest": digest,
            "envelope": {
                "created_ms": 1, "digest": digest, "from": did,
                "id": "0190a1b2-c3d4-7e5f-8901-234567890abc", "key": format!("{did}#{old}"),
                "nonce_tag": digest, "profile": "digest", "signature": "A".repeat(86), "size": 2,
                "to": did, "type": "x811.registry/rotate", "version": "0.1.0",
            },
            "new_key": key,
            "old_key": old,
            "proof": "A".repeat(86),
            "type": "key_rotated",
        });
        Event::from_value(&event).unwrap()
    }

    #[test]
    fn mach_1_a_key_with_a_part_of_small_order_is_not_registered() {
        let whole: PublicKey = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"
            .parse()
            .unwrap();
        let point = CompressedEdwardsY(*whole.as_bytes()).decompress().unwrap();
        for torsion in &EIGHT_TORSION {
            let key = (point + torsion).compress().to_bytes();
            let key = PublicKey::from_bytes(&key).unwrap();
            let event = rotated_to(key);
            let is_taken = new_keys_fit(&event).is_ok();
            assert_eq!(is_taken, key == whole);
            assert_eq!(key.is_torsion_free(), is_taken);
        }
    }
}
