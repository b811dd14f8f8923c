//! What the report adds up is what `provider paid` adds up, whatever became of the payments.

use std::collections::BTreeMap;

use x811_audit::{PaidSums, Report};
use x811_eventlog::Record;
use x811_protocol::event::{Event, Level};
use x811_protocol::id::InteractionId;
use x811_protocol::stream::{Stream, Subject};
use x811_world::settlement_view::{SettlementSources, settlement_view};

use super::base::{BASE, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::party::Account;
use super::resealing::resealed;
use super::scene::{Parts, audit, exported, found, pay, settled_and_disputed};

/// What `provider paid` says of all interactions together, in micro-USDC.
async fn provider_paid(ledgerbox: &Ledgerbox) -> u128 {
    let mut interactions: BTreeMap<InteractionId, Vec<(Record, Event)>> = BTreeMap::new();
    for (record, event) in ledgerbox.events().await {
        if let Ok(Stream::Of(Subject::Interaction(id))) = record.stream().parse() {
            interactions.entry(id).or_default().push((record, event));
        }
    }
    let world = ledgerbox.ledger().world();
    let around = SettlementSources {
        world: &world,
        now: ledgerbox.now(),
        blind_cause: None,
        blind_page_after_ms: 86_400_000,
        silent: &[],
        contested: &std::collections::BTreeSet::new(),
    };
    let views = interactions
        .iter()
        .map(|(id, records)| settlement_view(*id, records, around));
    views
        .map(|view| u128::from(view.paid_micro_usdc.as_micro_usdc()))
        .sum()
}

async fn report(ledgerbox: &Ledgerbox) -> (Report, PaidSums) {
    let report = audit(&exported(ledgerbox).await);
    assert_eq!(found(&report), []);
    let paid = report.paid[BASE].clone();
    assert_eq!(paid.total_micro_usdc, provider_paid(ledgerbox).await);
    let rows = report
        .payments
        .iter()
        .filter(|payment| !payment.is_reversed);
    let rows: u128 = rows.map(|payment| payment.amount_micro_usdc).sum();
    assert_eq!(rows, paid.total_micro_usdc, "the list adds up to it too");
    (report, paid)
}

#[tokio::test]
async fn lc_9_late_payments_count_as_provider_paid_counts_them() {
    let ledgerbox = settled_and_disputed().await;
    let (report, paid) = report(&ledgerbox).await;
    let total = u128::from(TOTAL_MICRO_USDC);
    let expected = PaidSums {
        interactions: 1,
        total_micro_usdc: 2 * total - 1,
        fee_micro_usdc: 25_000,
        confirmed_micro_usdc: total,
        late_micro_usdc: total - 1,
        reversed_micro_usdc: 0,
    };
    assert_eq!(paid, expected);
    let late: Vec<bool> = report
        .payments
        .iter()
        .map(|payment| payment.is_late)
        .collect();
    assert_eq!(late, [false, true]);
}

/// A surplus came too, and is counted.
#[tokio::test]
async fn lc_9_a_payment_that_is_reversed_and_returns_is_counted_as_it_stands() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC + 7).await;
    ledgerbox.watch_ms(8_000).await;
    let came = u128::from(TOTAL_MICRO_USDC) + 7;
    let (_, paid) = report(&ledgerbox).await;
    assert_eq!((paid.total_micro_usdc, paid.fee_micro_usdc), (came, 25_000));
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.watch_ms(2_000).await;
    let (reversed, paid) = report(&ledgerbox).await;
    assert_eq!((paid.total_micro_usdc, paid.fee_micro_usdc), (0, 0));
    assert_eq!((paid.interactions, paid.reversed_micro_usdc), (1, came));
    assert!(reversed.payments[0].is_reversed);
    let block = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC + 7]);
    ledgerbox.watch_ms(8_000).await;
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    let (back, paid) = report(&ledgerbox).await;
    assert_eq!((paid.total_micro_usdc, paid.fee_micro_usdc), (came, 25_000));
    assert_eq!(paid.reversed_micro_usdc, 0);
    assert_eq!(back.payments[0].level, Level::Final);
}

/// What came twice and was taken back is no fee less: that is of what paid.
#[tokio::test]
async fn lc_9_a_late_payment_that_is_reversed_takes_no_fee_back() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    let twice = deal.payment(&ledgerbox, 2);
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.accept(&twice).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    deal.mine(&mut ledgerbox, 2, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(8_000).await;
    let total = u128::from(TOTAL_MICRO_USDC);
    let (_, paid) = report(&ledgerbox).await;
    assert_eq!((paid.late_micro_usdc, paid.fee_micro_usdc), (total, 25_000));
    ledgerbox.base.reorganise_away(tx(2));
    ledgerbox.watch_ms(2_000).await;
    let (_, paid) = report(&ledgerbox).await;
    assert_eq!(
        (paid.reversed_micro_usdc, paid.fee_micro_usdc),
        (total, 25_000)
    );
}

/// More payments than were listed once.
#[tokio::test]
async fn lc_9_every_payment_is_listed() {
    let mut ledgerbox = Ledgerbox::crowded().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    let mut deals = vec![];
    for _ in 0..205 {
        let account = Account::new(0x46);
        let mut deal = Deal::between(&ledgerbox, &first.initiator, &first.provider, account);
        deal.go(&ledgerbox, Until::Verified).await;
        deals.push(deal);
    }
    for (deal, number) in deals.iter().zip(1..) {
        pay(&mut ledgerbox, deal, number, TOTAL_MICRO_USDC).await;
    }
    ledgerbox.watch_ms(30_000).await;
    let report = audit(&exported(&ledgerbox).await);
    assert_eq!((report.payments.len(), report.payments_left_out), (205, 0));
    let total = 205 * u128::from(TOTAL_MICRO_USDC);
    assert_eq!(report.paid[BASE].total_micro_usdc, total);
}

/// What a broken record claims is in no total.
#[tokio::test]
async fn lc_9_a_confirmation_that_is_refused_adds_nothing() {
    let mut parts = Parts::of(&exported(&settled_and_disputed().await).await);
    let at = parts.find_event("confirmed");
    *parts.records[at].member("/evidence") = serde_json::json!([]);
    let report = audit(&resealed(parts));
    assert!(!report.is_clean());
    assert_eq!(report.paid[BASE].confirmed_micro_usdc, 0);
}
