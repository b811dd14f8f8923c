//! Receipts of what the real sequencer recorded: the honest ones hold, and no lie of somebody who
//! holds keys of the ledger, or is one of the parties, does (ledger-contract.md sections 5 and 8).

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod contract;
mod contradictions;
mod covers;
mod every_member;
mod honest;
mod issued;
mod keys;
mod known_keys;
mod mutations;
mod named_by_key;
mod nesting;
mod paper;
mod standing;

use super::support::*;
