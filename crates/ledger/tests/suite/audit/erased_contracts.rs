//! Records that erase bodies of negotiations that may not be erased, by somebody with the database and
//! every key of the ledger (machines.md section 6).

use serde_json::json;
use x811_audit::Cause;
use x811_protocol::facts::NegotiationVerb;
use x811_protocol::id::{ContractId, InteractionId};
use x811_protocol::parameters::Contracts;
use x811_protocol::stream::Subject;

use super::party::Party;
use super::scene::{Kept, Parts, audit, exported, found};
use super::talks::{Talks, talking};

const DECISION: Cause = Cause::ReDecisionDiffers;

/// A log with a rejected negotiation whose bodies were erased, one that waits for an answer, and one
/// whose interaction waits for its OFFER.
struct Scene {
    parts: Parts,
    erased: ContractId,
    live: ContractId,
    engaged: ContractId,
    operator: Party,
    /// Place of the record that erased.
    at: usize,
}

impl Scene {
    async fn set() -> Scene {
        let ledgerbox = talking(Contracts::DEFAULT).await;
        let mut erased = Talks::new(&ledgerbox).await;
        let between = |talks: &Talks| {
            let (payer, payee) = (talks.payer.clone(), talks.payee.clone());
            Talks::between(payer, payee, talks.stranger.clone())
        };
        let (mut live, mut engaged) = (between(&erased), between(&erased));
        let (payer, payee) = (erased.payer.clone(), erased.payee.clone());
        let offer = NegotiationVerb::Offer;
        erased.say(&ledgerbox, &payer, offer, "0.41").await;
        let reject = NegotiationVerb::Reject;
        erased.say(&ledgerbox, &payee, reject, "").await;
        live.say(&ledgerbox, &payer, offer, "0.41").await;
        engaged.agree(&ledgerbox).await;
        let (_, request) = engaged.request(&ledgerbox, |_| {});
        ledgerbox.accept(&request).await;
        ledgerbox.erase(erased.id.unwrap()).await.unwrap();
        let parts = Parts::of(&exported(&ledgerbox).await);
        Scene {
            at: parts.find_event("bodies_erased"),
            erased: erased.id.unwrap(),
            live: live.id.unwrap(),
            engaged: engaged.id.unwrap(),
            operator: ledgerbox.identity,
            parts,
        }
    }

    /// The log whose record erases the offer of another negotiation, by an order for just that.
    fn erasing(&self, id: ContractId) -> Parts {
        let stream = format!("contract:{id}");
        let offer = self.parts.find(|kept: &Kept| kept.draft.stream == stream);
        let mut parts = self.parts.clone();
        let now_s = parts.records[self.at].draft.recorded_at_ms / 1_000;
        let order = self.operator.order_erasure(Subject::Contract(id), now_s);
        *parts.records[self.at].member("/positions") = json!([offer]);
        *parts.records[self.at].member("/order") = json!(order);
        parts.records[offer].body = None;
        parts
    }
}

#[tokio::test]
async fn mach_6_an_erasure_of_a_closed_negotiation_is_clean_and_listed() {
    let scene = Scene::set().await;
    let report = audit(&scene.parts.clone().rehashed());
    assert_eq!(found(&report), []);
    let absent = report.absent_bodies;
    assert_eq!((absent.erased, absent.missing), (2, 0));
    assert_eq!(absent.erasures.len(), 1);
}

#[tokio::test]
async fn mach_6_what_was_live_or_in_business_was_not_erased() {
    let scene = Scene::set().await;
    for id in [scene.live, scene.engaged] {
        let report = audit(&scene.erasing(id).rehashed());
        assert_eq!(found(&report), [(scene.at as u64, "positions", DECISION)]);
        let sentence = &report.findings[0].sentence;
        assert!(sentence.contains("was not closed"), "{sentence}");
        assert!(sentence.contains(&id.to_public()), "{sentence}");
    }
}

/// The interaction of the same id is another subject, and an order for one negotiation none for another.
#[tokio::test]
async fn mach_6_an_order_is_for_the_negotiation_that_it_names() {
    let scene = Scene::set().await;
    let interaction = InteractionId::from(scene.erased.offer_id());
    for other in [Subject::Interaction(interaction), scene.live.into()] {
        let mut parts = scene.parts.clone();
        let now_s = parts.records[scene.at].draft.recorded_at_ms / 1_000;
        let order = scene.operator.order_erasure(other, now_s);
        *parts.records[scene.at].member("/order") = json!(order);
        let report = audit(&parts.rehashed());
        let here = (scene.at as u64, "positions", DECISION);
        assert_eq!(found(&report), [here; 2]);
        let sentence = &report.findings[0].sentence;
        assert!(sentence.contains("was ordered"), "{sentence}");
    }
}

/// A body that the record erases, and that a copy still has.
#[tokio::test]
async fn mach_6_a_body_of_a_negotiation_that_is_still_there_is_found() {
    let scene = Scene::set().await;
    let mut parts = scene.erasing(scene.live);
    let whole = Parts::of(&scene.parts.clone().rehashed());
    let offer = parts.records[scene.at].member("/positions")[0].as_u64();
    let offer = usize::try_from(offer.unwrap()).unwrap();
    parts.records[offer].body = whole.records[offer].body.clone();
    let report = audit(&parts.rehashed());
    let here = |cause| (scene.at as u64, "positions", cause);
    assert_eq!(found(&report), [here(DECISION), here(Cause::BodyNotErased)]);
}
