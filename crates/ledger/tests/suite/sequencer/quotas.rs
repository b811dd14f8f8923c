//! Limits against spam that decide (ledger-contract.md section 3): at the limit, one more, when room
//! returns, after a restart, and what a neighbour notices of it, which is nothing.

use super::deal::{Deal, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use super::party::{Account, Party};
use serde_json::json;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::parameters::{Limits, Parameters};
use x811_protocol::refusal::Refusal;

fn limited(limits: Limits) -> Parameters {
    Parameters {
        limits,
        ..parameters()
    }
}

/// Four parties: a spammer, its providers, and an honest initiator.
struct Scene {
    ledgerbox: Ledgerbox,
    spammer: Party,
    providers: [Party; 2],
    neighbour: Party,
}

impl Scene {
    async fn with(limits: Limits) -> Scene {
        let ledgerbox = Ledgerbox::with(limited(limits)).await;
        Scene {
            spammer: ledgerbox.initiator(&Account::new(0x46)).await,
            providers: [ledgerbox.provider().await, ledgerbox.provider().await],
            neighbour: ledgerbox.initiator(&Account::new(0x47)).await,
            ledgerbox,
        }
    }

    fn deal(&self, initiator: &Party, provider: usize) -> Deal {
        let account = Account::new(0x46);
        Deal::between(
            &self.ledgerbox,
            initiator,
            &self.providers[provider],
            account,
        )
    }

    fn request(&self, provider: usize) -> SealedEnvelope {
        self.deal(&self.spammer, provider).request(&self.ledgerbox)
    }

    async fn open(&self, provider: usize) -> Deal {
        let mut deal = self.deal(&self.spammer, provider);
        deal.go(&self.ledgerbox, Until::Pending).await;
        deal
    }

    /// Refused by a limit, without a record and without its nonce being spent.
    async fn is_over(&self, envelope: &SealedEnvelope) -> Refusal {
        let size = self.ledgerbox.records().await.len();
        let commits = self.ledgerbox.store.commits();
        let mut refusal = self.ledgerbox.refuse(envelope).await;
        for _ in 0..2 {
            assert_eq!(refusal.code, Code::RateLimitExceeded, "{refusal}");
            assert_eq!(refusal.http_status(), 429);
            assert_eq!(refusal.related, Some(envelope.header.id));
            assert_eq!(self.ledgerbox.records().await.len(), size, "no record");
            assert_eq!(self.ledgerbox.store.commits(), commits, "no nonce");
            refusal = self.ledgerbox.refuse(envelope).await;
        }
        refusal
    }

    /// A neighbour does business with the same providers meanwhile.
    async fn neighbour_is_not_hurt(&self) {
        for provider in [0, 1] {
            let mut deal = self.deal(&self.neighbour, provider);
            deal.go(&self.ledgerbox, Until::Verified).await;
        }
    }
}

#[tokio::test]
async fn lc_3_open_interactions_per_initiator_are_limited() {
    let mut scene = Scene::with(Limits {
        open_per_initiator: 3,
        ..Limits::DEFAULT
    })
    .await;
    let first = scene.open(0).await;
    scene.open(0).await;
    scene.open(1).await;
    let over = scene.request(1);
    let refusal = scene.is_over(&over).await;
    assert_eq!(refusal.retry_after_ms, Some(5_000));
    scene.neighbour_is_not_hurt().await;
    scene.ledgerbox.restart().await;
    scene.is_over(&over).await;
    // The answering side is not limited: an interaction that ends makes room.
    let mut first = first;
    let offer = first.offer(&scene.ledgerbox);
    scene.ledgerbox.accept(&offer).await;
    scene.is_over(&over).await;
    let reject = first.reject(&scene.ledgerbox);
    scene.ledgerbox.accept(&reject).await;
    scene.ledgerbox.accept(&over).await;
    scene.is_over(&scene.request(0)).await;
    scene.ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_3_open_interactions_per_pair_are_limited() {
    let mut scene = Scene::with(Limits {
        open_per_pair: 2,
        ..Limits::DEFAULT
    })
    .await;
    scene.open(0).await;
    scene.open(0).await;
    let over = scene.request(0);
    scene.is_over(&over).await;
    scene.open(1).await;
    scene.neighbour_is_not_hurt().await;
    scene.ledgerbox.restart().await;
    scene.is_over(&over).await;
    // Windows that pass make room too, also while their notices are not issued yet.
    scene.ledgerbox.advance_ms(60_001).await;
    scene.ledgerbox.accept(&over).await;
    scene.ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_3_a_repeated_request_needs_no_room() {
    let scene = Scene::with(Limits {
        open_per_pair: 1,
        ..Limits::DEFAULT
    })
    .await;
    let deal = scene.open(0).await;
    let key = Deal::request_payload(&deal.request_id.to_string());
    let (spammer, provider) = (&scene.spammer, &scene.providers[0]);
    let again = scene.ledgerbox.seal(spammer, "x811/request", provider, key);
    scene.ledgerbox.repeat(&again).await;
}

#[tokio::test]
async fn lc_3_body_bytes_per_did_and_day_are_limited() {
    let mut scene = Scene::with(Limits {
        body_bytes_per_day: 12_000,
        ..Limits::DEFAULT
    })
    .await;
    let size = |envelope: &SealedEnvelope| u64::try_from(envelope.body.len()).unwrap();
    let mail = |scene: &Scene, text_bytes: usize| {
        let payload = json!({"text": "x".repeat(text_bytes)});
        let (from, to) = (&scene.spammer, &scene.providers[0]);
        scene.ledgerbox.seal(from, "x811.ext/a", to, payload)
    };
    let used = |scene: &Scene| {
        let world = scene.ledgerbox.ledger().world();
        let agent = world.agent(scene.spammer.did).unwrap();
        agent.accepted_bytes_on(scene.ledgerbox.now())
    };
    let empty = size(&mail(&scene, 0));
    let room = usize::try_from(12_000 - used(&scene) - empty).unwrap();
    let over = mail(&scene, room + 1);
    let day_ms = 86_400_000;
    let left_ms = day_ms - scene.ledgerbox.now().as_ms() % day_ms;
    let refusal = scene.is_over(&over).await;
    assert_eq!(refusal.retry_after_ms, Some(left_ms));
    scene.ledgerbox.accept(&mail(&scene, room)).await;
    assert_eq!(used(&scene), 12_000, "exactly at the limit");
    let over = mail(&scene, 0);
    scene.is_over(&over).await;
    scene.is_over(&scene.request(0)).await;
    scene.neighbour_is_not_hurt().await;
    scene.ledgerbox.restart().await;
    scene.is_over(&over).await;
    scene.ledgerbox.assert_log_adds_up().await;
    scene.ledgerbox.advance_ms(left_ms).await;
    let tomorrow = mail(&scene, 0);
    scene.ledgerbox.accept(&tomorrow).await;
    assert_eq!(used(&scene), size(&tomorrow), "only the present day counts");
    scene.ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_3_a_message_over_its_day_is_taken_the_next_day() {
    let scene = Scene::with(Limits {
        body_bytes_per_day: 4_500,
        ..Limits::DEFAULT
    })
    .await;
    let day_ms = 86_400_000;
    let to_midnight_ms = day_ms - scene.ledgerbox.now().as_ms() % day_ms;
    scene.ledgerbox.advance_ms(to_midnight_ms - 1).await;
    let text = json!({"text": "x".repeat(2_000)});
    let (from, to) = (&scene.spammer, &scene.providers[0]);
    let mail = || scene.ledgerbox.seal(from, "x811.ext/a", to, text.clone());
    scene.ledgerbox.accept(&mail()).await;
    let over = mail();
    let refusal = scene.is_over(&over).await;
    assert_eq!(refusal.retry_after_ms, Some(1));
    scene.ledgerbox.advance_ms(1).await;
    scene.ledgerbox.accept(&over).await;
}

#[tokio::test]
async fn lc_3_nonces_of_refused_messages_are_bounded_per_did() {
    let scene = Scene::with(Limits {
        refusals_per_window: 2,
        ..Limits::DEFAULT
    })
    .await;
    let stray = || {
        let deal = scene.deal(&scene.spammer, 0);
        let payload = json!({"offer_id": deal.offer_id, "offer_hash": "0".repeat(64)});
        let (from, to) = (&scene.spammer, &scene.providers[0]);
        scene.ledgerbox.seal(from, "x811/accept", to, payload)
    };
    for _ in 0..2 {
        let code = scene.ledgerbox.code(&stray()).await;
        assert_eq!(code, Code::InvalidStateTransition);
    }
    let held = scene.ledgerbox.ledger().world().sizes().nonces;
    let over = stray();
    scene.is_over(&over).await;
    assert_eq!(scene.ledgerbox.ledger().world().sizes().nonces, held);
    // What would be accepted is accepted, and neighbours may still be wrong.
    scene.open(0).await;
    scene.neighbour_is_not_hurt().await;
    let (from, to) = (&scene.neighbour, &scene.providers[0]);
    let payload = json!({"offer_id": over.header.id, "offer_hash": "0".repeat(64)});
    let wrong = scene.ledgerbox.seal(from, "x811/accept", to, payload);
    assert_eq!(
        scene.ledgerbox.code(&wrong).await,
        Code::InvalidStateTransition
    );
    scene.ledgerbox.advance_ms(16 * 60_000 + 1).await;
    let later = stray();
    assert_eq!(
        scene.ledgerbox.code(&later).await,
        Code::InvalidStateTransition
    );
}

#[test]
fn lc_3_the_defaults_are_the_contracts_and_old_logs_have_no_limit() {
    let limits = Limits::DEFAULT;
    assert_eq!(
        (
            limits.open_per_initiator,
            limits.open_per_pair,
            limits.body_bytes_per_day
        ),
        (1_000, 100, 1 << 30)
    );
    let mut old = serde_json::to_value(limits).unwrap();
    for since in ["open_per_initiator", "open_per_pair", "body_bytes_per_day"] {
        old.as_object_mut().unwrap().remove(since).unwrap();
    }
    let old: Limits = serde_json::from_value(old).unwrap();
    assert_eq!(old.open_per_pair, (1 << 53) - 1);
}
