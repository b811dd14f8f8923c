//! The part of JSON Schema 2020-12 that parameters of capabilities are described in (capability.md,
//! "Descriptor"): fifteen keywords, no references and no combinators, so that a verdict takes time
//! linear in schema and instance, for everybody and for ever.

mod judge;

pub use judge::{Schema, Unfit};

use serde_json::{Map, Value};

use crate::canonical::to_canonical;
use crate::payload::member::as_integer;

/// The most bytes of a schema's RFC 8785 form.
pub const MAX_BYTES: usize = 16_384;

/// The most bytes of the RFC 8785 form of a value that is judged.
pub const MAX_INSTANCE_BYTES: usize = 65_536;

/// How deep schemas may lie in each other; the outermost is 1.
pub const MAX_DEPTH: usize = 8;

/// The names of types.
const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Why something is no schema that is taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// Another word of JSON Schema, or none of it.
    #[error(
        "the keyword {keyword:?} is not taken: type, properties, required, additionalProperties, \
         items, enum, const, minimum, maximum, minLength, maxLength, minItems, maxItems, \
         description and title are"
    )]
    Keyword {
        /// The keyword of JSON Schema.
        keyword: String,
    },
    /// A keyword's value has another form.
    #[error("{keyword} must be {expected}")]
    Form {
        /// The keyword of JSON Schema.
        keyword: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// It is no object.
    #[error("every schema must be an object")]
    NoObject,
    /// Schemas in schemas in schemas.
    #[error("schemas lie more than {MAX_DEPTH} deep in each other")]
    TooDeep,
    /// The text is longer than a schema may be.
    #[error("it has {bytes} bytes in its RFC 8785 form; at most {MAX_BYTES} are taken")]
    TooLong {
        /// How many bytes there are.
        bytes: usize,
    },
}

/// Whether `schema` is one that is taken.
///
/// # Errors
/// Why not.
pub fn check(schema: &Value) -> Result<(), NotTaken> {
    let bytes = to_canonical(schema).len();
    if bytes > MAX_BYTES {
        return Err(NotTaken::TooLong { bytes });
    }
    check_at(schema, 1)
}

fn check_at(schema: &Value, depth: usize) -> Result<(), NotTaken> {
    if depth > MAX_DEPTH {
        return Err(NotTaken::TooDeep);
    }
    let members = schema.as_object().ok_or(NotTaken::NoObject)?;
    for (keyword, value) in members {
        keyword_fits(keyword, value)?;
    }
    for inner in inner_schemas(members) {
        check_at(inner, depth + 1)?;
    }
    Ok(())
}

/// The schemas directly in a schema.
fn inner_schemas(members: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let properties = members.get("properties").and_then(Value::as_object);
    let additional = members.get("additionalProperties");
    let additional = additional.filter(|value| !value.is_boolean());
    properties
        .into_iter()
        .flat_map(Map::values)
        .chain(additional)
        .chain(members.get("items"))
}

fn keyword_fits(keyword: &str, value: &Value) -> Result<(), NotTaken> {
    let (keyword, expected, fits): (&'static str, &'static str, bool) = match keyword {
        "type" => (
            "type",
            "a name of a type, or several different ones",
            is_type(value),
        ),
        "properties" => ("properties", "an object", value.is_object()),
        "required" => (
            "required",
            "an array of different strings",
            are_names(value, |_| true),
        ),
        // Their schemas are looked at one deeper.
        "additionalProperties" => (
            "additionalProperties",
            "a schema, true or false",
            value.is_boolean() || value.is_object(),
        ),
        "items" => ("items", "a schema", value.is_object()),
        "enum" => (
            "enum",
            "an array of at least one value",
            value.as_array().is_some_and(|values| !values.is_empty()),
        ),
        "const" => ("const", "any value", true),
        "minimum" => ("minimum", "a number", value.is_number()),
        "maximum" => ("maximum", "a number", value.is_number()),
        "minLength" => ("minLength", "an integer of zero or more", is_count(value)),
        "maxLength" => ("maxLength", "an integer of zero or more", is_count(value)),
        "minItems" => ("minItems", "an integer of zero or more", is_count(value)),
        "maxItems" => ("maxItems", "an integer of zero or more", is_count(value)),
        "description" => ("description", "a string", value.is_string()),
        "title" => ("title", "a string", value.is_string()),
        _ => {
            return Err(NotTaken::Keyword {
                keyword: keyword.to_owned(),
            });
        }
    };
    if fits {
        Ok(())
    } else {
        Err(NotTaken::Form { keyword, expected })
    }
}

fn is_count(value: &Value) -> bool {
    as_integer(value).is_some()
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
        || value.as_array().is_some_and(|names| !names.is_empty())
            && are_names(value, |name| TYPES.contains(&name))
}

fn are_names(value: &Value, is_allowed: impl Fn(&str) -> bool) -> bool {
    let Some(names) = value.as_array() else {
        return false;
    };
    let mut known = std::collections::BTreeSet::new();
    names.iter().all(|name| {
        name.as_str()
            .is_some_and(|name| is_allowed(name) && known.insert(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cc_092_the_keywords_that_are_taken() {
        let whole = json!({
            "type": ["object", "null"],
            "title": "a",
            "description": "b",
            "required": ["name"],
            "additionalProperties": {"type": "string"},
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 9.0},
                "list": {"type": "array", "items": {"minimum": -1.5, "maximum": 3},
                    "minItems": 0, "maxItems": 2},
                "one": {"enum": [1, null, {"a": []}]},
                "two": {"const": false},
            },
        });
        assert_eq!(check(&whole), Ok(()));
        assert_eq!(check(&json!({})), Ok(()), "everything fits it");
    }

    /// Two references under `anyOf` cost 2^depth, and a pattern may cost more: neither is taken, nor
    /// is any word that a reader of another draft would understand.
    #[test]
    fn cx_43_every_other_keyword_is_refused() {
        for keyword in [
            "$ref",
            "$defs",
            "$id",
            "$schema",
            "$dynamicRef",
            "$anchor",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
            "if",
            "then",
            "else",
            "dependentSchemas",
            "prefixItems",
            "contains",
            "patternProperties",
            "propertyNames",
            "unevaluatedItems",
            "unevaluatedProperties",
            "pattern",
            "format",
            "multipleOf",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "uniqueItems",
            "maxContains",
            "minContains",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "default",
            "examples",
            "$comment",
            "definitions",
            "x-mine",
            "",
        ] {
            let refused = NotTaken::Keyword {
                keyword: keyword.to_owned(),
            };
            assert_eq!(check(&json!({ keyword: true })), Err(refused.clone()));
            let inside = json!({"properties": {"a": {"items": { keyword: 1 }}}});
            assert_eq!(check(&inside), Err(refused), "however deep");
        }
    }

    #[test]
    fn cc_092_values_of_keywords_have_their_form() {
        for (keyword, value) in [
            ("type", json!("text")),
            ("type", json!([])),
            ("type", json!(["string", "string"])),
            ("type", json!(1)),
            ("properties", json!([])),
            ("properties", json!({"a": true})),
            ("required", json!("a")),
            ("required", json!(["a", "a"])),
            ("required", json!([1])),
            ("additionalProperties", json!(1)),
            ("additionalProperties", json!({"type": 1})),
            ("items", json!(true)),
            ("items", json!([{}])),
            ("enum", json!([])),
            ("enum", json!("a")),
            ("minimum", json!("1")),
            ("maximum", json!(null)),
            ("minLength", json!(-1)),
            ("maxLength", json!(1.5)),
            ("minItems", json!("1")),
            ("maxItems", json!(1e300)),
            ("description", json!(1)),
            ("title", json!({})),
        ] {
            assert!(
                check(&json!({ keyword: value })).is_err(),
                "{keyword} {value}"
            );
        }
        assert_eq!(check(&json!(true)), Err(NotTaken::NoObject));
    }

    #[test]
    fn cc_092_schemas_are_neither_deep_nor_long() {
        let nested =
            |depth: usize| (1..depth).fold(json!({}), |inner, _| json!({ "items": inner }));
        assert_eq!(check(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(check(&nested(MAX_DEPTH + 1)), Err(NotTaken::TooDeep));
        let long = |bytes: usize| json!({ "title": "a".repeat(bytes - r#"{"title":""}"#.len()) });
        assert_eq!(check(&long(MAX_BYTES)), Ok(()));
        let bytes = MAX_BYTES + 1;
        assert_eq!(check(&long(bytes)), Err(NotTaken::TooLong { bytes }));
    }
}
