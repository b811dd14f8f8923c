//! The program as its users have it: the real binary, a real Anvil, real disks and databases.

mod contracts;
#[cfg(feature = "eventstore")]
mod eventstore;
mod faults;
mod histories;
mod operations;
mod packaging;
mod rendered;
mod settlement;
mod soak;
mod stories;
