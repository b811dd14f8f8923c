//! Whether parameters fit the schema of a capability, judged by three who share no code: ours, whose
//! verdict is a rule, the crate `jsonschema` and PyPI `jsonschema` (capability.md, "Descriptor").

#![expect(
    clippy::unwrap_used,
    reason = "a harness stops the test at once where something is missing"
)]

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::fs;
use tempfile::TempDir;
use x811_protocol::capability::schema::{NotTaken, Schema, check};
use x811_tests::verifiers::{Job, Verifier};

/// Pairs of one run.
const PAIRS: usize = 4_000;

/// The keywords that are taken.
const TAKEN: [&str; 15] = [
    "additionalProperties",
    "const",
    "description",
    "enum",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "properties",
    "required",
    "title",
    "type",
];

/// Few values, so that they meet, and those that implementations are known to part over.
fn scalar() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-0.0),
        json!(1),
        json!(1.0),
        json!(-1),
        json!(2),
        json!(0.5),
        json!(1e15),
        json!(9_007_199_254_740_991_u64),
        json!(1e300),
        json!(""),
        json!("1"),
        json!("a"),
        json!("ab"),
        json!("\u{f6}"),
        json!("o\u{308}"),
        json!("\u{1f980}"),
        json!("\u{1f468}\u{200d}\u{1f469}"),
    ])
}

fn name() -> impl Strategy<Value = String> {
    let names = ["a", "b", "", "~/", "\u{f6}", "1"];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(name(), inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn types() -> impl Strategy<Value = Value> {
    let names = [
        "array", "boolean", "integer", "null", "number", "object", "string",
    ];
    let several = prop::sample::subsequence(names.to_vec(), 1..5);
    prop_oneof![
        prop::sample::select(names.to_vec()).prop_map(|name| json!(name)),
        several.prop_map(|names| json!(names)),
    ]
}

/// A value for a keyword that holds no schema.
fn plain() -> impl Strategy<Value = (String, Value)> {
    let bound =
        || prop::sample::select(vec![json!(-1), json!(0), json!(0.5), json!(1), json!(2.0)]);
    let count = || prop::sample::select(vec![json!(0), json!(1), json!(2), json!(2.0), json!(3)]);
    prop_oneof![
        4 => types().prop_map(|value| ("type".to_owned(), value)),
        2 => prop::collection::vec(value(), 1..5)
            .prop_map(|values| ("enum".to_owned(), json!(values))),
        1 => value().prop_map(|value| ("const".to_owned(), value)),
        1 => bound().prop_map(|value| ("minimum".to_owned(), value)),
        1 => bound().prop_map(|value| ("maximum".to_owned(), value)),
        1 => count().prop_map(|value| ("minLength".to_owned(), value)),
        1 => count().prop_map(|value| ("maxLength".to_owned(), value)),
        1 => count().prop_map(|value| ("minItems".to_owned(), value)),
        1 => count().prop_map(|value| ("maxItems".to_owned(), value)),
        1 => prop::collection::btree_set(name(), 0..3)
            .prop_map(|names| ("required".to_owned(), json!(names))),
        1 => Just(("title".to_owned(), json!("a"))),
        1 => Just(("description".to_owned(), json!("b"))),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop::collection::vec(plain(), 0..3).prop_map(object);
    leaf.prop_recursive(3, 12, 4, |inner| {
        let properties = prop::collection::btree_map(name(), inner.clone(), 0..4)
            .prop_map(|members| json!(members));
        let additional = prop_oneof![any::<bool>().prop_map(Value::Bool), inner.clone()];
        (
            prop::collection::vec(plain(), 0..2),
            prop::option::of(properties),
            prop::option::of(additional),
            prop::option::of(inner),
        )
            .prop_map(|(plain, properties, additional, items)| {
                let nested = [
                    ("properties", properties),
                    ("additionalProperties", additional),
                    ("items", items),
                ];
                let nested = nested
                    .into_iter()
                    .filter_map(|(name, value)| Some((name.to_owned(), value?)));
                object(nested.chain(plain))
            })
    })
}

fn object(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    Value::Object(members.into_iter().collect::<Map<String, Value>>())
}

/// A schema, and a value that often fits: of its own values, or built along it.
fn pair() -> impl Strategy<Value = (Value, Value)> {
    (schema(), value(), value()).prop_map(|(schema, first, second)| {
        let instance = along(&schema, &first, &second);
        (schema, instance)
    })
}

/// The value that the schema names, a value of the type that it names, or `first`.
fn along(schema: &Value, first: &Value, second: &Value) -> Value {
    let named = schema.get("const").or_else(|| schema.get("enum")?.get(0));
    if let Some(named) = named.filter(|_| first.is_number() || first.is_string()) {
        return named.clone();
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let members = properties
            .iter()
            .map(|(name, inner)| (name.clone(), along(inner, second, first)));
        return object(members);
    }
    if let Some(items) = schema.get("items") {
        return json!([along(items, second, first), first]);
    }
    first.clone()
}

fn pairs() -> Vec<(Value, Value)> {
    let mut runner = TestRunner::deterministic();
    let pairs = pair();
    let drawn = (0..PAIRS).map(|_| pairs.new_tree(&mut runner).unwrap().current());
    drawn.collect()
}

#[test]
fn cx_43_three_who_share_no_code_judge_alike() {
    let pairs = pairs();
    let mut lines = String::new();
    for (schema, instance) in &pairs {
        let case = json!({"schema": schema, "instance": instance});
        writeln!(lines, "{case}").unwrap();
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("pairs");
    fs::write(&file, lines).unwrap();
    let python = Verifier::Jsonschema.judge(Job::schemas(&file)).unwrap();
    assert_eq!(python.len(), pairs.len());
    let mut fitting = 0;
    for ((schema, instance), python) in pairs.iter().zip(python.chars()) {
        let ours = Schema::read(schema).unwrap().judge(instance).is_ok();
        let rust = jsonschema::draft202012::new(schema)
            .unwrap()
            .is_valid(instance);
        let verdicts = (ours, rust, python);
        let due = (ours, ours, if ours { 'y' } else { 'n' });
        assert_eq!(verdicts, due, "{schema} {instance}");
        fitting += usize::from(ours);
    }
    let share = PAIRS / 5;
    assert!(
        (share..PAIRS - share).contains(&fitting),
        "{fitting} of {PAIRS} fit"
    );
}

/// The list of words is the strangers', so that none is forgotten.
#[test]
fn cx_43_every_word_of_the_vocabularies_is_taken_or_refused() {
    let known = Verifier::Jsonschema.judge(Job::keywords()).unwrap();
    let known: Vec<&str> = known.split(' ').collect();
    assert!(known.len() > 50, "{known:?}");
    for keyword in TAKEN {
        assert!(known.contains(&keyword), "{keyword}");
    }
    for keyword in known.into_iter().filter(|word| !TAKEN.contains(word)) {
        let refused = NotTaken::Keyword {
            keyword: keyword.to_owned(),
        };
        assert_eq!(check(&json!({ keyword: {} })), Err(refused), "{keyword}");
    }
}
