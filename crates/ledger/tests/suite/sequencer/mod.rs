//! The sequencer, driven whole: real signed envelopes, a store and rows in memory, a clock moved by
//! hand, and a scripted Base. What is tested is what ledger-contract.md promises; test names carry
//! the section (`lc_1_3_…`) or the requirement (`ae_…`, `ax_…`).

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that panics has failed, and a match picks the one variant it is about"
)]

mod accept_heads;
mod aftermath;
mod authentication;
mod blindness;
mod breaches;
mod capabilities;
mod checkpoint;
mod clock;
mod contests;
mod contract_erasure;
mod contract_guards;
mod contract_wallets;
mod contracts;
mod crashes;
mod doctor;
mod downtime;
mod downtime_jumps;
mod erasure;
mod exclusions;
mod flood;
mod grouping;
mod idempotency;
mod incidents;
mod interleavings;
mod lapses;
mod late_watch;
mod ledger_keys;
mod leniency;
mod lifecycle;
mod nonces;
mod notices;
mod picture;
mod pipeline;
mod pressure;
mod quotas;
mod random;
mod reference_sdk;
mod registry;
mod registry_random;
mod round_limits;
mod round_notices;
mod rounds;
mod routing;
mod rows;
mod rules;
mod session_random;
mod sessions;
mod settlement;
mod snapshots;
mod standing;
mod term_erasure;
mod together;
mod trust;
mod two_ledgers;
mod unique_keys;
mod watch_index;
mod watched;
mod watches;
mod writers;
mod years;

use super::support::*;
