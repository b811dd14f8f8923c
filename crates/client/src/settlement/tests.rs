//! What is said of the money, held against the records: a ledger that lies about it is found out.

use std::sync::Arc;

use serde_json::{Value, json};
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::settlement_view::{MoneyStanding, ProviderPaid};
use x811_protocol::time::TimestampMs;

use super::*;
use crate::http::RetryPolicy;
use crate::testing::{CountingEntropy, ManualClock, Step, scripted_ledger};

const ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";
const DID: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
const NOW: TimestampMs = TimestampMs::new(3);

/// The record at that place: the interaction failed, or it is about to.
fn record(seq: u64) -> Value {
    let leaf = json!({
        "v": 1, "position": 10 + seq, "prev": Digest::ZERO, "recorded_at_ms": 1_000 + seq,
        "stream": format!("interaction:{ID}"), "stream_seq": seq,
        "event": {"type": "lapsed", "window": "verify", "code": "X811-4023"},
    });
    let hash = Digest::of_parts(&[&[0], &to_canonical(&leaf)]);
    json!({
        "position": 10 + seq, "record_hash": hash, "recorded_at_ms": 1_000 + seq,
        "stream_seq": seq, "leaf": leaf,
    })
}

fn interaction(records: u64) -> Value {
    json!({
        "id": ID, "initiator": DID, "provider": DID, "state": "failed", "opened_at_ms": 1,
        "updated_at_ms": 2, "last_position": 9 + records,
    })
}

/// What so many records show.
fn honest(records: u64) -> SettlementView {
    let entries = (0..records).map(|seq| {
        let record: crate::http::HistoryRecord = serde_json::from_value(record(seq)).unwrap();
        let event = record.event().unwrap();
        crate::transcript::Entry { record, event }
    });
    let transcript = Transcript {
        view: serde_json::from_value(interaction(records)).unwrap(),
        entries: entries.collect(),
    };
    transcript.settlement(Live::nothing(NOW))
}

/// How a ledger with that many records answers a read that ends with `told`.
fn steps(records: u64, told: &Value) -> [Step; 3] {
    let all: Vec<Value> = (0..records).map(record).collect();
    let history = json!({"interaction": {}, "records": all});
    [
        Step::json(200, history),
        Step::json(200, interaction(records)),
        Step::json(200, told),
    ]
}

async fn asked(steps: Vec<Step>) -> Result<SettlementView, ClientError> {
    // Every test of the crate may be the first; all install the same provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (base, _) = scripted_ledger(steps).await;
    let (clock, entropy): (Arc<ManualClock>, Arc<CountingEntropy>) = Default::default();
    let policy = RetryPolicy {
        attempts: 1,
        first_delay_ms: 1,
        max_delay_ms: 1,
    };
    let client = LedgerClient::with(&base, policy, clock, entropy).unwrap();
    let (_, view) = settlement(&client, ID.parse().unwrap()).await?;
    Ok(view)
}

fn json_of(view: &SettlementView) -> Value {
    serde_json::to_value(view).unwrap()
}

#[test]
fn a_transcript_tells_where_the_money_is() {
    let view = honest(1);
    assert_eq!((view.paid, view.last_position), (ProviderPaid::No, 10));
    assert!(matches!(view.standing, MoneyStanding::Closed { .. }));
    assert_eq!(view.interaction_id, ID.parse().unwrap());
}

#[tokio::test]
async fn what_the_records_show_is_believed() {
    let told = honest(1);
    let view = asked(steps(1, &json_of(&told)).into()).await.unwrap();
    assert_eq!(view, told);
}

/// One member after the other, each as it would have to be for somebody to gain by it.
#[tokio::test]
async fn a_ledger_that_says_something_else_than_its_records_is_not_believed() {
    let tx_hash = format!("0x{}", "ab".repeat(32));
    let transaction = json!({"tx_hash": tx_hash, "standing": {"kind": "seen"}});
    let claim = json!({"chain_id": 8_453, "tx_hash": tx_hash, "ordinal": 0});
    let proof = json!({"position": 10, "record_hash": Digest::ZERO, "recorded_at_ms": 1});
    let lies = [
        ("paid", json!("yes")),
        ("standing", json!({"kind": "confirmed"})),
        ("standing", json!({"kind": "closed"})),
        ("sentence", json!("confirmed: 10 USDC")),
        ("state", json!("completed")),
        ("next", json!({"what": "final"})),
        ("interaction_id", json!(ID.replace("abc", "abd"))),
        ("network", json!("base")),
        ("payee", json!("0x0202020202020202020202020202020202020202")),
        ("due_micro_usdc", json!("1")),
        ("paid_micro_usdc", json!("1")),
        ("surplus_micro_usdc", json!("1")),
        ("transactions", json!([transaction])),
        ("claims", json!([claim])),
        ("failures", json!(1)),
        ("failures_to_dispute", json!(1)),
        ("proof", proof),
    ];
    for (member, lie) in lies {
        let mut told = json_of(&honest(1));
        told[member] = lie;
        let error = asked(steps(1, &told).into()).await.unwrap_err();
        let ClientError::Untrusted { cause } = &error else {
            panic!("{member}: {error}");
        };
        assert!(
            cause.contains("but its records show `nothing came due"),
            "{cause}"
        );
    }
}

#[tokio::test]
async fn what_happened_between_two_reads_is_read_again() {
    let newer = json_of(&honest(2));
    let answers = [steps(1, &newer), steps(2, &newer)];
    let answers = answers.into_iter().flatten().collect();
    assert_eq!(json_of(&asked(answers).await.unwrap()), newer);
}

#[tokio::test]
async fn a_ledger_that_is_never_as_far_as_its_records_is_not_believed() {
    let ahead = json_of(&honest(2));
    let answers = (0..TRIES).flat_map(|_| steps(1, &ahead)).collect();
    let error = asked(answers).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Untrusted { cause } if cause.contains("never says")),
        "{error}"
    );
}

/// A ledger that leaves out records of the history as well is caught by the whole log alone; one
/// that alters a record is caught here.
#[tokio::test]
async fn rec_1_a_record_that_is_altered_for_it_is_found_out() {
    let mut answers = steps(1, &json_of(&honest(1)));
    let mut altered = record(0);
    altered["leaf"]["event"]["code"] = json!("X811-4024");
    let history = json!({"interaction": {}, "records": [altered]});
    answers[0] = Step::json(200, history);
    let error = asked(answers.into()).await.unwrap_err();
    assert!(matches!(error, ClientError::Untrusted { .. }), "{error}");
}
