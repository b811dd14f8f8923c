//! Records that erase what may not be erased: somebody with the database writes them, and every
//! hash behind them anew (record.md sections 3 and 4).

use std::cell::OnceCell;

use serde_json::{Value, json};
use x811_audit::{Attested, Cause, Report};
use x811_protocol::did::Did;
use x811_protocol::event::ErasureOrder;
use x811_protocol::id::InteractionId;
use x811_protocol::key::SecretKey;
use x811_protocol::stream::Subject;

use super::base::Base;
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::impatient;
use super::party::{Account, Party};
use super::scene::{Parts, audit, exported, found, pay};

const DECISION: Cause = Cause::ReDecisionDiffers;

/// A log with one interaction whose bodies were erased, one in dispute and one that is open.
struct Scene {
    parts: Parts,
    /// Their streams.
    erased: String,
    disputed: String,
    open: String,
    /// Place of the record that erased.
    at: usize,
}

fn stream(id: InteractionId) -> String {
    format!("interaction:{id}")
}

impl Scene {
    async fn set() -> Scene {
        Scene::ordered(|_, _, _| None).await
    }

    /// The same, with what the operator signed.
    async fn ordered(by: impl Fn(&Party, InteractionId, u64) -> Option<ErasureOrder>) -> Scene {
        let mut ledgerbox = impatient().await;
        let paid = Deal::opened(&ledgerbox, Until::Verified).await;
        pay(&mut ledgerbox, &paid, 1, TOTAL_MICRO_USDC).await;
        ledgerbox.watch_ms(8_000).await;
        ledgerbox.base.finalized = Some(Base::head_number(ledgerbox.now()));
        ledgerbox.sweep().await;
        let (initiator, provider) = (paid.initiator.clone(), paid.provider.clone());
        let mut disputed = Deal::between(&ledgerbox, &initiator, &provider, Account::new(0x46));
        disputed.go(&ledgerbox, Until::Verified).await;
        pay(&mut ledgerbox, &disputed, 2, TOTAL_MICRO_USDC - 1).await;
        ledgerbox.watch_ms(20_000).await;
        assert_eq!(ledgerbox.state(disputed.id()), "disputed");
        let mut open = Deal::between(&ledgerbox, &initiator, &provider, Account::new(0x46));
        open.go(&ledgerbox, Until::Offered).await;
        let now_s = ledgerbox.now().as_ms() / 1_000;
        let order = by(&ledgerbox.identity, paid.id(), now_s);
        ledgerbox.erase_by(paid.id(), order).await.unwrap();
        let parts = Parts::of(&exported(&ledgerbox).await);
        Scene {
            at: parts.find_event("bodies_erased"),
            erased: stream(paid.id()),
            disputed: stream(disputed.id()),
            open: stream(open.id()),
            parts,
        }
    }

    /// Position of the message in a stream.
    fn message(&self, stream: &str, message_type: &str) -> u64 {
        let is_it = |kept: &super::scene::Kept| {
            kept.draft.stream == stream && kept.message_type() == message_type
        };
        self.parts.find(is_it) as u64
    }

    /// The log whose record of erasure names these positions, and their bodies gone.
    fn naming(&self, positions: &[u64]) -> Parts {
        let mut parts = self.parts.clone();
        *parts.records[self.at].member("/positions") = json!(positions);
        for position in positions {
            if let Some(kept) = parts.records.get_mut(*position as usize) {
                kept.body = None;
            }
        }
        parts
    }

    /// What an audit finds, all of it at the record of erasure: fields, causes and some words.
    #[track_caller]
    fn finds(&self, parts: Parts, expected: &[(&str, Cause, &str)]) -> Report {
        let report = audit(&parts.rehashed());
        let here = self.at as u64;
        let due: Vec<_> = expected.iter().map(|(f, c, _)| (here, *f, *c)).collect();
        assert_eq!(found(&report), due);
        for (finding, (_, _, words)) in report.findings.iter().zip(expected) {
            assert!(finding.sentence.contains(words), "{}", finding.sentence);
        }
        report
    }
}

#[tokio::test]
async fn rec_4_an_erasure_as_the_ledger_records_it_is_clean_and_listed() {
    let scene = Scene::set().await;
    let report = scene.finds(scene.parts.clone(), &[]);
    assert_eq!(report.facts.asserted, 2);
    assert_eq!(report.signatures_valid, report.envelopes);
    let absent = report.absent_bodies;
    assert_eq!((absent.erased, absent.missing), (2, 0));
    let [erasure] = &absent.erasures[..] else {
        panic!("one record erased: {:?}", absent.erasures);
    };
    let request = scene.message(&scene.erased, "x811/request");
    let result = scene.message(&scene.erased, "x811/result");
    assert_eq!(erasure.positions, [request, result]);
    assert_eq!(erasure.position, scene.at as u64);
    assert_eq!(erasure.reason_code, "gdpr_request");
}

/// The record says erased, and a copy still has it.
#[tokio::test]
async fn rec_4_a_body_that_is_still_there_is_found() {
    let scene = Scene::set().await;
    let request = scene.message(&scene.erased, "x811/request");
    let other = scene.message(&scene.open, "x811/request");
    let mut parts = scene.parts.clone();
    parts.records[request as usize].body = parts.records[other as usize].body.clone();
    let report = audit(&parts.rehashed());
    let another_body = (request, "body", Cause::BodyChanged);
    let not_erased = (scene.at as u64, "positions", Cause::BodyNotErased);
    assert_eq!(found(&report), [another_body, not_erased]);

    // The record names one that nobody erased.
    let named = scene.message(&scene.disputed, "x811/request");
    let mut parts = scene.parts.clone();
    *parts.records[scene.at].member("/positions") = json!([named]);
    let expected = [
        ("positions", DECISION, "in dispute"),
        ("positions", Cause::BodyNotErased, "still here"),
    ];
    let report = scene.finds(parts, &expected);
    let absent = report.absent_bodies;
    assert_eq!((absent.erased, absent.missing), (0, 2));
}

#[tokio::test]
async fn rec_4_what_was_not_over_or_is_disputed_was_not_erased() {
    let scene = Scene::set().await;
    for (stream, message) in [
        (&scene.open, "x811/request"),
        (&scene.disputed, "x811/request"),
        (&scene.disputed, "x811/result"),
    ] {
        let named = scene.message(stream, message);
        let report = scene.finds(
            scene.naming(&[named]),
            &[("positions", DECISION, "not over or is in dispute")],
        );
        let absent = report.absent_bodies;
        assert_eq!((absent.erased, absent.missing), (1, 2));
    }
}

/// The same record, earlier than it might be.
#[tokio::test]
async fn rec_4_an_erasure_before_the_end_is_found() {
    let mut scene = Scene::set().await;
    let mut erasure = scene.parts.records.remove(scene.at);
    scene.at = scene.parts.find_event("confirmed");
    erasure.draft.recorded_at_ms = scene.parts.records[scene.at].draft.recorded_at_ms;
    scene.parts.records.insert(scene.at, erasure);
    let not_over = ("positions", DECISION, "not over");
    let report = audit(&scene.parts.clone().rehashed());
    // Positions behind it moved, and those that name positions with them.
    let here = report
        .findings
        .iter()
        .filter(|one| one.position == scene.at as u64);
    let here: Vec<_> = here.map(|one| (one.field.as_str(), one.cause)).collect();
    assert_eq!(here, [(not_over.0, not_over.1); 2]);
}

#[tokio::test]
async fn rec_4_no_other_body_is_erased() {
    let scene = Scene::set().await;
    let others = ["x811/offer", "x811/accept", "x811/verify", "x811/payment"];
    let no_envelope = 1;
    let named = others.map(|message| scene.message(&scene.erased, message));
    for named in named.into_iter().chain([no_envelope]) {
        let sentence = "is no REQUEST or RESULT and of no negotiation";
        scene.finds(scene.naming(&[named]), &[("positions", DECISION, sentence)]);
    }
    // A body that alone makes its signature hold.
    let request = scene.message(&scene.erased, "x811/request");
    let mut parts = scene.parts.clone();
    *parts.records[request as usize].member("/envelope/profile") = json!("direct");
    let report = audit(&parts.rehashed());
    let lost = (request, "body", Cause::Missing);
    assert!(found(&report).contains(&lost), "{:?}", found(&report));
    let here = (scene.at as u64, "positions", DECISION);
    assert!(found(&report).contains(&here), "{:?}", found(&report));
}

#[tokio::test]
async fn rec_4_an_erasure_out_of_shape_is_found() {
    let scene = Scene::set().await;
    let at = scene.at as u64;
    let too_many: Vec<u64> = (0..257).collect();
    let shapes: [(Value, &str); 7] = [
        (json!([]), "1 to 256"),
        (json!(too_many), "1 to 256"),
        (json!([at]), "before it"),
        (json!([at + 1]), "before it"),
        (json!([3, 2]), "in order"),
        (json!([3, 3]), "in order"),
        (json!([3, 9_007_199_254_740_991_u64]), "before it"),
    ];
    for (positions, words) in shapes {
        let mut parts = scene.parts.clone();
        *parts.records[scene.at].member("/positions") = positions.clone();
        let report = audit(&parts.rehashed());
        let misplaced = report.findings.last().unwrap();
        assert_eq!(
            (misplaced.position, misplaced.cause),
            (at, Cause::StateDiffers)
        );
        assert!(misplaced.sentence.contains(words), "{}", misplaced.sentence);
    }
    for reason in ["", "GDPR request", &"a".repeat(33)] {
        let mut parts = scene.parts.clone();
        *parts.records[scene.at].member("/reason_code") = json!(reason);
        scene.finds(parts, &[("event", Cause::StateDiffers, "its reason")]);
    }
    let mut parts = scene.parts.clone();
    parts.records[scene.at].draft.stream = "roots".to_owned();
    parts.records[scene.at].draft.stream_seq = 0;
    scene.finds(parts, &[("event", Cause::StateDiffers, "roots")]);
}

#[tokio::test]
async fn rec_4_nobody_erases_twice_or_without_a_name() {
    let scene = Scene::set().await;
    let mut parts = scene.parts.clone();
    let mut again = parts.records[scene.at].clone();
    again.draft.stream_seq += 1;
    parts.records.push(again);
    let last = parts.records.len() as u64 - 1;
    let report = audit(&parts.rehashed());
    assert_eq!(found(&report), [(last, "positions", DECISION); 2]);
    assert!(report.findings[0].sentence.contains("erased before"));
    assert_eq!(report.absent_bodies.erased, 2);

    let mut parts = scene.parts.clone();
    let nobody = "did:x811:019b76da-a800-7000-8000-0000000000d1";
    *parts.records[scene.at].member("/operator") = json!(nobody);
    scene.finds(parts, &[("operator", DECISION, "no active agent")]);
}

/// Who ordered it is held to what they signed.
#[tokio::test]
async fn rec_4_who_had_bodies_erased_is_held_to_their_signature() {
    let signed =
        |operator: &Party, id, now_s| Some(operator.order_erasure(Subject::Interaction(id), now_s));
    let signed = Scene::ordered(signed).await;
    for (scene, is_ordered) in [(&signed, true), (&Scene::set().await, false)] {
        // The log names no operators: that the orders of this one count is the ledger's word.
        let report = scene.finds(scene.parts.clone(), &[]);
        let erasures = &report.erasures;
        let counts = (erasures.proven, erasures.asserted, erasures.broken);
        assert_eq!(counts, (0, 1, 0));
        let is_counted = report.attested.contains_key(&Attested::UnorderedErasures);
        assert_eq!(is_counted, !is_ordered);
    }

    let operator = signed.parts.records[signed.at].draft.event["operator"].clone();
    let operator: Did = operator.as_str().unwrap().parse().unwrap();
    let interaction: InteractionId = signed.erased.split_once(':').unwrap().1.parse().unwrap();
    let disputed = signed.disputed.split_once(':').unwrap().1;
    let key = SecretKey::from_seed([66; 32]);
    let nobody = "did:x811:019b76da-a800-7000-8000-0000000000d1";
    let nobody = Party {
        did: nobody.parse().unwrap(),
        key: key.clone(),
    };
    let unknown = Party { did: operator, key };
    let now_s = signed.parts.records[signed.at].draft.recorded_at_ms / 1_000;
    let invalid = Cause::ProofInvalid;
    let table = [
        (
            "/reason_code",
            json!("spam"),
            invalid,
            "did not sign for this interaction",
        ),
        (
            "/order/interaction",
            json!(disputed),
            invalid,
            "did not sign for this interaction",
        ),
        (
            "/order/authority",
            json!("elsewhere"),
            invalid,
            "did not sign for this interaction",
        ),
        (
            "/order/parameters",
            json!("()"),
            invalid,
            "no signed request",
        ),
        (
            "/order",
            json!(nobody.order_erasure(interaction.into(), now_s)),
            invalid,
            "and not the operator",
        ),
        (
            "/order",
            json!(unknown.order_erasure(interaction.into(), now_s)),
            Cause::KeyNotTheSenders,
            "was no key of the operator then",
        ),
    ];
    for (member, value, cause, words) in table {
        let mut parts = signed.parts.clone();
        *parts.records[signed.at].member(member) = value;
        let report = audit(&parts.rehashed());
        let first = &report.findings[0];
        let place = (first.position, first.field.as_str(), first.cause);
        assert_eq!(place, (signed.at as u64, "order", cause), "{member}");
        assert!(first.sentence.contains(words), "{}", first.sentence);
        assert_eq!(report.erasures.broken, 1);
    }

    // A good order, for other bodies than those that are gone.
    let named = signed.message(&signed.disputed, "x811/request");
    let report = audit(&signed.naming(&[named]).rehashed());
    let others = "was ordered";
    assert!(
        report.findings[0].sentence.contains(others),
        "{:?}",
        found(&report)
    );
}

/// What the ledger refuses: an order from before, or for later.
#[tokio::test]
async fn rec_4_an_order_for_another_time_is_found() {
    let operator = OnceCell::new();
    let scene = Scene::ordered(|party, id, now_s| {
        operator.set(party.clone()).unwrap();
        Some(party.order_erasure(Subject::Interaction(id), now_s))
    });
    let scene = scene.await;
    let operator = operator.get().unwrap();
    let interaction = scene.erased.split_once(':').unwrap().1.parse().unwrap();
    let at_ms = scene.parts.records[scene.at].draft.recorded_at_ms;
    let (oldest_s, newest_s) = ((at_ms - 60_000).div_ceil(1_000), (at_ms + 5_000) / 1_000);
    for (created_s, is_in_time) in [
        (oldest_s, true),
        (newest_s, true),
        (oldest_s - 1, false),
        (newest_s + 1, false),
        (0, false),
    ] {
        let mut parts = scene.parts.clone();
        let order = operator.order_erasure(Subject::Interaction(interaction), created_s);
        *parts.records[scene.at].member("/order") = json!(order);
        let expected = ("order", DECISION, "was not taken then");
        let expected = if is_in_time { &[][..] } else { &[expected] };
        let erasures = scene.finds(parts, expected).erasures;
        let (asserted, broken) = (u64::from(is_in_time), u64::from(!is_in_time));
        assert_eq!((erasures.asserted, erasures.broken), (asserted, broken));
    }
}

/// Without the record the bodies are missing, and that is told apart from erased.
#[tokio::test]
async fn rec_4_an_erasure_that_was_left_out_leaves_missing_bodies() {
    let mut scene = Scene::set().await;
    scene.parts.records.remove(scene.at);
    let report = scene.finds(scene.parts.clone(), &[]);
    let absent = report.absent_bodies;
    assert_eq!((absent.erased, absent.missing), (0, 2));
    assert_eq!(report.facts.asserted, 2);
}
