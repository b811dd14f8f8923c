//! Who signed: the signature of every envelope, and whether the key was the sender's at that
//! position.

use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::Event;
use x811_protocol::key::{AgentKey, Profile, PublicKey};

use super::finding::{Cause, Findings, Spot};
use super::replay::Replay;
use crate::stream::Stream;
use crate::world::World;

/// Checks the signature; `true` when it holds.
pub(super) fn holds(
    spot: &Spot,
    envelope: &AcceptedHeader,
    body: Option<&[u8]>,
    findings: &mut Findings,
) -> bool {
    if envelope.key.did != envelope.from {
        let sentence = "the key named is not one of the sender's DID";
        findings.add(spot, "envelope.key", Cause::SignatureInvalid, sentence);
        return false;
    }
    let signed = match (envelope.profile, body) {
        (Profile::Digest, _) => envelope.verify_from_leaf(),
        (Profile::Direct, Some(body)) => envelope.key.key.verify(body, &envelope.signature),
        (Profile::Direct, None) => {
            let sentence = "the key signs whole bodies (profile direct) and the body is not here: \
                            such bodies are never erased, so it was lost or left out";
            findings.add(spot, "body", Cause::Missing, sentence);
            return false;
        }
    };
    if !signed {
        let sentence = format!(
            "the signature is not by {} over what the record names: signature, digest or key was \
             changed",
            envelope.key.key
        );
        findings.add(
            spot,
            "envelope.signature",
            Cause::SignatureInvalid,
            sentence,
        );
    }
    signed
}

/// Whether the key is one the sender has, in the world before the record.
pub(super) fn key_is_registered(before: &World, event: &Event) -> bool {
    let Some(envelope) = event.envelope() else {
        return false;
    };
    let agent = before.agent(envelope.from);
    agent.is_some_and(|agent| agent.keys.contains(&agent_key(envelope)))
}

/// Checks that the key was the sender's when the record was made: `registered` is what
/// [`key_is_registered`] said then, `replay` is behind the record.
pub(super) fn key_is_the_senders(
    spot: &Spot,
    registered: bool,
    ledger: Option<Did>,
    replay: &Replay,
    event: &Event,
    findings: &mut Findings,
) {
    let Some(envelope) = event.envelope() else {
        return;
    };
    let key = agent_key(envelope);
    if let Event::AgentRegistered(registered) = event {
        if !registered.keys.contains(&key) {
            not_the_senders(spot, &key.key, "the keys it registers", findings);
        }
        return;
    }
    if let Event::NoticeIssued(_) = event
        && ledger.is_some_and(|ledger| ledger != envelope.from)
    {
        let sentence = "a notice is from the ledger, this envelope is from somebody else";
        findings.add(spot, "envelope.from", Cause::KeyNotTheSenders, sentence);
        return;
    }
    // Where the sender's identity could not be replayed, nothing is held against the key.
    if registered || !replay.knows(&Stream::Agent(envelope.from)) || !replay.knows(&Stream::Ledger)
    {
        return;
    }
    not_the_senders(spot, &key.key, "the keys the sender had then", findings);
}

fn agent_key(envelope: &AcceptedHeader) -> AgentKey {
    AgentKey {
        key: envelope.key.key,
        profile: envelope.profile,
    }
}

fn not_the_senders(spot: &Spot, key: &PublicKey, keys: &str, findings: &mut Findings) {
    let sentence = format!("{key}, with its profile, is not among {keys}");
    findings.add(spot, "envelope.key", Cause::KeyNotTheSenders, sentence);
}
