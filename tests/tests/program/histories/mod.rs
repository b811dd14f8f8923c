//! Random histories of a chain, its endpoints and the real ledger: the watcher and the sequencer
//! together, from what is asked of an endpoint to what is in the log.
//!
//! The parties, the ledger in a box and the scripted chain are those of the crates' own tests.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    clippy::print_stdout,
    reason = "a test that panics has failed, and a match picks the one variant it is about"
)]

#[expect(dead_code, reason = "the ledger's own tests use the rest")]
#[path = "../../../../crates/ledger/tests/suite/support/base.rs"]
mod base;
#[path = "../../../../crates/ledger/tests/suite/support/bundles.rs"]
#[expect(dead_code, reason = "the ledger's own tests use the rest")]
mod bundles;
mod chain;
#[expect(dead_code, reason = "the ledger's own tests use the rest")]
#[path = "../../../../crates/ledger/tests/suite/support/deal.rs"]
mod deal;
#[expect(dead_code, reason = "the ledger's own tests use the rest")]
#[path = "../../../../crates/ledger/tests/suite/support/ledgerbox.rs"]
mod ledgerbox;
mod named;
#[path = "../../../../crates/ledger/tests/suite/support/party.rs"]
mod party;
#[path = "../../../../crates/ledger/tests/suite/sequencer/picture.rs"]
mod picture;
mod quietly;
mod random;
#[expect(dead_code, reason = "the watcher's own tests use the rest")]
#[path = "../../../../crates/watcher/tests/suite/watching/scripted.rs"]
mod scripted;
mod story;
mod verdict;
#[path = "../../../../crates/ledger/tests/suite/sequencer/watches.rs"]
mod watches;
