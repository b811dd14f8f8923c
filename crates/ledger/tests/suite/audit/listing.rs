//! Every interaction listed, and sums that are those of the settlement view, which `x811 provider paid`
//! adds up (ledger-contract.md section 9).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use x811_audit::{ListedInteraction, Listing, Options, Period, Report, Totals, audit_export};
use x811_ledger::store_audit::audit_store;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Event, Level};
use x811_protocol::facts::DisputeCode;
use x811_protocol::interaction::StateName;
use x811_protocol::machine::Recorded;
use x811_protocol::money::MicroUsdc;
use x811_protocol::settlement_view::{Live, MoneyStanding, ProviderPaid, SettlementView};
use x811_protocol::time::TimestampMs;

use super::base::{BASE, Base, tx};
use super::bundles::{bundle, interactions, signed};
use super::clean::payer_of_first;
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::party::Account;
use super::scene::{exported_under, found, pay, settled_and_disputed};

fn listing_of(period: Period) -> Options {
    Options {
        listing: Some(period),
        ..Options::default()
    }
}

/// The audit of all records, under a checkpoint over the first of them.
async fn audited(ledgerbox: &Ledgerbox, signed_records: usize, period: Period) -> Report {
    let note = signed(ledgerbox, signed_records).await;
    let bytes = exported_under(ledgerbox, Some(&note)).await;
    let report = audit_export(&bytes[..], listing_of(period)).unwrap();
    assert_eq!(found(&report), []);
    report
}

async fn listed(ledgerbox: &Ledgerbox) -> Listing {
    let size = ledgerbox.records().await.len();
    let report = audited(ledgerbox, size, Period::default()).await;
    report.listing.unwrap()
}

/// Where the money of every interaction is, as the ledger tells its provider from the same records.
async fn views(ledgerbox: &Ledgerbox) -> Vec<(Did, SettlementView)> {
    let (records, events) = (ledgerbox.records().await, ledgerbox.events().await);
    let mut views = Vec::new();
    for id in interactions(ledgerbox).await {
        let stream = format!("interaction:{id}");
        let of_it = records.iter().zip(&events);
        let of_it: Vec<_> = of_it.filter(|(it, _)| it.stream() == stream).collect();
        let recorded = of_it.iter().map(|(record, (_, event))| Recorded {
            event,
            position: record.position(),
            hash: Digest::from_bytes(*record.hash().as_bytes()),
            recorded_at_ms: TimestampMs::new(record.recorded_at_ms()),
            parameters: None,
        });
        let live = Live::nothing(ledgerbox.now());
        let provider = of_it.iter().find_map(|(_, (_, event))| {
            let Event::EnvelopeAccepted(accepted) = event else {
                return None;
            };
            Some(accepted.envelope.to)
        });
        views.push((provider.unwrap(), SettlementView::of(id, recorded, live)));
    }
    views
}

/// As `x811 provider paid` adds them up.
fn totals(views: &[(Did, SettlementView)]) -> BTreeMap<Did, (u64, u64, u64, u128, u128)> {
    let mut totals = BTreeMap::new();
    let micro = |amount: MicroUsdc| u128::from(amount.as_micro_usdc());
    for (provider, view) in views {
        let total: &mut (u64, u64, u64, u128, u128) = totals.entry(*provider).or_default();
        match view.paid {
            ProviderPaid::Yes => total.0 += 1,
            ProviderPaid::NotYet => total.1 += 1,
            ProviderPaid::No => total.2 += 1,
        }
        let is_due = !matches!(
            view.standing,
            MoneyStanding::NotDue | MoneyStanding::Closed { .. }
        );
        total.3 += view.due_micro_usdc.filter(|_| is_due).map_or(0, micro);
        total.4 += micro(view.paid_micro_usdc);
    }
    totals
}

fn counted(of: &Totals) -> (u64, u64, u64, u128, u128) {
    let Totals {
        paid,
        not_yet,
        no,
        due_micro_usdc,
        paid_micro_usdc,
        ..
    } = *of;
    (paid, not_yet, no, due_micro_usdc, paid_micro_usdc)
}

/// The sums of the list are those of the views, provider by provider and interaction by interaction.
async fn agrees(ledgerbox: &Ledgerbox) -> Listing {
    let (listing, views) = (listed(ledgerbox).await, views(ledgerbox).await);
    let providers = listing.providers.iter();
    let of_list: BTreeMap<_, _> = providers.map(|(did, of)| (*did, counted(of))).collect();
    assert_eq!(of_list, totals(&views));
    assert_eq!(listing.interactions.len(), views.len());
    for (one, (provider, view)) in listing.interactions.iter().zip(&views) {
        assert_eq!(one.interaction, view.interaction_id);
        assert_eq!(one.provider, *provider);
        assert_eq!((one.state, one.paid), (view.state, view.paid), "{view:?}");
        assert_eq!(one.due_micro_usdc, view.due_micro_usdc);
        let paid = u128::from(view.paid_micro_usdc.as_micro_usdc());
        assert_eq!(one.paid_micro_usdc, paid);
        assert_eq!(one.network.as_deref(), view.network.as_deref());
        assert_eq!(one.last_position, view.last_position);
        assert!(one.is_replayed);
        let of_it = listing.payments.iter();
        let of_it = of_it.filter(|payment| payment.interaction == one.interaction);
        let sum: u128 = of_it
            .filter(|payment| !payment.is_reversed)
            .map(|payment| payment.amount_micro_usdc)
            .sum();
        assert_eq!(sum, paid, "the payments are those of the interaction");
    }
    listing
}

#[tokio::test]
async fn lc_9_the_totals_are_those_of_the_providers_view_late_payments_included() {
    let mut ledgerbox = settled_and_disputed().await;
    let listing = agrees(&ledgerbox).await;
    let [paid, disputed] = &listing.interactions[..] else {
        panic!("{listing:?}");
    };
    assert_eq!((paid.state, paid.code), (StateName::Completed, None));
    assert_eq!(paid.paid_micro_usdc, u128::from(TOTAL_MICRO_USDC));
    assert_eq!(paid.late_micro_usdc, 0);
    let short = Some(Code::InsufficientBalance);
    assert_eq!(
        (disputed.state, disputed.code),
        (StateName::Disputed, short)
    );
    // Booked once it was over: not left out.
    let late = u128::from(TOTAL_MICRO_USDC - 1);
    let came = (disputed.paid_micro_usdc, disputed.late_micro_usdc);
    assert_eq!((came, disputed.paid), ((late, late), ProviderPaid::No));
    assert_eq!(listing.total.late_micro_usdc, late);
    assert_eq!(paid.network.as_deref(), Some(BASE));

    // The first is taken back, comes back, and is final.
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.sweep().await;
    ledgerbox.watch_ms(4_000).await;
    let gone = agrees(&ledgerbox).await;
    let total = u128::from(TOTAL_MICRO_USDC);
    assert_eq!(gone.total.reversed_micro_usdc, total);
    assert_eq!(gone.interactions[0].paid, ProviderPaid::No);
    assert!(gone.payments[0].is_reversed);
    let payer = payer_of_first(&ledgerbox).await;
    let block = Base::head_number(ledgerbox.now()) + 1;
    ledgerbox
        .base
        .mine(tx(1), block, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(8_000).await;
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    let back = agrees(&ledgerbox).await;
    assert_eq!(back.total.reversed_micro_usdc, 0);
    assert_eq!(back.interactions[0].paid, ProviderPaid::Yes);
    assert_eq!(back.payments[0].level, Level::Final);
}

#[tokio::test]
async fn lc_9_every_way_to_end_is_listed_as_its_provider_sees_it() {
    let mut ledgerbox = impatient().await;
    for until in Until::ALL {
        Deal::opened(&ledgerbox, until).await;
    }
    agrees(&ledgerbox).await;
    let paid = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &paid, 1, TOTAL_MICRO_USDC).await;
    agrees(&ledgerbox).await;
    ledgerbox.watch_ms(8_000).await;
    ledgerbox.advance_ms(3_600_000).await;
    ledgerbox.advance_ms(1_000).await;
    let listing = agrees(&ledgerbox).await;
    let states = listing.interactions.iter().map(|one| one.state);
    let states: BTreeSet<_> = states.collect();
    assert!(states.len() >= 3, "{states:?}");
    let is_closed = |one: &&ListedInteraction| one.state == StateName::Expired;
    let closed = listing.interactions.iter().find(is_closed).unwrap();
    assert!(closed.code.is_some() && closed.paid == ProviderPaid::No);
}

#[tokio::test]
async fn lc_9_what_is_behind_the_last_checkpoint_is_neither_listed_nor_added_up() {
    let mut ledgerbox = settled_and_disputed().await;
    let signed_records = ledgerbox.records().await.len();
    let before = listed(&ledgerbox).await;
    // The first is taken back, and another one is paid; nobody signs that.
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.sweep().await;
    ledgerbox.watch_ms(4_000).await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 3, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    let report = audited(&ledgerbox, signed_records, Period::default()).await;
    assert!(report.tail.is_some());
    assert_eq!(report.listing, Some(before));

    // A file without any checkpoint is all tail.
    let bytes = exported_under(&ledgerbox, None).await;
    let report = audit_export(&bytes[..], listing_of(Period::default())).unwrap();
    let listing = report.listing.unwrap();
    assert_eq!((listing.interactions.len(), listing.payments.len()), (0, 0));
    assert_eq!(listing.total, Totals::default());
}

#[tokio::test]
async fn a_period_restricts_the_list_and_its_sums_and_nothing_else() {
    let ledgerbox = settled_and_disputed().await;
    let size = ledgerbox.records().await.len();
    let all = audited(&ledgerbox, size, Period::default()).await;
    let listing = all.listing.clone().unwrap();
    let [first, second] = &listing.interactions[..] else {
        panic!("{listing:?}");
    };
    assert!(first.opened_at_ms < second.opened_at_ms);
    let of = async |from, before| {
        let report = audited(&ledgerbox, size, Period { from, before }).await;
        let listed = report.listing.clone().unwrap();
        let without = |report: Report| Report {
            listing: None,
            ..report
        };
        assert_eq!(without(report), without(all.clone()), "the audit is of all");
        listed
    };
    let (one, two) = (Some(first.opened_at_ms), Some(second.opened_at_ms));
    for (from, before, expected) in [
        (one, two, vec![first]),
        (two, None, vec![second]),
        (None, two, vec![first]),
        (None, one, vec![]),
        (None, None, vec![first, second]),
    ] {
        let listed = of(from, before).await;
        let found: Vec<_> = listed.interactions.iter().collect();
        assert_eq!(found, expected);
        assert_eq!(listed.total.interactions, expected.len() as u64);
        let of_listed = |id| expected.iter().any(|one| one.interaction == id);
        assert!(listed.payments.iter().all(|it| of_listed(it.interaction)));
        let sum: u128 = expected.iter().map(|one| one.paid_micro_usdc).sum();
        assert_eq!(listed.total.paid_micro_usdc, sum);
    }
}

#[tokio::test]
async fn a_refused_result_is_listed_with_its_cause() {
    let ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Delivered).await;
    let refused = json!({
        "request_id": deal.request_id,
        "offer_id": deal.offer_id,
        "result_hash": Digest::of(b"Guten Tag"),
        "verified": false,
        "dispute_code": "QUALITY",
        "dispute_reason": "not what was asked for",
    });
    let (initiator, provider) = (&deal.initiator, &deal.provider);
    let verify = ledgerbox.seal(initiator, "x811/verify", provider, refused);
    ledgerbox.accept(&verify).await;
    let listing = agrees(&ledgerbox).await;
    let one = &listing.interactions[0];
    assert_eq!(one.state, StateName::Disputed);
    assert_eq!(one.dispute_code, Some(DisputeCode::Quality));
}

#[tokio::test]
async fn store_and_bundle_list_the_same() {
    let ledgerbox = settled_and_disputed().await;
    let listing = listed(&ledgerbox).await;
    let size = ledgerbox.records().await.len();
    let options = Options {
        checkpoint: Some(signed(&ledgerbox, size).await),
        ..listing_of(Period::default())
    };
    let stored = audit_store(&*ledgerbox.store, Some(&*ledgerbox.rows), options).await;
    assert_eq!(stored.unwrap().listing.as_ref(), Some(&listing));
    for one in &listing.interactions {
        let bytes = bundle(&ledgerbox, one.interaction).await;
        let report = audit_export(&bytes[..], listing_of(Period::default())).unwrap();
        assert_eq!(
            report.listing.unwrap().interactions,
            std::slice::from_ref(one)
        );
    }
}

#[tokio::test]
async fn lc_9_more_than_two_hundred_are_listed() {
    let ledgerbox = Ledgerbox::open().await;
    for _ in 0..3 {
        let first = Deal::opened(&ledgerbox, Until::Pending).await;
        for _ in 0..70 {
            let account = Account::new(0x46);
            let mut deal = Deal::between(&ledgerbox, &first.initiator, &first.provider, account);
            deal.go(&ledgerbox, Until::Pending).await;
        }
    }
    let listing = agrees(&ledgerbox).await;
    assert_eq!(listing.interactions.len(), 213);
    assert_eq!((listing.total.not_yet, listing.unknown), (213, 0));
    assert_eq!(listing.providers.len(), 3);
}
