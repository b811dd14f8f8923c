//! The machine `round`: its tally, its table, its guards and whole rounds record by record.
//!
//! Sources: round.md, CC-1…62, CX-1…32.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test that panics has failed, and a match picks the one variant it is about"
)]

mod attacks;
mod cells;
mod contests;
mod lasting;
mod payloads;
mod properties;
mod rivals;
mod simulator;
mod tallies;
mod walks;
mod world;
