//! Each way an interaction can stand, as records, and what a provider is told.

use serde_json::{Value, json};

use super::*;
use crate::http::{HistoryRecord, InteractionView};

const ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";
const OFFER_ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abd";
const PAYER: &str = "0x0101010101010101010101010101010101010101";
const PAYEE: &str = "0x0202020202020202020202020202020202020202";

fn hash(byte: u8) -> String {
    format!("0x{}", hex::encode([byte; 32]))
}

fn block(number: u64) -> Value {
    json!({"number": number, "hash": hash(0xb0), "timestamp_s": 1_700_000_000})
}

fn accepted(kind: &str, facts: Value, derived: Value) -> Value {
    let did = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
    let key = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";
    json!({
        "type": "envelope_accepted", "facts": facts, "derived": derived,
        "envelope": {
            "id": OFFER_ID, "type": format!("x811/{kind}"), "version": "0.1.0", "from": did,
            "to": "did:x811:019c8c61-8129-7511-9f31-aa5142e65449", "created_ms": 1,
            "key": format!("{did}#{key}"), "profile": "digest", "digest": Digest::ZERO,
            "signature": "A".repeat(86), "nonce_tag": Digest::ZERO, "size": 1,
        },
    })
}

fn offer() -> Value {
    let facts = json!({
        "request_id": ID, "price": "29000", "protocol_fee": "725", "total_cost": "29725",
        "estimated_time_s": 1, "expiry_s": 300, "payload_hash": Digest::ZERO,
    });
    accepted("offer", facts, json!({"deadline_at_ms": 5, "payee": PAYEE}))
}

fn verify(verified: bool) -> Value {
    let mut facts = json!({
        "request_id": ID, "offer_id": OFFER_ID, "result_hash": Digest::ZERO, "verified": verified,
    });
    if !verified {
        facts["dispute_code"] = json!("QUALITY");
    }
    accepted("verify", facts, json!({}))
}

fn payment(byte: u8) -> Value {
    let facts = json!({
        "request_id": ID, "offer_id": OFFER_ID, "tx_hash": hash(byte), "amount": "29725",
        "payer_address": PAYER, "payee_address": PAYEE, "network": "local",
    });
    accepted("payment", facts, json!({"payer_binding": "wallet"}))
}

fn evidence(byte: u8, amounts: &[u64]) -> Value {
    let transfer = |(ordinal, amount): (usize, &u64)| json!({"ordinal": ordinal, "from": PAYER, "to": PAYEE, "amount": amount.to_string()});
    json!({
        "network": "local", "tx_hash": hash(byte), "block": block(20), "depth": 12,
        "level": "confirmed", "endpoints": ["a"], "transfer_count": amounts.len(),
        "transfers": amounts.iter().enumerate().map(transfer).collect::<Vec<_>>(),
    })
}

fn claim(byte: u8, ordinal: u64) -> Value {
    json!({"chain_id": 31_337, "tx_hash": hash(byte), "ordinal": ordinal})
}

fn confirmed() -> Value {
    let zero = Digest::ZERO;
    json!({
        "type": "confirmed", "evidence": [evidence(7, &[5, 29_725])], "claims": [claim(7, 1)],
        "records": {"request": zero, "offer": zero, "accept": zero, "result": zero,
            "verify": zero, "payments": [zero]},
        "provider_seq": 0,
    })
}

fn late(byte: u8, amount: u64) -> Value {
    json!({"type": "late", "evidence": [evidence(byte, &[amount])], "claims": [claim(byte, 0)]})
}

fn looked(look: u64, status: &str) -> Value {
    let mut finding = json!({"tx_hash": hash(7), "status": status});
    if status == "seen" {
        finding["depth"] = json!(3);
    }
    json!({"type": "looked", "look": look, "due_at_ms": 1, "head": block(22), "finding": [finding]})
}

fn refuted(cause: RefutedCause) -> Value {
    json!({"type": "refuted", "tx_hash": hash(7), "cause": cause, "code": cause.code(),
        "evidence": evidence(7, &[1])})
}

fn lapsed(window: &str, code: Code) -> Value {
    json!({"type": "lapsed", "window": window, "code": code})
}

fn status(state: StateName, events: &[Value]) -> PaymentStatus {
    let entries = events.iter().enumerate().map(|(index, event)| {
        let seq = index as u64;
        Entry {
            event: Event::from_value(event).unwrap(),
            record: HistoryRecord {
                position: 100 + seq,
                record_hash: Digest::of(&[seq as u8]),
                recorded_at_ms: TimestampMs::new(1_000 + seq),
                stream_seq: seq,
                leaf: Value::Null,
            },
        }
    });
    let did = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448"
        .parse()
        .unwrap();
    payment_status(&Transcript {
        entries: entries.collect(),
        view: InteractionView {
            id: ID.parse().unwrap(),
            initiator: did,
            provider: did,
            state,
            total: None,
            deadline_at_ms: Some(TimestampMs::new(77)),
            opened_at_ms: TimestampMs::new(1),
            updated_at_ms: TimestampMs::new(2),
            last_position: 0,
        },
    })
}

fn unpaid_because(status: PaymentStatus) -> UnpaidCause {
    let PaymentStatus::No(unpaid) = status else {
        panic!("{status:?}");
    };
    unpaid.why
}

fn settled(status: PaymentStatus) -> Settled {
    let PaymentStatus::Yes(settled) = status else {
        panic!("{status:?}");
    };
    settled
}

#[test]
fn nothing_is_due_before_the_work_is_verified() {
    for state in [
        StateName::Pending,
        StateName::Offered,
        StateName::Accepted,
        StateName::Delivered,
    ] {
        let expected = PaymentStatus::NotYet(Waiting::Work { state });
        assert_eq!(status(state, &[offer()]), expected);
    }
}

#[test]
fn a_verified_interaction_waits_for_payment_and_then_for_base() {
    let waiting = Waiting::Payment {
        deadline_at_ms: Some(TimestampMs::new(77)),
    };
    let verified = [offer(), verify(true)];
    assert_eq!(
        status(StateName::Verified, &verified),
        PaymentStatus::NotYet(waiting)
    );

    let seen = json!({"type": "seen", "tx_hash": hash(7), "block": block(20), "transfers": []});
    let events = [
        offer(),
        verify(true),
        payment(7),
        payment(8),
        seen,
        looked(1, "seen"),
    ];
    let PaymentStatus::NotYet(Waiting::Confirmation {
        transactions,
        looks,
    }) = status(StateName::Verified, &events)
    else {
        panic!("{events:?}");
    };
    assert_eq!(looks, 0, "a pending look keeps its number");
    assert_eq!(
        (transactions[0].block_number, transactions[0].depth),
        (Some(20), Some(3))
    );
    assert_eq!(
        (transactions.len(), transactions[1].block_number),
        (2, None)
    );

    let events = [
        payment(7),
        looked(1, "not_found"),
        refuted(RefutedCause::Short),
    ];
    let PaymentStatus::NotYet(Waiting::Confirmation {
        transactions,
        looks,
    }) = status(StateName::Verified, &events)
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (looks, transactions[0].refuted),
        (1, Some(RefutedCause::Short))
    );
}

#[test]
fn ax_007_paid_is_what_the_evidence_shows() {
    let events = [offer(), verify(true), payment(7), confirmed()];
    let settled = settled(status(StateName::Completed, &events));
    assert_eq!(
        settled.amount.as_micro_usdc(),
        29_725,
        "only the claimed transfer counts"
    );
    assert_eq!((settled.position, settled.late), (103, false));
    assert_eq!(settled.evidence[0].block.number, 20);
}

#[test]
fn a_reversed_transfer_is_not_paid_until_it_returns() {
    let reversed = json!({"type": "reversed", "tx_hash": hash(7), "provider_seq": 1,
        "provider_prev": Digest::ZERO});
    let mut events = vec![offer(), payment(7), confirmed(), reversed];
    let why = unpaid_because(status(StateName::Completed, &events));
    assert_eq!(
        why,
        UnpaidCause::Reversed {
            tx_hash: hash(7).parse().unwrap()
        }
    );
    events.push(json!({"type": "returned", "tx_hash": hash(7)}));
    settled(status(StateName::Completed, &events));
}

#[test]
fn late_transfers_count_once_they_cover_the_total() {
    let mut events = vec![offer(), payment(7), looked(4, "not_found"), late(7, 29_000)];
    let why = unpaid_because(status(StateName::Disputed, &events));
    assert_eq!(
        why,
        UnpaidCause::NoPayment {
            code: Code::PaymentConfirmationTimeout
        }
    );
    events.push(late(8, 725));
    let settled = settled(status(StateName::Disputed, &events));
    assert_eq!(
        (settled.amount.as_micro_usdc(), settled.late),
        (29_725, true)
    );
    assert_eq!((settled.evidence.len(), settled.position), (2, 104));
}

#[test]
fn each_way_of_not_being_paid_has_its_cause() {
    use StateName::{Disputed, Expired, Failed, Rejected};
    let lapsed_by = |code| UnpaidCause::Lapsed { code };
    let table = [
        (Rejected, vec![offer()], UnpaidCause::Rejected),
        (
            Expired,
            vec![lapsed("offer", Code::RequestTimeout)],
            lapsed_by(Code::RequestTimeout),
        ),
        (
            Failed,
            vec![offer(), lapsed("verify", Code::VerifyTimeout)],
            lapsed_by(Code::VerifyTimeout),
        ),
        (
            Disputed,
            vec![
                offer(),
                verify(true),
                lapsed("payment", Code::PaymentTimeout),
            ],
            lapsed_by(Code::PaymentTimeout),
        ),
        (
            Disputed,
            vec![offer(), verify(false)],
            UnpaidCause::ResultDisputed {
                dispute_code: Some(DisputeCode::Quality),
            },
        ),
        (
            Disputed,
            vec![
                payment(7),
                lapsed("confirmation", Code::PaymentConfirmationTimeout),
                looked(4, "not_found"),
            ],
            UnpaidCause::NoPayment {
                code: Code::PaymentConfirmationTimeout,
            },
        ),
        (
            Disputed,
            vec![
                payment(7),
                refuted(RefutedCause::Short),
                looked(4, "refuted"),
            ],
            UnpaidCause::NoPayment {
                code: Code::InsufficientBalance,
            },
        ),
    ];
    for (state, events, expected) in table {
        assert_eq!(unpaid_because(status(state, &events)), expected, "{state}");
    }
}

#[test]
fn the_answer_is_a_json_object_with_one_word() {
    let value = serde_json::to_value(status(StateName::Pending, &[])).unwrap();
    let expected = json!({"paid": "not_yet", "waiting_for": "work", "state": "pending"});
    assert_eq!(value, expected);
    let value =
        serde_json::to_value(status(StateName::Completed, &[offer(), confirmed()])).unwrap();
    assert_eq!(
        (&value["paid"], &value["amount"]),
        (&json!("yes"), &json!("29725"))
    );
}
