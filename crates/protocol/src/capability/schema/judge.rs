//! Whether a value fits a schema, in a time that grows with the lengths of both alone: values of `enum`
//! are looked up, never compared one by one, and a name is looked for once where it stands.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{MAX_INSTANCE_BYTES, NotTaken, check};
use crate::canonical::to_canonical;
use crate::payload::member::as_integer;

/// A schema that is taken, ready to judge values.
#[derive(Debug, Clone)]
pub struct Schema(Node);

/// Why a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It breaks a keyword.
    #[error("at {} it breaks {keyword}", shown(place))]
    At {
        /// A JSON Pointer (RFC 6901); empty of the whole.
        place: String,
        /// Which.
        keyword: &'static str,
    },
    /// It is too long to be judged.
    #[error("it has {bytes} bytes in its RFC 8785 form; at most {MAX_INSTANCE_BYTES} are judged")]
    TooLong {
        /// How many.
        bytes: usize,
    },
}

fn shown(place: &str) -> &str {
    if place.is_empty() { "the top" } else { place }
}

#[derive(Debug, Clone, Default)]
struct Node {
    types: Option<Vec<Type>>,
    /// RFC 8785 forms, of `enum` and of `const`.
    allowed: [Option<BTreeSet<Vec<u8>>>; 2],
    minimum: Option<f64>,
    maximum: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    required: BTreeSet<String>,
    properties: BTreeMap<String, Node>,
    additional: Additional,
    items: Option<Box<Node>>,
}

#[derive(Debug, Clone, Default)]
enum Additional {
    #[default]
    Anything,
    Nothing,
    Like(Box<Node>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Array,
    Boolean,
    Integer,
    Null,
    Number,
    Object,
    String,
}

impl Type {
    fn named(name: &str) -> Option<Type> {
        Some(match name {
            "array" => Type::Array,
            "boolean" => Type::Boolean,
            "integer" => Type::Integer,
            "null" => Type::Null,
            "number" => Type::Number,
            "object" => Type::Object,
            "string" => Type::String,
            _ => return None,
        })
    }

    fn is_of(self, value: &Value) -> bool {
        match self {
            Type::Array => value.is_array(),
            Type::Boolean => value.is_boolean(),
            // A whole number however it is spelled: 1.0 is one.
            Type::Integer => number(value).is_some_and(|number| number.fract() == 0.0),
            Type::Null => value.is_null(),
            Type::Number => value.is_number(),
            Type::Object => value.is_object(),
            Type::String => value.is_string(),
        }
    }
}

/// As ECMAScript and RFC 8785 have numbers: a double.
fn number(value: &Value) -> Option<f64> {
    value.as_number().and_then(serde_json::Number::as_f64)
}

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn read(schema: &Value) -> Result<Schema, NotTaken> {
        check(schema)?;
        Ok(Schema(Node::read(schema)))
    }

    /// Whether `value` fits it.
    ///
    /// # Errors
    /// The first place where it does not, members in order of their names.
    pub fn judge(&self, value: &Value) -> Result<(), Unfit> {
        let bytes = to_canonical(value).len();
        if bytes > MAX_INSTANCE_BYTES {
            return Err(Unfit::TooLong { bytes });
        }
        self.0.judge(value).map_err(|fault| Unfit::At {
            place: fault.path.into_iter().rev().collect(),
            keyword: fault.keyword,
        })
    }
}

/// A broken keyword, and the steps to its place, the last first.
struct Broken {
    path: Vec<String>,
    keyword: &'static str,
}

impl Broken {
    const fn of(keyword: &'static str) -> Broken {
        Broken {
            path: Vec::new(),
            keyword,
        }
    }

    fn below(mut self, step: &str) -> Broken {
        let step = step.replace('~', "~0").replace('/', "~1");
        self.path.push(format!("/{step}"));
        self
    }
}

impl Node {
    fn read(schema: &Value) -> Node {
        let get = |name: &str| schema.get(name);
        let count = |name: &str| get(name).and_then(as_integer);
        let object = |name: &str| get(name).and_then(Value::as_object);
        let names = |value: Option<&Value>| -> Vec<String> {
            let one = value.and_then(Value::as_str).map(str::to_owned);
            let many = value.and_then(Value::as_array).into_iter().flatten();
            let many = many.filter_map(Value::as_str).map(str::to_owned);
            one.into_iter().chain(many).collect()
        };
        let several = get("enum").and_then(Value::as_array);
        Node {
            types: get("type").map(|value| {
                let names = names(Some(value));
                names.iter().filter_map(|name| Type::named(name)).collect()
            }),
            allowed: [
                several.map(|values| values.iter().map(to_canonical).collect()),
                get("const").map(|value| BTreeSet::from([to_canonical(value)])),
            ],
            minimum: get("minimum").and_then(number),
            maximum: get("maximum").and_then(number),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            required: names(get("required")).into_iter().collect(),
            properties: object("properties")
                .into_iter()
                .flatten()
                .map(|(name, inner)| (name.clone(), Node::read(inner)))
                .collect(),
            additional: match get("additionalProperties") {
                None | Some(Value::Bool(true)) => Additional::Anything,
                Some(Value::Bool(false)) => Additional::Nothing,
                Some(inner) => Additional::Like(Box::new(Node::read(inner))),
            },
            items: get("items").map(|inner| Box::new(Node::read(inner))),
        }
    }

    fn judge(&self, value: &Value) -> Result<(), Broken> {
        if self
            .types
            .as_ref()
            .is_some_and(|types| !types.iter().any(|each| each.is_of(value)))
        {
            return Err(Broken::of("type"));
        }
        if self.allowed.iter().any(Option::is_some) {
            let written = to_canonical(value);
            for (allowed, keyword) in self.allowed.iter().zip(["enum", "const"]) {
                if allowed.as_ref().is_some_and(|set| !set.contains(&written)) {
                    return Err(Broken::of(keyword));
                }
            }
        }
        match value {
            Value::Number(_) => self.number(value),
            Value::String(text) => self.text(text),
            Value::Array(items) => self.array(items),
            Value::Object(members) => self.object(members),
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    fn number(&self, value: &Value) -> Result<(), Broken> {
        let Some(number) = number(value) else {
            return Ok(());
        };
        if self.minimum.is_some_and(|least| number < least) {
            return Err(Broken::of("minimum"));
        }
        if self.maximum.is_some_and(|most| number > most) {
            return Err(Broken::of("maximum"));
        }
        Ok(())
    }

    fn text(&self, text: &str) -> Result<(), Broken> {
        if self.min_length.is_none() && self.max_length.is_none() {
            return Ok(());
        }
        between(
            text.chars().count() as u64,
            (self.min_length, "minLength"),
            (self.max_length, "maxLength"),
        )
    }

    fn array(&self, items: &[Value]) -> Result<(), Broken> {
        between(
            items.len() as u64,
            (self.min_items, "minItems"),
            (self.max_items, "maxItems"),
        )?;
        let Some(node) = &self.items else {
            return Ok(());
        };
        for (index, item) in items.iter().enumerate() {
            node.judge(item)
                .map_err(|fault| fault.below(&index.to_string()))?;
        }
        Ok(())
    }

    fn object(&self, members: &Map<String, Value>) -> Result<(), Broken> {
        // Counted over the members that are there, however many are required.
        let present = members.keys().filter(|name| self.required.contains(*name));
        if present.count() < self.required.len() {
            return Err(Broken::of("required"));
        }
        for (name, member) in members {
            let judged = match (self.properties.get(name), &self.additional) {
                (Some(node), _) => node.judge(member),
                (None, Additional::Like(node)) => node.judge(member),
                (None, Additional::Nothing) => Err(Broken::of("additionalProperties")),
                (None, Additional::Anything) => Ok(()),
            };
            judged.map_err(|fault| fault.below(name))?;
        }
        Ok(())
    }
}

fn between(
    count: u64,
    (least, below): (Option<u64>, &'static str),
    (most, above): (Option<u64>, &'static str),
) -> Result<(), Broken> {
    if least.is_some_and(|least| count < least) {
        return Err(Broken::of(below));
    }
    if most.is_some_and(|most| count > most) {
        return Err(Broken::of(above));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fits(schema: &Value, value: &Value) -> bool {
        Schema::read(schema).unwrap().judge(value).is_ok()
    }

    #[test]
    fn cx_43_parameters_are_judged_by_each_keyword() {
        let table = [
            (json!({"type": "integer"}), json!(1.0), json!(1.5)),
            (json!({"type": ["string", "null"]}), json!(null), json!(0)),
            (json!({"type": "number"}), json!(-0.5), json!("1")),
            (
                json!({"enum": [1, {"b": 1, "a": [2]}]}),
                json!({"a": [2.0], "b": 1}),
                json!({"a": [2]}),
            ),
            (json!({"const": "x"}), json!("x"), json!("X")),
            (json!({"minimum": 2}), json!(2), json!(1.999)),
            (json!({"maximum": 2.5}), json!("not a number"), json!(3)),
            (json!({"minLength": 2}), json!("öö"), json!("ö")),
            (json!({"maxLength": 1}), json!("🦀"), json!("ab")),
            (json!({"minItems": 1}), json!([null]), json!([])),
            (json!({"maxItems": 1}), json!([1]), json!([1, 2])),
            (
                json!({"items": {"type": "string"}}),
                json!(["a"]),
                json!(["a", 1]),
            ),
            (
                json!({"required": ["a", "b"]}),
                json!({"a": 1, "b": 2, "c": 3}),
                json!({"a": 1, "c": 2}),
            ),
            (
                json!({"properties": {"a": {"const": 1}}}),
                json!({"b": 2}),
                json!({"a": 2}),
            ),
            (
                json!({"properties": {"a": {}}, "additionalProperties": false}),
                json!({"a": 2}),
                json!({"b": 2}),
            ),
            (
                json!({"additionalProperties": {"type": "null"}}),
                json!({"b": null}),
                json!({"b": 1}),
            ),
        ];
        for (schema, good, bad) in table {
            assert!(fits(&schema, &good), "{schema} {good}");
            assert!(!fits(&schema, &bad), "{schema} {bad}");
        }
    }

    #[test]
    fn cx_43_the_place_of_a_fault_is_named() {
        let schema =
            json!({"properties": {"a/b": {"items": {"properties": {"c~": {"type": "null"}}}}}});
        let schema = Schema::read(&schema).unwrap();
        let fault = schema.judge(&json!({"a/b": [{}, {"c~": 1}]})).unwrap_err();
        let due = Unfit::At {
            place: "/a~1b/1/c~0".to_owned(),
            keyword: "type",
        };
        assert_eq!(fault, due);
    }

    /// Many values in `enum` and many required names, asked of many small items: the product of the two
    /// would be some 10^8 steps.
    #[test]
    fn cx_43_the_dearest_schema_takes_a_time_linear_in_both() {
        let names: Vec<String> = (0..1_500).map(|number| format!("{number:04}")).collect();
        let schema = json!({"items": {"enum": names, "required": ["a"]}});
        let value = json!(vec!["1499"; 9_000]);
        assert_eq!(Schema::read(&schema).unwrap().judge(&value), Ok(()));
        let schema = json!({"items": {"required": names}});
        let value = json!(vec![json!({}); 20_000]);
        assert!(Schema::read(&schema).unwrap().judge(&value).is_err());
        let long = json!("a".repeat(MAX_INSTANCE_BYTES));
        assert!(matches!(
            Schema::read(&json!({})).unwrap().judge(&long),
            Err(Unfit::TooLong { .. })
        ));
    }
}
