//! What the ledger has to tell parties: everything in a notice but its signatures follows from the record that
//! it tells of (AX-32, AE-102).

use crate::OwedNotice;
use serde_json::{Map, Value, json};
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::envelope::{CAPABILITY_NOTICE, CONSENSUS_NOTICE, CoreType, MessageType};
use x811_protocol::machine::News;
use x811_protocol::round::{Outcome, signal_type};

/// The version of the protocol that notices speak (AE-69).
pub const VERSION: &str = "0.1.0";

/// A notice that is owed: what, to whom, because of which record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owed {
    /// Position of the record it tells of.
    pub cause: u64,
    /// The agent that it is sent to.
    pub to: Did,
    /// What to tell.
    pub notice: OwedNotice,
}

/// The type of a notice: an `x811/error`, whose codes are AEEP's own, or the `notice` of the namespace that
/// the subject's machine has.
#[expect(clippy::expect_used, reason = "the names are types of messages")]
pub fn message_type(notice: &OwedNotice) -> MessageType {
    match notice.news.and(notice.subject.notices()) {
        None => MessageType::Core(CoreType::Error),
        Some(name) => MessageType::Custom(name.parse().expect("a type of messages")),
    }
}

/// Whether a notice of that type is news of a machine's own, rather than an `x811/error`.
pub fn is_news(message_type: &MessageType) -> bool {
    matches!(message_type, MessageType::Custom(custom)
        if [CAPABILITY_NOTICE, CONSENSUS_NOTICE].contains(&custom.as_str()))
}

/// The `typ` of the signature inside a notice, where it has one: that of an outcome is the ledger's signal.
pub fn signed_inside(notice: &OwedNotice) -> Option<&'static str> {
    let more = notice.more.as_ref()?;
    let is_outcome = notice.news == Some(News::RoundDecided);
    let outcome = is_outcome.then(|| more.get("outcome")).flatten()?;
    serde_json::from_value::<Outcome>(outcome.clone())
        .ok()
        .map(signal_type)
}

/// The code that the record of a notice has: that of its `x811/error` (machines.md section 8).
pub fn recorded_code(notice: &OwedNotice) -> Option<Code> {
    notice.code.filter(|_| notice.news.is_none())
}

/// What a notice says: all of it follows from what is owed, but for the signature inside it.
pub fn payload(owed: &Owed) -> Map<String, Value> {
    let mut payload = Map::new();
    let subject = owed.notice.subject;
    if let Some(code) = owed.notice.code {
        payload.insert("code".to_owned(), json!(code));
    }
    if let Some(related) = owed.notice.related {
        payload.insert("related_message_id".to_owned(), json!(related));
    }
    if let Some(news) = owed.notice.news {
        let named = json!({ "kind": subject.kind(), "id": subject.public_id() });
        payload.insert("event".to_owned(), json!(news));
        payload.insert("subject".to_owned(), named);
    } else {
        payload.insert(
            "message".to_owned(),
            json!(owed.notice.code.map(Code::what_to_do)),
        );
        payload.insert(subject.member().to_owned(), json!(subject.public_id()));
    }
    payload.insert("cause_position".to_owned(), json!(owed.cause));
    if let Some(more) = &owed.notice.more {
        payload.extend((**more).clone());
    }
    payload
}
