//! Bad days: the real binary is killed, its disk fills up or fails, its files are swapped for older
//! ones. `tests/FAULTS.md` lists the faults and what is promised for each.
//!
//! After every fault the same oracle is asked: whatever a client was told is there, at the same
//! position with the same hash, and `x811 audit` is clean.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a fault test that cannot go on has failed, its figures belong into the output, real \
              processes live on the real clock, and whoever wants more faults says so in the \
              environment"
)]

mod bits;
pub(crate) mod client;
mod clocks;
mod cluster;
mod copies;
mod crowd;
mod dealing;
mod dice;
mod disk;
mod exported;
mod feeds;
mod files;
mod flood;
mod forks;
mod hosts;
mod incidents;
mod instances;
mod kills;
pub(crate) mod ledger;
mod left_behind;
mod lost_tail;
mod queue;
mod restored;
mod runbooks;
mod scripted;
mod standing;
mod streams;
mod syscalls;
mod takeovers;
mod talking;
