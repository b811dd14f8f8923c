//! Breaches, exclusions and uses in the hands of somebody with the ledger's database and all of its keys:
//! a competitor is to be kept out of sessions, or a friend kept in, or an agreement used up.

use serde_json::{Value, json};
use x811_audit::{Attested, Cause};
use x811_protocol::parameters::Exclusion;

use super::bargain::Bargain;
use super::conduct::{Scene, broken, excluding, exclusion_of, lift};
use super::forger::Forger;
use super::party::Party;
use super::scene::found;

const DECISION: Cause = Cause::ReDecisionDiffers;
const STATE: Cause = Cause::StateDiffers;

/// A log, and whose conduct it is about.
struct Forgery {
    forger: Forger,
    conduct: String,
    agreement: String,
    provider: Party,
    other: Bargain,
    operator: Party,
}

impl Forgery {
    /// After so many breaches of the three that exclude; lifted, if so.
    async fn after(breaches: usize, is_lifted: bool) -> Forgery {
        let ledgerbox = excluding(Some(Exclusion::DEFAULT)).await;
        let scene = Scene::set(&ledgerbox).await;
        let operator = ledgerbox.provider().await;
        let each = [&scene.first, &scene.again, &scene.other];
        for bargain in each.into_iter().take(breaches) {
            broken(&ledgerbox, bargain).await;
        }
        let provider = scene.first.provider.clone();
        if is_lifted {
            let excluded = exclusion_of(&ledgerbox, &provider).unwrap();
            let request = lift(&ledgerbox, &operator, &provider, excluded);
            ledgerbox.ledger().lift_exclusion(request).await.unwrap();
        }
        Forgery {
            forger: Forger::at(&ledgerbox).await,
            conduct: format!("conduct:{}", provider.did),
            agreement: format!("agreement:{}", scene.first.agreement.unwrap().0),
            provider,
            other: scene.other,
            operator,
        }
    }

    fn place(&self, event_type: &str) -> usize {
        self.forger.place(&self.conduct, event_type)
    }

    /// What an audit says first of the log as it is now, and where.
    #[track_caller]
    fn first(&self) -> (u64, Cause) {
        let report = self.forger.report();
        let first = report.findings.first();
        let first = first.expect("somebody notices");
        (first.position, first.cause)
    }

    /// Puts an event there, without a body.
    fn insert(&mut self, place: usize, stream: &str, event: Value) {
        self.forger.put(stream, event, None);
        let records = &mut self.forger.parts.records;
        let mut kept = records.pop().unwrap();
        kept.draft.recorded_at_ms = records[place - 1].draft.recorded_at_ms;
        records.insert(place, kept);
    }
}

#[tokio::test]
async fn cx_49_a_breach_that_nobody_saw_is_found() {
    let forged = Forgery::after(2, false).await;
    let at = forged.place("breach_recorded");
    let real = forged.forger.parts.records[at].draft.event.clone();
    // Once more, behind the breach itself, or behind nothing at all.
    for behind in [at + 1, forged.forger.parts.records.len()] {
        let mut forged = Forgery::after(2, false).await;
        let mut event = real.clone();
        event["consumer"] = json!(forged.other.consumer.did);
        let conduct = forged.conduct.clone();
        forged.insert(behind, &conduct, event);
        let (position, cause) = forged.first();
        assert_eq!(position, behind as u64);
        assert!([DECISION, STATE].contains(&cause), "{cause:?}");
    }
}

#[tokio::test]
async fn cx_49_a_breach_that_is_left_out_or_told_otherwise_is_found() {
    let mut without = Forgery::after(3, false).await;
    let at = without.place("breach_recorded");
    without.forger.parts.records.remove(at);
    assert_eq!(without.first(), (at as u64, DECISION));

    let other = without.other.agreement.unwrap().0;
    for (pointer, value) in [
        ("/agreement", json!(other)),
        ("/consumer", json!(without.other.consumer.did)),
        ("/kind", json!("dispute_upheld")),
    ] {
        let mut forged = Forgery::after(3, false).await;
        let record = &mut forged.forger.parts.records[at];
        *record.draft.event.pointer_mut(pointer).unwrap() = value;
        let (position, cause) = forged.first();
        assert_eq!((position, cause), (at as u64, DECISION), "{pointer}");
    }
}

/// A window that is ended before its time makes a breach of a result that was not late.
#[tokio::test]
async fn cx_49_a_result_that_is_called_late_too_early_is_found() {
    let mut forged = Forgery::after(1, false).await;
    let breach = forged.place("breach_recorded");
    let lapse = breach - 1;
    let records = &mut forged.forger.parts.records;
    assert_eq!(records[lapse].event_type(), "lapsed");
    let before = records[lapse - 1].draft.recorded_at_ms;
    for record in &mut records[lapse..] {
        record.draft.recorded_at_ms = record.draft.recorded_at_ms.min(before + 1);
    }
    let (position, cause) = forged.first();
    assert_eq!(position, lapse as u64);
    assert!([DECISION, STATE].contains(&cause), "{cause:?}");
}

#[tokio::test]
async fn cc_113_an_exclusion_that_does_not_follow_is_found() {
    // Invented after two breaches, of two consumers or not.
    let mut invented = Forgery::after(2, false).await;
    let place = invented.place("breach_recorded") + 1;
    let conduct = invented.conduct.clone();
    let cause = place - 1;
    let event = json!({
        "type": "excluded", "cause": cause, "causes": [cause],
        "until_ms": invented.forger.parts.records[cause].draft.recorded_at_ms + 2_592_000_000_u64,
    });
    invented.insert(place, &conduct, event);
    assert_eq!(invented.first(), (place as u64, STATE));

    // Left out for a friend.
    let mut without = Forgery::after(3, false).await;
    let at = without.place("excluded");
    without.forger.parts.records.remove(at);
    assert_eq!(without.first(), (at as u64, DECISION));

    // For longer, for shorter, for other breaches.
    let event = Forgery::after(3, false).await.forger.parts.records[at]
        .draft
        .event
        .clone();
    let until = event["until_ms"].as_u64().unwrap();
    let causes = event["causes"].as_array().unwrap().clone();
    for (pointer, value) in [
        ("/until_ms", json!(until + 1)),
        ("/until_ms", json!(until - 1)),
        ("/causes", json!(causes[1..])),
        ("/causes", json!([])),
    ] {
        let mut forged = Forgery::after(3, false).await;
        *forged.forger.parts.records[at]
            .draft
            .event
            .pointer_mut(pointer)
            .unwrap() = value;
        assert_eq!(forged.first(), (at as u64, STATE), "{pointer}");
    }
}

/// What an operator signed is held to the record; the ledger's keys alone lift nothing.
#[tokio::test]
async fn cc_113_an_order_that_no_operator_signed_is_found() {
    let honest = Forgery::after(3, true).await;
    let at = honest.place("exclusion_lifted");
    let at_s = honest.forger.parts.records[at].draft.recorded_at_ms / 1_000;
    let excluded = honest.place("excluded") as u64;
    let (operator, provider) = (&honest.operator, &honest.provider);
    let another = Party {
        key: x811_protocol::key::SecretKey::from_seed([77; 32]),
        ..operator.clone()
    };
    let orders = [
        (
            "of another exclusion",
            operator.order_lift(provider, excluded + 1, at_s),
            Cause::ProofInvalid,
        ),
        (
            "of another agent",
            operator.order_lift(operator, excluded, at_s),
            Cause::ProofInvalid,
        ),
        (
            "of another time",
            operator.order_lift(provider, excluded, at_s - 3_600),
            DECISION,
        ),
        (
            "by the agent itself",
            provider.order_lift(provider, excluded, at_s),
            Cause::ProofInvalid,
        ),
        (
            "by no key of the operator",
            another.order_lift(provider, excluded, at_s),
            Cause::KeyNotTheSenders,
        ),
    ];
    for (what, order, cause) in orders {
        let mut forged = honest.forger.clone();
        *forged.parts.records[at]
            .draft
            .event
            .pointer_mut("/order")
            .unwrap() = json!(order);
        let report = forged.report();
        let found: Vec<(u64, Cause)> = report
            .findings
            .iter()
            .map(|found| (found.position, found.cause))
            .collect();
        assert_eq!(found, [(at as u64, cause)], "{what}: {:?}", report.findings);
    }
    // The same order once more, for an exclusion that holds no longer.
    let mut twice = honest.forger.clone();
    let record = twice.parts.records[at].clone();
    twice.parts.records.insert(at + 1, record);
    let report = twice.report();
    assert_eq!(report.findings[0].position, at as u64 + 1);
    assert_eq!(report.findings[0].cause, STATE);
}

/// `used` is counted from REQUESTs: none is left out for one who may use more, none is put in for one who
/// may use less.
#[tokio::test]
async fn cc_086_uses_that_are_hidden_or_invented_are_found() {
    let mut hidden = Forgery::after(1, false).await;
    let at = hidden.forger.place(&hidden.agreement, "used");
    let used = hidden.forger.parts.records[at].draft.event.clone();
    hidden.forger.parts.records.remove(at);
    assert_eq!(hidden.first(), (at as u64, DECISION));

    for behind in [1, 2] {
        let mut invented = Forgery::after(1, false).await;
        let agreement = invented.agreement.clone();
        invented.insert(at + behind, &agreement, used.clone());
        let (position, cause) = invented.first();
        assert_eq!(position, (at + behind) as u64);
        assert!([DECISION, STATE].contains(&cause), "{cause:?}");
    }
    let mut moved = Forgery::after(1, false).await;
    let other = format!("agreement:{}", moved.other.agreement.unwrap().0);
    moved.forger.parts.records[at].draft.stream = other;
    assert_eq!(moved.first(), (at as u64, DECISION));
}

/// No log names operators, so the report names whoever lifted an exclusion, and the key.
#[tokio::test]
async fn cc_113_whoever_lifted_an_exclusion_is_in_the_report() {
    let honest = Forgery::after(3, true).await;
    let report = honest.forger.report();
    assert_eq!(found(&report), []);
    let key = honest.operator.key.public().to_string();
    let lifted = report
        .remarks
        .iter()
        .filter(|it| it.sentence.contains("was lifted by") && it.sentence.contains(&key));
    assert_eq!(lifted.count(), 1, "{:#?}", report.remarks);
    assert_eq!(report.attested[&Attested::Operators].count, 1);
}
