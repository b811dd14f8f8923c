//! `x811 inbox`.

use serde::Serialize;
use serde_json::{Map, Value, json};
use x811_client::http::{Cursor, InboxPage, InboxRequest, Incoming};
use x811_protocol::did::Did;
use x811_protocol::envelope::{MessageType, VerifiedEnvelope, wire_json};
use x811_protocol::facts::Facts;
use x811_protocol::json::{Limits, parse_strict};
use x811_protocol::key::KeyId;
use x811_protocol::payload::{PayloadRules, facts_of, is_reserved};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::narration;
use x811_protocol::shown::shorten;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only messages behind this place; `next` of the call before
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// How many messages at most; 50 without it, which is the most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=50))]
    pub(crate) limit: Option<u16>,
    /// How long to wait for the first one
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) wait: u64,
}

/// How long one request to the ledger waits, in milliseconds.
const POLL_MS: u64 = 20_000;

/// The members of a payload that say what it is about, and what that is called here.
const ABOUT: [(&str, &str); 5] = [
    ("request_id", "interaction"),
    ("negotiation_id", "contract"),
    ("session_id", "session"),
    ("agreement_id", "agreement"),
    ("proposal_id", "round"),
];

/// The parts of a payload that are text for a person, and what they are called here.
const FREE_TEXT: [(&str, &str); 12] = [
    ("subject", "subject"),
    ("action", "action"),
    ("deliverables", "deliverables"),
    ("terms", "terms"),
    ("parameters", "parameters"),
    ("content", "content"),
    ("result_url", "content at"),
    ("reason", "reason"),
    ("dispute_reason", "reason"),
    ("rationale", "rationale"),
    ("message", "message"),
    ("text", "text"),
];

/// The members of a notice that name its cause in the log, and are signed over: no text for a person.
const OF_A_NOTICE: [&str; 4] = ["cause_position", "event", "signature", "subject"];

/// Shows messages. Only those whose sender signed them.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let (identity, client) = context.acting().await?;
    let mut request = InboxRequest {
        after: args.after.map(Cursor::from),
        limit: args.limit,
        wait_ms: 0,
        instance: None,
    };
    let until = context
        .now()
        .saturating_add_ms(args.wait.saturating_mul(1_000));
    let page = loop {
        request.wait_ms = until.since(context.now()).min(POLL_MS);
        let asked_at = context.now();
        let page = client.inbox(identity.did, &request).await?;
        if !page.is_empty() || context.now() >= until {
            break page;
        }
        request.after = page.next.or(request.after);
        // A ledger that does not wait is not asked more than once a second.
        if context.now().since(asked_at) < 1_000 {
            context.clock.pause(1_000).await;
        }
    };
    out.report(&Inbox::new(identity.did, &page));
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Inbox {
    agent: Did,
    messages: Vec<Message>,
    /// Messages that must not be believed.
    unverified: Vec<Value>,
    next: Option<String>,
}

#[derive(Serialize)]
struct Message {
    position: u64,
    says: String,
    envelope: Value,
    #[serde(skip)]
    fields: Vec<(&'static str, String)>,
}

impl Inbox {
    fn new(agent: Did, page: &InboxPage) -> Inbox {
        let unverified = page.unverified.iter();
        let mut messages: Vec<&Incoming> = page.messages.iter().chain(&page.board).collect();
        messages.sort_by_key(|message| message.position);
        Inbox {
            agent,
            messages: messages.into_iter().map(Message::new).collect(),
            unverified: unverified
                .map(|bad| json!({"position": bad.position, "cause": bad.cause}))
                .collect(),
            next: page.next.as_ref().map(Cursor::to_string),
        }
    }
}

impl Message {
    fn new(incoming: &Incoming) -> Message {
        let envelope = &incoming.envelope;
        let wire = wire_json(envelope.body(), &envelope.signature());
        Message {
            position: incoming.position,
            says: says(envelope),
            envelope: parse_strict(&wire, &Limits::bytes(usize::MAX)).unwrap_or_default(),
            fields: fields(envelope),
        }
    }
}

/// The message in a line; of a type of somebody's own, the type.
fn says(envelope: &VerifiedEnvelope) -> String {
    let (header, payload) = (envelope.header(), envelope.payload());
    if let Some(event) = noticed(envelope) {
        return format!("notice: {}", event.replace('_', " "));
    }
    let rules = PayloadRules {
        lenient_addresses: true,
        reference_sdk: true,
        ..PayloadRules::default()
    };
    let key = KeyId {
        did: header.from,
        key: envelope.key().key,
    };
    match facts_of(header, &key, payload, &rules) {
        Ok(Facts::Custom(_)) => header.message_type.to_string(),
        Ok(facts) => narration::message(&facts),
        Err(refusal) => format!("{}, malformed: {}", header.message_type, refusal.message),
    }
}

/// What a notice tells of, if it is one: the event's own word.
fn noticed(envelope: &VerifiedEnvelope) -> Option<&str> {
    let is_notice = envelope.header().message_type.as_str().ends_with("/notice");
    let event = envelope.payload().get("event").and_then(Value::as_str);
    event.filter(|_| is_notice)
}

fn fields(envelope: &VerifiedEnvelope) -> Vec<(&'static str, String)> {
    let (header, payload) = (envelope.header(), envelope.payload());
    let mut fields = vec![
        ("from", header.from.to_string()),
        ("at", header.created_ms.to_rfc3339()),
        ("id", header.id.to_string()),
    ];
    if noticed(envelope).is_some() {
        fields.extend(of_a_notice(payload));
        return fields;
    }
    for (member, name) in ABOUT {
        if let Some(Value::String(id)) = payload.get(member) {
            fields.push((name, shorten(id)));
        }
    }
    for (member, name) in FREE_TEXT {
        let text = payload.get(member).and_then(free_text);
        fields.extend(text.map(|text| (name, shorten(&text))));
    }
    let is_custom = matches!(header.message_type, MessageType::Custom(_));
    let is_own = is_custom && !is_reserved(&header.message_type);
    if is_own && !payload.is_empty() {
        let payload = Value::Object(payload.clone()).to_string();
        fields.push(("payload", shorten(&payload)));
    }
    fields
}

/// What a notice is about, and the rest of what it says.
fn of_a_notice(payload: &Map<String, Value>) -> Vec<(&'static str, String)> {
    let subject = payload.get("subject");
    let part = |member| subject.and_then(|subject| subject.get(member)?.as_str());
    let mut fields = Vec::new();
    if let (Some(kind), Some(id)) = (part("kind"), part("id")) {
        fields.push(("about", shorten(&format!("{kind} {id}"))));
    }
    let is_known = |member: &str| {
        OF_A_NOTICE.contains(&member) || ABOUT.iter().any(|(about, _)| *about == member)
    };
    let rest = payload.iter().filter(|(member, _)| !is_known(member));
    let says = members(rest);
    if !says.is_empty() {
        fields.push(("says", shorten(&says)));
    }
    fields
}

/// Members as a list for a person, an object's own in parentheses.
fn members<'a>(members: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    let each = members.filter_map(|(member, value)| match value.as_object() {
        Some(inner) => Some(format!("{member} ({})", self::members(inner.iter()))),
        None => Some(format!("{member} {}", free_text(value)?)),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// A member as a person reads it; `None` when it says nothing.
fn free_text(member: &Value) -> Option<String> {
    match member {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(object) if object.is_empty() => None,
        Value::Array(list) => {
            let texts = list.iter().filter_map(free_text);
            Some(texts.collect::<Vec<_>>().join("; "))
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Some(member.to_string()),
    }
}

impl Report for Inbox {
    fn print(&self, out: &mut Out) {
        if self.messages.is_empty() && self.unverified.is_empty() {
            out.line("no messages");
        }
        for message in &self.messages {
            out.heading(Tone::Plain, &message.says);
            out.fields(&message.fields);
            out.gap();
        }
        for bad in &self.unverified {
            let (position, cause) = (&bad["position"], bad["cause"].as_str());
            let cause = cause.unwrap_or_default();
            out.heading(
                Tone::Bad,
                format_args!("not shown: record {position}, {cause}"),
            );
        }
        if let Some(next) = &self.next {
            out.line(format_args!("later ones: x811 inbox --after {next}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_read_as_text() {
        let table = [
            (json!("a"), Some("a")),
            (json!(["a", "b"]), Some("a; b")),
            (json!({"n": 1}), Some(r#"{"n":1}"#)),
            (json!(3), Some("3")),
            (json!({}), None),
            (json!(null), None),
        ];
        for (member, expected) in table {
            assert_eq!(free_text(&member).as_deref(), expected, "{member}");
        }
    }

    #[test]
    fn machines_8_a_notice_says_what_it_is_about_and_what_became_of_it() {
        let round = "019c8c61-8129-7511-9f31-aa5142e65448";
        let notice = json!({
            "cause_position": 16, "event": "round_decided", "outcome": "commit", "proposal_id": round,
            "signature": "e30..e30", "subject": { "kind": "round", "id": round },
            "tally": { "approve": 2, "reject": 1 },
        });
        let said = of_a_notice(notice.as_object().unwrap());
        let expected = [
            ("about", format!("round {round}")),
            (
                "says",
                "outcome commit, tally (approve 2, reject 1)".to_owned(),
            ),
        ];
        assert_eq!(said, expected);
        assert_eq!(of_a_notice(&Map::new()), []);
    }

    #[test]
    fn a_hostile_message_cannot_touch_the_terminal() {
        let evil = "\x1b[2J\u{202e}gnp.exe";
        let inbox = Inbox {
            agent: "did:x811:019c8c61-8129-7511-9f31-aa5142e65448"
                .parse()
                .unwrap(),
            messages: vec![Message {
                position: 1,
                says: evil.to_owned(),
                envelope: json!({ "payload": evil }),
                fields: vec![("reason", evil.to_owned())],
            }],
            unverified: vec![json!({"position": 2, "cause": evil})],
            next: Some(evil.to_owned()),
        };
        for json in [false, true] {
            let (mut out, text, _) = Out::captured(json);
            out.report(&inbox);
            let text = text.text();
            assert!(
                !text.contains('\x1b') && !text.contains('\u{202e}'),
                "{text}"
            );
            assert!(text.contains("gnp.exe"), "{text}");
        }
    }
}
