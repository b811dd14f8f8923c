//! A member that is text on the wire and a type from there on.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use x811_protocol::shown::shorten;

/// What the text was read as.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parsed<T>(pub(super) T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Parsed<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Parsed<T>, D::Error> {
        let text = Cow::<str>::deserialize(reader)?;
        let read = text.parse();
        read.map(Parsed)
            .map_err(|error| D::Error::custom(format!("{:?}: {error}", shorten(&text))))
    }
}

impl<T> JsonSchema for Parsed<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Parsed".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}
