//! A JSON value against the tables: every member documented, every documented one of its type.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::tables::{Row, Tables};

/// A table and one of its members.
pub(crate) type Seen = (String, String);

/// Looks at values and notes what it has seen.
pub(crate) struct Walk<'t> {
    tables: &'t Tables,
    pub(crate) seen: BTreeSet<Seen>,
    pub(crate) faults: BTreeSet<String>,
}

/// Where a member of an object stands in an event.
#[derive(Debug)]
pub(crate) struct Place {
    /// Of the object.
    pub(crate) pointer: String,
    pub(crate) table: String,
    pub(crate) member: String,
    pub(crate) is_always: bool,
}

impl<'t> Walk<'t> {
    pub(crate) fn new(tables: &'t Tables) -> Walk<'t> {
        Walk {
            tables,
            seen: BTreeSet::new(),
            faults: BTreeSet::new(),
        }
    }

    /// `value` has to be a `ty`.
    pub(crate) fn look(&mut self, at: &str, value: &Value, ty: &str) {
        if let Some(ty) = ty.strip_suffix(" or null") {
            if !value.is_null() {
                self.look(at, value, ty);
            }
        } else if let Some(ty) = ty.strip_prefix("array of ") {
            match value.as_array() {
                Some(values) => values.iter().for_each(|value| self.look(at, value, ty)),
                None => self.fault(at, ty, value),
            }
        } else if ty == "event" {
            let name = value["type"].as_str().unwrap_or_default();
            self.look(at, value, name);
        } else if let Some(choice) = self.tables.choice(ty) {
            self.choose(at, value, ty, choice);
        } else if !self.tables.members(ty).is_empty() {
            match value.as_object() {
                Some(object) => self.object(at, object, ty),
                None => self.fault(at, ty, value),
            }
        } else if !self.is_simple(value, ty) {
            self.fault(at, ty, value);
        }
    }

    fn choose(&mut self, at: &str, value: &Value, ty: &str, choice: &[(String, Option<String>)]) {
        let (tag, held) = match value {
            Value::String(tag) => (tag.as_str(), None),
            Value::Object(object) if object.len() == 1 => {
                let (tag, held) = object.iter().next().unwrap();
                (tag.as_str(), Some(held))
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => return self.fault(at, ty, value),
        };
        let known = choice.iter().find(|(known, _)| known == tag);
        match (known, held) {
            (Some((_, None)), None) => {}
            (Some((_, Some(ty))), Some(held)) => self.look(&format!("{at} {tag}"), held, ty),
            _ => return self.fault(at, ty, value),
        }
        self.seen.insert((ty.to_owned(), tag.to_owned()));
    }

    fn object(&mut self, at: &str, object: &Map<String, Value>, ty: &str) {
        let rows = self.tables.members(ty);
        let is_tagged = self.tables.is_event(ty);
        for (name, value) in object {
            if is_tagged && name == "type" {
                continue;
            }
            let Some(row) = rows.iter().find(|row| row.member == *name) else {
                self.faults
                    .insert(format!("{at}: {ty} has an undocumented member {name}"));
                continue;
            };
            self.seen.insert((ty.to_owned(), name.clone()));
            self.look(
                &format!("{at} {name}"),
                value,
                &member_type(self.tables, row, object),
            );
        }
        let missing = rows.iter().filter(|row| !object.contains_key(&row.member));
        for row in missing.filter(|row| is_always(row)) {
            self.faults
                .insert(format!("{at}: {ty} has no {}", row.member));
        }
    }

    fn fault(&mut self, at: &str, ty: &str, value: &Value) {
        self.faults.insert(format!("{at} is no {ty}: {value}"));
    }

    /// Documented members and tags that were in no value so far.
    pub(crate) fn unseen(&self) -> Vec<Seen> {
        let tables = self.tables;
        let members = tables.all_members().flat_map(|(table, rows)| {
            let place = |row: &Row| (table.clone(), row.member.clone());
            rows.iter().map(place).collect::<Vec<_>>()
        });
        members.filter(|place| !self.seen.contains(place)).collect()
    }

    fn is_simple(&self, value: &Value, ty: &str) -> bool {
        let words = self.tables.words(ty);
        if !words.is_empty() {
            return value.as_str().is_some_and(|word| words.contains(&word));
        }
        if ty == "scope" {
            return value == "log" || value.as_object().is_some_and(is_scope_of_one);
        }
        match ty {
            "boolean" => value.is_boolean(),
            "integer" | "time" => value.as_u64().is_some_and(|number| number < 1 << 53),
            "message" => value.is_object(),
            "nothing" => value.as_object().is_some_and(Map::is_empty),
            _ => value.as_str().is_some_and(|text| is_text(text, ty)),
        }
    }
}

/// The type of a member; that of facts depends on the message.
fn member_type(tables: &Tables, row: &Row, object: &Map<String, Value>) -> String {
    if row.ty != "facts" {
        return row.ty.clone();
    }
    let message_type = object["envelope"]["type"].as_str().unwrap();
    tables.facts_of(message_type).to_owned()
}

/// One subject by its id, as a bundle's header names it.
fn is_scope_of_one(scope: &Map<String, Value>) -> bool {
    let mut members = scope.iter();
    let (Some((kind, id)), None) = (members.next(), members.next()) else {
        return false;
    };
    let is_id = match kind.as_str() {
        "interaction" | "contract" | "session" | "agreement" | "round" => is_uuid,
        _ => return false,
    };
    id.as_str().is_some_and(is_id)
}

fn is_always(row: &Row) -> bool {
    row.there.as_ref().is_none_or(|there| there == "always")
}

fn is_text(text: &str, ty: &str) -> bool {
    let lower_hex = |text: &str, digits: usize| {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        text.len() == digits && text.bytes().all(is_hex)
    };
    let prefixed = |digits| {
        text.strip_prefix("0x")
            .is_some_and(|rest| lower_hex(rest, digits))
    };
    let letters = |length: usize| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        text.len() == length && text.bytes().all(is_letter)
    };
    match ty {
        // Proofs of wallets and paths may be longer.
        "string" | "text" => !text.is_empty(),
        "amount" => text
            .parse()
            .is_ok_and(|amount: u64| amount.to_string() == text),
        "hash" => lower_hex(text, 64),
        "0x hash" => prefixed(64),
        "address" => prefixed(40),
        "uuid" => is_uuid(text),
        "did" => text.strip_prefix("did:x811:").is_some_and(is_uuid),
        "key" => text.starts_with("z6Mk") && letters(48),
        "key id" => text
            .split_once('#')
            .is_some_and(|(did, key)| is_text(did, "did") && is_text(key, "key")),
        "signature" => letters(86),
        "code" => text
            .strip_prefix("X811-")
            .or_else(|| text.strip_prefix("CCN-"))
            .is_some_and(|rest| rest.parse::<u16>().is_ok()),
        "version" => text
            .parse::<x811_protocol::capability::version::Version>()
            .is_ok(),
        "base64" => text.len() == 44 && text.ends_with('='),
        _ => panic!("no text says what `{ty}` is"),
    }
}

fn is_uuid(text: &str) -> bool {
    uuid::Uuid::try_parse(text).is_ok_and(|uuid| uuid.hyphenated().to_string() == text)
}

/// Every member of every object in an event, with the table that it is in.
pub(crate) fn places(tables: &Tables, event: &Value, ty: &str) -> Vec<Place> {
    let mut places = Vec::new();
    gather(tables, event, ty, "", &mut places);
    places
}

fn gather(tables: &Tables, value: &Value, ty: &str, pointer: &str, places: &mut Vec<Place>) {
    if let Some(ty) = ty.strip_prefix("array of ") {
        for (index, value) in value.as_array().unwrap().iter().enumerate() {
            gather(tables, value, ty, &format!("{pointer}/{index}"), places);
        }
    }
    for row in tables.members(ty) {
        let object = value.as_object().unwrap();
        let Some(held) = object.get(&row.member) else {
            continue;
        };
        places.push(Place {
            pointer: pointer.to_owned(),
            table: ty.to_owned(),
            member: row.member.clone(),
            is_always: is_always(row),
        });
        let ty = member_type(tables, row, object);
        gather(
            tables,
            held,
            &ty,
            &format!("{pointer}/{}", row.member),
            places,
        );
    }
}
