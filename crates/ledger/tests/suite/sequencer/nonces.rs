//! A nonce is spent with the answer it got, accepted or refused (ledger-contract.md section 3).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use serde_json::json;
use x811_ledger::memory::CommitFault;
use x811_ledger::port::LedgerStore;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::time::TimestampMs;

/// A well-formed message in a state that does not take it.
async fn refused(ledgerbox: &Ledgerbox) -> (Deal, SealedEnvelope) {
    let mut deal = Deal::opened(ledgerbox, Until::Offered).await;
    let result = deal.result(ledgerbox);
    let code = ledgerbox.code(&result).await;
    assert_eq!(code, Code::InvalidStateTransition);
    (deal, result)
}

#[tokio::test]
async fn ae_087_a_replay_gets_the_first_outcome_of_an_accepted_message() {
    let mut ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::between_new_parties(&ledgerbox).await;
    let request = deal.request(&ledgerbox);
    let accepted = ledgerbox.accept(&request).await;
    for _ in 0..2 {
        let size = ledgerbox.records().await.len();
        let replay = ledgerbox.refuse(&request).await;
        assert_eq!(replay.code, Code::NonceReplay);
        assert_eq!(replay.http_status(), 409);
        assert_eq!(replay.details, Some(json!({ "first": accepted })));
        assert_eq!(ledgerbox.records().await.len(), size, "no record");
        ledgerbox.restart().await;
    }
}

#[tokio::test]
async fn ae_087_a_replay_gets_the_first_outcome_of_a_refused_message() {
    let mut ledgerbox = Ledgerbox::open().await;
    let (_deal, result) = refused(&ledgerbox).await;
    for _ in 0..2 {
        let replay = ledgerbox.refuse(&result).await;
        assert_eq!(replay.code, Code::NonceReplay);
        let first = json!({ "first": {"code": "X811-4001"} });
        assert_eq!(replay.details, Some(first));
        ledgerbox.restart().await;
    }
}

#[tokio::test]
async fn ae_036_a_refused_message_changes_nothing_but_its_nonce() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Offered).await;
    let before = ledgerbox.ledger().world();
    let commits = ledgerbox.store.commits();
    let result = deal.result(&ledgerbox);
    ledgerbox.refuse(&result).await;
    let after = ledgerbox.ledger().world();
    assert_eq!(before.head(), after.head());
    assert_eq!(
        before.interaction(deal.id()),
        after.interaction(deal.id()),
        "state and timers are as they were"
    );
    assert_eq!(before.sizes().nonces + 1, after.sizes().nonces);
    assert_eq!(ledgerbox.store.commits(), commits + 1, "durably spent");
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn ae_087_one_nonce_serves_one_message_of_a_sender() {
    let ledgerbox = Ledgerbox::open().await;
    let (deal, result) = refused(&ledgerbox).await;
    let mut letter = ledgerbox.letter(
        "x811.ext/greeting",
        &deal.initiator,
        json!({"text": "hello"}),
    );
    letter.nonce = result.header.nonce;
    let from_provider = deal.provider.seal(&letter);
    assert_eq!(ledgerbox.code(&from_provider).await, Code::NonceReplay);
    letter.to = deal.provider.did;
    ledgerbox.accept(&deal.initiator.seal(&letter)).await;
}

#[tokio::test]
async fn lc_3_a_failed_commit_leaves_the_nonce_unspent() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Offered).await;
    let result = deal.result(&ledgerbox);
    ledgerbox.fail_next_commit(CommitFault::Backend);
    assert_eq!(ledgerbox.code(&result).await, Code::InternalError);
    let again = ledgerbox.code(&result).await;
    assert_eq!(again, Code::InvalidStateTransition, "not a replay");
    assert_eq!(ledgerbox.code(&result).await, Code::NonceReplay);
}

#[tokio::test]
async fn lc_1_2_a_message_that_waits_too_long_is_busy_and_keeps_its_nonce() {
    for (waits_ms, served) in [(250, true), (251, false)] {
        let ledgerbox = Ledgerbox::open().await;
        let deal = Deal::between_new_parties(&ledgerbox).await;
        let store = ledgerbox.store.clone();
        let held = store.hold_commits().await;
        let first = ledgerbox.registration(&ledgerbox.party(), &[], &[]);
        let first = ledgerbox.submit_later(&first).await;
        let mail = ledgerbox.seal(
            &deal.provider,
            "x811.ext/greeting",
            &deal.initiator,
            json!({}),
        );
        let answer = ledgerbox.submit_later(&mail).await;
        ledgerbox.advance_ms(waits_ms).await;
        drop(held);
        first.await.unwrap().unwrap();
        let answer = answer.await.unwrap();
        if served {
            answer.unwrap();
        } else {
            let refusal = answer.unwrap_err();
            assert_eq!(refusal.code, Code::RateLimitExceeded);
            assert_eq!(refusal.http_status(), 429);
            ledgerbox.accept(&mail).await;
        }
    }
}

#[tokio::test]
async fn ax_027_a_nonce_stays_spent_for_fifteen_minutes() {
    for spent_by_refusal in [false, true] {
        for restarts in [false, true] {
            let mut ledgerbox = Ledgerbox::open().await;
            let deal = Deal::between_new_parties(&ledgerbox).await;
            let kind = if spent_by_refusal {
                "x811/error"
            } else {
                "x811.ext/greeting"
            };
            let mut letter = ledgerbox.letter(kind, &deal.initiator, json!({}));
            let first = ledgerbox.submit(&deal.provider.seal(&letter)).await;
            assert_eq!(first.is_err(), spent_by_refusal);
            letter.kind = "x811.ext/greeting".to_owned();
            for (wait_ms, replay) in [(899_000, true), (120_000, false)] {
                for _ in 0..wait_ms / 1_000 {
                    ledgerbox.advance_ms(1_000).await;
                }
                if restarts {
                    ledgerbox.restart().await;
                }
                let mut later = ledgerbox.letter("x811.ext/greeting", &deal.initiator, json!({}));
                later.nonce = letter.nonce;
                let answer = ledgerbox.submit(&deal.provider.seal(&later)).await;
                assert_eq!(answer.is_err(), replay, "{answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn lc_3_nonces_and_ids_are_forgotten_after_their_window() {
    let ledgerbox = Ledgerbox::open().await;
    let (_deal, _result) = refused(&ledgerbox).await;
    let held = ledgerbox.ledger().world().sizes();
    assert_ne!((held.nonces, held.envelope_ids), (0, 0));
    // The last notice comes after five minutes, ids are held for 25 and a bucket.
    for _ in 0..32 * 60 {
        ledgerbox.advance_ms(1_000).await;
    }
    let party = ledgerbox.party();
    ledgerbox
        .accept(&ledgerbox.registration(&party, &[], &[]))
        .await;
    let left = ledgerbox.ledger().world().sizes();
    assert_eq!((left.nonces, left.envelope_ids), (1, 1), "only the new one");
    let journal = ledgerbox.store.spent_nonces(TimestampMs::new(0)).await;
    assert_eq!(journal.unwrap(), [], "the journal is purged too");
}

#[tokio::test]
async fn lc_3_an_envelope_id_is_unique_for_ever() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Offered).await;
    for _ in 0..2 {
        let mut letter = ledgerbox.letter("x811.ext/greeting", &deal.provider, json!({}));
        letter.id = deal.request_id;
        let reused = ledgerbox.refuse(&deal.initiator.seal(&letter)).await;
        assert_eq!(reused.code, Code::InvalidStateTransition);
        letter.id = deal.offer_id;
        letter.nonce = ledgerbox
            .letter("x811.ext/a", &deal.provider, json!({}))
            .nonce;
        let of_another_sender = ledgerbox.refuse(&deal.initiator.seal(&letter)).await;
        assert_eq!(of_another_sender.code, Code::InvalidStateTransition);
        ledgerbox.restart().await;
    }
}

#[tokio::test]
async fn lc_3_the_id_of_a_refused_envelope_stays_free() {
    let ledgerbox = Ledgerbox::open().await;
    let (mut deal, result) = refused(&ledgerbox).await;
    let accept = deal.accept(&ledgerbox);
    ledgerbox.accept(&accept).await;
    let mut letter = ledgerbox.letter("x811/result", &deal.initiator, json!({}));
    letter.id = result.header.id;
    letter.payload =
        serde_json::from_slice::<serde_json::Value>(&result.json).unwrap()["payload"].clone();
    let accepted = ledgerbox.accept(&deal.provider.seal(&letter)).await;
    assert_eq!(accepted.state, Some("delivered"));
}

#[tokio::test]
async fn ax_027_a_nonce_that_comes_again_after_its_window_is_spent_again_by_a_replay() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let (from, to) = (&deal.provider, &deal.initiator);
    let letter = || ledgerbox.letter("x811.ext/greeting", to, json!({}));
    let first = letter();
    ledgerbox.accept(&from.seal(&first)).await;
    ledgerbox.advance_ms(17 * 60_000).await;
    let mut again = letter();
    again.nonce = first.nonce;
    ledgerbox.accept(&from.seal(&again)).await;
    let mut third = letter();
    third.nonce = first.nonce;
    let third = from.seal(&third);
    ledgerbox.restart().await;
    assert_eq!(ledgerbox.code(&third).await, Code::NonceReplay);
}
