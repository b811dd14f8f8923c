//! Who may speak, and when it is checked (AX-28, AX-30, ledger-contract.md sections 1.2 and 4).

use super::deal::{Deal, Until};
use super::ledgerbox::{Ledgerbox, TASK, parameters};
use super::party::Account;
use serde_json::json;
use x811_ledger::answer::Answer;
use x811_ledger::port::LedgerStore;
use x811_protocol::code::Code;
use x811_protocol::parameters::Leniency;
use x811_protocol::time::TimestampMs;

#[tokio::test]
async fn ax_028_what_is_not_authentic_spends_no_nonce() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Pending).await;
    let offer = deal.offer(&ledgerbox);
    let text = String::from_utf8(offer.json.clone()).unwrap();
    let garbage = [
        (
            text.replace("\"1.025\"", "\"1.024\""),
            Code::SignatureInvalid,
        ),
        (
            text.replace("\"0.1.0\"", "\"9.1.0\""),
            Code::ProtocolVersionUnsupported,
        ),
        (
            text[..text.len() - 2].to_owned(),
            Code::InvalidStateTransition,
        ),
        (
            text.replace("\"version\"", "\"created\":\"x\",\"version\""),
            Code::InvalidStateTransition,
        ),
    ];
    let commits = ledgerbox.store.commits();
    for (bytes, code) in garbage {
        let refusal = ledgerbox.ledger().submit(bytes.clone()).await.unwrap_err();
        assert_eq!(refusal.code, code, "{bytes}");
    }
    let stranger = ledgerbox.party();
    let mut forged = ledgerbox.letter("x811.ext/greeting", &deal.initiator, json!({}));
    forged.nonce = offer.header.nonce;
    let forger = super::party::Party {
        did: deal.provider.did,
        key: stranger.key,
    };
    let refusal = ledgerbox.refuse(&forger.seal(&forged)).await;
    assert_eq!(refusal.code, Code::SignatureInvalid);
    assert_eq!(ledgerbox.store.commits(), commits, "nothing was written");
    ledgerbox.accept(&offer).await;
}

#[tokio::test]
async fn ax_030_unknown_parties_are_named() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let stranger = ledgerbox.party();
    let payload = || Deal::request_payload("key");
    let from = ledgerbox.seal(&stranger, "x811/request", &deal.provider, payload());
    let refusal = ledgerbox.refuse(&from).await;
    assert_eq!(
        (refusal.code, refusal.http_status()),
        (Code::DidNotFound, 404)
    );
    for kind in ["x811/request", "x811.ext/greeting"] {
        let to = ledgerbox.seal(&deal.initiator, kind, &stranger, payload());
        let refusal = ledgerbox.refuse(&to).await;
        assert_eq!(refusal.code, Code::AgentNotFound, "{kind}");
        assert_eq!(refusal.http_status(), 404);
        assert_eq!(refusal.related, Some(to.header.id));
        assert_eq!(
            ledgerbox.code(&to).await,
            Code::NonceReplay,
            "it was authentic"
        );
    }
    // Once it is there, what it says counts, with the same envelope.
    ledgerbox
        .accept(&ledgerbox.registration(&stranger, &[TASK], &[]))
        .await;
    ledgerbox.accept(&from).await;
}

#[tokio::test]
async fn ae_089_created_is_within_five_minutes_both_inclusive() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let now = ledgerbox.now();
    let cases = [
        (now.saturating_sub_ms(300_000), true),
        (now.saturating_sub_ms(300_001), false),
        (now.saturating_add_ms(300_000), true),
        (now.saturating_add_ms(300_001), false),
    ];
    for (created, passes) in cases {
        let mut letter = ledgerbox.letter("x811.ext/greeting", &deal.initiator, json!({}));
        letter.created = created;
        letter.id = x811_protocol::id::EnvelopeId::from_parts(
            created.as_ms(),
            &letter.id.uuid().as_bytes()[6..].try_into().unwrap(),
        );
        let answer = ledgerbox.submit(&deal.provider.seal(&letter)).await;
        match answer {
            Ok(Answer::Accepted(_)) => assert!(passes, "{created:?}"),
            Err(refusal) => {
                assert!(!passes, "{created:?}");
                assert_eq!(refusal.code, Code::TimestampInvalid);
            }
            Ok(repeated) => panic!("{repeated:?}"),
        }
    }
}

#[tokio::test]
async fn lc_1_2_times_are_checked_again_at_the_turn() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    for (wait_ms, passes) in [(100, true), (101, false)] {
        for by_expiry in [false, true] {
            let mut letter = ledgerbox.letter("x811.ext/greeting", &deal.initiator, json!({}));
            if by_expiry {
                letter.expires = Some(ledgerbox.now().saturating_add_ms(101));
            } else {
                letter.created = ledgerbox.now().saturating_sub_ms(299_900);
            }
            let envelope = deal.provider.seal(&letter);
            match ledgerbox.submit_while_busy(&envelope, wait_ms).await {
                Ok(_) => assert!(passes, "{letter:?}"),
                Err(refusal) => {
                    assert!(!passes, "{letter:?}");
                    assert_eq!(refusal.code, Code::TimestampInvalid);
                }
            }
        }
    }
    let spent = ledgerbox.store.spent_nonces(TimestampMs::new(0)).await;
    assert_eq!(spent.unwrap(), [], "no nonce is spent by it");
}

#[tokio::test]
async fn lc_4_a_did_is_registered_once() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.party();
    let rival = super::party::Party {
        did: party.did,
        key: ledgerbox.party().key,
    };
    let first = ledgerbox.registration(&party, &[], &[]);
    let second = ledgerbox.registration(&rival, &[], &[]);
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let plug = ledgerbox.registration(&ledgerbox.party(), &[], &[]);
    let plug = ledgerbox.submit_later(&plug).await;
    let answers = [
        ledgerbox.submit_later(&first).await,
        ledgerbox.submit_later(&second).await,
    ];
    drop(held);
    plug.await.unwrap().unwrap();
    let [first_answer, second_answer] = answers;
    first_answer.await.unwrap().unwrap();
    let refusal = second_answer.await.unwrap().unwrap_err();
    assert_eq!(refusal.code, Code::DidDocumentInvalid);
    assert_eq!(refusal.http_status(), 409);
    let world = ledgerbox.ledger().world();
    let agent = world.agent(party.did).unwrap();
    assert!(agent.key(&party.key.public()).is_some());
    assert!(agent.key(&rival.key.public()).is_none());
    assert_eq!(ledgerbox.code(&second).await, Code::DidDocumentInvalid);
}

#[tokio::test]
async fn ae_087_a_replayed_registration_gets_its_first_outcome() {
    let mut ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.party();
    let registration = ledgerbox.registration(&party, &[], &[]);
    let accepted = ledgerbox.accept(&registration).await;
    assert_eq!((accepted.interaction_id, accepted.state), (None, None));
    for _ in 0..2 {
        let replay = ledgerbox.refuse(&registration).await;
        assert_eq!(replay.code, Code::NonceReplay);
        assert_eq!(replay.details, Some(json!({ "first": accepted })));
        ledgerbox.restart().await;
    }
    let again = ledgerbox.registration(&party, &[], &[]);
    let refusal = ledgerbox.refuse(&again).await;
    assert_eq!(refusal.code, Code::DidDocumentInvalid);
    assert_eq!(refusal.http_status(), 409);
}

#[tokio::test]
async fn ax_028_a_registration_by_another_key_cannot_burn_a_nonce() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let rival = super::party::Party {
        did: deal.provider.did,
        key: ledgerbox.party().key,
    };
    let greeting = ledgerbox.letter("x811.ext/greeting", &deal.initiator, json!({}));
    let payload = rival.registration(&[], &[]);
    let mut claim = ledgerbox.letter("x811.registry/register", &ledgerbox.identity, payload);
    claim.nonce = greeting.nonce;
    let commits = ledgerbox.store.commits();
    let refusal = ledgerbox.refuse(&rival.seal(&claim)).await;
    assert_eq!(refusal.code, Code::DidDocumentInvalid);
    assert_eq!(ledgerbox.store.commits(), commits);
    ledgerbox.accept(&deal.provider.seal(&greeting)).await;
}

#[tokio::test]
async fn lc_4_a_registration_is_for_this_ledger() {
    let ledgerbox = Ledgerbox::open().await;
    let party = ledgerbox.party();
    let other_ledger = ledgerbox.party();
    let payload = party.registration(&[], &[]);
    let elsewhere = ledgerbox.seal(&party, "x811.registry/register", &other_ledger, payload);
    let code = ledgerbox.code(&elsewhere).await;
    assert_eq!(code, Code::DidDocumentInvalid);
    let account = Account::new(0x46);
    let wallet = account.bound_to(party.did, other_ledger.did);
    let payload = party.registration(&[], &[wallet]);
    let replayed = ledgerbox.seal(
        &party,
        "x811.registry/register",
        &ledgerbox.identity,
        payload,
    );
    let code = ledgerbox.code(&replayed).await;
    assert_eq!(code, Code::DidDocumentInvalid, "a wallet proof of another");
}

#[tokio::test]
async fn lc_4_a_payer_is_a_wallet_of_the_initiator() {
    let ledgerbox = Ledgerbox::open().await;
    let mut deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let own = std::mem::replace(&mut deal.account, Account::new(0x47));
    let code = ledgerbox.code(&deal.payment(&ledgerbox, 1)).await;
    assert_eq!(code, Code::InvalidPaymentAddress);
    deal.account = own;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
}

#[tokio::test]
async fn lc_3_an_id_taken_while_checks_were_relaxed_is_taken_for_ever() {
    const AHEAD_MS: u64 = 60 * 60_000;
    let mut relaxed = parameters();
    relaxed.lenient = vec![Leniency::Uuids];
    let mut ledgerbox = Ledgerbox::with(relaxed).await;
    let deal = Deal::between_new_parties(&ledgerbox).await;
    let (from, to) = (&deal.provider, &deal.initiator);
    let letter = |ledgerbox: &Ledgerbox, at: TimestampMs| {
        let mut letter = ledgerbox.letter("x811.ext/a", to, json!({}));
        letter.id = x811_protocol::id::EnvelopeId::from_parts(at.as_ms(), &[7; 10]);
        from.seal(&letter)
    };
    let at = ledgerbox.now().saturating_add_ms(AHEAD_MS);
    let early = letter(&ledgerbox, at);
    ledgerbox.accept(&early).await;
    ledgerbox.parameters.lenient = Vec::new();
    ledgerbox.restart().await;
    ledgerbox.advance_ms(AHEAD_MS).await;
    let again = letter(&ledgerbox, at);
    assert_eq!(
        ledgerbox.code(&again).await,
        Code::InvalidStateTransition,
        "it does not make the commit fail"
    );
}
