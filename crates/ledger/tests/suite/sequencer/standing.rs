//! An agent's standing, keys and wallets count from the record on that changes them, also for what
//! waits for its turn (AE-93 to AE-95, AX-29 to AX-31, ledger-contract.md section 4).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::party::{Account, Party};
use super::registry::{ask, greeting, rotate, update, with_new_key};
use serde_json::json;
use x811_ledger::answer::Answer;
use x811_ledger::port::LedgerStore as _;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;

/// Sends `first`, and `second` while `first` waits for its commit; both take their turns in one
/// order. The answer to `second`.
async fn in_one_batch(
    ledgerbox: &Ledgerbox,
    first: &SealedEnvelope,
    second: &SealedEnvelope,
) -> Result<Answer, Refusal> {
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let plug = ledgerbox.registration(&ledgerbox.party(), &[], &[]);
    let plug = ledgerbox.submit_later(&plug).await;
    let first = ledgerbox.submit_later(first).await;
    let second = ledgerbox.submit_later(second).await;
    drop(held);
    plug.await.unwrap().unwrap();
    first.await.unwrap().unwrap();
    second.await.unwrap()
}

#[tokio::test]
async fn ae_094_and_ax_030_a_did_that_may_not_act_is_refused_with_its_status() {
    for status in ["deactivated", "revoked", "expired"] {
        let ledgerbox = Ledgerbox::open().await;
        let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
        ledgerbox
            .accept(&greeting(&ledgerbox, &party, &other))
            .await;
        let change = match status {
            "deactivated" => ask(&ledgerbox, &party, "deactivate", json!({})),
            "revoked" => ask(&ledgerbox, &party, "revoke", json!({})),
            _ => {
                let soon = ledgerbox.now().saturating_add_ms(1_000);
                update(&ledgerbox, &party, &[], Some(soon))
            }
        };
        ledgerbox.accept(&change).await;
        ledgerbox.advance_ms(1_001).await;

        let refused = greeting(&ledgerbox, &party, &other);
        let size = ledgerbox.records().await.len();
        let refusal = ledgerbox.refuse(&refused).await;
        assert_eq!(refusal.code, Code::SignatureInvalid, "{status}");
        assert_eq!(refusal.http_status(), 401, "{status}");
        assert_eq!(refusal.details, Some(json!({ "did_status": status })));
        assert_eq!(refusal.related, Some(refused.header.id));
        assert_eq!(ledgerbox.records().await.len(), size, "{status}");
        let spent = ledgerbox.store.spent_nonces(TimestampMs::new(0)).await;
        assert_eq!(spent.unwrap(), [], "{status}: no nonce is spent by it");
        // The others go on, towards it as well.
        ledgerbox
            .accept(&greeting(&ledgerbox, &other, &party))
            .await;
    }
}

#[tokio::test]
async fn ax_031_a_reactivated_did_speaks_again() {
    let ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    ledgerbox
        .accept(&ask(&ledgerbox, &party, "deactivate", json!({})))
        .await;
    let message = greeting(&ledgerbox, &party, &other);
    assert_eq!(ledgerbox.code(&message).await, Code::SignatureInvalid);
    ledgerbox
        .accept(&ask(&ledgerbox, &party, "reactivate", json!({})))
        .await;
    ledgerbox.accept(&message).await;
}

#[tokio::test]
async fn ax_031_an_expired_did_extends_itself_and_speaks_again() {
    let ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let soon = ledgerbox.now().saturating_add_ms(1_000);
    ledgerbox
        .accept(&update(&ledgerbox, &party, &[], Some(soon)))
        .await;
    ledgerbox.advance_ms(1_000).await;
    ledgerbox
        .accept(&greeting(&ledgerbox, &party, &other))
        .await;
    ledgerbox.advance_ms(1).await;
    let message = greeting(&ledgerbox, &party, &other);
    assert_eq!(ledgerbox.code(&message).await, Code::SignatureInvalid);
    ledgerbox
        .accept(&update(&ledgerbox, &party, &[], None))
        .await;
    ledgerbox.accept(&message).await;
}

#[tokio::test]
async fn ae_093_and_ae_095_keys_count_as_the_log_has_them_now() {
    let ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let renewed = with_new_key(&ledgerbox, &party);
    let early = greeting(&ledgerbox, &renewed, &other);
    assert_eq!(ledgerbox.code(&early).await, Code::SignatureInvalid);
    ledgerbox
        .accept(&rotate(&ledgerbox, &party, &renewed))
        .await;
    let late = greeting(&ledgerbox, &party, &other);
    let refusal = ledgerbox.refuse(&late).await;
    assert_eq!(refusal.code, Code::SignatureInvalid);
    assert_eq!(refusal.http_status(), 401);
    ledgerbox.accept(&early).await;
    assert_eq!(ledgerbox.code(&late).await, Code::SignatureInvalid);
}

/// The signature was good when it was checked; the turn decides.
#[tokio::test]
async fn ae_092_a_key_replaced_while_a_message_waits_is_the_senders_no_longer() {
    let ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let rotation = rotate(&ledgerbox, &party, &with_new_key(&ledgerbox, &party));
    let waiting = greeting(&ledgerbox, &party, &other);
    let refusal = in_one_batch(&ledgerbox, &rotation, &waiting)
        .await
        .unwrap_err();
    assert_eq!(refusal.code, Code::SignatureInvalid);
    assert_eq!(refusal.related, Some(waiting.header.id));
    assert_eq!(refusal.details, None);
}

#[tokio::test]
async fn ae_094_a_status_changed_while_a_message_waits_counts() {
    for (verb, status) in [("deactivate", "deactivated"), ("revoke", "revoked")] {
        let ledgerbox = Ledgerbox::open().await;
        let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
        let change = ask(&ledgerbox, &party, verb, json!({}));
        let waiting = greeting(&ledgerbox, &party, &other);
        let refusal = in_one_batch(&ledgerbox, &change, &waiting)
            .await
            .unwrap_err();
        assert_eq!(refusal.code, Code::SignatureInvalid);
        assert_eq!(refusal.details, Some(json!({ "did_status": status })));
    }
}

/// AX-29: what the first look refused is looked at once more in the newest world.
#[tokio::test]
async fn ax_029_one_fresh_look_when_the_keys_changed_meanwhile() {
    let ledgerbox = Ledgerbox::open().await;
    let (party, other) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let renewed = with_new_key(&ledgerbox, &party);
    let held = ledgerbox.store.hold_commits().await;
    let rotation = ledgerbox
        .submit_later(&rotate(&ledgerbox, &party, &renewed))
        .await;
    // The verifying thread, which checks what is large, is busy, so the message is looked at in the
    // world of its arrival only after the rotation is durable.
    let (unplug, plugged) = std::sync::mpsc::channel::<()>();
    rayon::spawn(move || plugged.recv().unwrap());
    let large = json!({ "text": "x".repeat(20_000) });
    let message = ledgerbox.seal(&renewed, "x811.ext/greeting", &other, large);
    let ledger = ledgerbox.ledger().clone();
    let waiting = tokio::spawn(async move { ledger.submit(message.json.clone()).await });
    for _ in 0..24 {
        tokio::task::yield_now().await;
    }
    drop(held);
    rotation.await.unwrap().unwrap();
    unplug.send(()).unwrap();
    let answer = waiting.await.unwrap();
    assert!(matches!(answer, Ok(Answer::Accepted(_))), "{answer:?}");
}

#[tokio::test]
async fn lc_4_a_request_to_a_did_that_may_not_act_finds_no_agent() {
    for verb in ["deactivate", "revoke", "expire"] {
        let ledgerbox = Ledgerbox::open().await;
        let mut deal = Deal::between_new_parties(&ledgerbox).await;
        may_not_act(&ledgerbox, &deal.provider, verb).await;
        let refusal = ledgerbox.refuse(&deal.request(&ledgerbox)).await;
        let answer = (refusal.code, refusal.http_status());
        assert_eq!(answer, (Code::AgentNotFound, 404), "{verb}");
    }
}

async fn may_not_act(ledgerbox: &Ledgerbox, party: &Party, verb: &str) {
    let change = match verb {
        "expire" => {
            let soon = ledgerbox.now().saturating_add_ms(1_000);
            update(ledgerbox, party, &[], Some(soon))
        }
        verb => ask(ledgerbox, party, verb, json!({})),
    };
    ledgerbox.accept(&change).await;
    ledgerbox.advance_ms(1_001).await;
}

#[tokio::test]
async fn lc_4_a_running_interaction_goes_on_but_the_sender_must_stand() {
    for verb in ["deactivate", "revoke", "expire"] {
        let ledgerbox = Ledgerbox::open().await;
        let mut deal = Deal::opened(&ledgerbox, Until::Offered).await;
        let provider = deal.provider.clone();
        may_not_act(&ledgerbox, &provider, verb).await;
        let accept = deal.accept(&ledgerbox);
        ledgerbox.accept(&accept).await;
        let result = deal.result(&ledgerbox);
        assert_eq!(
            ledgerbox.code(&result).await,
            Code::SignatureInvalid,
            "{verb}"
        );
    }
}

#[tokio::test]
async fn lc_4_a_payer_is_a_wallet_bound_as_of_the_payment() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let payment = deal.payment(&ledgerbox, 1);
    ledgerbox
        .accept(&update(&ledgerbox, &deal.initiator, &[], None))
        .await;
    let refusal = ledgerbox.refuse(&payment).await;
    assert_eq!(refusal.code, Code::InvalidPaymentAddress);
    assert_eq!(ledgerbox.state(deal.id()), "verified");
    let bound = update(&ledgerbox, &deal.initiator, &[&deal.account], None);
    ledgerbox.accept(&bound).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
}

/// The other order: a wallet that was not bound at the REQUEST pays once an update binds it.
#[tokio::test]
async fn lc_4_a_wallet_bound_during_the_interaction_pays() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Verified).await;
    deal.account = Account::new(0x47);
    let refusal = ledgerbox.refuse(&deal.payment(&ledgerbox, 1)).await;
    assert_eq!(refusal.code, Code::InvalidPaymentAddress);
    let bound = update(&ledgerbox, &deal.initiator, &[&deal.account], None);
    let payment = deal.payment(&ledgerbox, 1);
    let answer = in_one_batch(&ledgerbox, &bound, &payment).await;
    assert!(matches!(answer, Ok(Answer::Accepted(_))), "{answer:?}");
}
