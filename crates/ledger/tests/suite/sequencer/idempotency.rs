//! The same REQUEST sent twice is one interaction (AX-12, ledger-contract.md section 3).

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::party::{Account, Party};
use serde_json::Value;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;

const KEY: &str = "order-4711";

struct Shop {
    ledgerbox: Ledgerbox,
    initiator: Party,
    provider: Party,
    other_provider: Party,
}

impl Shop {
    async fn open() -> Shop {
        let ledgerbox = Ledgerbox::open().await;
        let initiator = ledgerbox.initiator(&Account::new(0x46)).await;
        let provider = ledgerbox.provider().await;
        let other_provider = ledgerbox.provider().await;
        Shop {
            ledgerbox,
            initiator,
            provider,
            other_provider,
        }
    }

    fn request(&self) -> SealedEnvelope {
        self.request_to(&self.provider, Deal::request_payload(KEY))
    }

    fn request_to(&self, to: &Party, payload: Value) -> SealedEnvelope {
        self.ledgerbox
            .seal(&self.initiator, "x811/request", to, payload)
    }

    /// REQUESTs under the same key that are none of the first.
    fn conflicting(&self) -> [SealedEnvelope; 2] {
        let mut other = Deal::request_payload(KEY);
        other["parameters"]["text"] = "Good night".into();
        [
            self.request_to(&self.provider, other),
            self.request_to(&self.other_provider, Deal::request_payload(KEY)),
        ]
    }

    async fn check_against(&self, first: &x811_ledger::answer::Accepted) {
        let size = self.ledgerbox.records().await.len();
        let again = self.request();
        assert_eq!(self.ledgerbox.repeat(&again).await, *first);
        let replay = self.ledgerbox.refuse(&again).await;
        assert_eq!(replay.code, Code::NonceReplay, "the repeat spent its nonce");
        let details = serde_json::json!({ "first": first });
        assert_eq!(replay.details, Some(details));
        for conflicting in self.conflicting() {
            let refusal = self.ledgerbox.refuse(&conflicting).await;
            assert_eq!(refusal.code, Code::InvalidStateTransition);
        }
        assert_eq!(self.ledgerbox.records().await.len(), size, "no record");
    }
}

#[tokio::test]
async fn ax_012_a_repeat_gets_the_first_answer_for_ever() {
    let mut shop = Shop::open().await;
    let first = shop.ledgerbox.accept(&shop.request()).await;
    shop.check_against(&first).await;
    shop.ledgerbox.restart().await;
    shop.check_against(&first).await;
    // Expired and out of memory, it is still the same order.
    for _ in 0..40 {
        shop.ledgerbox.advance_ms(60_000).await;
    }
    assert_eq!(shop.ledgerbox.ledger().world().sizes().interactions, 0);
    shop.check_against(&first).await;
    shop.ledgerbox.restart().await;
    shop.check_against(&first).await;
}

#[tokio::test]
async fn ax_012_a_repeat_in_the_same_batch_is_a_repeat() {
    let shop = Shop::open().await;
    let ledgerbox = &shop.ledgerbox;
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let plug = ledgerbox.registration(&ledgerbox.party(), &[], &[]);
    let plug = ledgerbox.submit_later(&plug).await;
    let (first, again, [payload, to]) = (shop.request(), shop.request(), shop.conflicting());
    let mut answers = Vec::new();
    for envelope in [&first, &again, &payload, &to] {
        answers.push(ledgerbox.submit_later(envelope).await);
    }
    let commits = store.commits();
    drop(held);
    plug.await.unwrap().unwrap();
    let mut outcomes = Vec::new();
    for answer in answers {
        outcomes.push(answer.await.unwrap());
    }
    assert_eq!(store.commits(), commits + 2, "the four came in one batch");
    let x811_ledger::answer::Answer::Accepted(recorded) = outcomes[0].clone().unwrap() else {
        panic!("{:?}", outcomes[0]);
    };
    let repeated = x811_ledger::answer::Answer::Repeated(recorded);
    assert_eq!(outcomes[1], Ok(repeated));
    for conflicting in &outcomes[2..] {
        let refusal = conflicting.clone().unwrap_err();
        assert_eq!(refusal.code, Code::InvalidStateTransition);
    }
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn ax_012_keys_belong_to_their_initiator() {
    let shop = Shop::open().await;
    let first = shop.ledgerbox.accept(&shop.request()).await;
    let other = shop.ledgerbox.initiator(&Account::new(0x47)).await;
    let payload = Deal::request_payload(KEY);
    let request = shop
        .ledgerbox
        .seal(&other, "x811/request", &shop.provider, payload);
    let second = shop.ledgerbox.accept(&request).await;
    assert_ne!(first.interaction_id, second.interaction_id);
}

#[tokio::test]
async fn ax_012_a_refused_request_leaves_its_key_free() {
    let shop = Shop::open().await;
    let mut payload = Deal::request_payload(KEY);
    payload["task_type"] = "juggling".into();
    let refused = shop.request_to(&shop.provider, payload);
    let code = shop.ledgerbox.code(&refused).await;
    assert_eq!(code, Code::CapabilityNotRegistered);
    shop.ledgerbox.accept(&shop.request()).await;
}

#[tokio::test]
async fn lc_3_a_failed_commit_leaves_the_key_free() {
    use x811_ledger::memory::CommitFault;
    let shop = Shop::open().await;
    shop.ledgerbox.fail_next_commit(CommitFault::Backend);
    let code = shop.ledgerbox.code(&shop.request()).await;
    assert_eq!(code, Code::InternalError);
    shop.ledgerbox.accept(&shop.request()).await;
}

#[tokio::test]
async fn lc_3_a_payment_of_declared_transactions_is_a_repeat() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let first = ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    let size = ledgerbox.records().await.len();
    let again = deal.payment(&ledgerbox, 1);
    assert_eq!(ledgerbox.repeat(&again).await, first);
    assert_eq!(ledgerbox.code(&again).await, Code::NonceReplay);
    assert_eq!(ledgerbox.records().await.len(), size);
    let second = ledgerbox.accept(&deal.payment(&ledgerbox, 2)).await;
    assert_eq!(ledgerbox.repeat(&deal.payment(&ledgerbox, 1)).await, first);
    assert_eq!(ledgerbox.repeat(&deal.payment(&ledgerbox, 2)).await, second);
    // Nor does it matter how long it is being watched.
    ledgerbox.watch_ms(31_000).await;
    assert_eq!(ledgerbox.repeat(&deal.payment(&ledgerbox, 1)).await, first);
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn lc_3_a_repeated_payment_that_finds_the_lapse_is_still_a_repeat() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let first = ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(29_900).await;
    let again = deal.payment(&ledgerbox, 1);
    let answer = ledgerbox.submit_while_busy(&again, 101).await;
    assert_eq!(answer, Ok(x811_ledger::answer::Answer::Repeated(first)));
    assert!(ledgerbox.types(deal.id()).await.contains(&"lapsed"));
}
