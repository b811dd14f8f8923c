//! Every member of a document, what else may stand there, and lists of those whose change nobody finds. Such a
//! list may only shrink.

use std::collections::BTreeSet;

use serde_json::{Value, json};

/// How far clocks and numbers are moved: by one, by a minute and by a year, in seconds and milliseconds.
const MOVES: [i64; 6] = [1, -1, 60_000, 31_536_000, 31_536_000_000, -31_536_000_000];

/// Every member, by JSON pointer.
pub(crate) fn pointers(value: &Value, pointer: &str, all: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, it)| (name.clone(), it))
            .collect(),
        Value::Array(items) => (0..)
            .zip(items)
            .map(|(at, it): (usize, _)| (at.to_string(), it))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    for (name, value) in inner {
        let pointer = format!("{pointer}/{name}");
        all.push(pointer.clone());
        pointers(value, &pointer, all);
    }
}

/// The pointer without places in arrays: `envelopes.derived.payee`.
pub(crate) fn path(pointer: &str) -> String {
    let names = pointer.split('/').skip(1);
    let names = names.filter(|name| name.parse::<usize>().is_err());
    names.collect::<Vec<_>>().join(".")
}

/// A text of the same form: its last digit or letter is another one.
fn another_text(text: &str) -> String {
    let (rest, last) = text.split_at(text.len() - text.chars().last().map_or(0, char::len_utf8));
    let other = match last {
        "0" => "1",
        "a" => "b",
        _ if last.bytes().all(|byte| byte.is_ascii_digit()) => "0",
        _ => "a",
    };
    format!("{rest}{other}")
}

/// What else may stand there.
pub(crate) fn others(value: &Value, alike: &BTreeSet<String>) -> Vec<Value> {
    match value {
        Value::Number(number) => {
            let number = number.as_i64().unwrap();
            let moved = MOVES.iter().filter_map(|by| number.checked_add(*by));
            moved
                .filter(|moved| *moved >= 0)
                .map(|moved| json!(moved))
                .collect()
        }
        Value::String(text) => {
            let same_form =
                |other: &&String| other.len() == text.len() && **other != *text && !text.is_empty();
            let taken = alike
                .iter()
                .filter(same_form)
                .take(3)
                .map(|other| json!(other));
            taken.chain([json!(another_text(text))]).collect()
        }
        Value::Bool(is_so) => vec![json!(!is_so)],
        Value::Array(items) if items.is_empty() => Vec::new(),
        Value::Array(items) => {
            let fewer = &items[..items.len() - 1];
            let twice = [&items[..], &items[..1]].concat();
            vec![json!(fewer), json!(twice)]
        }
        Value::Null | Value::Object(_) => Vec::new(),
    }
}

/// Whether a member is listed, and as what.
pub(crate) fn entry<'a>(list: &[(&'a str, &str)], path: &str) -> Option<&'a str> {
    let is_it =
        |listed: &str| path == listed || (listed.ends_with('.') && path.starts_with(listed));
    list.iter()
        .map(|(listed, _)| *listed)
        .find(|listed| is_it(listed))
}

/// Exactly the listed members are among those whose change nobody finds.
#[track_caller]
pub(crate) fn exactly(held: &BTreeSet<String>, list: &[(&str, &str)]) {
    let is_missed = |path: &&String| entry(list, path).is_none();
    let missed: Vec<_> = held.iter().filter(is_missed).collect();
    assert!(missed.is_empty(), "found by nobody: {missed:#?}");
    let known = held.iter().filter_map(|path| entry(list, path));
    let known: BTreeSet<_> = known.collect();
    let gone = list.iter().filter(|(path, _)| !known.contains(path));
    let gone: Vec<_> = gone.collect();
    assert!(
        gone.is_empty(),
        "found now, to be taken out of the list: {gone:#?}"
    );
}
