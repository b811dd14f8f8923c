//! Records that say what they should in another spelling than the one there is (record.md section 1),
//! and files with a line too many (FORMAT.md, Bundles).

use serde_json::{Value, json};
use x811_audit::{Cause, audit_export};

use super::bundles::{bundle, signed};
use super::forger::Forger;
use super::ledgerbox::Ledgerbox;
use super::scene::{audit, causes_at, exported, exported_under, found, settled_and_disputed};

fn upper(value: &Value) -> Value {
    let text = value.as_str().unwrap().to_uppercase();
    // The prefix is no digit.
    json!(
        text.replacen("0X", "0x", 1)
            .replacen("DID:X811:", "did:x811:", 1)
    )
}

/// An object as the array of its members, in the order in which the reader knows them.
fn as_array(members: &[&str]) -> impl Fn(&Value) -> Value {
    move |value| members.iter().map(|name| value[*name].clone()).collect()
}

fn as_object(value: &Value) -> Value {
    json!({ value.as_str().unwrap(): {} })
}

/// Asserts that this record cannot be read once that member is spelled otherwise.
#[track_caller]
fn is_unreadable(honest: &Forger, at: usize, member: &str, spell: impl Fn(&Value) -> Value) {
    let mut forger = honest.clone();
    let value = forger.parts.records[at].member(member);
    let other = spell(value);
    assert_ne!(*value, other, "{member} is spelled otherwise");
    *value = other;
    let report = forger.report();
    let first = (at as u64, "event", Cause::Unreadable);
    assert!(
        found(&report).contains(&first),
        "{member}: {:?}",
        found(&report)
    );
}

#[tokio::test]
async fn rec_1_ids_hashes_and_addresses_in_upper_case_are_found() {
    let honest = Forger::at(&settled_and_disputed().await).await;
    let messages = [
        ("x811/request", "/envelope/id"),
        ("x811/request", "/envelope/from"),
        ("x811/request", "/envelope/digest"),
        ("x811/request", "/envelope/nonce_tag"),
        ("x811/request", "/facts/idempotency_tag"),
        ("x811/offer", "/facts/request_id"),
        ("x811/offer", "/derived/payee"),
        ("x811/payment", "/facts/payer_address"),
    ];
    for (message, member) in messages {
        is_unreadable(&honest, honest.parts.find_message(message), member, upper);
    }
    let events = [
        ("ledger_opened", "/log_id"),
        ("ledger_opened", "/did"),
        ("parameters_set", "/networks/0/token"),
        ("agent_registered", "/document_digest"),
        ("confirmed", "/evidence/0/block/hash"),
        ("confirmed", "/records/request"),
        ("notice_issued", "/to"),
    ];
    for (event, member) in events {
        is_unreadable(&honest, honest.parts.find_event(event), member, upper);
    }
}

/// A log id is read in any of the forms that UUIDs are written in.
#[tokio::test]
async fn rec_1_a_log_id_has_one_form() {
    let honest = Forger::at(&Ledgerbox::open().await).await;
    let without_hyphens = |value: &Value| json!(value.as_str().unwrap().replace('-', ""));
    let as_urn = |value: &Value| json!(format!("urn:uuid:{}", value.as_str().unwrap()));
    let in_braces = |value: &Value| json!(format!("{{{}}}", value.as_str().unwrap()));
    is_unreadable(&honest, 0, "/log_id", without_hyphens);
    is_unreadable(&honest, 0, "/log_id", as_urn);
    is_unreadable(&honest, 0, "/log_id", in_braces);
}

#[tokio::test]
async fn rec_1_members_as_arrays_and_words_as_objects_are_found() {
    let honest = Forger::at(&settled_and_disputed().await).await;
    let block = as_array(&["hash", "number", "timestamp_s"]);
    let keys = as_array(&["envelope", "checkpoint", "receipt"]);
    let claim = as_array(&["chain_id", "tx_hash", "ordinal"]);
    let (confirmed, lapsed) = (
        honest.parts.find_event("confirmed"),
        honest.parts.find_event("lapsed"),
    );
    is_unreadable(&honest, confirmed, "/evidence/0/block", block);
    is_unreadable(&honest, confirmed, "/claims/0", claim);
    is_unreadable(&honest, 0, "/keys", keys);
    is_unreadable(&honest, lapsed, "/window", as_object);
    is_unreadable(&honest, 1, "/payer_binding", as_object);
    let request = honest.parts.find_message("x811/request");
    is_unreadable(&honest, request, "/envelope/profile", as_object);
}

#[tokio::test]
async fn rec_4_a_stream_in_upper_case_is_none() {
    let honest = Forger::at(&settled_and_disputed().await).await;
    for (event, kind) in [
        ("agent_registered", "agent:"),
        ("confirmed", "interaction:"),
    ] {
        let mut forger = honest.clone();
        let at = forger.parts.find_event(event);
        let stream = &mut forger.parts.records[at].draft.stream;
        let id = stream.strip_prefix(kind).unwrap();
        *stream = format!("{kind}{}", upper(&json!(id)).as_str().unwrap());
        let causes = causes_at(&forger.report(), at as u64);
        assert!(causes.contains(&Cause::StateDiffers), "{event}: {causes:?}");
    }
}

/// The first logs had fewer limits, which is no other spelling.
#[tokio::test]
async fn rec_2_parameters_of_the_first_logs_are_clean() {
    let mut forger = Forger::at(&Ledgerbox::open().await).await;
    let limits = forger.parts.records[1].member("/limits");
    let limits = limits.as_object_mut().unwrap();
    for newer in [
        "open_per_initiator",
        "open_per_pair",
        "body_bytes_per_day",
        "refusals_per_window",
    ] {
        limits.remove(newer).unwrap();
        let limits = limits.clone();
        let mut forger = Forger {
            parts: super::scene::Parts::of(&exported(&Ledgerbox::open().await).await),
        };
        *forger.parts.records[1].member("/limits") = Value::Object(limits);
        assert_eq!(found(&forger.report()), [], "{newer}");
    }
    is_unreadable(&forger, 1, "/networks/0/token", upper);
}

fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines.map(<[u8]>::to_vec).collect()
}

#[tokio::test]
async fn every_line_of_an_export_that_is_there_twice_is_found() {
    let ledgerbox = settled_and_disputed().await;
    let size = ledgerbox.records().await.len();
    let note = signed(&ledgerbox, size - 3).await;
    let bytes = exported_under(&ledgerbox, Some(&note)).await;
    assert_eq!(found(&audit(&bytes)), []);
    let lines = lines(&bytes);
    for (index, line) in lines.iter().enumerate() {
        let mut doubled = lines.clone();
        doubled.insert(index, line.clone());
        let report = audit(&doubled.concat());
        let start = String::from_utf8_lossy(&line[..20]).into_owned();
        assert!(!report.is_clean(), "line {}: {start}", index + 1);
        if !line.starts_with(b"r ") {
            let causes = report.findings.iter().map(|finding| finding.cause);
            assert!(
                causes.clone().any(|cause| cause == Cause::FormatBroken),
                "{start}"
            );
        }
    }
}

#[tokio::test]
async fn every_line_of_a_bundle_that_is_there_twice_is_found() {
    let ledgerbox = settled_and_disputed().await;
    let id = super::bundles::interactions(&ledgerbox).await[0];
    let bytes = bundle(&ledgerbox, id).await;
    let lines = lines(&bytes);
    for (index, line) in lines.iter().enumerate() {
        let mut doubled = lines.clone();
        doubled.insert(index, line.clone());
        let report = audit_export(&doubled.concat()[..], None).unwrap();
        let start = String::from_utf8_lossy(&line[..20]).into_owned();
        assert!(!report.is_clean(), "line {}: {start}", index + 1);
    }
}
