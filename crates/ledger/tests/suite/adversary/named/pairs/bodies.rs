//! Bodies that the operator erases: of a message whose body a record erased all facts are the ledger's word, and only
//! its signature is left.

use serde_json::{Value, json};
use x811_protocol::digest::Digest;

use super::super::Story;

/// The body of a record is erased, and an agent is named for it.
pub(super) fn erased(story: &mut Story, name: u64) {
    let operator = story.get(story.events("agent_registered")[0], "/envelope/from");
    let erased = json!({
        "type": "bodies_erased", "positions": [name], "reason_code": "gdpr", "operator": operator,
    });
    let last = *story.messages("x811.ext/greeting").last().unwrap();
    story.without_body(name).put(last, "ledger", erased);
}

/// A message once more, right before another record and at that time: its sender signed it, and with its body erased
/// it may say anything.
fn signed_again(story: &mut Story, name: u64, before: u64, at_ms: u64) -> u64 {
    let copy = story.again(name, before);
    let id = another(&story.get(copy, "/envelope/id"), at_ms);
    let stream = story.stream(copy);
    let kind = stream.split(':').next().unwrap();
    story
        .at(copy, at_ms)
        .in_stream(copy, &format!("{kind}:{}", id.as_str().unwrap()))
        .set(copy, "/envelope/id", id)
        .set(copy, "/envelope/created_ms", json!(at_ms))
        .set(
            copy,
            "/envelope/nonce_tag",
            json!(Digest::of(b"another nonce")),
        )
        .set(
            copy,
            "/facts/payload_hash",
            json!(Digest::of(b"another payload")),
        );
    copy
}

/// A REQUEST that never was: one that its sender signed once is recorded again at that time, right before another
/// record, and nobody answers it. Gives its name; what it says is still that of the one before.
pub(super) fn requested_again(story: &mut Story, name: u64, before: u64, at_ms: u64) -> u64 {
    let (like, stream) = (story.lapses("offer"), story.stream(name));
    let like = like.into_iter().find(|it| story.stream(*it) == stream);
    let like = like.expect("the one before was not answered either");
    let deadline_ms = story.get(name, "/derived/deadline_at_ms").as_u64().unwrap();
    let deadline_ms = deadline_ms + at_ms - story.time(name);
    let copy = signed_again(story, name, before, at_ms);
    let id = story.get(copy, "/envelope/id");
    story
        .set(
            copy,
            "/facts/idempotency_tag",
            json!(Digest::of(b"another key")),
        )
        .set(copy, "/derived/deadline_at_ms", json!(deadline_ms));
    let (next, stream) = (story.next(like), story.stream(copy));
    let event = story.record(like).event.clone();
    let lapse = story.put(next, &stream, event);
    let members = [("interaction_id", id.clone()), ("related_message_id", id)];
    let lapsed_ms = story.time(like);
    story
        .at(lapse, lapsed_ms)
        .told_like((like, lapse), next, &members);
    erased(story, copy);
    copy
}

/// Another UUIDv7 of that time.
fn another(id: &Value, at_ms: u64) -> Value {
    let (id, time) = (id.as_str().unwrap(), format!("{at_ms:012x}"));
    json!(format!("{}-{}{}ffff", &time[..8], &time[8..], &id[13..32]))
}
