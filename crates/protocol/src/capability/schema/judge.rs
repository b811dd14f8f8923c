//! Whether a value fits a schema, in a time that grows with the lengths of both alone: values of `enum`
//! are looked up, never compared one by one, and a name is looked for once where it stands.

use std::cmp::Ordering;
use std::collections::BTreeSet;

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
        /// The keyword of JSON Schema.
        keyword: &'static str,
    },
    /// It is too long to be judged.
    #[error("it has {bytes} bytes in its RFC 8785 form; at most {MAX_INSTANCE_BYTES} are judged")]
    TooLong {
        /// How many bytes there are.
        bytes: usize,
    },
}

fn shown(place: &str) -> &str {
    if place.is_empty() { "the top" } else { place }
}

#[derive(Debug, Clone, Default)]
struct Node {
    types: Option<Vec<Type>>,
    /// RFC 8785 forms, of `enum` and of `const`, in order.
    allowed: [Option<Vec<Vec<u8>>>; 2],
    minimum: Option<f64>,
    maximum: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    /// In order, each once.
    required: Vec<String>,
    /// In order of their names.
    properties: Vec<(String, Node)>,
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
        self.judge_counting(value).0
    }

    /// The same, and how many steps it took: bytes that were written or compared, values and characters
    /// that were looked at. Steps are the same on every machine.
    pub fn judge_counting(&self, value: &Value) -> (Result<(), Unfit>, u64) {
        let bytes = to_canonical(value).len();
        let mut steps = Steps(bytes as u64);
        if bytes > MAX_INSTANCE_BYTES {
            return (Err(Unfit::TooLong { bytes }), steps.0);
        }
        let judged = self.0.judge(value, &mut steps);
        let judged = judged.map_err(|fault| Unfit::At {
            place: fault.path.into_iter().rev().collect(),
            keyword: fault.keyword,
        });
        (judged, steps.0)
    }
}

/// How many steps were taken.
struct Steps(u64);

impl Steps {
    fn take(&mut self, steps: usize) {
        self.0 += steps as u64;
    }

    /// Where `wanted` stands among `sorted`.
    fn find<T>(&mut self, sorted: &[T], key: impl Fn(&T) -> &[u8], wanted: &[u8]) -> Option<usize> {
        let found = sorted.binary_search_by(|each| self.compare(key(each), wanted));
        found.ok()
    }

    fn compare(&mut self, one: &[u8], other: &[u8]) -> Ordering {
        let alike = one.iter().zip(other).take_while(|(a, b)| a == b);
        self.take(alike.count() + 1);
        one.cmp(other)
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
                several.map(|values| in_order(values.iter().map(to_canonical))),
                get("const").map(|value| vec![to_canonical(value)]),
            ],
            minimum: get("minimum").and_then(number),
            maximum: get("maximum").and_then(number),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            required: in_order(names(get("required"))),
            properties: {
                let properties = object("properties").into_iter().flatten();
                let properties = properties.map(|(name, inner)| (name.clone(), Node::read(inner)));
                let mut properties: Vec<(String, Node)> = properties.collect();
                properties.sort_unstable_by(|one, other| one.0.cmp(&other.0));
                properties
            },
            additional: match get("additionalProperties") {
                None | Some(Value::Bool(true)) => Additional::Anything,
                Some(Value::Bool(false)) => Additional::Nothing,
                Some(inner) => Additional::Like(Box::new(Node::read(inner))),
            },
            items: get("items").map(|inner| Box::new(Node::read(inner))),
        }
    }

    fn judge(&self, value: &Value, steps: &mut Steps) -> Result<(), Broken> {
        steps.take(1);
        if self
            .types
            .as_ref()
            .is_some_and(|types| !types.iter().any(|each| each.is_of(value)))
        {
            return Err(Broken::of("type"));
        }
        if self.allowed.iter().any(Option::is_some) {
            let written = to_canonical(value);
            steps.take(written.len());
            for (allowed, keyword) in self.allowed.iter().zip(["enum", "const"]) {
                let Some(allowed) = allowed else { continue };
                let found = steps.find(allowed, Vec::as_slice, &written);
                found.ok_or_else(|| Broken::of(keyword))?;
            }
        }
        match value {
            Value::Number(_) => self.number(value),
            Value::String(text) => self.text(text, steps),
            Value::Array(items) => self.array(items, steps),
            Value::Object(members) => self.object(members, steps),
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

    fn text(&self, text: &str, steps: &mut Steps) -> Result<(), Broken> {
        if self.min_length.is_none() && self.max_length.is_none() {
            return Ok(());
        }
        steps.take(text.len());
        between(
            text.chars().count() as u64,
            (self.min_length, "minLength"),
            (self.max_length, "maxLength"),
        )
    }

    fn array(&self, items: &[Value], steps: &mut Steps) -> Result<(), Broken> {
        between(
            items.len() as u64,
            (self.min_items, "minItems"),
            (self.max_items, "maxItems"),
        )?;
        let Some(node) = &self.items else {
            return Ok(());
        };
        for (index, item) in items.iter().enumerate() {
            node.judge(item, steps)
                .map_err(|fault| fault.below(&index.to_string()))?;
        }
        Ok(())
    }

    fn object(&self, members: &Map<String, Value>, steps: &mut Steps) -> Result<(), Broken> {
        // Counted over the members that are there, however many are required.
        let mut present = 0;
        for name in members.keys() {
            let found = steps.find(&self.required, String::as_bytes, name.as_bytes());
            present += usize::from(found.is_some());
        }
        if present < self.required.len() {
            return Err(Broken::of("required"));
        }
        for (name, member) in members {
            let property = steps.find(
                &self.properties,
                |(name, _)| name.as_bytes(),
                name.as_bytes(),
            );
            let judged = match (property.map(|at| &self.properties[at].1), &self.additional) {
                (Some(node), _) => node.judge(member, steps),
                (None, Additional::Like(node)) => node.judge(member, steps),
                (None, Additional::Nothing) => Err(Broken::of("additionalProperties")),
                (None, Additional::Anything) => Ok(()),
            };
            judged.map_err(|fault| fault.below(name))?;
        }
        Ok(())
    }
}

/// The values in their order, each once.
fn in_order<T: Ord>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let values: BTreeSet<T> = values.into_iter().collect();
    values.into_iter().collect()
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
    use super::super::MAX_DEPTH;
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

    /// Schemas of about that many bytes with an instance of about that many, each dear in a way of its
    /// own. All fit, so that nothing is left unlooked at.
    fn dearest(schema_bytes: usize, bytes: usize) -> Vec<(&'static str, Value, Value)> {
        let names = |width: usize| -> Vec<String> {
            let most = schema_bytes / (width + 3);
            (0..most)
                .map(|number| format!("{number:0width$}"))
                .collect()
        };
        let last = |names: &[String]| names.last().unwrap().clone();
        let many = |item: Value| {
            let count = bytes / (item.to_string().len() + 1);
            json!(vec![item; count])
        };
        // Values that are alike but for their end, and are looked for among many.
        let (short, long) = (names(5), names(900));
        let known: Map<String, Value> = short
            .iter()
            .map(|name| (name.clone(), json!({})))
            .take(short.len() / 2)
            .collect();
        let object: Map<String, Value> =
            short.iter().map(|name| (name.clone(), json!(0))).collect();
        // At each of seven levels the whole value is written and compared once more.
        let text = json!("a".repeat(schema_bytes / 7 - 60));
        let mut level = (json!({ "const": text }), text);
        for _ in 2..MAX_DEPTH {
            let value = json!({ "a": level.1 });
            level = (json!({"const": value, "properties": {"a": level.0}}), value);
        }
        vec![
            (
                "short values of enum",
                json!({"items": {"enum": short}}),
                many(json!(last(&short))),
            ),
            (
                "long values of enum",
                json!({"items": {"enum": long}}),
                many(json!(last(&long))),
            ),
            ("required names", json!({"required": short}), json!(object)),
            (
                "properties",
                json!({"items": {"properties": known}}),
                many(json!({"09999": 1, "b": 2})),
            ),
            (
                "lengths",
                json!({"items": {"minLength": 1}}),
                many(json!("\u{f6}".repeat(40))),
            ),
            ("levels", json!({"items": level.0}), many(level.1)),
        ]
    }

    /// The bound that the specification rests on, in steps that are the same everywhere.
    #[test]
    fn cx_43_steps_grow_with_the_bytes_of_schema_and_instance() {
        const STEPS_A_BYTE: u64 = 32;
        let steps = |schema: &Value, value: &Value| {
            let (judged, steps) = Schema::read(schema).unwrap().judge_counting(value);
            assert_eq!(judged, Ok(()));
            steps
        };
        for schema_bytes in [2_000, 8_000, 16_000] {
            let sizes = [8_000, 16_000, 32_000, 64_000];
            let all: Vec<_> = sizes.map(|bytes| dearest(schema_bytes, bytes)).into();
            for (kind, (what, ..)) in all[0].iter().enumerate() {
                let rows = all.iter().map(|row| &row[kind]);
                let counted = rows.map(|(_, schema, value)| {
                    let bytes = [schema, value].map(|json| to_canonical(json).len() as u64);
                    (steps(schema, value), bytes)
                });
                let counted: Vec<(u64, [u64; 2])> = counted.collect();
                for (steps, bytes) in &counted {
                    let most = STEPS_A_BYTE * (bytes[0] + bytes[1]);
                    assert!(*steps <= most, "{what}: {steps} steps for {bytes:?} bytes");
                }
                for two in counted.windows(2) {
                    let [(steps, [_, before]), (more, [_, after])] = two else {
                        panic!("two of them");
                    };
                    let most = (steps * after).div_ceil(*before) * 11 / 10 + 64;
                    assert!(*more <= most, "{what}: {more} steps after {steps}: {two:?}");
                }
            }
        }
    }
}
