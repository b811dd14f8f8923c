//! Who signed: the signature of every envelope, and whether the key was the sender's at that
//! position.

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

/// Checks that the key was the sender's when the record was made. `before` is the world then.
pub(super) fn key_is_the_senders(
    spot: &Spot,
    before: &World,
    replay: &Replay,
    event: &Event,
    findings: &mut Findings,
) {
    let Some(envelope) = event.envelope() else {
        return;
    };
    let key = AgentKey {
        key: envelope.key.key,
        profile: envelope.profile,
    };
    if let Event::AgentRegistered(registered) = event {
        if !registered.keys.contains(&key) {
            not_the_senders(spot, &key.key, "the keys it registers", findings);
        }
        return;
    }
    if let Event::NoticeIssued(_) = event {
        let ledger = before.identity().map(|ledger| ledger.did);
        if ledger.is_some_and(|ledger| ledger != envelope.from) {
            let sentence = "a notice is from the ledger, this envelope is from somebody else";
            findings.add(spot, "envelope.from", Cause::KeyNotTheSenders, sentence);
            return;
        }
    }
    // Where the sender's identity could not be replayed, nothing is held against the key.
    if !replay.knows(&Stream::Agent(envelope.from)) || !replay.knows(&Stream::Ledger) {
        return;
    }
    let registered = before
        .agent(envelope.from)
        .is_some_and(|agent| agent.keys.contains(&key));
    if !registered {
        not_the_senders(spot, &key.key, "the keys the sender had then", findings);
    }
}

fn not_the_senders(spot: &Spot, key: &PublicKey, keys: &str, findings: &mut Findings) {
    let sentence = format!("{key}, with its profile, is not among {keys}");
    findings.add(spot, "envelope.key", Cause::KeyNotTheSenders, sentence);
}
