//! Whom breaches exclude, from what, and until when.

use super::bargain::Bargain;
use super::bundles::audited;
use super::conduct::{DAY_MS, Scene, accepted, broken, excluding, exclusion_of, lift};
use super::ledgerbox::Ledgerbox;
use super::party::Party;
use serde_json::Value;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::code::Code;
use x811_protocol::event::{Effect, Event};
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::parameters::Exclusion;
use x811_protocol::stream::Subject;

/// It adds up, audits clean, and goes on the same after a restart.
async fn holds(ledgerbox: &mut Ledgerbox) {
    ledgerbox.assert_log_adds_up().await;
    let report = audited(ledgerbox).await;
    assert_eq!(report.findings, []);
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
    ledgerbox.snapshots.clear();
    ledgerbox.restart().await;
    ledgerbox.assert_log_adds_up().await;
}

/// Breaches recorded, breaches that count, and whether the agent is excluded.
fn conduct(ledgerbox: &Ledgerbox, agent: &Party) -> (u64, usize, bool) {
    let (world, now) = (ledgerbox.ledger().world(), ledgerbox.ledger().now());
    let state = world.conduct(agent.did).map(|live| live.state.clone());
    let counted = state.as_ref().map_or(0, |state| {
        state
            .breaches
            .iter()
            .filter(|breach| !breach.is_spent)
            .count()
    });
    let recorded = state.map_or(0, |state| state.recorded);
    (recorded, counted, world.is_excluded(agent.did, now))
}

/// The code that a request for a new session is refused by, if it is.
async fn asked(ledgerbox: &Ledgerbox, bargain: &Bargain, from: &Party) -> Option<Code> {
    let request = bargain.message(ledgerbox, from, Verb::Request, &Value::Null);
    let answer = ledgerbox.submit(&request).await;
    answer.err().map(|refusal| refusal.code)
}

#[tokio::test]
async fn cc_113_and_cx_49_three_breaches_of_two_consumers_exclude_from_new_sessions() {
    let mut ledgerbox = excluding(Some(Exclusion::DEFAULT)).await;
    let scene = Scene::set(&ledgerbox).await;
    let provider = scene.first.provider.clone();
    broken(&ledgerbox, &scene.first).await;
    broken(&ledgerbox, &scene.first).await;
    assert_eq!(
        conduct(&ledgerbox, &provider),
        (2, 1, false),
        "one an agreement and day"
    );
    broken(&ledgerbox, &scene.again).await;
    ledgerbox.advance_ms(DAY_MS).await;
    for bargain in [&scene.first, &scene.again] {
        broken(&ledgerbox, bargain).await;
    }
    let (recorded, _, is_excluded) = conduct(&ledgerbox, &provider);
    assert_eq!(
        (recorded, is_excluded),
        (5, false),
        "one consumer excludes nobody"
    );
    let mut anew = scene.first.clone();
    anew.agreement = None;
    assert_eq!(asked(&ledgerbox, &anew, &anew.consumer).await, None);

    broken(&ledgerbox, &scene.other).await;
    assert!(
        conduct(&ledgerbox, &provider).2,
        "and a second consumer does"
    );
    assert_eq!(
        asked(&ledgerbox, &anew, &anew.consumer).await,
        Some(Code::Excluded)
    );
    // A renewal is a session too, whoever asks for it; the agreement itself goes on.
    for from in [&scene.other.consumer, &scene.other.provider] {
        let code = asked(&ledgerbox, &scene.other, from).await;
        assert_eq!(code, Some(Code::Excluded));
    }
    let (_, request) = scene.other.use_it(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    holds(&mut ledgerbox).await;

    // The moment is the ledger's own, and no downtime moves it.
    ledgerbox.down_ms(29 * DAY_MS).await;
    assert!(conduct(&ledgerbox, &provider).2);
    ledgerbox.down_ms(DAY_MS).await;
    assert!(!conduct(&ledgerbox, &provider).2, "30 days are over");
    assert_eq!(asked(&ledgerbox, &anew, &anew.consumer).await, None);
    holds(&mut ledgerbox).await;
}

/// Each breach is for one exclusion, and one older than the rule says for none.
#[tokio::test]
async fn cx_49_a_breach_counts_once_and_for_thirty_days() {
    let mut ledgerbox = excluding(Some(Exclusion::DEFAULT)).await;
    let scene = Scene::set(&ledgerbox).await;
    let provider = scene.first.provider.clone();
    broken(&ledgerbox, &scene.first).await;
    broken(&ledgerbox, &scene.other).await;
    ledgerbox.advance_ms(30 * DAY_MS).await;
    broken(&ledgerbox, &scene.again).await;
    assert_eq!(
        conduct(&ledgerbox, &provider),
        (3, 1, false),
        "the first two are too old"
    );
    broken(&ledgerbox, &scene.first).await;
    broken(&ledgerbox, &scene.other).await;
    assert_eq!(conduct(&ledgerbox, &provider), (5, 0, true));
    let excluded = exclusion_of(&ledgerbox, &provider).unwrap();
    broken(&ledgerbox, &scene.again).await;
    assert_eq!(
        conduct(&ledgerbox, &provider),
        (6, 0, true),
        "again on one day"
    );
    ledgerbox.advance_ms(DAY_MS).await;
    broken(&ledgerbox, &scene.again).await;
    broken(&ledgerbox, &scene.other).await;
    assert_eq!(
        exclusion_of(&ledgerbox, &provider),
        Some(excluded),
        "two more are too few"
    );
    broken(&ledgerbox, &scene.first).await;
    assert_ne!(
        exclusion_of(&ledgerbox, &provider),
        Some(excluded),
        "three more are not"
    );
    holds(&mut ledgerbox).await;
}

/// Nothing but a RESULT that is late under an agreement is a breach.
#[tokio::test]
async fn cx_49_nobodys_word_and_no_other_window_is_a_breach() {
    let mut ledgerbox = excluding(Some(Exclusion::DEFAULT)).await;
    let scene = Scene::set(&ledgerbox).await;
    let provider = scene.first.provider.clone();
    // The offer does not come; a result is not answered, or comes in time and is turned down.
    let (_, request) = scene.first.use_it(&ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    ledgerbox.advance_ms(600_000).await;
    let mut deal = accepted(&ledgerbox, &scene.first).await;
    let result = deal.result(&ledgerbox);
    ledgerbox.accept(&result).await;
    ledgerbox.advance_ms(600_000).await;
    // And without an agreement.
    let consumer = &scene.first.consumer;
    let account = super::party::Account::new(0x46);
    let mut deal = super::deal::Deal::between(&ledgerbox, consumer, &provider, account);
    deal.go(&ledgerbox, super::deal::Until::Accepted).await;
    ledgerbox.advance_ms(600_000).await;
    assert_eq!(conduct(&ledgerbox, &provider), (0, 0, false));
    holds(&mut ledgerbox).await;
}

#[tokio::test]
async fn cx_49_without_a_rule_breaches_are_recorded_only() {
    let mut ledgerbox = excluding(None).await;
    let scene = Scene::set(&ledgerbox).await;
    scene.exclude(&ledgerbox).await;
    let provider = scene.first.provider.clone();
    assert_eq!(conduct(&ledgerbox, &provider), (3, 0, false));
    holds(&mut ledgerbox).await;
}

/// An operator's signed order lifts one exclusion, and that alone; the agent is told of both.
#[tokio::test]
async fn cc_113_an_operator_lifts_an_exclusion_by_a_signed_order() {
    let mut ledgerbox = excluding(Some(Exclusion::DEFAULT)).await;
    let scene = Scene::set(&ledgerbox).await;
    scene.exclude(&ledgerbox).await;
    let (provider, stranger) = (scene.first.provider.clone(), scene.first.stranger.clone());
    let operator = ledgerbox.provider().await;
    let excluded = exclusion_of(&ledgerbox, &provider).unwrap();
    let good = || lift(&ledgerbox, &operator, &provider, excluded);
    let mut by_another = good();
    by_another.order = stranger.order_lift(&provider, excluded, ledgerbox.now().as_ms() / 1_000);
    let mut of_another = good();
    of_another.excluded += 1;
    let mut old = good();
    old.order = operator.order_lift(&provider, excluded, ledgerbox.now().as_ms() / 1_000 - 61);
    for (wrong, code) in [
        (by_another, Code::SignatureInvalid),
        (of_another, Code::SignatureInvalid),
        (old, Code::TimestampInvalid),
        (
            lift(&ledgerbox, &operator, &provider, excluded + 1),
            Code::InvalidStateTransition,
        ),
        (
            lift(&ledgerbox, &operator, &stranger, excluded),
            Code::InvalidStateTransition,
        ),
    ] {
        let refused = ledgerbox.ledger().lift_exclusion(wrong).await.unwrap_err();
        assert_eq!(refused.code, code, "{refused}");
    }
    let lifted = ledgerbox.ledger().lift_exclusion(good()).await.unwrap();
    assert_eq!(lifted.excluded, excluded);
    let twice = ledgerbox.ledger().lift_exclusion(good()).await.unwrap_err();
    assert_eq!(
        twice.code,
        Code::InvalidStateTransition,
        "the order is used up"
    );
    let mut anew = scene.first.clone();
    anew.agreement = None;
    assert_eq!(asked(&ledgerbox, &anew, &anew.consumer).await, None);
    let of_it = super::sessions::types(&ledgerbox, Subject::Conduct(provider.did)).await;
    let due = [
        "breach_recorded",
        "breach_recorded",
        "breach_recorded",
        "excluded",
        "notice_issued",
        "exclusion_lifted",
        "notice_issued",
    ];
    assert_eq!(of_it, due);
    holds(&mut ledgerbox).await;
}

/// machines.md 8: who is told of what, and by which message.
#[tokio::test]
async fn mach_8_notices_of_sessions_and_agreements_go_to_both() {
    let mut ledgerbox = excluding(Some(Exclusion::DEFAULT)).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    let consumer = bargain.consumer.clone();
    let none = Value::Null;
    let mut silent = bargain.clone();
    silent
        .say(&ledgerbox, &consumer, Verb::Request, &none)
        .await;
    ledgerbox.advance_ms(30_001).await;
    let mut left = bargain.clone();
    left.say(&ledgerbox, &consumer, Verb::Request, &none).await;
    left.say(&ledgerbox, &consumer, Verb::Close, &none).await;
    bargain.agree(&ledgerbox, &Bargain::terms(60, 1)).await;
    ledgerbox.advance_ms(60_001).await;
    let mut told = Vec::new();
    for (record, event) in ledgerbox.events().await {
        let Event::NoticeIssued(notice) = event else {
            continue;
        };
        assert_eq!(
            notice.code, None,
            "codes of machines stand in the body alone"
        );
        assert_eq!(
            notice.envelope.message_type.as_str(),
            "x811.capability/notice"
        );
        let position = record.position();
        let bodies = ledgerbox.store.bodies(&[position]).await.unwrap();
        let body: Value = serde_json::from_slice(&bodies[&position].bytes).unwrap();
        told.push((body["payload"].clone(), notice.to));
    }
    assert_eq!(
        told.len(),
        4,
        "of a session that was left its two know: {told:?}"
    );
    let session = silent.session.unwrap();
    let agreement = bargain.agreement.unwrap().0;
    for (place, (payload, to)) in told.iter().enumerate() {
        let (code, event, kind, id) = match place {
            0 | 1 => ("CCN-5001", "session_closed", "session", session.to_string()),
            _ => ("CCN-5003", "lapsed", "agreement", agreement.to_string()),
        };
        assert_eq!(payload["code"], code, "{payload}");
        assert_eq!(payload["event"], event, "{payload}");
        assert_eq!(payload["subject"]["kind"], kind);
        assert_eq!(payload["subject"]["id"], id.as_str());
        assert!(payload["cause_position"].is_u64());
        assert!([bargain.consumer.did, bargain.provider.did].contains(to));
    }
    let effects = ledgerbox.events().await;
    let closes = effects
        .iter()
        .filter(|(_, event)| matches!(event, Event::Effect(Effect::SessionClosed(_))));
    assert_eq!(closes.count(), 3);
    holds(&mut ledgerbox).await;
}
