//! Events read by a type that is known already.
//!
//! A derived reader of a tagged enum keeps all members aside until it has met the tag, which takes
//! as long as reading them. A leaf tells the type before, so its members can be read where they
//! stand. Whatever is not plainly an event of that type is left to the derived reader.

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer as _, MapAccess, Visitor};
use std::fmt;

use super::accepted::InOrder;
use super::{Event, SettlementEvent};

/// The member that names the type.
const TAG: &str = "type";

/// The event of that type in `text`; `None` for types that are rare, and for whatever the derived
/// reader may have to say something of.
pub(super) fn read(type_name: &[u8], text: &[u8]) -> Option<Event> {
    let name = str::from_utf8(type_name).ok()?;
    match name {
        "envelope_accepted" => {
            members(name, text).map(|InOrder(accepted)| Event::EnvelopeAccepted(accepted))
        }
        "seen" => members(name, text)
            .map(SettlementEvent::Seen)
            .map(Event::Settlement),
        "confirmed" => members(name, text)
            .map(SettlementEvent::Confirmed)
            .map(Event::Settlement),
        "final" => members(name, text)
            .map(SettlementEvent::Final)
            .map(Event::Settlement),
        "notice_issued" => members(name, text).map(Event::NoticeIssued),
        _ => None,
    }
}

fn members<'a, T: Deserialize<'a>>(name: &str, text: &'a [u8]) -> Option<T> {
    let mut reader = serde_json::Deserializer::from_str(str::from_utf8(text).ok()?);
    let tagged = Tagged {
        name,
        inner: &mut reader,
    };
    let value = T::deserialize(tagged).ok()?;
    reader.end().ok()?;
    Some(value)
}

/// Reads an object as if it did not have the tag, which must be there once and be `name`.
struct Tagged<'n, D> {
    name: &'n str,
    inner: D,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Tagged<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(TaggedVisitor {
            name: self.name,
            inner: visitor,
        })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

struct TaggedVisitor<'n, V> {
    name: &'n str,
    inner: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for TaggedVisitor<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(formatter)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Untagged {
            name: self.name,
            members,
            is_named: false,
        })
    }
}

/// The members without the tag.
struct Untagged<'n, A> {
    name: &'n str,
    members: A,
    /// The tag was there.
    is_named: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Untagged<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        mut seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        loop {
            match self.members.next_key_seed(Key(seed))? {
                Some(Ok(key)) => return Ok(Some(key)),
                Some(Err(unused)) => seed = unused,
                None if self.is_named => return Ok(None),
                None => return Err(de::Error::missing_field(TAG)),
            }
            if std::mem::replace(&mut self.is_named, true) {
                return Err(de::Error::duplicate_field(TAG));
            }
            if self.members.next_value::<&str>()? != self.name {
                return Err(de::Error::custom("it is of another type"));
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.members.next_value_seed(seed)
    }
}

/// A key for `K`, or `K` itself where the key is the tag.
struct Key<K>(K);

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<K> {
    type Value = Result<K::Value, K>;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<Self::Value, D::Error> {
        key.deserialize_identifier(self)
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for Key<K> {
    type Value = Result<K::Value, K>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Self::Value, E> {
        if key == TAG {
            return Ok(Err(self.0));
        }
        self.0.deserialize(key.into_deserializer()).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn final_event() -> Value {
        json!({
            "head": { "hash": format!("0x{}", "ab".repeat(32)), "number": 7, "timestamp_s": 8 },
            "type": "final",
        })
    }

    #[test]
    fn rec_3_a_known_type_is_read_as_the_derived_reader_does() {
        let text = final_event().to_string();
        let event = read(b"final", text.as_bytes());
        assert!(
            matches!(event, Some(Event::Settlement(SettlementEvent::Final(_)))),
            "{event:?}"
        );
        assert_eq!(event, Event::from_json(text.as_bytes()).ok());
        let tag_first =
            text.replace(r#","type":"final""#, "")
                .replacen('{', r#"{"type":"final","#, 1);
        assert_eq!(read(b"final", tag_first.as_bytes()), event, "{tag_first}");
    }

    fn accepted_event() -> Value {
        let digest = "ab".repeat(32);
        let did = |last: u8| format!("did:x811:019c8c61-8129-7511-9f31-aa5142e6544{last}");
        let key = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";
        let id = "0190a1b2-c3d4-7e5f-8901-234567890abc";
        json!({
            "derived": { "deadline_at_ms": 9 },
            "envelope": {
                "created_ms": 1, "digest": digest, "from": did(1), "id": id,
                "key": format!("{}#{key}", did(1)), "nonce_tag": digest, "profile": "digest",
                "signature": "A".repeat(86), "size": 2, "to": did(2), "type": "x811/accept",
                "version": "0.1.0",
            },
            "facts": { "offer_hash": digest, "offer_id": id },
            "type": "envelope_accepted",
        })
    }

    #[test]
    fn rec_3_an_accepted_envelope_is_read_in_the_order_of_the_record() {
        let event = accepted_event();
        let text = event.to_string();
        let read_so = read(b"envelope_accepted", text.as_bytes());
        assert!(matches!(read_so, Some(Event::EnvelopeAccepted(_))));
        assert_eq!(read_so, Event::from_value(&event).ok());

        let facts = event["facts"].to_string();
        let (before, behind) = text.split_once(&format!(r#""facts":{facts},"#)).unwrap();
        let other_order = format!(r#"{{"facts":{facts},{}{behind}"#, &before[1..]);
        assert_eq!(read(b"envelope_accepted", other_order.as_bytes()), None);
        assert_eq!(Event::from_json(other_order.as_bytes()).ok(), read_so);

        let mut other_facts = event.clone();
        other_facts["facts"]["price"] = json!("1");
        let mut no_facts = event;
        no_facts.as_object_mut().unwrap().remove("facts");
        for event in [other_facts, no_facts] {
            let text = event.to_string();
            assert_eq!(read(b"envelope_accepted", text.as_bytes()), None, "{text}");
            assert!(Event::from_value(&event).is_err(), "{text}");
        }
    }

    #[test]
    fn rec_2_whatever_is_no_such_event_is_left_to_the_derived_reader() {
        let text = final_event().to_string();
        let with = |name: &str, value: Value| {
            let mut event = final_event();
            event[name] = value;
            event.to_string()
        };
        for text in [
            with("more", json!(1)),
            with("type", json!("seen")),
            with("type", json!(7)),
            with("head", json!(null)),
            text.replace(r#""type":"final""#, r#""type":"final","type":"final""#),
            text.replace(r#","type":"final""#, ""),
            text.clone() + "}",
            "[]".to_owned(),
            "{".to_owned(),
        ] {
            assert_eq!(read(b"final", text.as_bytes()), None, "{text}");
        }
        assert_eq!(read(b"unheard_of", text.as_bytes()), None);
    }
}
