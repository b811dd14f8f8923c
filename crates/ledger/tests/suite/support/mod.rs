//! What several kinds of tests of the ledger are made of: a ledger in a box, a scripted Base, parties that sign, and
//! how far they go in each machine. Whoever takes it does so by `use super::support::*`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

pub(crate) mod bargain;
pub(crate) mod base;
pub(crate) mod begun;
pub(crate) mod bundles;
pub(crate) mod conduct;
pub(crate) mod council;
pub(crate) mod deal;
pub(crate) mod descriptors;
pub(crate) mod erasure_order;
pub(crate) mod every_path;
pub(crate) mod ledgerbox;
pub(crate) mod party;
pub(crate) mod sdk_forms;
pub(crate) mod size;
pub(crate) mod talks;
