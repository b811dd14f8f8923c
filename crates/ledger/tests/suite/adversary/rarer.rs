//! What the golden log of every event has not: members that are seldom there, and a quiet end, behind
//! which nobody can call anything early.

use serde_json::{Value, json};
use x811_protocol::authorization::payment_nonce;
use x811_protocol::digest::Digest;
use x811_protocol::evm::TxHash;
use x811_protocol::observation::{
    Hindrance, MinedTransaction, Observation, Sweep, TransactionStatus,
};

use super::base::{Base, PAYEE, TREASURY, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, TASK};
use super::party::Account;

/// Of every total, by the terms of every deal.
const FEE_MICRO_USDC: u64 = 25_000;

/// How long nothing happens in the end: more than any grace (ledger-contract.md section 9).
const QUIET_MS: u64 = 600_000;

/// Goes on with a ledger that has written everything else.
pub(crate) async fn rarer(ledgerbox: &mut Ledgerbox) {
    ledgerbox.watch_ms(2_000).await;
    let first = paid_apart(ledgerbox).await;
    authorized(ledgerbox).await;
    refuted(ledgerbox, &first).await;
    side_by_side(ledgerbox).await;
    erased_by_order(ledgerbox, &first).await;
    seldom(ledgerbox).await;
    ledgerbox.base.finalized = Some(Base::head_number(ledgerbox.now()));
    ledgerbox.watch_ms(3_000).await;
    quiet(ledgerbox).await;
}

/// The last record is one of a moment when nothing is due.
pub(crate) async fn quiet(ledgerbox: &mut Ledgerbox) {
    ledgerbox.watch_ms(30_000).await;
    // What lapses in the first silence is told, and old behind the second.
    for _ in 0..2 {
        ledgerbox.advance_ms(QUIET_MS).await;
        ledgerbox.watch_ms(2_000).await;
    }
    let (from, to) = (ledgerbox.provider().await, ledgerbox.provider().await);
    let greeting = ledgerbox.seal(
        &from,
        "x811.ext/greeting",
        &to,
        json!({"text": "good night"}),
    );
    ledgerbox.accept(&greeting).await;
}

/// Sends a PAYMENT with these members instead.
pub(crate) async fn declare(ledgerbox: &Ledgerbox, deal: &Deal, hash: TxHash, more: Value) {
    let mut payload = json!({
        "request_id": deal.request_id,
        "offer_id": deal.offer_id,
        "tx_hash": hash.to_string(),
        "amount": "1.025",
        "currency": "USDC",
        "network": "base",
        "payer_address": deal.account.address.to_checksum(),
        "payee_address": PAYEE.to_checksum(),
    });
    for (name, value) in more.as_object().unwrap() {
        payload[name] = value.clone();
    }
    let payment = ledgerbox.seal(&deal.initiator, "x811/payment", &deal.provider, payload);
    ledgerbox.accept(&payment).await;
}

/// Looks every second for so long, at what `change` makes of the transactions that are mined.
async fn shown(
    ledgerbox: &Ledgerbox,
    seconds: u64,
    change: impl Fn(&TxHash, &mut MinedTransaction),
) {
    for _ in 0..seconds {
        ledgerbox.advance_ms(1_000).await;
        let head = Base::head_number(ledgerbox.now());
        let sweep = ledgerbox.base.sweep(head, ledgerbox.watched());
        let Observation::Sweep(Sweep {
            mut transactions,
            network,
            head,
            safe_number,
            finalized,
            silent,
            recorded,
            followed_from,
            endpoints,
        }) = sweep
        else {
            panic!("it is a sweep");
        };
        for (hash, status) in &mut transactions {
            if let TransactionStatus::Mined(mined) = status {
                change(hash, mined);
            }
        }
        let sweep = Sweep {
            network,
            head,
            safe_number,
            finalized,
            silent,
            recorded,
            followed_from,
            endpoints,
            transactions,
        };
        ledgerbox.observe(Observation::Sweep(sweep)).await;
    }
}

/// Price and fee by a transaction each, one PAYMENT for both.
async fn paid_apart(ledgerbox: &mut Ledgerbox) -> Deal {
    let deal = Deal::opened(ledgerbox, Until::Verified).await;
    let (block, payer) = (Base::head_number(ledgerbox.now()) + 1, deal.account.address);
    let price = TOTAL_MICRO_USDC - FEE_MICRO_USDC;
    ledgerbox.base.mine(tx(20), block, payer, &[price]);
    ledgerbox
        .base
        .mine_to(TREASURY, tx(21), block, payer, &[FEE_MICRO_USDC]);
    let more = json!({ "fee_tx_hash": tx(21).to_string() });
    declare(ledgerbox, &deal, tx(20), more).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    deal
}

/// Paid from an account that is bound to nobody.
async fn authorized(ledgerbox: &mut Ledgerbox) {
    let mut deal = Deal::opened(ledgerbox, Until::Verified).await;
    deal.account = Account::new(0x51);
    let live = ledgerbox
        .ledger()
        .world()
        .interaction(deal.id())
        .cloned()
        .unwrap();
    let offer_hash: Digest = live.state.offer().unwrap().offer_hash;
    let nonce = payment_nonce(ledgerbox.identity.did, deal.id(), offer_hash);
    let block = Base::head_number(ledgerbox.now()) + 1;
    let amounts = [5, TOTAL_MICRO_USDC];
    ledgerbox
        .base
        .mine(tx(22), block, deal.account.address, &amounts);
    declare(
        ledgerbox,
        &deal,
        tx(22),
        json!({ "authorization_nonce": nonce }),
    )
    .await;
    ledgerbox.base.authorize(tx(22), &[(1, nonce)]);
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
}

/// By what others claimed, by a token that was paused, to somebody else, older than its ACCEPT.
async fn refuted(ledgerbox: &mut Ledgerbox, before: &Deal) {
    let (initiator, provider) = (before.initiator.clone(), before.provider.clone());
    let block = Base::head_number(ledgerbox.now()) - 3;
    let payer = before.account.address;
    ledgerbox
        .base
        .mine(tx(23), block, payer, &[TOTAL_MICRO_USDC]);
    let mut deal = Deal::between(ledgerbox, &initiator, &provider, Account::new(0x46));
    deal.go(ledgerbox, Until::Verified).await;
    let block = Base::head_number(ledgerbox.now()) + 1;
    ledgerbox.base.revert(tx(24), block);
    ledgerbox
        .base
        .mine_to(TREASURY, tx(25), block, TREASURY, &[7]);
    for number in [20, 23, 24, 25] {
        declare(ledgerbox, &deal, tx(number), json!({})).await;
    }
    shown(ledgerbox, 12, |hash, mined| {
        if *hash == tx(24) {
            mined.hindrance = Some(Hindrance::Paused);
        }
    })
    .await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
}

/// Two interactions at a time, the first paid by two transfers in two transactions, with a rest.
async fn side_by_side(ledgerbox: &mut Ledgerbox) {
    let mut one = Deal::between_new_parties(ledgerbox).await;
    let other = (one.initiator.clone(), one.provider.clone());
    let mut other = Deal::between(ledgerbox, &other.0, &other.1, Account::new(0x46));
    for deal in [&mut one, &mut other] {
        let request = deal.request(ledgerbox);
        ledgerbox.accept(&request).await;
    }
    for step in [Deal::offer, Deal::accept, Deal::result, Deal::verify] {
        for deal in [&mut one, &mut other] {
            let envelope = step(deal, ledgerbox);
            ledgerbox.accept(&envelope).await;
            ledgerbox.advance_ms(20).await;
        }
    }
    let (block, payer) = (Base::head_number(ledgerbox.now()) + 1, one.account.address);
    ledgerbox.base.mine(tx(26), block, payer, &[1_000_000]);
    ledgerbox
        .base
        .mine(tx(27), block + 1, payer, &[20_000, 10_000]);
    ledgerbox
        .base
        .mine(tx(28), block, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox.accept(&one.payment(ledgerbox, 26)).await;
    ledgerbox.accept(&other.payment(ledgerbox, 28)).await;
    ledgerbox.accept(&one.payment(ledgerbox, 27)).await;
    ledgerbox.watch_ms(10_000).await;
    for deal in [&one, &other] {
        assert_eq!(ledgerbox.state(deal.id()), "completed");
    }
}

async fn erased_by_order(ledgerbox: &mut Ledgerbox, paid: &Deal) {
    ledgerbox.base.finalized = Some(Base::head_number(ledgerbox.now()));
    ledgerbox.watch_ms(2_000).await;
    ledgerbox.erase(paid.id()).await.unwrap();
    ledgerbox.settle().await;
}

/// Members that a message may have and seldom has, and an error that belongs to nothing.
async fn seldom(ledgerbox: &mut Ledgerbox) {
    let mut deal = Deal::between_new_parties(ledgerbox).await;
    let mut letter = ledgerbox.letter("x811/request", &deal.provider, json!({}));
    letter.payload = Deal::request_payload("seldom");
    letter.payload["acceptance_policy"] = json!("threshold");
    letter.payload["threshold_amount"] = json!(1.5);
    letter.expires = Some(ledgerbox.now().saturating_add_ms(60_000));
    deal.request_id = letter.id;
    ledgerbox.accept(&deal.initiator.seal(&letter)).await;
    for step in [Deal::offer, Deal::accept] {
        let envelope = step(&mut deal, ledgerbox);
        ledgerbox.accept(&envelope).await;
    }
    let payload = json!({
        "request_id": deal.request_id,
        "offer_id": deal.offer_id,
        "result_url": "https://example.com/result",
        "content_type": "text/plain",
        "result_hash": Digest::of(b"Guten Tag"),
        "result_size": 9,
        "execution_time_ms": 7,
    });
    let result = ledgerbox.seal(&deal.provider, "x811/result", &deal.initiator, payload);
    ledgerbox.accept(&result).await;
    let verify = deal.verify(ledgerbox);
    ledgerbox.accept(&verify).await;
    ledgerbox.accept(&deal.error(ledgerbox, None)).await;

    let party = ledgerbox.party();
    let account = Account::new(0x52);
    let wallets = [account.bound_to(party.did, ledgerbox.identity.did)];
    let mut payload = party.registration(&[TASK, "summary"], &wallets);
    payload["expires_at_ms"] = json!(ledgerbox.now().saturating_add_ms(86_400_000));
    let register = ledgerbox.seal(
        &party,
        "x811.registry/register",
        &ledgerbox.identity,
        payload,
    );
    ledgerbox.accept(&register).await;
}
