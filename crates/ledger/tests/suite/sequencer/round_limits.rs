//! What a proposer may cost others in a day, and rounds that fail for lack of the same voters on a running
//! ledger (CC-59, CX-29).

use super::bundles::{audited, bundle_of};
use super::council::{Council, running};
use super::ledgerbox::Ledgerbox;
use serde_json::json;
use x811_audit::{Options, audit_export};
use x811_protocol::code::Code;
use x811_protocol::facts::ConsensusVerb as Verb;
use x811_protocol::parameters::Rounds;
use x811_protocol::stream::Subject;

const DAY_MS: u64 = 86_400_000;

/// Audits of the whole and of every bundle find nothing, and a restart comes to the same.
async fn holds(ledgerbox: &mut Ledgerbox, rounds: &[Subject]) {
    ledgerbox.assert_log_adds_up().await;
    assert_eq!(audited(ledgerbox).await.findings, []);
    for round in rounds {
        let bundle = bundle_of(ledgerbox, *round).await;
        let report = audit_export(bundle.as_slice(), Options::default()).unwrap();
        assert_eq!(report.findings, []);
    }
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
}

/// Three participants cost 15: of 30 the second proposal is the last one of the day, and a restart forgets
/// nothing of it.
#[tokio::test]
async fn deliveries_per_day_are_taken_up_to_the_limit_and_again_the_day_after() {
    let mut ledgerbox = running(Rounds {
        deliveries_per_day: 30,
        ..Rounds::DEFAULT
    })
    .await;
    let mut council = Council::new(&ledgerbox, 3).await;
    for _ in 0..2 {
        let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
        ledgerbox.accept(&proposal).await;
    }
    let third = council.proposal(&ledgerbox, 60_000, |_| {});
    let refusal = ledgerbox.refuse(&third).await;
    assert_eq!(refusal.code, Code::RateLimitExceeded);
    let into_day = ledgerbox.now().as_ms() % DAY_MS;
    let wait_ms = refusal.retry_after_ms.unwrap();
    assert!(
        wait_ms.abs_diff(DAY_MS - into_day) < 1_000,
        "until midnight, UTC"
    );
    // Another proposer has a day of its own.
    council.members.swap(0, 1);
    let other = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&other).await;
    council.members.swap(0, 1);
    ledgerbox.restart().await;
    let still = council.proposal(&ledgerbox, 60_000, |_| {});
    assert_eq!(ledgerbox.code(&still).await, Code::RateLimitExceeded);
    ledgerbox.advance_ms(DAY_MS).await;
    let next = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&next).await;
    holds(&mut ledgerbox, &[]).await;
}

/// Of 29 a second proposal for 15 is one too many.
#[tokio::test]
async fn deliveries_per_day_are_refused_one_above_the_limit() {
    let ledgerbox = running(Rounds {
        deliveries_per_day: 29,
        ..Rounds::DEFAULT
    })
    .await;
    let mut council = Council::new(&ledgerbox, 3).await;
    let first = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&first).await;
    let second = council.proposal(&ledgerbox, 60_000, |_| {});
    assert_eq!(ledgerbox.code(&second).await, Code::RateLimitExceeded);
}

/// The second failure is put to humans with retries left; what was remembered survives a restart between the
/// two, and the bundle of the second alone is clean, though the first is not in it.
#[tokio::test]
async fn cc_059_the_second_failure_in_a_row_is_put_to_humans() {
    let human = "did:x811:019c8c61-8129-7511-9f31-aa5142e65440";
    let mut ledgerbox = running(Rounds {
        humans: vec![human.parse().unwrap()],
        ..Rounds::DEFAULT
    })
    .await;
    let mut council = Council::new(&ledgerbox, 5).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |_| {});
    ledgerbox.accept(&proposal).await;
    let first = council.subject();
    ledgerbox.advance_ms(60_001).await;
    let failed = council.round;
    ledgerbox.restart().await;
    ledgerbox.advance_ms(5_001).await;
    let retry = council.proposal(&ledgerbox, 70_000, |it| {
        it["attempt"] = json!(2);
        it["resubmission_of"] = json!(failed);
    });
    ledgerbox.accept(&retry).await;
    let vote = json!({ "decision": "approve" });
    council.say(&ledgerbox, 1, Verb::Vote, vote).await;
    ledgerbox.advance_ms(70_001).await;
    let events = ledgerbox.events().await;
    let asked = events.iter().find_map(|(record, event)| {
        let event = serde_json::to_value(event).unwrap();
        (event["type"] == "round_escalated").then(|| (record.stream().to_owned(), event))
    });
    let (stream, asked) = asked.unwrap();
    assert_eq!(asked["reason"], "deadlock");
    assert!(stream.ends_with(&council.round.unwrap().to_string()));
    let second = council.subject();
    holds(&mut ledgerbox, &[first, second]).await;
}

/// Who was missing is stored once, by however many resources the failed round is remembered.
#[tokio::test]
async fn a_snapshot_has_a_failed_round_once() {
    let ledgerbox = running(Rounds::DEFAULT).await;
    let mut council = Council::new(&ledgerbox, 5).await;
    let proposal = council.proposal(&ledgerbox, 60_000, |it| {
        it["action"]["resource"] = json!(["a", "b", "c", "d", "e", "f", "g", "h"]);
    });
    ledgerbox.accept(&proposal).await;
    ledgerbox.advance_ms(60_001).await;
    let snapshot = ledgerbox.snapshot_now();
    let stored = String::from_utf8_lossy(&snapshot);
    assert_eq!(stored.matches("\"missing\":[").count(), 1);
    ledgerbox.assert_log_adds_up().await;
}

/// Attack: an agent writes to itself in the type of the ledger's notices.
#[tokio::test]
async fn mach_8_nobody_but_the_ledger_writes_notices_of_rounds() {
    let ledgerbox = running(Rounds::DEFAULT).await;
    let council = Council::new(&ledgerbox, 1).await;
    let agent = &council.members[0];
    for to in [agent, &ledgerbox.identity] {
        let notice = ledgerbox.seal(agent, "x811.consensus/notice", to, json!({}));
        let size = ledgerbox.records().await.len();
        assert_eq!(ledgerbox.code(&notice).await, Code::InvalidStateTransition);
        assert_eq!(ledgerbox.records().await.len(), size);
    }
    // It is active as before.
    let ping = ledgerbox.seal(agent, "x811.test/ping", &council.stranger, json!({}));
    ledgerbox.accept(&ping).await;
}
