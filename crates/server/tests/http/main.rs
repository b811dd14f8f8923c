//! The server over real HTTP on loopback, on real SQLite in a directory of its own, with a clock
//! that the test moves. The RPC endpoint shows one block, of the moment when the ledger began, unless
//! a test asks for another.

#![expect(
    clippy::unwrap_used,
    reason = "what a test's own fixture lacks fails that test"
)]

mod agent_keys;
mod agents;
mod base;
mod bundle;
mod capabilities;
mod checkpoint;
mod codes;
mod conduct;
mod connections;
mod contract_wallets;
mod damage;
mod discovery;
mod erasure;
mod faults;
mod feed;
mod forged_receipt;
mod freeze;
mod guards;
mod hostile;
mod inbox;
mod incidents;
mod keys_statement;
mod lifecycle;
mod limits;
mod log;
mod long_polls;
mod metrics;
mod negotiations;
mod openapi;
mod presence;
mod readers;
mod reads;
mod receipt;
mod reference_sdk;
mod registry;
mod repeats;
mod rotated_keys;
mod round_lists;
mod round_notices;
mod rounds;
mod sessions;
mod settlement;
mod signing;
mod standing;
mod story;
mod theft;
mod time;
mod world;
