//! Receipts of what the real sequencer recorded: the honest ones hold, and no lie of somebody who
//! holds keys of the ledger, or is one of the parties, does (ledger-contract.md sections 5 and 8).

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod contract;
mod covers;
mod honest;
mod issued;
mod keys;
mod mutations;
mod named_by_key;
mod nesting;
mod paper;
mod standing;

#[path = "../sequencer/base.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod base;
#[path = "../sequencer/bundles.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod bundles;
#[path = "../sequencer/deal.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod deal;
#[path = "../sequencer/ledgerbox.rs"]
#[expect(
    dead_code,
    clippy::panic,
    clippy::expect_used,
    reason = "the sequencer's tests use the rest"
)]
mod ledgerbox;
#[path = "../sequencer/party.rs"]
mod party;
#[path = "../sequencer/talks.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod talks;
