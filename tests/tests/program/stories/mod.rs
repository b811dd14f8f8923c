//! The end-to-end stories: the real binary, a real Anvil, real SQLite or, under `on_postgres`, a real
//! PostgreSQL, as a user would run them.

#![expect(
    clippy::unwrap_used,
    reason = "a story that cannot go on has failed, and says where"
)]

mod accounts;
mod agents;
mod agreement;
mod asked;
mod by_hand;
mod callback;
mod capability;
mod cards;
mod contract_wallet;
mod dealing;
mod demo;
mod drawn;
mod elsewhere;
mod embedded;
mod erasure;
mod forged_trace;
mod haggling;
mod kill;
mod languages;
mod loops;
mod mcp;
mod negotiation;
mod page;
mod playground;
mod proofs;

mod receipt;
mod refusal;
mod rounds;
mod settlement;
mod stage;
mod storm;
mod stuck;
mod tamper;
mod two_ledgers;
mod undeclared;
