//! Where messages go that move no interaction: custom types and errors (AE-122 to AE-124, AX-32,
//! AX-39, ledger-contract.md section 6).

use super::base::DEPTH;
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use serde_json::json;
use x811_ledger::port::ReadModel;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_world::row::DeliveryRow;

/// A deal in each of its states, finished ones included.
async fn every_state() -> Vec<(Ledgerbox, Deal, &'static str)> {
    let mut states = Vec::new();
    for until in Until::ALL {
        let ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, until).await;
        let name = ledgerbox.ledger().world();
        let name = name.interaction(deal.id()).unwrap().state.name().as_str();
        states.push((ledgerbox, deal, name));
    }
    let ends = [
        (Until::Pending, 60_001, "expired"),
        (Until::Delivered, 30_001, "failed"),
        (Until::Verified, 60_001, "disputed"),
    ];
    for (until, wait_ms, name) in ends {
        let ledgerbox = Ledgerbox::open().await;
        let deal = Deal::opened(&ledgerbox, until).await;
        ledgerbox.advance_ms(wait_ms).await;
        states.push((ledgerbox, deal, name));
    }
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Offered).await;
    ledgerbox.accept(&deal.reject(&ledgerbox)).await;
    ledgerbox.settle().await;
    states.push((ledgerbox, deal, "rejected"));
    let (ledgerbox, deal) = completed().await;
    states.push((ledgerbox, deal, "completed"));
    states
}

async fn completed() -> (Ledgerbox, Deal) {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(DEPTH * 2_000 + 2_000).await;
    (ledgerbox, deal)
}

async fn stream_of(ledgerbox: &Ledgerbox, position: u64) -> String {
    let records = ledgerbox.records().await;
    let record = &records[usize::try_from(position).unwrap()];
    record.stream().to_owned()
}

async fn assert_mailed(ledgerbox: &Ledgerbox, envelope: &SealedEnvelope) {
    let accepted = ledgerbox.accept(envelope).await;
    assert_eq!(accepted.interaction_id, None);
    assert_eq!((accepted.state, accepted.deadline_at_ms), (None, None));
    let stream = stream_of(ledgerbox, accepted.position).await;
    assert_eq!(stream, format!("mail:{}", envelope.header.to));
    ledgerbox.settle().await;
    let delivered = ledgerbox
        .rows
        .deliveries(envelope.header.to, accepted.position, 1)
        .await
        .unwrap();
    let expected = DeliveryRow {
        recipient: envelope.header.to,
        position: accepted.position,
        envelope_id: envelope.header.id,
    };
    assert_eq!(delivered, [expected]);
}

#[tokio::test]
async fn ae_124_custom_types_are_mailed_in_every_state() {
    for (ledgerbox, deal, name) in every_state().await {
        assert_eq!(ledgerbox.state(deal.id()), name);
        let before = ledgerbox.ledger().world().interaction(deal.id()).cloned();
        let payload = json!({"request_id": deal.request_id, "price": "1"});
        let parties = [
            (&deal.initiator, &deal.provider),
            (&deal.provider, &deal.initiator),
        ];
        for (from, to) in parties {
            for kind in ["x811.ext/counter-offer", "x811.a-b.9/cancel"] {
                let custom = ledgerbox.seal(from, kind, to, payload.clone());
                assert_mailed(&ledgerbox, &custom).await;
            }
        }
        let after = ledgerbox.ledger().world().interaction(deal.id()).cloned();
        assert_eq!(before, after, "{name}");
        assert_eq!(ledgerbox.state(deal.id()), name);
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn ax_039_types_without_a_namespace_are_refused() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let custom = ledgerbox.seal(
        &deal.initiator,
        "x811.ext/cancel",
        &deal.provider,
        json!({}),
    );
    let text = String::from_utf8(custom.json).unwrap();
    for kind in [
        "x811/cancel",
        "x811/heartbeat",
        "acme/cancel",
        "x811.EXT/cancel",
    ] {
        let bytes = text.replace("x811.ext/cancel", kind);
        let refusal = ledgerbox.ledger().submit(bytes).await.unwrap_err();
        assert_eq!(refusal.code, Code::InvalidStateTransition, "{kind}");
        assert_eq!(refusal.http_status(), 400, "{kind}");
    }
}

#[tokio::test]
async fn ax_032_a_partys_error_never_moves_an_interaction() {
    for (ledgerbox, deal, name) in every_state().await {
        let before = ledgerbox.ledger().world();
        let about_it = deal.error(&ledgerbox, Some(deal.request_id));
        match before.interaction(deal.id()) {
            Some(live) if !live.state.name().is_terminal() => {
                let accepted = ledgerbox.accept(&about_it).await;
                assert_eq!(accepted.interaction_id, Some(deal.id()));
                assert_eq!((accepted.state, accepted.deadline_at_ms), (None, None));
                let after = ledgerbox.ledger().world();
                let after = after.interaction(deal.id()).unwrap();
                assert_eq!(after.state, live.state, "{name}");
            }
            Some(_) | None => {
                let code = ledgerbox.code(&about_it).await;
                assert_eq!(code, Code::InvalidStateTransition, "{name}");
            }
        }
        ledgerbox.settle().await;
        assert_eq!(ledgerbox.state(deal.id()), name);
        ledgerbox.assert_log_adds_up().await;
    }
}

#[tokio::test]
async fn ax_032_an_error_about_a_finished_interaction_is_refused_for_ever() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    for _ in 0..40 {
        ledgerbox.advance_ms(60_000).await;
    }
    for _ in 0..2 {
        let about_it = deal.error(&ledgerbox, Some(deal.request_id));
        let code = ledgerbox.code(&about_it).await;
        assert_eq!(code, Code::InvalidStateTransition);
        ledgerbox.restart().await;
    }
}

#[tokio::test]
async fn lc_6_errors_about_nothing_known_are_mailed() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let never_sent = ledgerbox.letter("x811.ext/a", &deal.initiator, json!({}));
    let greeting = ledgerbox.seal(
        &deal.initiator,
        "x811.ext/greeting",
        &deal.provider,
        json!({}),
    );
    ledgerbox.accept(&greeting).await;
    for related in [None, Some(never_sent.id), Some(greeting.header.id)] {
        assert_mailed(&ledgerbox, &deal.error(&ledgerbox, related)).await;
    }
    // Long after, when no memory of the greeting is held.
    for _ in 0..40 {
        ledgerbox.advance_ms(60_000).await;
    }
    let late = deal.error(&ledgerbox, Some(greeting.header.id));
    assert_mailed(&ledgerbox, &late).await;
}

#[tokio::test]
async fn ae_034_a_strangers_error_about_an_interaction_is_refused() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let stranger = ledgerbox.provider().await;
    let payload = json!({
        "code": "X811-9002",
        "message": "give up",
        "related_message_id": deal.request_id,
    });
    for to in [&deal.initiator, &deal.provider] {
        let error = ledgerbox.seal(&stranger, "x811/error", to, payload.clone());
        let code = ledgerbox.code(&error).await;
        assert_eq!(code, Code::InvalidStateTransition);
    }
}

#[tokio::test]
async fn ax_011_references_to_nothing_are_refused() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    let envelopes = [
        deal.offer(&ledgerbox),
        deal.accept(&ledgerbox),
        deal.reject(&ledgerbox),
        deal.result(&ledgerbox),
        deal.verify(&ledgerbox),
        deal.payment(&ledgerbox, 1),
    ];
    let size = ledgerbox.records().await.len();
    for envelope in envelopes {
        let refusal = ledgerbox.refuse(&envelope).await;
        assert_eq!(refusal.code, Code::InvalidStateTransition);
        assert_eq!(refusal.http_status(), 422);
    }
    assert_eq!(ledgerbox.records().await.len(), size);
}

#[tokio::test]
async fn ax_032_an_error_about_an_interaction_that_ends_before_its_turn_is_no_mail() {
    const HOUR_MS: u64 = 3_600_000;
    let mut patient = parameters();
    patient.windows.accept_ms = HOUR_MS;
    let ledgerbox = Ledgerbox::with(patient).await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let offer = deal.offer_for(&ledgerbox, 3_600);
    ledgerbox.accept(&offer).await;
    // Longer than envelope ids are held in memory.
    ledgerbox.advance_ms(HOUR_MS / 2).await;
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let plug = ledgerbox.registration(&ledgerbox.party(), &[], &[]);
    let plug = ledgerbox.submit_later(&plug).await;
    let reject = ledgerbox.submit_later(&deal.reject(&ledgerbox)).await;
    let error = deal.error(&ledgerbox, Some(offer.header.id));
    let error = ledgerbox.submit_later(&error).await;
    drop(held);
    plug.await.unwrap().unwrap();
    reject.await.unwrap().unwrap();
    let refusal = error.await.unwrap().unwrap_err();
    assert_eq!(refusal.code, Code::InvalidStateTransition);
    ledgerbox.assert_log_adds_up().await;
}
