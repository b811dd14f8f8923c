//! Every member of every event of the registry is changed, removed and doubled, and everything hashed
//! anew: what the agents signed speaks against it.

use serde_json::{Value, json};

use super::forger::Forger;
use super::registry::every_verb;
use super::scene::found;

/// A change of one member, and the event with it.
type Change = (String, Value);

/// Another value of the same form, where there is one.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![],
        Value::Bool(is) => vec![json!(!is)],
        Value::Number(number) => {
            let number = number.as_u64().unwrap();
            vec![
                json!(number + 1),
                json!(0),
                json!(9_007_199_254_740_991_u64),
            ]
        }
        Value::String(text) => texts(text).into_iter().map(Value::String).collect(),
        Value::Array(_) => vec![json!([])],
        Value::Object(_) => vec![json!({})],
    }
}

/// One with another digit somewhere, another word, another key.
fn texts(text: &str) -> Vec<String> {
    const KEY: &str = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";
    const WORDS: [(&str, &str); 4] = [
        ("digest", "direct"),
        ("eoa", "erc1271"),
        ("x811.registry/", "x811.registry/revoke"),
        ("0.1.0", "0.1.1"),
    ];
    let words = WORDS.iter().filter(|(word, _)| text.starts_with(word));
    let mut texts: Vec<String> = words.map(|(_, other)| (*other).to_owned()).collect();
    texts.push(format!("{text}a"));
    if let Some((did, _)) = text.split_once('#') {
        texts.push(format!("{did}#{KEY}"));
    } else if text.starts_with("z6Mk") {
        texts.push(KEY.to_owned());
    }
    for (from, to) in [('0', '1'), ('a', 'b')] {
        if let Some(at) = text.rfind(from) {
            let mut other = text.to_owned();
            other.replace_range(at..=at, &to.to_string());
            texts.push(other);
        }
    }
    texts.retain(|other| other != text);
    texts
}

/// Every change of every member below `pointer`.
fn changes(event: &Value, pointer: &str, all: &mut Vec<Change>) {
    let value = event.pointer(pointer).unwrap();
    let with = |pointer: &str, value: Value| {
        let mut event = event.clone();
        *event.pointer_mut(pointer).unwrap() = value;
        event
    };
    if !pointer.is_empty() {
        for other in others(value).into_iter().filter(|other| other != value) {
            all.push((format!("{pointer} = {other}"), with(pointer, other)));
        }
    }
    if let Value::Object(members) = value {
        // Without a type it is no event, and cannot be hashed.
        let is_event = pointer.is_empty();
        for name in members.keys().filter(|name| !(is_event && *name == "type")) {
            let mut fewer = members.clone();
            fewer.remove(name);
            let member = format!("{pointer}/{name}");
            all.push((format!("no {member}"), with(pointer, Value::Object(fewer))));
            changes(event, &member, all);
        }
        let mut more = members.clone();
        more.insert("more".to_owned(), json!(1));
        all.push((
            format!("more in {pointer}"),
            with(pointer, Value::Object(more)),
        ));
    }
    if let Value::Array(items) = value {
        for (index, item) in items.iter().enumerate() {
            let (mut fewer, mut doubled) = (items.clone(), items.clone());
            fewer.remove(index);
            doubled.insert(index, item.clone());
            let place = format!("{pointer}/{index}");
            all.push((format!("no {place}"), with(pointer, Value::Array(fewer))));
            all.push((
                format!("{place} twice"),
                with(pointer, Value::Array(doubled)),
            ));
            changes(event, &place, all);
        }
    }
}

#[tokio::test]
async fn promise_4_every_member_of_every_event_of_the_registry_is_held_to_what_was_signed() {
    let honest = Forger::of(&every_verb().await);
    let (mut count, mut missed) = (0, Vec::new());
    for at in 0..honest.parts.records.len() {
        let kept = &honest.parts.records[at];
        let event_type = kept.event_type().to_owned();
        if !(event_type.starts_with("agent_") || event_type == "key_rotated") {
            continue;
        }
        let mut all = Vec::new();
        changes(&kept.draft.event, "", &mut all);
        for (change, event) in all {
            let mut forger = honest.clone();
            forger.parts.records[at].draft.event = event;
            let report = forger.report();
            count += 1;
            let is_named = found(&report)
                .iter()
                .any(|(named, _, _)| *named == at as u64);
            if !is_named {
                missed.push(format!("{at} {event_type}: {change}"));
            }
        }
    }
    assert!(count > 300, "{count} changes");
    assert_eq!(missed, [""; 0], "{} of {count}", missed.len());
}
