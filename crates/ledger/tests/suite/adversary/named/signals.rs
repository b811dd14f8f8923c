//! The ledger's signal: the notice of an outcome, signed inside as a leader's commit or abort is. It counts by
//! the envelope key alone. Whoever has another key of the ledger, which lies elsewhere, gains by a signal
//! that passes for the ledger's.

use serde_json::{Map, Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::event::LedgerRole;
use x811_protocol::jws::{MEMBER, sign_object};
use x811_protocol::key::{KeyId, SecretKey};
use x811_protocol::round::{Outcome, signal_type};

use super::super::log::Written;
use super::{Story, rounds};

const OTHERS: [LedgerRole; 2] = [LedgerRole::Checkpoint, LedgerRole::Receipt];

fn message(written: &Written) -> Option<Value> {
    serde_json::from_slice(written.body.as_ref()?).ok()
}

/// The notice of the first outcome, and the name of the key that signed it.
fn signal(story: &Story) -> (u64, KeyId) {
    let is_signal = |written: &Written| {
        let message = message(written).filter(|_| written.event_type() == "notice_issued");
        message.is_some_and(|it| it["payload"]["event"] == "round_decided")
    };
    let name = story.names(is_signal)[0];
    let kid = story.get(name, "/envelope/key");
    (name, kid.as_str().unwrap().parse().unwrap())
}

/// What is signed inside, by that key.
fn signed_inside(payload: &Map<String, Value>, kid: &KeyId, key: &SecretKey) -> Value {
    let mut said = payload.clone();
    said.remove(MEMBER);
    assert_eq!(said["outcome"], "commit");
    json!(sign_object(key, kid, signal_type(Outcome::Commit), &said))
}

/// Signs what the notice says of that record now, by the key of its envelope, as the record will stand.
pub(super) fn sign_again(story: &mut Story, notice: u64, decided: u64) {
    let kid = story.get(notice, "/envelope/key");
    let kid: KeyId = kid.as_str().unwrap().parse().unwrap();
    let message = message(story.record(notice)).unwrap();
    let mut payload = message["payload"].as_object().unwrap().clone();
    payload.remove(MEMBER);
    payload.insert("cause_position".to_owned(), json!(story.position(decided)));
    let outcome: Outcome = serde_json::from_value(payload["outcome"].clone()).unwrap();
    let key = story.secret(LedgerRole::Envelope);
    let signature = sign_object(key, &kid, signal_type(outcome), &payload);
    story.say(notice, MEMBER, json!(signature));
}

fn of_role(story: &Story, kid: KeyId, role: LedgerRole) -> (KeyId, &SecretKey) {
    let key = story.secret(role);
    let key_id = KeyId {
        key: key.public(),
        ..kid
    };
    assert_ne!(key_id, kid);
    (key_id, key)
}

/// The envelope is as it has to be; the signal in it is by another key.
#[tokio::test]
async fn cc_023_the_signal_is_by_another_key_of_the_ledger() {
    let honest = rounds::honest().await;
    for role in OTHERS {
        let mut story = honest.clone();
        let (notice, kid) = signal(&story);
        let message = message(story.record(notice)).unwrap();
        let (kid, key) = of_role(&story, kid, role);
        let payload = message["payload"].as_object().unwrap();
        let signature = signed_inside(payload, &kid, key);
        story.say(notice, MEMBER, signature);
        story.is_found();
    }
}

/// Both are by another key, so that they fit each other.
#[tokio::test]
async fn cc_023_the_notice_and_its_signal_are_by_another_key_of_the_ledger() {
    let honest = rounds::honest().await;
    for role in OTHERS {
        let mut story = honest.clone();
        let (notice, kid) = signal(&story);
        let mut written = story.record(notice).clone();
        let (kid, key) = of_role(&story, kid, role);
        let mut message = message(&written).unwrap();
        let payload = message["payload"].as_object_mut().unwrap();
        let signature = signed_inside(payload, &kid, key);
        payload.insert(MEMBER.to_owned(), signature);
        let body = to_canonical(&message);
        let digest = Digest::of(&body);
        let envelope = &mut written.event["envelope"];
        envelope["key"] = json!(kid);
        envelope["digest"] = json!(digest);
        envelope["size"] = json!(body.len());
        envelope["signature"] = json!(key.sign(digest.as_bytes()));
        written.body = Some(body);
        story.put_written(notice, written);
        story.without([notice]);
        story.is_found();
    }
}

/// It is by the right key, and says another outcome than the round came to.
#[tokio::test]
async fn cc_023_the_signal_is_of_another_outcome() {
    let mut story = rounds::honest().await;
    let (notice, kid) = signal(&story);
    let message = message(story.record(notice)).unwrap();
    let mut payload = message["payload"].as_object().unwrap().clone();
    payload.remove(MEMBER);
    payload.insert("outcome".to_owned(), json!("abort"));
    let key = story.secret(LedgerRole::Envelope);
    let signature = sign_object(key, &kid, signal_type(Outcome::Abort), &payload);
    story
        .say(notice, "outcome", json!("abort"))
        .say(notice, MEMBER, json!(signature));
    story.is_found();
}
