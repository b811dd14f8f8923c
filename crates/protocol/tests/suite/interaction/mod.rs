//! The `interaction` machine, driven through `machine::execute` with a clock, a registry and a chain
//! that the tests move by hand: AE-9 to AE-37, AE-98 to AE-105, AX-1 to AX-18, AX-34 and AX-35,
//! ledger-contract.md sections 1 and 5.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that panics has failed, and a match picks the one variant it is about"
)]

mod authorized;
mod cells;
mod chain;
mod checklist;
mod choice;
mod clocks;
mod documents;
mod guards;
mod lifecycle;
pub(crate) mod messages;
mod milestones;
mod payments;
mod random;
mod refutations;
mod replay;
mod rivals;
mod schedule;
mod transfers;
mod view;
mod windows;
pub(crate) mod world;
