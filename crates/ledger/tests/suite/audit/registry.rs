//! Somebody with the database changes what became of a registration and writes every hash behind
//! it anew (AX-30, AX-31): the bodies, the proofs and the rules still speak.

use serde_json::{Value, json};
use x811_audit::Cause;
use x811_protocol::digest::Digest;
use x811_protocol::document::DidDocument;
use x811_protocol::key::{AgentKey, Profile, SecretKey};
use x811_protocol::payload::registry::rotation_message;
use x811_protocol::time::TimestampMs;

use super::ledgerbox::{Ledgerbox, TASK};
use super::party::{Account, Party};
use super::scene::{Parts, audit, causes_at, exported, found};

const DAY_MS: u64 = 86_400_000;
const STRANGER: &str = "0x00000000000000000000000000000000000000b1";

/// A log with every message of the registry and one greeting, as an export.
pub(crate) async fn every_verb() -> Vec<u8> {
    let ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let expires_at = ledgerbox.now().saturating_add_ms(DAY_MS);
    let ask = |by: &Party, verb: &str, payload: Value| {
        let kind = format!("x811.registry/{verb}");
        ledgerbox.seal(by, &kind, &ledgerbox.identity, payload)
    };
    let update = ask(
        &party,
        "update",
        update_payload(&ledgerbox, &party, expires_at),
    );
    ledgerbox.accept(&update).await;
    let (rotation, renewed) = rotated(&ledgerbox, &party);
    ledgerbox.accept(&ask(&party, "rotate", rotation)).await;
    for verb in ["deactivate", "reactivate"] {
        ledgerbox.accept(&ask(&renewed, verb, json!({}))).await;
    }
    let greeting = ledgerbox.seal(
        &renewed,
        "x811.ext/greeting",
        &ledgerbox.identity,
        json!({}),
    );
    ledgerbox.accept(&greeting).await;
    ledgerbox.accept(&ask(&other, "revoke", json!({}))).await;
    exported(&ledgerbox).await
}

fn update_payload(ledgerbox: &Ledgerbox, party: &Party, expires_at: TimestampMs) -> Value {
    let wallet = Account::new(0x46).bound_to(party.did, ledgerbox.identity.did);
    let mut payload = party.registration(&[TASK], &[wallet]);
    payload["expires_at_ms"] = json!(expires_at);
    payload
}

/// The payload that gives `party` a new key, and who it is from then on.
pub(crate) fn rotated(ledgerbox: &Ledgerbox, party: &Party) -> (Value, Party) {
    let key = ledgerbox.party().key;
    let (old_key, new_key) = (party.key.public(), key.public());
    let text = rotation_message(party.did, ledgerbox.identity.did, old_key, new_key);
    let listed = AgentKey {
        key: new_key,
        profile: Profile::Digest,
    };
    let payload = json!({
        "document": DidDocument::build(party.did, &[listed], None),
        "new_key": new_key,
        "proof": key.sign(text.as_bytes()),
    });
    let did = party.did;
    (payload, Party { did, key })
}

/// Asserts that a change of the first record with that event is found there, first of all, and by
/// these causes.
#[track_caller]
fn assert_found(bytes: &[u8], event: &str, change: impl FnOnce(&mut Value), causes: &[Cause]) {
    let mut parts = Parts::of(bytes);
    let at = parts.find_event(event);
    let before = parts.records[at].draft.event.clone();
    change(&mut parts.records[at].draft.event);
    let after = parts.records[at].draft.event.clone();
    assert_ne!(before, after, "{event} is changed");
    let report = audit(&parts.rehashed());
    let (here, all) = (causes_at(&report, at as u64), found(&report));
    assert_eq!(all[0].0, at as u64, "{after}: {all:?}");
    for cause in causes {
        assert!(here.contains(cause), "{after}: no {cause} in {all:?}");
    }
}

#[tokio::test]
async fn promise_4_the_untouched_log_of_every_verb_is_clean() {
    let bytes = every_verb().await;
    let report = audit(&Parts::of(&bytes).rehashed());
    assert!(report.is_clean(), "{:?}", found(&report));
    assert_eq!(report.facts.proven, report.envelopes);
    assert_eq!(report.envelopes, 8);
}

#[tokio::test]
async fn promise_4_a_changed_update_is_found() {
    let bytes = every_verb().await;
    let differ: &[Cause] = &[Cause::FactsDiffer];
    let proof: &[Cause] = &[Cause::FactsDiffer, Cause::ProofInvalid];
    let decision: &[Cause] = &[Cause::FactsDiffer, Cause::ReDecisionDiffers];
    let table = [
        ("/expires_at_ms", json!(TimestampMs::MAX), differ),
        ("/expires_at_ms", json!(1), decision),
        ("/expires_at_ms", Value::Null, differ),
        ("/wallets", json!([]), differ),
        ("/wallets/0/address", json!(STRANGER), proof),
        (
            "/wallets/0/proof",
            json!(format!("0x{}", "1b".repeat(65))),
            proof,
        ),
        ("/capabilities", json!([TASK, "more"]), differ),
        ("/document_digest", json!("a".repeat(64)), differ),
    ];
    for (member, to, causes) in table {
        let change = |event: &mut Value| match to.is_null() {
            true => drop(event.as_object_mut().unwrap().remove(&member[1..])),
            false => *event.pointer_mut(member).unwrap() = to,
        };
        assert_found(&bytes, "agent_updated", change, causes);
    }
}

#[tokio::test]
async fn promise_4_a_changed_rotation_is_found() {
    let bytes = every_verb().await;
    let stranger = SecretKey::from_seed([9; 32]);
    let proof: &[Cause] = &[Cause::FactsDiffer, Cause::ProofInvalid];
    let old_key: &[Cause] = &[Cause::FactsDiffer, Cause::ProofInvalid, Cause::StateDiffers];
    let table = [
        ("/new_key/key", json!(stranger.public()), proof),
        ("/new_key/profile", json!("direct"), &[Cause::FactsDiffer]),
        ("/proof", json!(stranger.sign(b"whatever")), proof),
        ("/old_key", json!(stranger.public()), old_key),
        (
            "/document_digest",
            json!("a".repeat(64)),
            &[Cause::FactsDiffer],
        ),
    ];
    for (member, to, causes) in table {
        let change = |event: &mut Value| *event.pointer_mut(member).unwrap() = to;
        assert_found(&bytes, "key_rotated", change, causes);
    }
}

/// The stranger proves the new key too, so that only what was signed is against it.
#[tokio::test]
async fn promise_4_a_rotation_to_a_strangers_key_is_found_although_it_proves_itself() {
    let bytes = every_verb().await;
    let stranger = SecretKey::from_seed([9; 32]);
    let ledger = ledger_of(&bytes);
    let change = |event: &mut Value| {
        let did = event["envelope"]["from"].as_str().unwrap().parse().unwrap();
        let old_key = event["old_key"].as_str().unwrap().parse().unwrap();
        let text = rotation_message(did, ledger, old_key, stranger.public());
        event["new_key"]["key"] = json!(stranger.public());
        event["proof"] = json!(stranger.sign(text.as_bytes()));
    };
    assert_found(&bytes, "key_rotated", change, &[Cause::FactsDiffer]);
}

fn ledger_of(bytes: &[u8]) -> x811_protocol::did::Did {
    let parts = Parts::of(bytes);
    let to = &parts.records[parts.find_event("key_rotated")].draft.event["envelope"]["to"];
    to.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn promise_4_another_verb_than_the_signed_one_is_found() {
    let bytes = every_verb().await;
    let causes: &[Cause] = &[Cause::FactsDiffer, Cause::ReDecisionDiffers];
    for (was, becomes) in [
        ("agent_deactivated", "agent_revoked"),
        ("agent_revoked", "agent_deactivated"),
    ] {
        let change = |event: &mut Value| event["type"] = json!(becomes);
        assert_found(&bytes, was, change, causes);
    }
}

#[tokio::test]
async fn promise_4_a_revocation_recorded_as_mail_is_found() {
    let bytes = every_verb().await;
    let mut parts = Parts::of(&bytes);
    let (greeting, at) = (
        parts.find_message("x811.ext/greeting"),
        parts.find_event("agent_revoked"),
    );
    let mail = parts.records[greeting].draft.clone();
    let draft = &mut parts.records[at].draft;
    draft.stream = mail.stream;
    draft.stream_seq = mail.stream_seq + 1;
    draft.event = json!({
        "type": "envelope_accepted",
        "envelope": draft.event["envelope"],
        "facts": {"payload_hash": Digest::of(b"{}")},
        "derived": mail.event["derived"],
    });
    let report = audit(&parts.rehashed());
    let expected = [(at as u64, "stream", Cause::ReDecisionDiffers)];
    assert_eq!(found(&report), expected);
}

#[tokio::test]
async fn promise_4_mail_recorded_as_a_revocation_is_found() {
    let bytes = every_verb().await;
    let mut parts = Parts::of(&bytes);
    let (at, last) = (
        parts.find_message("x811.ext/greeting"),
        parts.find_event("agent_reactivated"),
    );
    let (stream, seq) = {
        let identity = &parts.records[last].draft;
        (identity.stream.clone(), identity.stream_seq + 1)
    };
    let draft = &mut parts.records[at].draft;
    (draft.stream, draft.stream_seq) = (stream, seq);
    draft.event = json!({"type": "agent_revoked", "envelope": draft.event["envelope"]});
    let report = audit(&parts.rehashed());
    let here = causes_at(&report, at as u64);
    assert_eq!(found(&report)[0].0, at as u64, "{:?}", found(&report));
    for cause in [Cause::FactsDiffer, Cause::ReDecisionDiffers] {
        assert!(here.contains(&cause), "{:?}", found(&report));
    }
}
