//! Each way the money can stand, as records, and what is said of it.

use serde_json::{Value, json};

use super::*;
use crate::digest::Digest;
use crate::event::{Event, Window};
use crate::evm::BlockHash;
use crate::facts::DisputeCode;
use crate::observation::{BlindCause, Block};

mod moved;

const ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abc";
const OFFER_ID: &str = "0190a1b2-c3d4-7e5f-8901-234567890abd";
const PAYER: &str = "0x0101010101010101010101010101010101010101";
const PAYEE: &str = "0x0202020202020202020202020202020202020202";

/// When the view is taken: 60 s after the first record.
const NOW: TimestampMs = TimestampMs::new(1_767_225_660_000);

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

fn offer_of(price: &str, fee: &str, total: &str) -> Value {
    let facts = json!({
        "request_id": ID, "price": price, "protocol_fee": fee, "total_cost": total,
        "deliverables_hash": Digest::ZERO, "estimated_time_s": 1, "expiry_s": 300, "payload_hash": Digest::ZERO,
    });
    accepted("offer", facts, json!({"deadline_at_ms": 5, "payee": PAYEE}))
}

fn offer() -> Value {
    offer_of("29000", "725", "29725")
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

fn transfers(amounts: &[u64]) -> Value {
    let transfer = |(ordinal, amount): (usize, &u64)| json!({"ordinal": ordinal, "from": PAYER, "to": PAYEE, "amount": amount.to_string()});
    amounts.iter().enumerate().map(transfer).collect()
}

fn evidence(byte: u8, level: &str, amounts: &[u64]) -> Value {
    json!({
        "network": "local", "tx_hash": hash(byte), "block": block(20), "depth": 12,
        "level": level, "endpoints": ["a", "b"], "transfer_count": amounts.len(),
        "transfers": transfers(amounts),
    })
}

fn claim(byte: u8, ordinal: u64) -> Value {
    json!({"chain_id": 31_337, "tx_hash": hash(byte), "ordinal": ordinal})
}

fn confirmed_by(evidence: &[Value], claims: &[Value]) -> Value {
    let zero = Digest::ZERO;
    json!({
        "type": "confirmed", "evidence": evidence, "claims": claims, "provider_seq": 0,
        "records": {"request": zero, "offer": zero, "accept": zero, "result": zero,
            "verify": zero, "payments": [zero]},
    })
}

fn confirmed(level: &str) -> Value {
    confirmed_by(&[evidence(7, level, &[5, 29_725])], &[claim(7, 1)])
}

fn late(byte: u8, amount: u64) -> Value {
    json!({"type": "late", "evidence": [evidence(byte, "confirmed", &[amount])],
        "claims": [claim(byte, 0)]})
}

fn seen(byte: u8, number: u64) -> Value {
    json!({"type": "seen", "tx_hash": hash(byte), "block": block(number),
        "transfers": transfers(&[29_725])})
}

fn named(kind: &str, byte: u8) -> Value {
    json!({"type": kind, "tx_hash": hash(byte)})
}

fn reversed(byte: u8) -> Value {
    json!({"type": "reversed", "tx_hash": hash(byte), "provider_seq": 1,
        "provider_prev": Digest::ZERO})
}

fn looked(look: u64, byte: u8, status: &str) -> Value {
    let mut finding = json!({"tx_hash": hash(byte), "status": status});
    if status == "seen" {
        finding["depth"] = json!(3);
    }
    json!({"type": "looked", "look": look, "due_at_ms": 1, "head": block(22), "finding": [finding]})
}

fn refuted(byte: u8, cause: RefutedCause) -> Value {
    json!({"type": "refuted", "tx_hash": hash(byte), "cause": cause, "code": cause.code(),
        "evidence": evidence(byte, "confirmed", &[1])})
}

fn lapsed(window: &str, code: Code) -> Value {
    json!({"type": "lapsed", "window": window, "code": code})
}

/// Head 26, confirmed at 12, no `safe` limit, the clock running.
fn live() -> Live {
    Live {
        clock: SettlementClock::Running,
        head: Some(Block {
            number: 26,
            hash: BlockHash::from_bytes([1; 32]),
            timestamp_s: 1,
        }),
        rules: Some(NetworkRules {
            confirmed_depth: 12,
            safe_above_micro_usdc: None,
        }),
        ..Live::nothing(NOW)
    }
}

fn due_look(look: u64) -> Live {
    let at_ms = NOW.saturating_add_ms(15_000);
    Live {
        due: Some(Due::Look { look, at_ms }),
        ..live()
    }
}

fn due_window(window: Window) -> Live {
    let at_ms = NOW.saturating_add_ms(30_000);
    Live {
        due: Some(Due::Window { window, at_ms }),
        ..live()
    }
}

fn view(values: &[Value], live: Live) -> SettlementView {
    let events: Vec<Event> = values
        .iter()
        .map(|v| Event::from_value(v).unwrap())
        .collect();
    let begun = TimestampMs::new(1_767_225_600_000);
    let records = events.iter().enumerate().map(|(seq, event)| Recorded {
        event,
        position: 100 + seq as u64,
        hash: Digest::of(&[seq as u8]),
        recorded_at_ms: begun.saturating_add_ms(1_000 * seq as u64),
        parameters: None,
    });
    SettlementView::of(ID.parse().unwrap(), records, live)
}

/// Where the money is after `more` behind a VERIFY that says yes.
fn verified(more: &[Value], live: Live) -> SettlementView {
    let mut events = vec![offer(), verify(true)];
    events.extend_from_slice(more);
    view(&events, live)
}

/// Its transactions are watched for almost a day.
fn watch() -> Live {
    let at_ms = NOW.saturating_add_ms(86_346_000);
    Live {
        due: Some(Due::Watch { at_ms }),
        ..live()
    }
}

/// A view, the name of its standing, whether that is paid, and the sentence.
type Row = (SettlementView, &'static str, ProviderPaid, String);

/// Before the confirmation.
fn waiting() -> Vec<Row> {
    let h7 = hash(7);
    vec![
        (
            view(&[offer()], due_window(Window::Accept)),
            "not_due",
            ProviderPaid::NotYet,
            "nothing is due yet: the interaction is offered; next, an ACCEPT or REJECT until \
             2026-01-01T00:01:30.000Z"
                .to_owned(),
        ),
        (
            verified(&[], due_window(Window::Payment)),
            "not_declared",
            ProviderPaid::NotYet,
            "not declared: the initiator has named no transaction; next, its PAYMENT until \
             2026-01-01T00:01:30.000Z, else the interaction is disputed"
                .to_owned(),
        ),
        (
            verified(&[payment(7)], due_window(Window::Confirmation)),
            "declared",
            ProviderPaid::NotYet,
            format!(
                "declared, not seen: the initiator named {h7}, in no block that this ledger \
                 follows; next, the confirmation; without it both parties are told at \
                 2026-01-01T00:01:30.000Z, and four looks follow"
            ),
        ),
        (
            verified(
                &[payment(7), looked(1, 7, "not_found"), seen(7, 20)],
                due_look(2),
            ),
            "seen",
            ProviderPaid::NotYet,
            "seen, 7 of 12 blocks; next, look 2 of 4 at 2026-01-01T00:01:15.000Z, with 1 of 4 \
             failures so far"
                .to_owned(),
        ),
        (
            verified(
                &[payment(7), refuted(7, RefutedCause::Reverted)],
                due_look(1),
            ),
            "refused",
            ProviderPaid::NotYet,
            format!(
                "refused because it reverted: {h7}, X811-5003 PAYMENT_FAILED; next, look 1 of 4 at \
                 2026-01-01T00:01:15.000Z, with 1 of 4 failures so far"
            ),
        ),
    ]
}

/// Once it was paid.
fn paid() -> Vec<Row> {
    let h7 = hash(7);
    vec![
        (
            verified(&[payment(7), confirmed("confirmed")], watch()),
            "confirmed",
            ProviderPaid::Yes,
            format!(
                "confirmed: 0.029725 USDC by {h7} in block 20; next, final once no reorganisation \
                 can take it away"
            ),
        ),
        (
            verified(&[payment(7), confirmed("safe")], watch()),
            "safe",
            ProviderPaid::Yes,
            format!(
                "confirmed and safe: 0.029725 USDC by {h7} in block 20; next, final once no \
                 reorganisation can take it away"
            ),
        ),
        (
            verified(
                &[
                    payment(7),
                    confirmed("confirmed"),
                    json!({"type": "final", "head": block(90)}),
                ],
                watch(),
            ),
            "final",
            ProviderPaid::Yes,
            format!("final: 0.029725 USDC by {h7} in block 20, for good"),
        ),
        (
            verified(&[payment(7), confirmed("confirmed"), reversed(7)], watch()),
            "reversed",
            ProviderPaid::No,
            format!(
                "REVERSED: {h7} was confirmed and then disappeared; it counts again if it comes back until \
                 2026-01-02T00:00:06.000Z"
            ),
        ),
        (
            verified(
                &[
                    payment(7),
                    confirmed("confirmed"),
                    reversed(7),
                    seen(7, 23),
                    named("returned", 7),
                ],
                watch(),
            ),
            "returned",
            ProviderPaid::Yes,
            format!(
                "confirmed again: 0.029725 USDC by {h7} in block 23, after it had disappeared; \
                 next, final once no reorganisation can take it away"
            ),
        ),
    ]
}

/// In dispute, or ended.
fn ended() -> Vec<Row> {
    let (h8, four) = (hash(8), |byte| {
        (1..=4).map(move |look| looked(look, byte, "not_found"))
    });
    vec![
        (
            verified(
                &[
                    [payment(8)].to_vec(),
                    four(8).collect(),
                    vec![late(8, 29_725)],
                ]
                .concat(),
                watch(),
            ),
            "late",
            ProviderPaid::Yes,
            format!("paid late: 0.029725 USDC by {h8} in block 20, after the dispute, which stays"),
        ),
        (
            verified(
                &[[payment(7)].to_vec(), four(7).collect()].concat(),
                watch(),
            ),
            "disputed",
            ProviderPaid::No,
            "disputed: X811-5030 PAYMENT_CONFIRMATION_TIMEOUT; a transfer that still comes is \
             recorded until 2026-01-02T00:00:06.000Z"
                .to_owned(),
        ),
        (
            verified(
                &[
                    [payment(7), refuted(7, RefutedCause::Short)].to_vec(),
                    four(7).take(3).collect(),
                ]
                .concat(),
                watch(),
            ),
            "disputed",
            ProviderPaid::No,
            "disputed: X811-5001 INSUFFICIENT_BALANCE; a transfer that still comes is recorded \
             until 2026-01-02T00:00:06.000Z"
                .to_owned(),
        ),
        (
            view(&[offer(), verify(false)], live()),
            "disputed",
            ProviderPaid::No,
            "disputed: the initiator does not take the result, QUALITY".to_owned(),
        ),
        (
            verified(&[lapsed("payment", Code::PaymentTimeout)], live()),
            "disputed",
            ProviderPaid::No,
            "disputed: X811-4024 PAYMENT_TIMEOUT".to_owned(),
        ),
        (
            view(
                &[
                    offer_of("0", "0", "0"),
                    verify(true),
                    payment(7),
                    confirmed_by(&[], &[]),
                ],
                live(),
            ),
            "nothing_due",
            ProviderPaid::Yes,
            "nothing was due".to_owned(),
        ),
        (
            view(&[offer(), lapsed("verify", Code::VerifyTimeout)], live()),
            "closed",
            ProviderPaid::No,
            "nothing came due: the interaction is failed, X811-4023 VERIFY_TIMEOUT".to_owned(),
        ),
    ]
}

#[test]
fn every_standing_says_where_the_money_is_what_happens_next_and_when() {
    for (view, name, paid, sentence) in [waiting(), paid(), ended()].concat() {
        assert_eq!(view.standing.name(), name, "{view:#?}");
        assert_eq!(
            (view.paid, view.sentence.as_str()),
            (paid, sentence.as_str())
        );
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(
            json["payee"], PAYEE,
            "with its checksum, which this one has none of"
        );
        assert_eq!(json["standing"]["kind"], name);
        let again: SettlementView = serde_json::from_value(json).unwrap();
        assert_eq!(again, view, "it is read back as it was written");
    }
}

#[test]
fn a_total_above_the_limit_waits_for_safe_once_it_is_deep() {
    let limit = MicroUsdc::from_micro_usdc(29_724).ok();
    let mut live = due_look(1);
    let rules = live.rules.as_mut().unwrap();
    rules.safe_above_micro_usdc = limit;
    let events = [payment(7), seen(7, 15)];
    let view = verified(&events, live.clone());
    assert_eq!(view.standing, MoneyStanding::WaitingForSafe { depth: 12 });
    assert!(
        view.sentence
            .starts_with("seen, 12 blocks deep; a total this large waits"),
        "{}",
        view.sentence
    );
    // One block less is the usual waiting.
    let view = verified(&[payment(7), seen(7, 16)], live);
    let (depth, of) = (Some(11), Some(12));
    assert_eq!(view.standing, MoneyStanding::Seen { depth, of });
}

#[test]
fn of_several_transactions_the_least_deep_one_counts() {
    let view = verified(
        &[payment(7), payment(8), seen(7, 20), seen(8, 25)],
        due_look(1),
    );
    let (depth, of) = (Some(2), Some(12));
    assert_eq!(view.standing, MoneyStanding::Seen { depth, of });
    assert_eq!(view.transactions[0].depth, Some(7));
    let view = verified(&[payment(7), payment(8), seen(7, 20)], due_look(1));
    assert!(
        view.sentence
            .starts_with("seen, 7 of 12 blocks, one more transaction not seen;"),
        "{}",
        view.sentence
    );
}

#[test]
fn blindness_is_told_with_its_cause_its_bound_and_what_is_left() {
    let mut live = due_look(3);
    live.clock = SettlementClock::Stopped {
        since_ms: TimestampMs::new(1_767_225_630_000),
        cause: Some(BlindCause::StaleHead),
        operator_called_at_ms: Some(TimestampMs::new(1_767_312_030_000)),
    };
    let view = verified(&[payment(7)], live);
    assert_eq!(view.standing, MoneyStanding::Declared);
    assert_eq!((view.next.what, view.next.at_ms), (NextStep::Sight, None));
    for part in [
        "its clock stands still since 2026-01-01T00:00:30.000Z because the newest block is old, and \
         nothing is held against anybody",
        "next, look 3 of 4 15 s after the network is seen again",
        "the operator is called at 2026-01-02T00:00:30.000Z",
    ] {
        assert!(view.sentence.contains(part), "{}", view.sentence);
    }
}

/// What is still expected of transactions once it is over, each with its step.
fn after_the_end() -> [(Vec<Value>, NextStep); 4] {
    let looks: Vec<Value> = (1..=4).map(|look| looked(look, 7, "not_found")).collect();
    let disputed = [vec![payment(7)], looks].concat();
    let paid = vec![payment(7), confirmed("confirmed")];
    [
        (paid.clone(), NextStep::Final),
        ([paid, vec![reversed(7)]].concat(), NextStep::Return),
        (disputed.clone(), NextStep::Late),
        ([disputed, vec![late(7, 29_000)]].concat(), NextStep::Late),
    ]
}

#[test]
fn nothing_is_announced_once_nothing_is_watched() {
    for (events, step) in after_the_end() {
        let watched = verified(&events, watch());
        assert_eq!(watched.next.what, step);
        // Until the end of the watch, not from the end of the interaction on.
        let at_ms = (step != NextStep::Final).then(|| watch().due.unwrap().at_ms());
        assert_eq!(watched.next.at_ms, at_ms);
        let idle = Live {
            clock: SettlementClock::Idle,
            ..live()
        };
        let left = verified(&events, idle);
        assert_eq!((left.next.what, left.next.at_ms), (NextStep::Nothing, None));
        assert_eq!(
            left.standing, watched.standing,
            "the money stays where it is"
        );
        assert!(!left.sentence.contains("; "), "{}", left.sentence);
        // With the records alone nobody knows how long it is watched.
        let alone = verified(&events, Live::nothing(NOW));
        assert_eq!((alone.next.what, alone.next.at_ms), (step, None));
    }
}

#[test]
fn a_clock_that_stands_still_after_the_end_is_told() {
    for (events, step) in after_the_end() {
        let mut live = watch();
        live.clock = SettlementClock::Stopped {
            since_ms: TimestampMs::new(1_767_225_630_000),
            cause: Some(BlindCause::Unreachable),
            operator_called_at_ms: Some(TimestampMs::new(1_767_312_030_000)),
        };
        let view = verified(&events, live);
        assert_eq!((view.next.what, view.next.at_ms), (step, None));
        for part in [
            "; its clock stands still since 2026-01-01T00:00:30.000Z because no endpoint answers",
            "next, the end of what is recorded 86346 s after the network is seen again",
            "the operator is called at 2026-01-02T00:00:30.000Z",
        ] {
            assert!(view.sentence.contains(part), "{}", view.sentence);
        }
        assert!(!view.sentence.contains(" until 2026"), "{}", view.sentence);
    }
}

#[test]
fn only_claimed_transfers_are_paid_and_what_exceeds_the_total_is_surplus() {
    let view = verified(&[payment(7), confirmed("confirmed")], live());
    assert_eq!(view.paid_micro_usdc.as_micro_usdc(), 29_725);
    assert_eq!(view.surplus_micro_usdc, MicroUsdc::ZERO);
    assert_eq!(
        view.transactions[0]
            .amount_micro_usdc
            .unwrap()
            .as_micro_usdc(),
        29_730,
        "all that was seen is told of the transaction"
    );
    assert_eq!(view.transactions[0].endpoints, ["a", "b"]);
    assert_eq!(view.proof.unwrap().position, 103);
    let all = confirmed_by(
        &[evidence(7, "confirmed", &[5, 29_725])],
        &[claim(7, 0), claim(7, 1)],
    );
    let view = verified(&[payment(7), all], live());
    assert_eq!(view.surplus_micro_usdc.as_micro_usdc(), 5);
    assert!(
        view.sentence
            .starts_with("confirmed: 0.02973 USDC, 0.000005 USDC of it too much by 0x"),
        "{}",
        view.sentence
    );
}

#[test]
fn a_reversal_of_surplus_alone_takes_nothing_away() {
    let events = [
        payment(7),
        confirmed("confirmed"),
        late(8, 100),
        reversed(8),
    ];
    let view = verified(&events, live());
    assert_eq!(view.standing, MoneyStanding::Confirmed);
    assert_eq!(view.paid_micro_usdc.as_micro_usdc(), 29_725);
    assert_eq!(view.transactions[1].standing, TransactionStanding::Reversed);
    // Nor is a surplus missed that is in no block at the moment; it is told.
    let events = [
        payment(7),
        confirmed("confirmed"),
        late(8, 100),
        named("unseen", 8),
    ];
    let view = verified(&events, live());
    assert_eq!(view.standing, MoneyStanding::Confirmed);
    assert!(
        view.sentence.contains("at the moment in no block"),
        "{}",
        view.sentence
    );
}

#[test]
fn late_transfers_are_paid_once_they_cover_the_total() {
    let mut events = vec![payment(7)];
    events.extend((1..=4).map(|look| looked(look, 7, "not_found")));
    events.push(late(7, 29_000));
    let view = verified(&events, watch());
    assert_eq!(
        (view.standing, view.paid),
        (MoneyStanding::Late { in_full: false }, ProviderPaid::No)
    );
    events.push(late(8, 725));
    let view = verified(&events, watch());
    assert_eq!(
        (view.standing, view.paid),
        (MoneyStanding::Late { in_full: true }, ProviderPaid::Yes)
    );
    assert_eq!(view.paid_micro_usdc, view.due_micro_usdc.unwrap());
}

#[test]
fn a_new_payment_takes_the_refusal_of_the_old_one_off_the_front() {
    let refused = [payment(7), refuted(7, RefutedCause::OtherPayee)];
    let view = verified(&refused, due_look(1));
    assert_eq!(
        view.standing,
        MoneyStanding::Refused {
            cause: RefutedCause::OtherPayee,
            reason: None,
            code: Code::InvalidPaymentAddress,
            tx_hash: hash(7).parse().unwrap(),
        }
    );
    let again = [refused.to_vec(), vec![payment(8)]].concat();
    let view = verified(&again, due_look(1));
    assert_eq!((view.standing, view.failures), (MoneyStanding::Declared, 1));
    assert!(matches!(
        view.transactions[0].standing,
        TransactionStanding::Refuted { .. }
    ));
}

#[test]
fn an_auditor_with_the_records_alone_gets_the_same_standing() {
    for events in [
        vec![payment(7), confirmed("confirmed")],
        vec![payment(7), confirmed("confirmed"), reversed(7)],
        vec![payment(7)],
        vec![],
    ] {
        let alone = verified(&events, Live::nothing(NOW));
        let served = verified(&events, live());
        assert_eq!(alone.standing, served.standing);
        assert_eq!(alone.paid_micro_usdc, served.paid_micro_usdc);
    }
    let disputed = view(&[offer(), verify(false)], Live::nothing(NOW));
    assert_eq!(
        disputed.standing,
        MoneyStanding::Disputed {
            code: None,
            dispute_code: Some(DisputeCode::Quality)
        }
    );
}
