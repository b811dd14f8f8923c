//! Honest logs: rotations of the ledger's keys, a start under later rules, restarts and reorganisations, in every
//! order. Nothing is found in any of them.

use x811_protocol::event::LedgerRole;

use super::base::{Base, tx};
use super::bundles::all_clean;
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, impatient};
use super::scene::{audit, exported, found, pay};

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The process is away for a while.
    Away,
    /// The last payment is taken back, and made again in a later block.
    Reorganise,
    /// The key that signs notices.
    RotateEnvelope,
    /// The keys that sign checkpoints and receipts.
    RotateOthers,
}

const STEPS: [Step; 4] = [
    Step::Away,
    Step::Reorganise,
    Step::RotateEnvelope,
    Step::RotateOthers,
];

/// Every order of the steps.
fn orders(steps: &[Step]) -> Vec<Vec<Step>> {
    if steps.is_empty() {
        return vec![Vec::new()];
    }
    let mut orders = Vec::new();
    for (index, first) in steps.iter().enumerate() {
        let others = [&steps[..index], &steps[index + 1..]].concat();
        for mut order in self::orders(&others) {
            order.insert(0, *first);
            orders.push(order);
        }
    }
    orders
}

/// Goes the step; `paid` is the number of the last transaction, and `seed` no other step has.
async fn go(ledgerbox: &mut Ledgerbox, step: Step, (deal, paid): (&Deal, u16), seed: u8) {
    match step {
        Step::Away => ledgerbox.down_ms(20_000).await,
        Step::Reorganise => {
            ledgerbox.base.reorganise_away(tx(paid));
            ledgerbox.watch_ms(4_000).await;
            let block = Base::head_number(ledgerbox.now()) + 1;
            let payer = deal.account.address;
            let amount = [TOTAL_MICRO_USDC];
            ledgerbox.base.mine(tx(paid), block, payer, &amount);
            ledgerbox.watch_ms(8_000).await;
        }
        Step::RotateEnvelope => {
            ledgerbox.rotate(LedgerRole::Envelope, seed);
            ledgerbox.restart().await;
        }
        Step::RotateOthers => {
            ledgerbox.rotate(LedgerRole::Checkpoint, seed);
            ledgerbox.rotate(LedgerRole::Receipt, seed + 100);
            ledgerbox.restart().await;
        }
    }
}

#[tokio::test]
async fn lc_9_honest_logs_are_clean_in_whatever_order_things_happen() {
    for order in orders(&STEPS) {
        let mut ledgerbox = impatient().await;
        ledgerbox.sweep().await;
        for (paid, step) in (1..).zip(&order) {
            let deal = Deal::opened(&ledgerbox, Until::Verified).await;
            pay(&mut ledgerbox, &deal, paid, TOTAL_MICRO_USDC).await;
            ledgerbox.watch_ms(8_000).await;
            let seed = 100 + u8::try_from(paid).unwrap();
            go(&mut ledgerbox, *step, (&deal, paid), seed).await;
            assert_eq!(ledgerbox.state(deal.id()), "completed", "{order:?}");
        }
        let report = audit(&exported(&ledgerbox).await);
        assert_eq!(found(&report), [], "{order:?}");
        assert!(report.is_clean(), "{order:?}: {:?}", report.undecided);
        all_clean(&ledgerbox).await;
    }
}
