//! What the ledger writes is clean: the auditor finds nothing that is not there.

use serde_json::json;
use x811_audit::{Options, Report, audit_export};
use x811_ledger::store_audit::audit_store;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Event, RefutedCause, SettlementEvent};
use x811_protocol::evm::EvmAddress;
use x811_protocol::facts::Facts;
use x811_protocol::observation::{BlindCause, Observation};

use super::base::{BASE, Base, tx};
use super::bundles::{all_clean, audited, signed_whole};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::party::Account;
use super::scene::{audit, exported, found, pay, settled_and_disputed};

/// Audits store and export; both must be clean and say the same.
async fn clean(ledgerbox: &Ledgerbox) -> Report {
    let stored = audited(ledgerbox).await;
    assert_eq!(found(&stored), [], "{:#?}", stored.findings);
    assert!(stored.is_clean());
    assert_eq!((stored.not_replayed, stored.not_re_decided), (0, 0));
    assert_eq!(stored.facts.asserted, 0, "every body is there");
    assert_eq!(stored.facts.proven, stored.envelopes);
    assert_eq!(stored.signatures_valid, stored.envelopes);
    let rows = stored.read_model.unwrap();
    assert_eq!((rows.lag_records, rows.not_compared), (0, 0));
    let interactions: u64 = stored.interactions.values().sum();
    assert_eq!(rows.interactions, interactions, "every row was compared");

    let mut from_file = audit(&exported(ledgerbox).await);
    from_file.read_model = stored.read_model;
    assert_eq!(from_file, stored, "the export says what the store says");
    let bundles = all_clean(ledgerbox).await;
    assert_eq!(bundles.len() as u64, interactions, "one of each");
    stored
}

#[tokio::test]
async fn promise_4_a_settled_and_a_disputed_interaction_are_clean() {
    let ledgerbox = settled_and_disputed().await;
    let report = clean(&ledgerbox).await;
    let states: Vec<(&str, u64)> = report
        .interactions
        .iter()
        .map(|(state, count)| (state.as_str(), *count))
        .collect();
    assert_eq!(states, [("completed", 1), ("disputed", 1)]);
    let paid = &report.paid[BASE];
    assert_eq!(paid.interactions, 1);
    assert_eq!(paid.confirmed_micro_usdc, u128::from(TOTAL_MICRO_USDC));
    assert_eq!(paid.fee_micro_usdc, 25_000);
    let records = ledgerbox.records().await;
    assert_eq!(report.records, records.len() as u64);
    assert_eq!(Some(report.head), records.last().map(|last| last.hash()));
}

/// A payment that was refuted is kept for the network as well, and what of it the network can say.
#[tokio::test]
async fn sw_26_evidence_of_what_was_paid_and_of_what_was_not_is_kept() {
    let ledgerbox = settled_and_disputed().await;
    let options = Options {
        keeps_evidence: true,
        ..Options::default()
    };
    let report = audit_export(&exported(&ledgerbox).await[..], options).unwrap();
    let asked = report.transfers.not_checked;
    assert_eq!(asked, report.evidence.len() as u64);
    let kept = report.evidence.iter();
    let kept: Vec<_> = kept
        .map(|kept| {
            let of = kept.evidence.tx_hash;
            (of, &*kept.place.field, kept.refuted, kept.is_whole())
        })
        .collect();
    let short = Some(RefutedCause::Short);
    let expected = [
        (tx(1), "evidence[0]", None, true),
        (tx(2), "evidence", short, true),
        // Booked apart, once it was over.
        (tx(2), "evidence[0]", None, true),
    ];
    assert_eq!(kept, expected);
}

/// A bound wallet's transfer under the nonce of something else: refuted, and the audit agrees.
#[tokio::test]
async fn lc_5_a_refuted_transfer_for_something_else_is_clean() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    let elsewhere = Digest::of(b"another ledger's nonce");
    ledgerbox.base.authorize(tx(1), &[(0, elsewhere)]);
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "disputed");
    let events = ledgerbox.events().await;
    let is_refuted = |event: &Event| {
        let cause = RefutedCause::Unauthorized;
        matches!(event, Event::Settlement(SettlementEvent::Refuted(refuted)) if refuted.cause == cause)
    };
    assert!(events.iter().any(|(_, event)| is_refuted(event)));
    clean(&ledgerbox).await;
}

/// The account that the first declared payment came from.
pub(crate) async fn payer_of_first(ledgerbox: &Ledgerbox) -> EvmAddress {
    let events = ledgerbox.events().await;
    let mut payments = events.iter().filter_map(|(_, event)| {
        if let Event::EnvelopeAccepted(accepted) = event
            && let Facts::Payment(payment) = &accepted.facts
        {
            return Some(payment.payer_address);
        }
        None
    });
    payments.next().unwrap()
}

#[tokio::test]
async fn rule_24_reversed_returned_late_and_final_are_clean() {
    let mut ledgerbox = settled_and_disputed().await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.sweep().await;
    ledgerbox.watch_ms(4_000).await;
    let payer = payer_of_first(&ledgerbox).await;
    let block = Base::head_number(ledgerbox.now()) + 1;
    let amounts = [TOTAL_MICRO_USDC];
    ledgerbox.base.mine(tx(1), block, payer, &amounts);
    ledgerbox.watch_ms(8_000).await;
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    let events = ledgerbox.events().await;
    let types: Vec<&str> = events.iter().map(|(_, event)| event.type_name()).collect();
    for wanted in ["unseen", "reversed", "returned", "late", "final"] {
        assert!(types.contains(&wanted), "no {wanted} among {types:?}");
    }
    clean(&ledgerbox).await;
}

#[tokio::test]
async fn every_way_to_end_is_clean() {
    let ledgerbox = Ledgerbox::open().await;
    for until in Until::ALL {
        Deal::opened(&ledgerbox, until).await;
    }
    let mut rejected = Deal::opened(&ledgerbox, Until::Offered).await;
    ledgerbox.accept(&rejected.reject(&ledgerbox)).await;
    rejected.go(&ledgerbox, Until::Delivered).await;
    let error = rejected.error(&ledgerbox, Some(rejected.request_id));
    ledgerbox.accept(&error).await;
    ledgerbox.accept(&rejected.error(&ledgerbox, None)).await;
    let hello = json!({"text": "hello"});
    let custom = ledgerbox.seal(
        &rejected.provider,
        "x811.test/hello",
        &rejected.initiator,
        hello,
    );
    ledgerbox.accept(&custom).await;
    clean(&ledgerbox).await;
    ledgerbox.advance_ms(3_600_000).await;
    ledgerbox.advance_ms(1_000).await;
    let report = clean(&ledgerbox).await;
    assert_eq!(
        report.interactions.keys().len(),
        4,
        "{:?}",
        report.interactions
    );
}

#[tokio::test]
async fn crashes_downtime_and_other_parameters_are_clean() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.crash().await;
    ledgerbox.clock.advance_ms(600_000);
    ledgerbox.parameters.windows.offer_ms += 1;
    ledgerbox.start().await.unwrap();
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.restart().await;
    Deal::opened(&ledgerbox, Until::Accepted).await;
    ledgerbox.watch_ms(3_000).await;
    ledgerbox.restart().await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    clean(&ledgerbox).await;
}

#[tokio::test]
async fn blindness_is_clean() {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    let blind = Observation::Unreachable {
        network: BASE.to_owned(),
        cause: BlindCause::WrongChain,
        silent: Vec::new(),
    };
    ledgerbox.observe(blind).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.advance_ms(50_000).await;
    clean(&ledgerbox).await;
    ledgerbox.down_ms(50_000).await;
    ledgerbox.watch_ms(10_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    clean(&ledgerbox).await;
}

#[tokio::test]
async fn rivals_repeats_and_every_refutation_are_clean() {
    let mut ledgerbox = impatient().await;
    let winner = Deal::opened(&ledgerbox, Until::Verified).await;
    let (initiator, provider) = (winner.initiator.clone(), winner.provider.clone());
    let mut rival = Deal::between(&ledgerbox, &initiator, &provider, Account::new(0x46));
    rival.go(&ledgerbox, Until::Verified).await;
    let head = Base::head_number(ledgerbox.now());
    let payer = winner.account.address;
    // Too old, of somebody else, failed, without transfer, and one that both declare.
    ledgerbox
        .base
        .mine(tx(1), head - 5, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox
        .base
        .mine(tx(2), head + 1, super::base::TOKEN, &[TOTAL_MICRO_USDC]);
    ledgerbox.base.revert(tx(3), head + 1);
    ledgerbox.base.mine(tx(4), head + 1, payer, &[]);
    ledgerbox
        .base
        .mine(tx(5), head + 1, payer, &[7, TOTAL_MICRO_USDC, 9]);
    for number in [2, 3, 5] {
        ledgerbox.accept(&winner.payment(&ledgerbox, number)).await;
    }
    ledgerbox.repeat(&winner.payment(&ledgerbox, 5)).await;
    for number in [5, 1, 4] {
        ledgerbox.accept(&rival.payment(&ledgerbox, number)).await;
    }
    ledgerbox.watch_ms(30_000).await;
    assert_eq!(ledgerbox.state(winner.id()), "completed");
    assert_eq!(ledgerbox.state(rival.id()), "disputed");
    clean(&ledgerbox).await;
}

#[tokio::test]
async fn a_head_noted_earlier_is_found_again() {
    let ledgerbox = settled_and_disputed().await;
    let records = ledgerbox.records().await;
    let noted = records[7].hash();
    let (bytes, rows) = (exported(&ledgerbox).await, &*ledgerbox.rows);
    let options = Options {
        checkpoint: Some(signed_whole(&ledgerbox).await),
        ..Some(noted).into()
    };
    let reports = [
        x811_audit::audit_export(&bytes[..], Some(noted)).unwrap(),
        audit_store(&*ledgerbox.store, Some(rows), options)
            .await
            .unwrap(),
    ];
    for report in reports {
        assert!(report.is_clean());
        assert_eq!(report.expected_head_position, Some(7));
    }
    let other = x811_eventlog::Hash::from_bytes([1; 32]);
    let report = x811_audit::audit_export(&bytes[..], Some(other)).unwrap();
    assert_eq!(
        found(&report),
        [(report.records - 1, "head", x811_audit::Cause::HeadDiffers)]
    );
}
