//! Levels that no endpoint names: the depth that stands in for them (ledger-contract.md section 5).

use serde_json::json;
use x811_audit::Cause;
use x811_protocol::evm::ChainId;
use x811_protocol::money::MicroUsdc;
use x811_protocol::parameters::FinalBy;
use x811_protocol::settlement::level::STAND_IN_BLOCKS;

use super::base::Base;
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::ledgerbox::{Ledgerbox, parameters};
use super::resealing::first;
use super::scene::{audit, exported, found, pay};

const DEPTH: u64 = 2;

/// A total that waits for level *safe*, of a network that nobody names such a head of.
async fn deep(final_by: Option<FinalBy>) -> Vec<u8> {
    let mut parameters = parameters();
    parameters.networks[0].final_by = final_by;
    // Nodes of Base name heads, so that depth decides elsewhere alone.
    parameters.networks[0].chain_id = ChainId::new(31_337);
    parameters.windows.confirmation_ms = 4_000;
    parameters.looks_ms = [2_000; 4];
    parameters.networks[0].confirmed_depth = DEPTH;
    parameters.networks[0].safe_above = MicroUsdc::from_micro_usdc(1).ok();
    let mut ledgerbox = Ledgerbox::with(parameters).await;
    ledgerbox.sweep().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    let block = Base::head_number(ledgerbox.now()) + 1;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(20_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "verified");
    let last = block + DEPTH + STAND_IN_BLOCKS - 1;
    let left = last - Base::head_number(ledgerbox.now());
    ledgerbox.advance_ms(left * 2_000).await;
    ledgerbox.sweep().await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    exported(&ledgerbox).await
}

#[tokio::test]
async fn lc_5_depth_that_stands_in_for_safe_is_clean_and_less_is_found() {
    for final_by in [None, Some(FinalBy::Depth)] {
        let bytes = deep(final_by).await;
        assert_eq!(found(&audit(&bytes)), []);
        let less = json!(DEPTH + STAND_IN_BLOCKS - 1);
        first(&bytes, "confirmed")
            .set("/evidence/0/depth", less)
            .finds("evidence[0].level", Cause::NoEvidence);
    }
}

/// Where depth decides, no head that was named makes less of it safe.
#[tokio::test]
async fn lc_5_a_named_head_is_no_evidence_where_depth_decides() {
    let bytes = deep(Some(FinalBy::Depth)).await;
    for level in ["safe", "final"] {
        first(&bytes, "confirmed")
            .set("/evidence/0/level", json!(level))
            .finds("evidence[0].level", Cause::NoEvidence);
    }
}

/// Where heads decide, no depth makes up for one.
#[tokio::test]
async fn lc_5_depth_is_no_evidence_where_heads_decide() {
    let bytes = deep(Some(FinalBy::Depth)).await;
    let tag = first(&bytes, "parameters_set").set("/networks/0/final_by", json!("tag"));
    let report = tag.report();
    let [found] = &report.findings[..] else {
        panic!("{report:#?}")
    };
    assert_eq!(
        (&*found.field, found.cause),
        ("evidence[0].level", Cause::NoEvidence)
    );
}
