//! Payments of which an endpoint showed a part at first: what was refuted by that is booked once the whole is shown.

use x811_audit::Outcome;
use x811_protocol::evm::EvmAddress;
use x811_protocol::observation::{Sweep, TransactionStatus, Transfer};

use super::base::{Base, tx};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::forks::look_each_second;
use super::ledgerbox::{Ledgerbox, impatient_parameters};
use super::scene::{audit, exported, found};

/// Changes the transfers of all that is in a block.
fn each(sweep: &mut Sweep, change: impl Fn(&mut Vec<Transfer>)) {
    for status in sweep.transactions.values_mut() {
        if let TransactionStatus::Mined(mined) = status {
            change(&mut mined.transfers);
        }
    }
}

#[tokio::test]
async fn lc_5_what_a_part_refuted_is_booked_once_the_whole_is_shown() {
    let to_another: fn(&mut Vec<Transfer>) = |transfers| {
        transfers
            .iter_mut()
            .for_each(|it| it.to = EvmAddress::from_bytes([0x99; 20]));
    };
    let nothing: fn(&mut Vec<Transfer>) = Vec::clear;
    for (part, is_over) in [
        (to_another, false),
        (nothing, false),
        (to_another, true),
        (nothing, true),
    ] {
        let mut parameters = impatient_parameters();
        parameters.networks[0].endpoint_quorum = Some(1);
        let mut ledgerbox = Ledgerbox::with(parameters).await;
        ledgerbox.sweep().await;
        let deal = Deal::opened(&ledgerbox, Until::Verified).await;
        let head = Base::head_number(ledgerbox.now()) + 1;
        let payer = deal.account.address;
        ledgerbox.base.mine(tx(1), head, payer, &[TOTAL_MICRO_USDC]);
        ledgerbox.accept(&deal.payment(&ledgerbox, 1)).await;
        let seconds = if is_over { 60 } else { 6 };
        look_each_second(&ledgerbox, seconds, |sweep| each(sweep, part)).await;
        assert!(ledgerbox.types(deal.id()).await.contains(&"refuted"));
        let state = if is_over { "disputed" } else { "verified" };
        assert_eq!(ledgerbox.state(deal.id()), state);
        look_each_second(&ledgerbox, 6, |_| {}).await;
        let last = *ledgerbox.types(deal.id()).await.last().unwrap();
        assert_eq!(last, if is_over { "late" } else { "confirmed" });
        // Of two stories of one endpoint the audit cannot say which is true.
        let report = audit(&exported(&ledgerbox).await);
        assert_eq!(
            (found(&report), report.verdict),
            (vec![], Outcome::Incomplete)
        );
    }
}
