//! Somebody who has the ledger's database and all of its keys lies in meaning alone: hashes,
//! numbers and signatures of the ledger are written anew. Whatever is said by a member is proven, or
//! `tests/AUDIT.md` calls it the ledger's word (ledger-contract.md section 9).

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

mod branches;
mod cases;
mod changes;
mod extract;
mod keys;
mod ledgers_hand;
mod lies;
mod log;
mod members;
mod named;
mod rarer;
mod roots;
mod single;
mod table;
mod verdict;

#[path = "../sequencer/bargain.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod bargain;
#[path = "../sequencer/base.rs"]
mod base;
#[path = "../sequencer/begun.rs"]
mod begun;
#[path = "../sequencer/bundles.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod bundles;
#[path = "../sequencer/conduct.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod conduct;
#[path = "../sequencer/council.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod council;
#[path = "../sequencer/deal.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod deal;
#[path = "../sequencer/descriptors.rs"]
mod descriptors;
#[path = "../sequencer/erasure_order.rs"]
mod erasure_order;
#[path = "../audit/every_event.rs"]
mod every_event;
#[path = "../audit/every_round.rs"]
mod every_round;
#[path = "../sequencer/ledgerbox.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod ledgerbox;
#[path = "../sequencer/party.rs"]
mod party;
#[path = "../audit/scene.rs"]
#[expect(dead_code, reason = "the audit's tests use the rest")]
mod scene;
#[path = "../sequencer/sdk_forms.rs"]
mod sdk_forms;
#[path = "../audit/states.rs"]
mod states;
#[path = "../sequencer/talks.rs"]
#[expect(dead_code, reason = "the sequencer's tests use the rest")]
mod talks;
