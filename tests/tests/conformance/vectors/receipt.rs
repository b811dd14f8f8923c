//! `receipt/`: receipts in JSON and in CBOR. The good ones are written by the tests of
//! `x811-ledger`; what somebody with the ledger's receipt key could make of them is signed anew.

use std::fs;

use serde_json::{Value, json};
use x811_audit::receipt::Receipt;
use x811_eventlog::note::NoteKey;
use x811_eventlog::{CoseReceipt, CoseStatement, Hash};
use x811_protocol::canonical::to_canonical;
use x811_protocol::key::SecretKey;
use x811_tests::binary::run;
use x811_tests::verifiers::{Job, Verifier};

use super::generate::Files;
use super::{Case, Named, folder, hold_to, hold_us_to, keys, table};

#[path = "lies.rs"]
mod lies;

pub(crate) fn files() -> Files {
    let read = |name| fs::read(folder().join("receipt").join(name)).unwrap();
    let (json, cose) = (read("paid.json"), read("paid.cose"));
    let receipt: Value = serde_json::from_slice(&json).unwrap();
    let mut whole = changed(&receipt);
    whole.extend(resigned(&receipt));
    whole.extend(forms(&json));
    let two_keys = Receipt::from_bytes(&read("two-keys.json")).unwrap();
    whole.extend(lies::of(&Receipt::from_bytes(&json).unwrap(), &two_keys));
    let other = serde_json::from_slice(&read("second.json")).unwrap();
    whole.extend(of_the_checkpoint_key(&receipt, &other));
    let contract = serde_json::from_slice(&read("contract.json")).unwrap();
    whole.extend(of_contract(&contract));
    let mut files = Files::new();
    for (name, bytes) in whole {
        files.insert(format!("receipt/{name}.json"), bytes);
    }
    for (name, bytes) in compact(&cose) {
        files.insert(format!("receipt/{name}.cose"), bytes);
    }
    files
}

fn to_bytes(receipt: &Value) -> Vec<u8> {
    [to_canonical(receipt), b"\n".to_vec()].concat()
}

/// The same but for that, signed anew by the ledger's receipt key.
fn but(good: &Value, name: &'static str, change: &dyn Fn(&mut Value)) -> (&'static str, Vec<u8>) {
    let mut bad = good.clone();
    change(&mut bad);
    sign(&mut bad, &keys::receipt_key());
    (name, to_bytes(&bad))
}

/// As it is, but for one thing.
fn changed(good: &Value) -> Named {
    let with = |name, change: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        change(&mut bad);
        (name, to_bytes(&bad))
    };
    vec![
        with("price-changed", &|bad| {
            bad["envelopes"][0]["body"]["payload"]["price"] = json!("0.9")
        }),
        with("ask-changed", &|bad| bad["ask"] = json!("/elsewhere")),
        with("signature-changed", &|bad| {
            bad["signature"] = bad["envelopes"][0]["signature"].clone()
        }),
        with("version-1", &|bad| bad["x811_receipt"] = json!(1)),
        with("version-2", &|bad| bad["x811_receipt"] = json!(2)),
        with("version-4", &|bad| bad["x811_receipt"] = json!(4)),
        with("unknown-member", &|bad| bad["note"] = json!("paid")),
    ]
}

/// Signed anew by the ledger's receipt key, so that the rest has to show it.
fn resigned(good: &Value) -> Named {
    let with = |name, change: &dyn Fn(&mut Value)| but(good, name, change);
    let note = good["checkpoint"].as_str().unwrap();
    let (text, _) = note.rsplit_once("\n\n").unwrap();
    let other = keys::other();
    let name = text.lines().next().unwrap();
    let by_other = other.sign(format!("{text}\n").as_bytes());
    let line = keys::line(name, keys::named(name, &other).id(), by_other.as_bytes());
    let by_other = format!("{text}\n\n{line}");
    let root = text.lines().nth(2).unwrap();
    let other_root = note.replace(&root[..4], "AAAA");
    vec![
        with("rules-1", &|bad| bad["envelopes"][0]["rules"] = json!(1)),
        with("rules-3", &|bad| bad["envelopes"][0]["rules"] = json!(3)),
        with("rules-left-out", &|bad| {
            drop(bad["envelopes"][0].as_object_mut().unwrap().remove("rules"))
        }),
        with("resigned-price-changed", &|bad| {
            bad["envelopes"][0]["body"]["payload"]["price"] = json!("0.9")
        }),
        with("resigned-message-signature-changed", &|bad| {
            bad["envelopes"][0]["signature"] = bad["envelopes"][1]["signature"].clone()
        }),
        with("resigned-verify-dropped", &|bad| {
            drop(bad["envelopes"].as_array_mut().unwrap().remove(2))
        }),
        with("resigned-payment-repeated", &|bad| {
            let payment = bad["envelopes"][3].clone();
            bad["envelopes"].as_array_mut().unwrap().push(payment);
        }),
        with("resigned-messages-swapped", &|bad| {
            bad["envelopes"].as_array_mut().unwrap().swap(0, 1)
        }),
        with("resigned-confirmation-changed", &|bad| {
            bad["confirmed"]["recorded_at_ms"] = json!(1_767_312_004_001_u64)
        }),
        with("resigned-token-changed", &|bad| {
            bad["parameters"]["event"]["networks"][0]["token"] =
                json!("0xf6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6");
        }),
        with("resigned-hash-changed", &|bad| {
            bad["hashes"][0] = bad["hashes"][1].clone()
        }),
        with("resigned-hash-dropped", &|bad| {
            drop(bad["hashes"].as_array_mut().unwrap().pop())
        }),
        with("resigned-checkpoint-of-another-key", &|bad| {
            bad["checkpoint"] = json!(by_other)
        }),
        with("resigned-checkpoint-root-changed", &|bad| {
            bad["checkpoint"] = json!(other_root)
        }),
        with("resigned-ask-changed", &|bad| {
            bad["ask"] = json!("/api/v1/interactions/other/settlement")
        }),
        ("resigned-by-another-key", {
            let mut bad = good.clone();
            bad["ledger"]["event"]["keys"]["receipt"] = json!(other.public().to_string());
            sign(&mut bad, &other);
            to_bytes(&bad)
        }),
    ]
}

fn sign(receipt: &mut Value, key: &SecretKey) {
    let line = format!("x811 receipt v{}\n", receipt["x811_receipt"]);
    sign_as(&line, receipt, key);
}

fn sign_as(line: &str, object: &mut Value, key: &SecretKey) {
    object.as_object_mut().unwrap().remove("signature");
    let signed = [line.as_bytes(), &to_canonical(object)].concat();
    object["signature"] = json!(key.sign(&signed).to_string());
}

/// Of what the checkpoint key says; signed anew by the receipt key, which says nothing of it. `other` is
/// a receipt under a later checkpoint.
fn of_the_checkpoint_key(good: &Value, other: &Value) -> Named {
    let key = keys::receipt_key();
    let with = |name, change: &dyn Fn(&mut Value)| but(good, name, change);
    let without = |name, member: &'static str| {
        with(name, &move |bad| {
            drop(bad.as_object_mut().unwrap().remove(member))
        })
    };
    vec![
        without("without-keys", "keys"),
        without("without-end", "end"),
        with("keys-of-another-tree", &|bad| {
            bad["keys"] = other["keys"].clone()
        }),
        with("keys-by-the-receipt-key", &|bad| {
            bad["keys"]["keys"]["envelope"] = bad["keys"]["keys"]["receipt"].clone();
            sign_as("x811 keys v1\n", &mut bad["keys"], &key);
        }),
        with("end-of-another-tree", &|bad| {
            bad["end"] = other["end"].clone()
        }),
        with("end-by-the-receipt-key", &|bad| {
            sign_as("x811 stream end v2\n", &mut bad["end"], &key)
        }),
        with("reversed-by-the-ledger", &|bad| {
            bad["end"]["standing"] = json!("reversed");
            bad["end"]["last_seq"] = json!(9);
            let key = keys::checkpoint_key();
            sign_as("x811 stream end v2\n", &mut bad["end"], &key);
        }),
    ]
}

/// Of a payment under a contract, signed anew by the receipt key: the REQUEST that names the contract
/// is the first message.
fn of_contract(good: &Value) -> Named {
    let with = |name, change: &dyn Fn(&mut Value)| but(good, name, change);
    let offer = &good["envelopes"][1]["body"]["id"];
    let other = json!(format!("neg-{}", offer.as_str().unwrap()));
    vec![
        with("contract-request-dropped", &|bad| {
            drop(bad["envelopes"].as_array_mut().unwrap().remove(0))
        }),
        with("contract-of-another-name", &|bad| {
            bad["envelopes"][0]["body"]["payload"]["parameters"]["negotiation_id"] = other.clone();
        }),
        with("contract-derived-from-another", &|bad| {
            bad["envelopes"][0]["derived"]["contract"]["id"] = offer.clone()
        }),
        with("contract-not-derived", &|bad| {
            let derived = bad["envelopes"][0]["derived"].as_object_mut();
            derived.unwrap().remove("contract");
        }),
    ]
}

fn forms(good: &[u8]) -> Named {
    let text = str::from_utf8(good).unwrap();
    vec![
        ("not-canonical", text.replacen(':', ": ", 1).into_bytes()),
        ("no-last-line-end", text.trim_end().as_bytes().to_vec()),
        ("cut", good[..good.len() / 2].to_vec()),
        ("empty", Vec::new()),
    ]
}

/// Compact receipts with one change each. Members of the inner receipt are changed by decoding the
/// message and encoding it again, other bytes in place.
fn compact(good: &[u8]) -> Named {
    let place = |start: &[u8]| {
        let found = good.windows(start.len()).position(|bytes| bytes == start);
        found.unwrap()
    };
    let leaf = place(b"{\"event\":");
    let proof = place(b"\x83\x0c\x0b");
    let with = |name, at: usize, byte: u8| {
        let mut bad = good.to_vec();
        bad[at] ^= byte;
        (name, bad)
    };
    let inner = |name, change: &dyn Fn(&mut CoseReceipt)| {
        let mut bad = CoseStatement::from_bytes(good).unwrap();
        change(&mut bad.receipt);
        (name, bad.to_bytes())
    };
    vec![
        with("signature-changed", good.len() - 40, 1),
        with("leaf-changed", leaf + 40, 1),
        inner("inner-signature-changed", &|bad| bad.signature[20] ^= 1),
        inner("path-changed", &|bad| {
            let hash = bad.proof.path.last_mut().unwrap();
            let mut bytes = *hash.as_bytes();
            bytes[0] ^= 1;
            *hash = Hash::from_bytes(bytes);
        }),
        with("position-changed", proof + 2, 1),
        with("size-changed", proof + 1, 1),
        ("tag-missing", good[1..].to_vec()),
        ("byte-added", [good, b"\0"].concat()),
        ("cut", good[..good.len() - 1].to_vec()),
    ]
}

/// | file | policy | what it is | verdict | taken by |
fn cases() -> Vec<(String, String, Case)> {
    let rows = table::rows("receipt", 5).into_iter();
    rows.map(|row| {
        let [file, policy, what, verdict, taken_by] = row.try_into().unwrap();
        let issuer = hex::encode(keys::issuer_under(&policy).public().as_bytes());
        let path = folder().join("receipt").join(&file);
        let text = fs::read_to_string(folder().join("policy").join(&policy)).unwrap();
        let job = if file.ends_with(".json") {
            Job::receipt(&path, &keys::vkeys(&text).0)
        } else {
            Job::statement(&path, &log_of(&text), &issuer)
        };
        let case = Case::new(job, &file, &what, verdict, &taken_by);
        (file, policy, case)
    })
    .collect()
}

/// The key of the log that a policy trusts, in hex.
fn log_of(policy: &str) -> String {
    let key = NoteKey::from_vkey(&keys::vkeys(policy).0).unwrap();
    hex::encode(key.public_key())
}

/// What `x811 receipt verify` finds broken, in its word for it.
fn verdict(file: &str, policy: &str) -> String {
    let [file, policy] = [("receipt", file), ("policy", policy)]
        .map(|(place, name)| folder().join(place).join(name).display().to_string());
    let verified = run(&["receipt", "verify", &file, "--policy", &policy, "--json"]);
    let said: Value = serde_json::from_str(&verified.stdout).unwrap_or_default();
    let Some(steps) = said["steps"].as_array() else {
        assert_ne!(verified.code, Some(0), "{verified:?}");
        return "form".to_owned();
    };
    let broken = steps.iter().find(|step| step["verdict"] == "broken");
    let is_rotated = steps
        .iter()
        .any(|step| step["about"] == "checkpoint" && step["verdict"] == "asserted");
    assert_eq!(verified.code == Some(20), broken.is_some(), "{verified:?}");
    let about = match verified.code {
        Some(0) => "good",
        Some(21) if is_rotated => "rotated",
        _ => broken.unwrap()["about"].as_str().unwrap(),
    };
    about.to_owned()
}

#[test]
fn receipts_are_verified_as_the_table_says() {
    let cases = cases();
    table::assert_complete("receipt", cases.iter().map(|(file, ..)| file.clone()));
    hold_us_to(
        cases
            .iter()
            .map(|(file, policy, case)| (case, verdict(file, policy))),
    );
}

#[test]
fn receipts_in_cbor_are_verified_by_others_as_the_table_says() {
    let cases = cases()
        .into_iter()
        .filter(|(file, ..)| file.ends_with(".cose"));
    let cases: Vec<Case> = cases.map(|(.., case)| case).collect();
    assert!(cases.len() > 9, "{}", cases.len());
    hold_to(&[Verifier::ScittCose], &cases);
}

#[test]
fn receipts_are_verified_by_a_second_reader_as_the_table_says() {
    let cases = cases()
        .into_iter()
        .filter(|(file, ..)| file.ends_with(".json"));
    let cases: Vec<Case> = cases.map(|(.., case)| case).collect();
    assert!(cases.len() > 19, "{}", cases.len());
    hold_to(&[Verifier::Reader], &cases);
}
