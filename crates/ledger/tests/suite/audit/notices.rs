//! Notices that the ledger signs itself and that say something else than what happened
//! (ledger-contract.md section 1.6): everything in one follows from the record it tells of.

use serde_json::{Map, Value, json};
use x811_audit::Cause;
use x811_protocol::envelope::{Header, ParsedEnvelope, SealedEnvelope, seal};
use x811_protocol::id::EnvelopeId;
use x811_protocol::key::Profile;
use x811_protocol::time::TimestampMs;

use super::deal::{Deal, Until};
use super::forger::{Forger, of_interaction};
use super::ledgerbox::Ledgerbox;
use super::party::Account;
use super::scene::{Parts, audit, causes_at, exported, found};

const DECISION: Cause = Cause::ReDecisionDiffers;

/// An OFFER that never came, with both parties told of it.
struct Scene {
    ledgerbox: Ledgerbox,
    deal: Deal,
    forger: Forger,
    /// Place of the first notice, and of what it tells of.
    at: usize,
    cause: usize,
}

async fn scene() -> Scene {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.advance_ms(60_001).await;
    ledgerbox.advance_ms(2_000).await;
    // Somebody else goes on.
    Deal::opened(&ledgerbox, Until::Pending).await;
    let forger = Forger::at(&ledgerbox).await;
    let stream = of_interaction(deal.id());
    let (at, cause) = (
        forger.place(&stream, "notice_issued"),
        forger.place(&stream, "lapsed"),
    );
    Scene {
        ledgerbox,
        deal,
        forger,
        at,
        cause,
    }
}

impl Scene {
    /// The first notice as it was signed.
    fn signed(&self) -> ParsedEnvelope {
        let kept = &self.forger.parts.records[self.at];
        let signature = &kept.draft.event["envelope"]["signature"];
        let signature = signature.as_str().unwrap().parse().unwrap();
        ParsedEnvelope::from_body(kept.body.as_ref().unwrap(), signature).unwrap()
    }

    /// The log where the first notice was signed and recorded anew, after a change.
    fn signed_anew(&self, change: impl FnOnce(&mut Header, &mut Map<String, Value>)) -> Forger {
        let ParsedEnvelope {
            mut header,
            mut payload,
            ..
        } = self.signed();
        change(&mut header, &mut payload);
        let key = &self.ledgerbox.identity.key;
        let sealed: SealedEnvelope = seal(header, payload, key, Profile::Digest);
        let mut forger = self.forger.clone();
        let kept = &mut forger.parts.records[self.at];
        kept.draft.event["envelope"] = json!(sealed.accepted_header());
        kept.body = Some(sealed.body.to_vec());
        forger
    }

    /// The same, of its payload alone.
    fn saying(&self, member: &str, value: Value) -> Forger {
        self.signed_anew(|_, payload| {
            payload.insert(member.to_owned(), value);
        })
    }

    fn told_at(&self) -> TimestampMs {
        let draft = &self.forger.parts.records[self.at].draft;
        TimestampMs::new(draft.recorded_at_ms)
    }

    #[track_caller]
    fn finds(&self, forger: &Forger, fields: &[&str]) {
        let here = self.at as u64;
        let due: Vec<_> = fields.iter().map(|f| (here, *f, DECISION)).collect();
        forger.is_found(&due);
    }
}

#[tokio::test]
async fn lc_1_6_a_notice_signed_anew_as_it_was_is_clean() {
    let scene = scene().await;
    let report = scene.signed_anew(|_, _| {}).report();
    assert_eq!(found(&report), []);
}

#[tokio::test]
async fn lc_1_6_a_notice_with_another_text_is_found() {
    let scene = scene().await;
    let forged = scene.saying("message", json!("all is well"));
    scene.finds(&forged, &["body.payload.message"]);
}

#[tokio::test]
async fn lc_1_6_a_notice_about_another_message_is_found() {
    let scene = scene().await;
    let other = scene
        .ledgerbox
        .letter("x811/error", &scene.deal.provider, json!({}));
    let forged = scene.saying("related_message_id", json!(other.id));
    scene.finds(&forged, &["body.payload.related_message_id"]);
    let forged = scene.signed_anew(|_, payload| drop(payload.remove("related_message_id")));
    scene.finds(&forged, &["body.payload.related_message_id"]);
}

#[tokio::test]
async fn lc_1_6_a_notice_about_another_interaction_is_found() {
    let scene = scene().await;
    let others = scene.forger.parts.records.iter().rev();
    let other = others
        .filter_map(|kept| kept.draft.stream.strip_prefix("interaction:"))
        .find(|id| **id != scene.deal.id().to_string());
    let forged = scene.saying("interaction_id", json!(other.unwrap()));
    scene.finds(&forged, &["body.payload.interaction_id"]);
}

#[tokio::test]
async fn lc_1_6_a_notice_that_says_more_is_found() {
    let scene = scene().await;
    let forged = scene.saying("deadline", json!("tomorrow"));
    scene.finds(&forged, &["body.payload.deadline"]);
}

/// The ledger's word in the record and in the body, signed: only the rules know better.
#[tokio::test]
async fn lc_1_6_a_notice_with_another_code_is_found() {
    let scene = scene().await;
    let mut forged = scene.saying("code", json!("X811-4021"));
    forged.parts.records[scene.at].draft.event["code"] = json!("X811-4021");
    scene.finds(&forged, &["code", "body.payload.code"]);
}

#[tokio::test]
async fn lc_1_6_a_notice_recorded_without_its_code_is_found() {
    let scene = scene().await;
    let mut forged = scene.forger.clone();
    let event = forged.parts.records[scene.at].draft.event.as_object_mut();
    event.unwrap().remove("code");
    let here = scene.at as u64;
    forged.is_found(&[(here, "code", Cause::FactsDiffer), (here, "code", DECISION)]);
}

#[tokio::test]
async fn lc_1_6_a_notice_of_another_cause_is_found() {
    let scene = scene().await;
    let here = scene.at as u64;
    let forged = scene.saying("cause_position", json!(1));
    forged.is_found(&[
        (here, "cause", Cause::FactsDiffer),
        (here, "body.payload.cause_position", DECISION),
    ]);
    let mut forged = scene.saying("cause_position", json!(1));
    forged.parts.records[scene.at].draft.event["cause"] = json!(1);
    let causes = causes_at(&forged.report(), here);
    assert!(causes.contains(&Cause::StateDiffers), "{causes:?}");
}

#[tokio::test]
async fn lc_1_6_a_notice_signed_before_its_cause_is_found() {
    let scene = scene().await;
    let cause_ms = scene.forger.parts.records[scene.cause].draft.recorded_at_ms;
    for (created_ms, is_found) in [(cause_ms, false), (cause_ms - 1, true)] {
        let created = TimestampMs::new(created_ms);
        let forged = scene.signed_anew(|header, _| {
            header.created_ms = created;
            header.id = EnvelopeId::from_parts(created_ms, &[7; 10]);
        });
        let fields: &[&str] = if is_found {
            &["envelope.created_ms"]
        } else {
            &[]
        };
        let due: Vec<_> = fields
            .iter()
            .map(|f| (scene.at as u64, *f, DECISION))
            .collect();
        assert_eq!(found(&forged.report()), due);
    }
}

#[tokio::test]
async fn lc_1_6_a_notice_signed_after_it_was_recorded_is_found() {
    let scene = scene().await;
    let created = scene.told_at().saturating_add_ms(1);
    let forged = scene.signed_anew(|header, _| {
        header.created_ms = created;
        header.id = EnvelopeId::from_parts(created.as_ms(), &[7; 10]);
    });
    scene.finds(&forged, &["envelope.created_ms"]);
}

#[tokio::test]
async fn lc_1_6_a_notice_whose_id_is_of_another_time_is_found() {
    let scene = scene().await;
    let at_ms = scene.told_at().as_ms() - 60_000;
    let forged = scene.signed_anew(|header, _| {
        header.id = EnvelopeId::from_parts(at_ms, &[7; 10]);
    });
    scene.finds(&forged, &["envelope.id"]);
}

#[tokio::test]
async fn lc_1_6_a_notice_that_expires_is_found() {
    let scene = scene().await;
    let later = scene.told_at().saturating_add_ms(60_000);
    let forged = scene.signed_anew(|header, _| header.expires_ms = Some(later));
    scene.finds(&forged, &["envelope.expires_ms"]);
}

#[tokio::test]
async fn lc_1_6_a_notice_of_another_version_is_found() {
    let scene = scene().await;
    let forged = scene.signed_anew(|header, _| header.version = "0.2.0".to_owned());
    scene.finds(&forged, &["envelope.version"]);
}

#[tokio::test]
async fn lc_1_6_a_notice_of_another_type_is_found() {
    let scene = scene().await;
    let forged = scene.signed_anew(|header, _| {
        header.message_type = "x811.ext/notice".parse().unwrap();
    });
    let here = scene.at as u64;
    forged.is_found(&[
        (here, "code", Cause::FactsDiffer),
        (here, "envelope.type", DECISION),
    ]);
}

#[tokio::test]
async fn lc_1_6_a_notice_to_somebody_else_is_found() {
    let scene = scene().await;
    let (initiator, provider) = (scene.deal.initiator.did, scene.deal.provider.did);
    let told = scene.signed().header.to;
    let other = if told == initiator {
        provider
    } else {
        initiator
    };
    let mut forged = scene.forger.clone();
    forged.parts.records[scene.at].draft.event["to"] = json!(other);
    let report = forged.report();
    assert_eq!(found(&report)[0], (scene.at as u64, "to", DECISION));

    let did = scene.ledgerbox.party().did;
    let mut forged = scene.signed_anew(|header, _| header.to = did);
    forged.parts.records[scene.at].draft.event["to"] = json!(did);
    let causes = causes_at(&forged.report(), scene.at as u64);
    assert!(causes.contains(&Cause::StateDiffers), "{causes:?}");
}

#[tokio::test]
async fn lc_1_6_a_notice_given_twice_is_found() {
    let scene = scene().await;
    let mut forged = scene.forger.clone();
    let (event, body) = {
        let sealed = scene.signed_anew(|header, _| {
            header.id = EnvelopeId::from_parts(header.created_ms.as_ms(), &[8; 10]);
            header.nonce = x811_protocol::id::Nonce::from_random([8; 16]);
        });
        let kept = sealed.parts.records[scene.at].clone();
        (kept.draft.event, kept.body)
    };
    let stream = of_interaction(scene.deal.id());
    let at = forged.put(&stream, event, body.as_deref());
    let causes = causes_at(&forged.report(), at);
    assert!(causes.contains(&Cause::StateDiffers), "{causes:?}");
}

#[tokio::test]
async fn lc_1_6_a_notice_in_another_interaction_is_found() {
    let scene = scene().await;
    let mut forged = scene.forger.clone();
    let others = forged.parts.records.last().unwrap().draft.stream.clone();
    assert!(others.starts_with("interaction:"));
    let last = forged.parts.records.len() - 1;
    let mut moved = forged.parts.records.remove(scene.at);
    moved.draft.recorded_at_ms = forged.parts.records[last - 1].draft.recorded_at_ms;
    moved.draft.stream = others;
    forged.parts.records.push(moved);
    let causes = causes_at(&forged.report(), last as u64);
    assert!(causes.contains(&Cause::StateDiffers), "{causes:?}");
}

/// Notices that were lost with a crash are given at the next start, and again that late.
#[tokio::test]
async fn lc_1_6_notices_after_a_restart_are_clean() {
    let mut ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let held = ledgerbox.store.clone();
    ledgerbox.clock.advance_ms(60_001);
    {
        // The lapse is written, and the process dies before its notices are.
        let held = held.hold_commits().await;
        ledgerbox.advance_ms(1).await;
        drop(held);
    }
    ledgerbox.down_ms(3_600_000).await;
    ledgerbox.advance_ms(1_000).await;
    let account = Account::new(0x46);
    deal = Deal::between(&ledgerbox, &deal.initiator, &deal.provider, account);
    deal.go(&ledgerbox, Until::Pending).await;
    let bytes = exported(&ledgerbox).await;
    let parts = Parts::of(&bytes);
    let told = |kept: &&super::scene::Kept| kept.event_type() == "notice_issued";
    assert_eq!(parts.records.iter().filter(told).count(), 2);
    assert_eq!(found(&audit(&bytes)), []);
}
