//! What a member can be changed to that looks as true as what it was.

use serde_json::{Value, json};

use super::members::{Kind, Pool};

/// What a lie does to a record or to one of its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum How {
    Changed,
    Removed,
    Added,
    ElementDropped,
    ElementDoubled,
    ElementsSwapped,
    WrittenTwice,
    RecordDropped,
    RecordDoubled,
    RecordsSwapped,
    BodyDropped,
}

/// Words that a member of this name may hold, whatever the log has.
const WORDS: [(&str, &[&str]); 14] = [
    ("role", &["envelope", "checkpoint", "receipt"]),
    ("payer_binding", &["wallet", "authorization", "unchecked"]),
    ("lenient", &["uuids", "addresses"]),
    (
        "cause",
        &[
            "unreachable",
            "stale_head",
            "wrong_chain",
            "reverted",
            "wrong_token",
            "used_already",
            "older_than_accept",
            "short",
            "other_payee",
            "unauthorized",
        ],
    ),
    ("profile", &["digest", "direct"]),
    ("kind", &["eoa", "erc1271"]),
    (
        "window",
        &[
            "offer",
            "accept",
            "result",
            "verify",
            "payment",
            "confirmation",
        ],
    ),
    ("status", &["not_found", "seen", "insufficient", "refuted"]),
    ("level", &["seen", "confirmed", "safe", "final"]),
    (
        "reason",
        &["token_paused", "payer_blacklisted", "payee_blacklisted"],
    ),
    (
        "acceptance_policy",
        &["auto", "human_approval", "threshold"],
    ),
    (
        "dispute_code",
        &["WRONG_RESULT", "INCOMPLETE", "TIMEOUT", "QUALITY", "OTHER"],
    ),
    ("location", &["inline", "url"]),
    ("network", &["base", "base-sepolia", "local"]),
];

/// Codes that notices and refutations are told with.
const CODES: [&str; 6] = [
    "X811-4001",
    "X811-4020",
    "X811-5001",
    "X811-5002",
    "X811-5003",
    "X811-5030",
];

/// Other values of its type for the member at `path` of that event.
pub(crate) fn others(pool: &Pool, event: &str, path: &str, value: &Value) -> Vec<Value> {
    let name = path.rsplit('.').next().unwrap_or(path);
    let mut others: Vec<Value> = pool.elsewhere(event, path, value);
    others.truncate(2);
    match value {
        Value::Bool(value) => others.push(json!(!value)),
        Value::Number(number) => {
            let number = number.as_u64().unwrap();
            others.extend(numbers(number).map(|number| json!(number)));
        }
        Value::String(text) => others.extend(texts(pool, name, text)),
        Value::Array(_) => others.push(json!([])),
        Value::Object(_) | Value::Null => {}
    }
    let mut different: Vec<Value> = Vec::new();
    for other in others {
        if other != *value && !different.contains(&other) {
            different.push(other);
        }
    }
    different
}

fn numbers(number: u64) -> impl Iterator<Item = u64> {
    let near = [number + 1, number.saturating_sub(1)];
    near.into_iter().chain([number * 2, 0, number + 30_000])
}

fn texts(pool: &Pool, name: &str, text: &str) -> Vec<Value> {
    let mut texts: Vec<String> = pool.alike(text).take(2).cloned().collect();
    match Kind::of(text) {
        Kind::Amount => {
            let amount: u64 = text.parse().unwrap();
            texts = numbers(amount).map(|number| number.to_string()).collect();
        }
        Kind::Hash | Kind::TxOrBlock | Kind::Address | Kind::Signature | Kind::Uuid => {
            texts.push(last_changed(text));
        }
        Kind::Code => texts = CODES.map(str::to_owned).to_vec(),
        Kind::Word => {
            let words = WORDS.iter().find(|(of, _)| *of == name);
            texts = match words {
                Some((_, words)) => words.iter().map(|word| (*word).to_owned()).collect(),
                None => vec![format!("{text}x"), "x".to_owned()],
            };
        }
        Kind::Did | Kind::Key | Kind::KeyId => {}
    }
    texts.into_iter().map(Value::String).collect()
}

/// The same but for its last digit that counts.
fn last_changed(text: &str) -> String {
    let (at, last) = text.char_indices().nth_back(1).unwrap();
    let other = if last == '0' { '1' } else { '0' };
    format!("{}{other}{}", &text[..at], &text[at + 1..])
}
