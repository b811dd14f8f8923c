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
mod scopes;
mod single;
mod table;
mod traces;
mod verdict;

use super::audit::{every_event, scene, states};
use super::support::*;
