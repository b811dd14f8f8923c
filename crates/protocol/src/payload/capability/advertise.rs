//! `x811.capability/advertise`: a descriptor, in the members of the draft (CC-63 to CC-72).

use std::fmt::Display;
use std::str::FromStr;

use serde_json::{Map, Value};

use super::super::member::Members;
use crate::canonical::to_canonical;
use crate::capability::schema;
use crate::capability::version::{Version, VersionRange};
use crate::code::Code;
use crate::did::Did;
use crate::digest::Digest;
use crate::facts::{AdvertiseFacts, OfferedCapability, malformed};
use crate::refusal::{Kind, Refusal, quoted};

/// Reads an advert of that agent.
pub(super) fn facts(from: Did, payload: &Map<String, Value>) -> Result<AdvertiseFacts, Refusal> {
    let members = Members::new("descriptor", payload);
    if members.did("agent_id")? != from {
        return Err(malformed(
            "agent_id must be the sender: nobody speaks for another",
        ));
    }
    let capabilities = members.array("capabilities")?;
    Ok(AdvertiseFacts {
        capabilities: capabilities
            .iter()
            .map(capability)
            .collect::<Result<_, _>>()?,
        payload_hash: members.payload_hash(),
        protocol: VersionRange {
            deprecated: versions(members, "deprecated_versions")?
                .ok_or_else(|| malformed("deprecated_versions is missing; write [] for none"))?,
            max: members.word("max_version")?,
            min: members.word("min_version")?,
        },
        revision: members.positive_integer("revision")?,
    })
}

fn capability(value: &Value) -> Result<OfferedCapability, Refusal> {
    let object = value
        .as_object()
        .ok_or_else(|| malformed("every one of capabilities must be an object"))?;
    let members = Members::new("capability", object);
    members.object("parameters")?;
    let constraints = Members::new("constraints", members.object("constraints")?);
    let own_schema = members.optional_object("parameters_schema")?;
    if own_schema.is_some() {
        // For people, whatever else a program reads of it (CC-92).
        members.string("description")?;
    }
    Ok(OfferedCapability {
        availability: known_word(members, "availability")?,
        category: known_word(members, "category")?,
        deprecated: versions(members, "deprecated_versions")?,
        max: members.optional_word("max_version")?,
        max_payload_bytes: constraints.optional_positive_integer("max_payload_bytes")?,
        min: members.optional_word("min_version")?,
        requests_per_minute: constraints.optional_positive_integer("requests_per_minute")?,
        schema_hash: object
            .get("parameters_schema")
            .map(schema_hash)
            .transpose()?,
        capability: members.string("type")?.to_owned(),
        version: members.word("version")?,
    })
}

/// CCN-1002 for a text that is none of the words.
pub(super) fn known_word<T: FromStr<Err: Display>>(
    members: Members<'_>,
    name: &str,
) -> Result<T, Refusal> {
    let text = members.string(name)?;
    text.parse().map_err(|rule| {
        let message = format!("{name} is {}: {rule}", quoted(text));
        Refusal::new(Code::UnknownValue, Kind::Shape, message)
    })
}

fn schema_hash(schema: &Value) -> Result<Digest, Refusal> {
    schema::check(schema).map_err(|fault| malformed(format!("parameters_schema: {fault}")))?;
    Ok(Digest::of(&to_canonical(schema)))
}

pub(super) fn versions(members: Members<'_>, name: &str) -> Result<Option<Vec<Version>>, Refusal> {
    let Some(list) = members.optional_array(name)? else {
        return Ok(None);
    };
    let version = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        text.parse()
            .map_err(|fault| malformed(format!("{name}: {} is {fault}", quoted(text))))
    };
    list.iter().map(version).collect::<Result<_, _>>().map(Some)
}
