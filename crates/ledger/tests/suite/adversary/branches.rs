//! A second honest log: gone on under other parameters, with a quorum of endpoints, and payments at the height of the head that was recorded at their ACCEPT, of which a reorganisation took
//! that head; and two agents who registered as the published SDK does. The first log has none of it.

use x811_protocol::observation::{ForkPoint, Observation, RecordedBranch};
use x811_protocol::parameters::{FinalBy, Leniency};

use super::base::{Base, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::party::Account;
use super::rarer::quiet;
use super::sdk_forms::registered;

/// What the watcher says of each recorded head.
type Said = fn(u64) -> RecordedBranch;

/// The branch of the recorded head leaves the agreed one right below it.
fn forked(head: u64) -> RecordedBranch {
    let block = Base::block(head - 1);
    RecordedBranch::Forked(ForkPoint {
        hash: block.hash,
        number: block.number,
    })
}

/// Its headers are held no longer.
fn lost(_: u64) -> RecordedBranch {
    RecordedBranch::Lost
}

/// A ledger that is started again with a quorum.
async fn opened() -> Ledgerbox {
    let mut ledgerbox = impatient().await;
    ledgerbox.parameters.networks[0].endpoint_quorum = Some(2);
    ledgerbox.parameters.networks[0].final_by = Some(FinalBy::Tag);
    ledgerbox.parameters.lenient = vec![Leniency::ReferenceSdk, Leniency::Addresses];
    ledgerbox.restart().await;
    ledgerbox.sweep().await;
    ledgerbox
}

/// Looks every second, with that said of every recorded head that is asked for.
async fn watch(ledgerbox: &Ledgerbox, seconds: u64, said: Said) {
    for _ in 0..seconds {
        ledgerbox.advance_ms(1_000).await;
        let number = Base::head_number(ledgerbox.now());
        let Observation::Sweep(mut sweep) = ledgerbox.base.sweep(number, ledgerbox.watched())
        else {
            unreachable!("it is a sweep");
        };
        let world = ledgerbox.ledger().world();
        let asked = world.recorded_in_question(super::base::BASE).into_iter();
        sweep.recorded = asked.map(|(head, hash)| (hash, said(head))).collect();
        sweep.followed_from = u64::MAX;
        ledgerbox.observe(Observation::Sweep(sweep)).await;
    }
}

/// Another interaction of the same two, verified, and the height of the head that its ACCEPT has.
async fn verified(ledgerbox: &Ledgerbox, before: &Deal) -> (Deal, u64) {
    ledgerbox.sweep().await;
    let head = Base::head_number(ledgerbox.now());
    let account = Account::new(0x46);
    let mut deal = Deal::between(ledgerbox, &before.initiator, &before.provider, account);
    deal.go(ledgerbox, Until::Verified).await;
    (deal, head)
}

/// The log, right behind its last record.
pub(crate) async fn branches() -> Ledgerbox {
    let mut ledgerbox = opened().await;
    registered(&ledgerbox).await;
    let first = Deal::between_new_parties(&ledgerbox).await;
    let payer = first.account.address;
    for (number, micro_usdc, said, state) in [
        (1, TOTAL_MICRO_USDC, forked as Said, "completed"),
        (2, TOTAL_MICRO_USDC, lost, "completed"),
        (3, TOTAL_MICRO_USDC - 1, forked, "disputed"),
        (4, TOTAL_MICRO_USDC - 1, lost, "disputed"),
    ] {
        let (deal, head) = verified(&ledgerbox, &first).await;
        ledgerbox.base.mine(tx(number), head, payer, &[micro_usdc]);
        ledgerbox.accept(&deal.payment(&ledgerbox, number)).await;
        watch(&ledgerbox, 30, said).await;
        assert_eq!(ledgerbox.state(deal.id()), state, "{number}");
    }
    // Shown once it is in dispute.
    for (number, said) in [(5, forked as Said), (6, lost)] {
        let (deal, head) = verified(&ledgerbox, &first).await;
        ledgerbox.accept(&deal.payment(&ledgerbox, number)).await;
        watch(&ledgerbox, 40, said).await;
        assert_eq!(ledgerbox.state(deal.id()), "disputed");
        ledgerbox
            .base
            .mine(tx(number), head, payer, &[TOTAL_MICRO_USDC]);
        watch(&ledgerbox, 10, said).await;
        assert!(ledgerbox.types(deal.id()).await.contains(&"late"));
    }
    quiet(&mut ledgerbox).await;
    ledgerbox
}
