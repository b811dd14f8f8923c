//! What the world keeps of what is watched, record by record, against counting it again from the
//! interactions that it holds.

use crate::aftermath::CONFIRMED_MS;
use crate::base::{BASE, Base, tx};
use crate::deal::{Deal, TOTAL_MICRO_USDC, Until};
use crate::ledgerbox::{Ledgerbox, parameters};
use crate::party::Account;
use std::collections::BTreeSet;
use std::sync::Arc;
use x811_eventlog::Record;
use x811_ledger::stream::Stream;
use x811_ledger::world::{Live, World};
use x811_protocol::event::Event;
use x811_protocol::evm::TxHash;
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::{Declared, Schedule, Standing};
use x811_protocol::time::TimestampMs;

/// Asserts that what is kept of the watched transactions is what the held interactions come to.
pub(crate) fn assert_watches(world: &World, events: &[(Record, Event)]) {
    let held = held(world, events);
    let declared = |live: &Live| match live.state.watched() {
        Some((BASE, declared)) => hashes(declared),
        Some(_) | None => BTreeSet::new(),
    };
    let watched: BTreeSet<TxHash> = held.iter().flat_map(|(_, live)| declared(live)).collect();
    assert_eq!(BTreeSet::from_iter(world.watched(BASE)), watched, "watched");
    assert_eq!(world.sizes().watched, watched.len(), "how many are watched");
    for tx_hash in watched {
        let mut declarers: Vec<InteractionId> = held
            .iter()
            .filter(|(_, live)| declared(live).contains(&tx_hash))
            .map(|(id, _)| *id)
            .collect();
        let mut known = world.declarers(BASE, tx_hash);
        declarers.sort_unstable();
        known.sort_unstable();
        assert_eq!(known, declarers, "declarers of {tx_hash}");
    }
    let undecided = held.iter().flat_map(|(_, live)| undecided(live)).collect();
    assert_eq!(world.undecided(BASE), undecided, "undecided");
    let now = TimestampMs::new(world.head().recorded_at_ms);
    for head_at in [TimestampMs::new(0), now, TimestampMs::MAX] {
        let wanted = held.iter().flat_map(|(_, live)| wanted(live, head_at));
        let wanted: BTreeSet<TxHash> = wanted.collect();
        assert_eq!(world.wanted(BASE, head_at), wanted, "wanted at {head_at:?}");
    }
}

/// Every interaction of the log that is live, or over and still watched.
fn held(world: &World, events: &[(Record, Event)]) -> Vec<(InteractionId, Arc<Live>)> {
    let ids: BTreeSet<InteractionId> = events
        .iter()
        .filter_map(|(record, _)| match record.stream().parse() {
            Ok(Stream::Interaction(id)) => Some(id),
            _ => None,
        })
        .collect();
    let held = ids.into_iter();
    held.filter_map(|id| Some((id, Arc::clone(world.watching(id)?))))
        .collect()
}

fn hashes(declared: &[Declared]) -> BTreeSet<TxHash> {
    declared.iter().map(|declared| declared.tx_hash).collect()
}

fn undecided(live: &Live) -> BTreeSet<TxHash> {
    let Some(settlement) = live.state.settlement().filter(|it| it.network == BASE) else {
        return BTreeSet::new();
    };
    let mut declared = settlement.declared.clone();
    if let Schedule::Look { .. } = settlement.schedule {
        declared.retain(|declared| declared.standing != Standing::Unseen);
    }
    hashes(&declared)
}

fn wanted(live: &Live, head_at: TimestampMs) -> BTreeSet<TxHash> {
    if let Some(settlement) = live.state.settlement() {
        return match (settlement.schedule, settlement.paused_since) {
            (Schedule::Look { due, .. }, None) if due <= head_at => hashes(&settlement.declared),
            _ => BTreeSet::new(),
        };
    }
    let aftermath = live.state.aftermath();
    aftermath.map_or_else(BTreeSet::new, |(_, aftermath)| {
        let is_gone = |it: &&Declared| matches!(it.standing, Standing::Gone(_));
        let gone = aftermath.declared.iter().filter(is_gone);
        gone.map(|declared| declared.tx_hash).collect()
    })
}

/// Two deals paid by the two transfers of transaction 1, the second a while after the first.
async fn paid_by_one_transaction(ledgerbox: &mut Ledgerbox) -> [Deal; 2] {
    let first = Deal::opened(ledgerbox, Until::Verified).await;
    let account = Account::new(0x46);
    let mut second = Deal::between(ledgerbox, &first.initiator, &first.provider, account);
    second.go(ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    ledgerbox.accept(&first.payment(ledgerbox, 1)).await;
    let block = Base::head_number(ledgerbox.now()) + 1;
    let amounts = [TOTAL_MICRO_USDC; 2];
    let payer = first.account.address;
    ledgerbox.base.mine(tx(1), block, payer, &amounts);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    ledgerbox.watch_ms(20_000).await;
    ledgerbox.accept(&second.payment(ledgerbox, 1)).await;
    ledgerbox.sweep().await;
    for deal in [&first, &second] {
        assert_eq!(ledgerbox.state(deal.id()), "completed");
    }
    [first, second]
}

#[tokio::test]
async fn rule_24_what_is_gone_is_wanted_until_the_last_whom_it_paid_is_forgotten() {
    let mut parameters = parameters();
    for network in &mut parameters.networks {
        network.late_ms = 120_000;
    }
    let mut ledgerbox = Ledgerbox::with(parameters).await;
    let [first, second] = paid_by_one_transaction(&mut ledgerbox).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.sweep().await;
    let until = |ledgerbox: &Ledgerbox, deal: &Deal| {
        let world = ledgerbox.ledger().world();
        let live = world.watching(deal.id()).cloned();
        live.map(|live| live.state.aftermath().unwrap().1.until)
    };
    let ends = until(&ledgerbox, &first).unwrap();
    assert!(ends < until(&ledgerbox, &second).unwrap());
    ledgerbox
        .watch_ms(ends.since(ledgerbox.now()) + 2_000)
        .await;
    let other = Deal::opened(&ledgerbox, Until::Pending).await;
    ledgerbox.settle().await;
    assert_eq!(until(&ledgerbox, &first), None, "the first is forgotten");
    assert!(until(&ledgerbox, &second).is_some(), "{}", other.id());
    let wanted = ledgerbox.ledger().world().wanted(BASE, ledgerbox.now());
    assert_eq!(wanted, BTreeSet::from([tx(1)]));
    ledgerbox.assert_log_adds_up().await;
}

#[tokio::test]
async fn what_is_published_changes_only_when_the_set_does() {
    let mut ledgerbox = Ledgerbox::open().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    ledgerbox.sweep().await;
    let mut watched = ledgerbox.ledger().watched(BASE).unwrap();
    watched.mark_unchanged();
    ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
    ledgerbox.settle().await;
    assert!(watched.has_changed().unwrap(), "a new one");
    assert!(watched.borrow_and_update().contains(&tx(1)));
    let block = Base::head_number(ledgerbox.now()) + 1;
    let payer = deal.account.address;
    ledgerbox
        .base
        .mine(tx(1), block, payer, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(CONFIRMED_MS).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    assert!(!watched.has_changed().unwrap(), "it is watched as before");
    ledgerbox.base.finalized = Some(block);
    ledgerbox.sweep().await;
    assert!(watched.has_changed().unwrap(), "it is watched no longer");
    assert!(watched.borrow_and_update().is_empty());
}
