//! What is kept for whoever asks the network: every transaction that a PAYMENT declared, also those
//! that the log has no evidence of (settlement-watcher.md rules 10 and 26).

use x811_audit::{Options, RecordedSighting, Report, Sighting, audit_export};
use x811_protocol::event::{Event, PayerBinding, SettlementEvent};
use x811_protocol::money::MicroUsdc;
use x811_protocol::settlement::Since;

use super::base::{PAYEE, TOKEN, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::party::Account;
use super::scene::{exported, pay};

async fn kept(ledgerbox: &Ledgerbox) -> Report {
    let options = Options {
        keeps_evidence: true,
        ..Options::default()
    };
    audit_export(&exported(ledgerbox).await[..], options).unwrap()
}

/// Position and head of the last look that was answered.
async fn last_look(ledgerbox: &Ledgerbox) -> (u64, x811_protocol::observation::Block) {
    let events = ledgerbox.events().await;
    let mut looks = events.iter().filter_map(|(record, event)| {
        if let Event::Settlement(SettlementEvent::Looked(looked)) = event {
            return Some((record.position(), looked.head));
        }
        None
    });
    looks.next_back().unwrap()
}

#[tokio::test]
async fn sw_10_what_no_look_found_is_kept_with_the_last_looks_head() {
    let ledgerbox = impatient().await;
    ledgerbox.sweep().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    let report = kept(&ledgerbox).await;
    assert_eq!(report.evidence, []);
    let [sighting] = report.sightings.as_slice() else {
        panic!("{:?}", report.sightings);
    };
    let (position, head) = last_look(&ledgerbox).await;
    let place = &sighting.place;
    assert_eq!((place.position, &*place.field), (position, "finding[0]"));
    let said = Sighting::NotFound {
        head,
        came_later: false,
    };
    assert_eq!(sighting.said, said);
    let declared = &sighting.declared;
    assert_eq!((declared.tx_hash, declared.token), (tx(1), TOKEN));
    assert_eq!((declared.confirmed_depth, declared.quoted), (2, 8));
    let fit = declared.fit;
    let accounts = (fit.payer, fit.payee, fit.binding);
    let expected = (deal.account.address, PAYEE, PayerBinding::Wallet);
    assert_eq!(accounts, expected);
    assert!(matches!(declared.since, Since::Above(number) if number < head.number));
}

/// Two interactions declare one transaction: it is asked for each of them.
#[tokio::test]
async fn sw_26_one_transaction_is_kept_for_each_interaction_that_declares_it() {
    let ledgerbox = impatient().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    let (initiator, provider) = (first.initiator.clone(), first.provider.clone());
    let mut second = Deal::between(&ledgerbox, &initiator, &provider, Account::new(0x46));
    second.go(&ledgerbox, Until::Verified).await;
    for deal in [&first, &second] {
        ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    }
    ledgerbox.watch_ms(20_000).await;
    let report = kept(&ledgerbox).await;
    let sightings = report.sightings.iter();
    let hashes: Vec<_> = sightings.map(|it| it.declared.tx_hash).collect();
    assert_eq!(hashes, [tx(1), tx(1)]);
    let nonces = report
        .sightings
        .iter()
        .map(|it| it.declared.fit.payment_nonce);
    let nonces: std::collections::BTreeSet<_> = nonces.collect();
    assert_eq!(nonces.len(), 2, "each has its own nonce");
}

#[tokio::test]
async fn sw_10_what_came_later_and_what_was_only_seen_is_kept_as_such() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(8_000).await;
    let (looked, head) = last_look(&ledgerbox).await;
    let block = deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(2_000).await;

    let report = kept(&ledgerbox).await;
    let not_found = Sighting::NotFound {
        head,
        came_later: true,
    };
    // Between the two: a look that saw it, and not deep enough.
    let [first, .., last] = report.sightings.as_slice() else {
        panic!("{:?}", report.sightings);
    };
    assert_eq!((first.place.position, &first.said), (looked, &not_found));
    let Sighting::Seen {
        block: seen,
        transfers,
    } = &last.said
    else {
        panic!("{last:?}");
    };
    assert_eq!((seen.number, transfers.len()), (block, 1));

    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let report = kept(&ledgerbox).await;
    let is_seen = |it: &RecordedSighting| matches!(it.said, Sighting::Seen { .. });
    assert_eq!(report.sightings[0].said, not_found);
    assert!(!report.sightings.iter().any(is_seen), "evidence shows it");
    assert_eq!(report.evidence.len(), 1);
    assert!(report.evidence[0].shows_all());
}

/// A look that refuted what was declared says how it was not paid; of an interaction whose
/// transaction another one declares too, the other may have been paid by it.
#[tokio::test]
async fn sw_10_a_look_that_says_it_was_not_paid_is_kept_with_what_was_due() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC - 1).await;
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    let (_, head) = last_look(&ledgerbox).await;
    let report = kept(&ledgerbox).await;
    let due = MicroUsdc::from_micro_usdc(TOTAL_MICRO_USDC).unwrap();
    let said: Vec<_> = report.sightings.iter().map(|it| &it.said).collect();
    assert_eq!(said, [&Sighting::NotPaid { head, due }]);

    let (initiator, provider) = (deal.initiator.clone(), deal.provider.clone());
    let mut second = Deal::between(&ledgerbox, &initiator, &provider, Account::new(0x46));
    second.go(&ledgerbox, Until::Verified).await;
    ledgerbox.accept(&second.payment(&ledgerbox, 1)).await;
    ledgerbox.watch_ms(20_000).await;
    let report = kept(&ledgerbox).await;
    let is_not_paid = |it: &RecordedSighting| matches!(it.said, Sighting::NotPaid { .. });
    assert!(!report.sightings.iter().any(is_not_paid), "{report:?}");
}
