//! Amounts as files and programs write them: a string, so that it is exact.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use x811_protocol::money::MicroUsdc;

/// An amount of USDC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usdc(pub(crate) MicroUsdc);

impl<'de> Deserialize<'de> for Usdc {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Usdc, D::Error> {
        let text = String::deserialize(reader)?;
        let amount = MicroUsdc::from_usdc_decimal(&text);
        amount.map(Usdc).map_err(D::Error::custom)
    }
}

impl JsonSchema for Usdc {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Usdc".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": r"^[0-9]+(\.[0-9]{1,6})?$" })
    }
}
