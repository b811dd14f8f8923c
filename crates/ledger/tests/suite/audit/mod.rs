//! The audit, over logs that the real sequencer wrote: clean ones are clean, and whatever is done
//! to them is named where it was done (design.md section 8, promise 4).

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that panics has failed"
)]

mod against;
mod against_words;
mod agent_keys;
mod agent_rows;
mod authorizations_forged;
mod clean;
mod conduct_forged;
mod damaged_rows;
mod descriptors_forged;
mod dust;
mod earlier_keys;
mod erased_contracts;
mod erased_terms;
mod erasures;
pub(crate) mod every_event;
pub(crate) mod every_round;
mod flips;
mod forged_bundle;
mod forger;
mod forks;
mod golden;
mod golden_contract;
mod golden_log;
mod golden_rounds;
mod golden_session;
mod hashes;
mod heads_forged;
mod hidden;
mod hostile;
mod incomplete;
mod late_lapses;
mod levels;
mod limits;
mod listing;
mod looks_forged;
mod member_rows;
mod mutations;
mod noted;
mod notices;
mod order;
mod orders;
mod overdue;
mod pages;
mod papers;
mod parameters;
mod payments_forged;
mod read_model;
mod registry;
mod registry_members;
mod rehashed;
mod reorganised;
mod resealing;
mod roots;
mod rotations;
pub(crate) mod scene;
mod sightings;
mod spelled;
pub(crate) mod states;
mod tampered;
mod totals;
mod trust;
mod unknown_keys;
mod unproven;

use super::support::*;
