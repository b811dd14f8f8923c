//! Every member of an event, by where it stands and by its name in `tests/AUDIT.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::log::Log;
use super::table::Known;

/// A member of an event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    /// JSON pointer in the event.
    pub(crate) pointer: String,
    /// Its path, as `evidence[].block.number`; of what stands in an array that of the array.
    pub(crate) path: String,
}

impl Member {
    /// The last name of its path.
    pub(crate) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap()
    }

    /// The first, without the mark of an array.
    pub(crate) fn root(&self) -> &str {
        self.path.split(['.', '[']).next().unwrap()
    }
}

/// All members of `event`, objects and arrays before what they hold.
pub(crate) fn members(event: &Value) -> Vec<Member> {
    let mut members = Vec::new();
    gather(event, "", "", &mut members);
    members.retain(|member| member.path != "type");
    members
}

fn gather(value: &Value, pointer: &str, path: &str, members: &mut Vec<Member>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                let dot = if path.is_empty() { "" } else { "." };
                let member = Member {
                    pointer: format!("{pointer}/{name}"),
                    path: format!("{path}{dot}{name}"),
                };
                members.push(member.clone());
                gather(value, &member.pointer, &member.path, members);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                let pointer = format!("{pointer}/{index}");
                if value.is_object() {
                    gather(value, &pointer, &format!("{path}[]"), members);
                } else {
                    let path = path.to_owned();
                    members.push(Member { pointer, path });
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Texts for members that no log here has at all.
const SELDOM: [(&str, &str); 3] = [
    ("agreement_id", "an-agreement"),
    ("message_hash", A_HASH),
    ("parent", A_HASH),
];

const A_HASH: &str = "5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b";

/// What members hold somewhere in a log, for lies that look like the truth.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// By event and path.
    of_member: BTreeMap<(String, String), Vec<Value>>,
    /// By kind of text.
    of_kind: BTreeMap<Kind, BTreeSet<String>>,
}

impl Pool {
    /// Of that log, and of each member that the table has and the log has not, something that it
    /// might hold.
    pub(crate) fn of(log: &Log, known: &Known) -> Pool {
        let mut pool = Pool::default();
        for record in &log.records {
            for member in members(&record.event) {
                let value = record.event.pointer(&member.pointer).unwrap();
                if let Value::String(text) = value {
                    let texts = pool.of_kind.entry(Kind::of(text)).or_default();
                    texts.insert(text.clone());
                }
                let key = (record.event_type().to_owned(), member.path);
                let values = pool.of_member.entry(key).or_default();
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
        }
        pool.add_seldom(known);
        pool
    }

    fn add_seldom(&mut self, known: &Known) {
        let rows = known
            .rows()
            .filter(|(_, member, _)| !member.starts_with('('));
        for (event, member, _) in rows {
            let key = (event.to_owned(), member.to_owned());
            if self.of_member.contains_key(&key) {
                continue;
            }
            let name = |path: &str| path.rsplit('.').next().unwrap().to_owned();
            let mut alike = self.of_member.iter();
            let alike = alike.find(|((_, path), _)| name(path) == name(member));
            let seldom = SELDOM.iter().find(|(of, _)| *of == name(member));
            let value = alike.map(|(_, values)| values[0].clone());
            if let Some(value) = value.or_else(|| seldom.map(|(_, text)| json!(text))) {
                self.of_member.insert(key, vec![value]);
            }
        }
    }

    /// What else this member holds elsewhere in the log.
    pub(crate) fn elsewhere(&self, event: &str, path: &str, not: &Value) -> Vec<Value> {
        let key = (event.to_owned(), path.to_owned());
        let values = self.of_member.get(&key).into_iter().flatten();
        values.filter(|value| *value != not).cloned().collect()
    }

    /// Texts of the same kind.
    pub(crate) fn alike<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a String> {
        let texts = self.of_kind.get(&Kind::of(text)).into_iter().flatten();
        texts.filter(move |other| *other != text)
    }

    /// Members of objects at that path, that this one has not, and what they hold elsewhere.
    pub(crate) fn absent(&self, event: &str, path: &str, object: &Value) -> Vec<(String, Value)> {
        let prefix = match path {
            "" => String::new(),
            path => format!("{path}."),
        };
        let of_event = self.of_member.iter().filter(|((of, _), _)| of == event);
        let names = of_event.filter_map(|((_, path), values)| {
            let name = path.strip_prefix(&prefix)?;
            let is_own = !name.contains(['.', '[']) && object.get(name).is_none();
            is_own.then(|| (name.to_owned(), values[0].clone()))
        });
        names.collect()
    }
}

/// Kinds of text that look alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Amount,
    Hash,
    TxOrBlock,
    Address,
    Uuid,
    Did,
    Key,
    KeyId,
    Signature,
    Code,
    Word,
}

impl Kind {
    pub(crate) fn of(text: &str) -> Kind {
        let is_hex = |text: &str, digits: usize| {
            text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let after = |prefix: &str| text.strip_prefix(prefix).unwrap_or("");
        match text {
            _ if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => Kind::Amount,
            _ if is_hex(text, 64) => Kind::Hash,
            _ if is_hex(after("0x"), 64) => Kind::TxOrBlock,
            _ if is_hex(after("0x"), 40) => Kind::Address,
            _ if text.starts_with("did:x811:") && text.contains('#') => Kind::KeyId,
            _ if text.starts_with("did:x811:") => Kind::Did,
            _ if text.starts_with("z6Mk") => Kind::Key,
            _ if text.starts_with("X811-") => Kind::Code,
            _ if text.len() == 86 => Kind::Signature,
            _ if text.len() == 36 && text.split('-').count() == 5 => Kind::Uuid,
            _ => Kind::Word,
        }
    }
}
