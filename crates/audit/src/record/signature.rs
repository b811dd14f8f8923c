//! Who signed: the signature of every envelope, and whether the key was the sender's at that
//! position.
//!
//! The signatures of a page are verified together. Where one does not hold, every one of them is
//! checked singly, so that what is found wrong of a signature is what strict verification finds of
//! it alone.

use rayon::prelude::*;
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{AgentEvent, Event};
use x811_protocol::key::{AgentKey, Profile, PublicKey, Signed, verify_all};

use crate::finding::findings::{Cause, Findings, Spot};
use crate::record::examine::Whole;
use crate::replay::state::Replay;
use x811_protocol::stream::Stream;
use x811_world::World;

/// Checks the signatures of all these records, those that can be together.
pub(crate) fn check_all(wholes: Vec<&mut Whole>) {
    let (batch, others): (Vec<_>, Vec<_>) = wholes
        .into_iter()
        .partition(|whole| of_whole(whole).is_some());
    others.into_iter().for_each(check_one);
    let signed: Vec<Signed<'_>> = batch.iter().filter_map(|whole| of_whole(whole)).collect();
    if verify_all(&signed) {
        for whole in batch {
            whole.signature_holds = Some(true);
        }
    } else {
        batch.into_par_iter().for_each(check_one);
    }
}

fn check_one(whole: &mut Whole) {
    let (body, findings) = (whole.body.as_deref(), &mut whole.signature_findings);
    let envelope = whole.event.envelope();
    whole.signature_holds = envelope.map(|envelope| holds(&whole.spot, envelope, body, findings));
}

fn of_whole(whole: &Whole) -> Option<Signed<'_>> {
    signed(whole.event.envelope()?, whole.body.as_deref())
}

/// What is signed; absent where the key is not of the sender's DID, or what it signs is not here.
fn signed<'a>(envelope: &'a AcceptedHeader, body: Option<&'a [u8]>) -> Option<Signed<'a>> {
    let message = match envelope.profile {
        Profile::Digest => envelope.digest.as_bytes(),
        Profile::Direct => body?,
    };
    (envelope.key.did == envelope.from).then_some(Signed {
        key: &envelope.key.key,
        message,
        signature: &envelope.signature,
    })
}

/// Checks one signature; `true` when it holds.
fn holds(
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
    let Some(signed) = signed(envelope, body) else {
        let sentence = "the key signs whole bodies (profile direct) and the body is not here: \
                        such bodies are never erased, so it was lost or left out";
        findings.add(spot, "body", Cause::Missing, sentence);
        return false;
    };
    let holds = signed.verify();
    if !holds {
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
    holds
}

/// Whether the key is one the sender has, in the world before the record.
pub(crate) fn key_is_registered(before: &World, event: &Event) -> bool {
    let Some(envelope) = event.envelope() else {
        return false;
    };
    let agent = before.agent(envelope.from);
    agent.is_some_and(|agent| agent.keys.contains(&agent_key(envelope)))
}

/// Checks that the key was the sender's when the record was made: `registered` is what
/// [`key_is_registered`] said then, `replay` is behind the record.
pub(crate) fn key_is_the_senders(
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
    if let Event::Agent(AgentEvent::Registered(registered)) = event {
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
