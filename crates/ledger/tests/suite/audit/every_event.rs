//! A log with every event that a ledger of today writes into its first thousand records.

use std::sync::Arc;

use serde_json::{Value, json};
use x811_protocol::document::DidDocument;
use x811_protocol::envelope::{Header, PROTOCOL_VERSION, SealedEnvelope, seal};
use x811_protocol::event::LedgerRole;
use x811_protocol::facts::{CapabilityVerb, NegotiationVerb};
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::{Capabilities, Contracts, Exclusion};
use x811_protocol::payload::registry::rotation_message;

use super::bargain::Bargain;
use super::base::{Base, tx};
use super::conduct::{broken, exclusion_of, lift};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::descriptors::{ADVERTISE, descriptor};
use super::every_round;
use super::ledgerbox::{Ledgerbox, TASK, parameters};
use super::party::{Account, Party};
use super::scene::pay;
use super::talks::{LIFE_MS, Talks};

/// The next interaction of the same two.
pub(crate) fn again(ledgerbox: &Ledgerbox, deal: &Deal) -> Deal {
    Deal::between(
        ledgerbox,
        &deal.initiator,
        &deal.provider,
        Account::new(0x46),
    )
}

/// By which the provider has another key from here on.
pub(crate) fn rotation(ledgerbox: &Ledgerbox, party: &Party, renewed: &Party) -> SealedEnvelope {
    let (old_key, key) = (party.key.public(), renewed.key.public());
    let text = rotation_message(party.did, ledgerbox.identity.did, old_key, key);
    let agent_key = AgentKey {
        key,
        profile: Profile::Digest,
    };
    let payload = json!({
        "document": DidDocument::build(party.did, &[agent_key], None),
        "new_key": key,
        "proof": renewed.key.sign(text.as_bytes()),
    });
    ledgerbox.seal(party, "x811.registry/rotate", &ledgerbox.identity, payload)
}

/// Without a head for so long, a ledger is blind.
const BLIND_MS: u64 = 31_000;

/// A ledger whose settlement schedule is over soon, and that has every parameter.
async fn opened() -> Ledgerbox {
    let mut parameters = parameters();
    parameters.windows.confirmation_ms = 4_000;
    parameters.looks_ms = [2_000, 3_000, 4_000, 5_000];
    parameters.limits.pending_look_ms = 3_000;
    parameters.networks[0].confirmed_depth = 2;
    parameters.contracts = Some(Contracts {
        engagement_ms: 10_000,
        ..Contracts::DEFAULT
    });
    parameters.capabilities = Some(Capabilities {
        exclusion: Some(Exclusion {
            breaches: 2,
            ..Exclusion::DEFAULT
        }),
        ..Capabilities::DEFAULT
    });
    parameters.rounds = Some(Arc::new(every_round::block()));
    parameters.networks[0].safe_above = MicroUsdc::from_micro_usdc(5_000_000).ok();
    Ledgerbox::with(parameters).await
}

/// Paid, gone, back again and final.
async fn reversed(ledgerbox: &mut Ledgerbox) -> Deal {
    let deal = Deal::opened(ledgerbox, Until::Verified).await;
    pay(ledgerbox, &deal, 1, TOTAL_MICRO_USDC + 1).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.watch_ms(2_000).await;
    let block = deal.mine(ledgerbox, 1, &[TOTAL_MICRO_USDC + 1]);
    ledgerbox.watch_ms(6_000).await;
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    deal
}

/// Watched through blindness and downtime, disputed, and paid too late.
async fn late(ledgerbox: &mut Ledgerbox, before: &Deal) {
    let mut deal = again(ledgerbox, before);
    deal.go(ledgerbox, Until::Verified).await;
    ledgerbox.accept(&deal.payment(ledgerbox, 2)).await;
    ledgerbox.advance_ms(BLIND_MS).await;
    ledgerbox.down_ms(30_000).await;
    ledgerbox.watch_ms(5_000).await;
    // Seen, and gone before it is deep enough.
    let block = Base::head_number(ledgerbox.now()) + 1;
    let payer = deal.account.address;
    ledgerbox
        .base
        .mine(tx(2), block, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(2_000).await;
    ledgerbox.base.reorganise_away(tx(2));
    ledgerbox.watch_ms(30_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    ledgerbox.advance_ms(BLIND_MS).await;
    let block = Base::head_number(ledgerbox.now()) + 1;
    ledgerbox
        .base
        .mine(tx(2), block, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(8_000).await;
}

/// Too little was paid.
async fn short(ledgerbox: &mut Ledgerbox, before: &Deal) {
    let mut deal = again(ledgerbox, before);
    deal.go(ledgerbox, Until::Verified).await;
    pay(ledgerbox, &deal, 3, TOTAL_MICRO_USDC - 1).await;
    ledgerbox
        .base
        .revert(tx(4), Base::head_number(ledgerbox.now()) + 1);
    ledgerbox.accept(&deal.payment(ledgerbox, 4)).await;
    ledgerbox.watch_ms(30_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
}

/// Every way to end without a payment.
async fn unpaid(ledgerbox: &mut Ledgerbox, before: &Deal) {
    let mut deal = again(ledgerbox, before);
    deal.go(ledgerbox, Until::Offered).await;
    ledgerbox
        .accept(&deal.error(ledgerbox, Some(deal.offer_id)))
        .await;
    ledgerbox.accept(&deal.reject(ledgerbox)).await;

    deal = again(ledgerbox, before);
    deal.go(ledgerbox, Until::Delivered).await;
    let mut verdict = ledgerbox.letter("x811/verify", &deal.provider, json!({}));
    verdict.payload = json!({
        "request_id": deal.request_id,
        "offer_id": deal.offer_id,
        "result_hash": x811_protocol::digest::Digest::of(b"Guten Tag"),
        "verified": false,
        "dispute_reason": "not what was asked for",
        "dispute_code": "WRONG_RESULT",
    });
    verdict.expires = Some(ledgerbox.now().saturating_add_ms(60_000));
    ledgerbox.accept(&deal.initiator.seal(&verdict)).await;

    deal = again(ledgerbox, before);
    deal.go(ledgerbox, Until::Pending).await;
    ledgerbox.accept(&deal.free_offer(ledgerbox)).await;
    for step in [Deal::accept, Deal::result, Deal::verify] {
        let envelope = step(&mut deal, ledgerbox);
        ledgerbox.accept(&envelope).await;
    }
    ledgerbox
        .accept(&deal.payment_of(ledgerbox, &tx(5), "0"))
        .await;
    ledgerbox.watch_ms(2_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");

    for until in Until::ALL {
        deal = again(ledgerbox, before);
        deal.go(ledgerbox, until).await;
        ledgerbox.watch_ms(3_000).await;
    }
    ledgerbox.advance_ms(3_700_000).await;
}

/// A greeting by an agent whose key signs bodies themselves.
fn direct(
    ledgerbox: &Ledgerbox,
    from: &Party,
    kind: &str,
    to: &Party,
    payload: serde_json::Value,
) -> SealedEnvelope {
    let letter = ledgerbox.letter(kind, to, payload);
    let header = Header {
        id: letter.id,
        version: PROTOCOL_VERSION.to_owned(),
        message_type: kind.parse().unwrap(),
        from: from.did,
        to: letter.to,
        created_ms: letter.created,
        expires_ms: None,
        nonce: letter.nonce,
    };
    let payload = letter.payload.as_object().unwrap().clone();
    seal(header, payload, &from.key, Profile::Direct)
}

/// Everything that can become of an agent, and mail.
async fn registry(ledgerbox: &Ledgerbox) {
    let ledger = &ledgerbox.identity;
    let agent = ledgerbox.provider().await;
    let account = Account::new(0x47);
    let wallets = [account.bound_to(agent.did, ledger.did)];
    let mut update = agent.registration(&[TASK, "summary"], &wallets);
    update["expires_at_ms"] = json!(ledgerbox.now().saturating_add_ms(86_400_000));
    let ask = |party: &Party, verb: &str, payload| {
        ledgerbox.seal(party, &format!("x811.registry/{verb}"), ledger, payload)
    };
    ledgerbox.accept(&ask(&agent, "update", update)).await;
    let renewed = Party {
        did: agent.did,
        key: ledgerbox.party().key,
    };
    ledgerbox
        .accept(&rotation(ledgerbox, &agent, &renewed))
        .await;
    for verb in ["deactivate", "reactivate", "revoke"] {
        ledgerbox.accept(&ask(&renewed, verb, json!({}))).await;
    }

    let sender = ledgerbox.party();
    let mut payload = sender.registration(&[], &[]);
    payload["profiles"] = json!({ sender.key.public().to_string(): "direct" });
    let registration = direct(
        ledgerbox,
        &sender,
        "x811.registry/register",
        ledger,
        payload,
    );
    ledgerbox.accept(&registration).await;
    let friend = ledgerbox.provider().await;
    let greeting = direct(
        ledgerbox,
        &sender,
        "x811.ext/greeting",
        &friend,
        json!({"text": "hi"}),
    );
    ledgerbox.accept(&greeting).await;
}

/// A negotiation that opens an interaction, and one of each other end.
async fn negotiated(ledgerbox: &Ledgerbox, paid: &Deal) {
    let between = || {
        let stranger = ledgerbox.identity.clone();
        Talks::between(paid.initiator.clone(), paid.provider.clone(), stranger)
    };
    let (payer, payee) = (&paid.initiator, &paid.provider);
    let mut engaged = between();
    engaged.agree(ledgerbox).await;
    let (_, request) = engaged.request(ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let mut rejected = between();
    rejected
        .say(ledgerbox, payer, NegotiationVerb::Offer, "0.41")
        .await;
    rejected
        .say(ledgerbox, payee, NegotiationVerb::Reject, "")
        .await;
    let mut withdrawn = between();
    withdrawn
        .say(ledgerbox, payee, NegotiationVerb::Offer, "0.41")
        .await;
    withdrawn
        .say(ledgerbox, payee, NegotiationVerb::Withdraw, "")
        .await;
    let mut unused = between();
    unused.agree(ledgerbox).await;
    let mut expired = between();
    expired
        .say(ledgerbox, payer, NegotiationVerb::Offer, "0.82")
        .await;
    ledgerbox.watch_ms(LIFE_MS + 1_000).await;
}

/// What an agent says that it can do, twice.
async fn advertised(ledgerbox: &Ledgerbox, agent: &Party) {
    for revision in 1..=2 {
        let advert = descriptor(agent, revision);
        let advert = ledgerbox.seal(agent, ADVERTISE, &ledgerbox.identity, advert);
        ledgerbox.accept(&advert).await;
    }
}

/// Sessions with every end, and an agreement that is used, negotiated again, and over.
async fn bargained(ledgerbox: &Ledgerbox, paid: &Deal) {
    let (consumer, provider) = (paid.initiator.clone(), paid.provider.clone());
    let stranger = ledgerbox.identity.clone();
    let new = || Bargain::between(consumer.clone(), provider.clone(), stranger.clone());
    let none = Value::Null;
    let mut agreed = new();
    agreed.agree(ledgerbox, &Bargain::terms(60, 3)).await;
    let (_, request) = agreed.use_it(ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    agreed.agree(ledgerbox, &Bargain::terms(40, 3)).await;
    let mut revoked = new();
    revoked.parameters = json!({"to": "en"});
    revoked.agree(ledgerbox, &Bargain::terms(60, 3)).await;
    revoked
        .say(ledgerbox, &provider, CapabilityVerb::Revoke, &none)
        .await;
    let mut rejected = new();
    rejected
        .say(ledgerbox, &consumer, CapabilityVerb::Request, &none)
        .await;
    let mut response = rejected.payload(ledgerbox, &provider, CapabilityVerb::Response, &none);
    response["lifetime_ms"] = json!(5_000);
    let response = rejected.seal(ledgerbox, &provider, CapabilityVerb::Response, response);
    ledgerbox.accept(&response).await;
    for (from, verb) in [
        (&consumer, CapabilityVerb::Offer),
        (&provider, CapabilityVerb::Counter),
        (&consumer, CapabilityVerb::Reject),
    ] {
        rejected
            .say(ledgerbox, from, verb, &Bargain::terms(60, 3))
            .await;
    }
    let mut left = new();
    left.say(ledgerbox, &consumer, CapabilityVerb::Request, &none)
        .await;
    left.say(ledgerbox, &consumer, CapabilityVerb::Close, &none)
        .await;
    // A version that is going out of use, and nobody answers.
    let old = new();
    let mut request = old.payload(ledgerbox, &consumer, CapabilityVerb::Request, &none);
    request["protocol"] = json!({"min": "1.0.0", "max": "2.0.0", "deprecated": []});
    let request = old.seal(ledgerbox, &consumer, CapabilityVerb::Request, request);
    ledgerbox.accept(&request).await;
    ledgerbox.watch_ms(60_000).await;
}

/// A provider that breaks agreements with two, and whom an operator admits again.
async fn broken_off(ledgerbox: &Ledgerbox, paid: &Deal) {
    let (provider, stranger) = (paid.provider.clone(), ledgerbox.identity.clone());
    let other = ledgerbox.initiator(&Account::new(0x49)).await;
    for consumer in [paid.initiator.clone(), other] {
        let mut agreed = Bargain::between(consumer, provider.clone(), stranger.clone());
        agreed.agree(ledgerbox, &Bargain::terms(600, 3)).await;
        broken(ledgerbox, &agreed).await;
    }
    let excluded = exclusion_of(ledgerbox, &provider).unwrap();
    let request = lift(ledgerbox, &ledgerbox.identity, &provider, excluded);
    ledgerbox.ledger().lift_exclusion(request).await.unwrap();
    ledgerbox.settle().await;
}

/// The ledger that wrote it, right behind the last record.
pub(crate) async fn every_event() -> Ledgerbox {
    let mut ledgerbox = opened().await;
    let paid = reversed(&mut ledgerbox).await;
    late(&mut ledgerbox, &paid).await;
    short(&mut ledgerbox, &paid).await;
    ledgerbox.rotate(LedgerRole::Envelope, 91);
    ledgerbox.rotate(LedgerRole::Receipt, 92);
    ledgerbox.parameters.limits.hashes_per_interaction = 4;
    ledgerbox.restart().await;
    unpaid(&mut ledgerbox, &paid).await;
    negotiated(&ledgerbox, &paid).await;
    advertised(&ledgerbox, &paid.provider).await;
    bargained(&ledgerbox, &paid).await;
    registry(&ledgerbox).await;
    every_round::decided(&ledgerbox).await;
    broken_off(&ledgerbox, &paid).await;
    ledgerbox.erase_by(paid.id(), None).await.unwrap();
    ledgerbox.settle().await;
    ledgerbox
}
