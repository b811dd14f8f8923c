//! How a payment is settled, whoever owes it: what is due on a bill, which transfers pay it, what one
//! look at the network says of the transactions that were declared for it, and what is watched of them
//! once it is over.
//!
//! An interaction is what is paid today. Nothing here knows it: a machine is a [`SettlingMachine`], makes
//! a [`Bill`] of its state and brings what stands outside of it ([`Context`]). What a machine adds is when
//! it gives up, and what a payment makes of its state.
//!
//! | file | what it decides |
//! |---|---|
//! | `machine` | what is asked of a machine that is paid |
//! | `bill` | what a payment is held to |
//! | `declared` | transactions that were declared, and how they stand |
//! | `view` | declared transactions against one sweep |
//! | `watching` | what a sweep means while a payment is awaited |
//! | `aftermath` | what a sweep means once it is over |
//! | `bound` | what becomes of transfers that paid, or came late |
//! | `watched` | what whoever follows the network has to know |
//! | `fit` | which transfers can pay |
//! | [`claim`] | which transfers pay |
//! | `named` | what records name of a network |
//! | `narrow` | the same where a record cannot name all it takes |
//! | [`age`] | which blocks are older than the bill |
//! | [`level`] | how sure a block is where no endpoint says |
//!
//! Sources: AX-14…20, ledger-contract.md section 5, settlement-watcher.md rules 11 to 24.

mod aftermath;
pub mod age;
mod bill;
mod bound;
pub mod claim;
mod declared;
mod fit;
pub mod level;
mod machine;
mod named;
mod narrow;
mod view;
mod watched;
mod watching;

pub use aftermath::{Aftermath, late_of};
pub use age::Since;
pub use bill::{Bill, Context, Nonces};
pub use bound::{LateWatch, PaidTransfer};
pub use declared::{Completion, Declared, DeclaredStanding};
pub use fit::Fit;
pub use machine::{OtherClaims, SettlingMachine, take_sweep};
pub use named::{evidence, named_blocks};
pub use watched::{Phase, Watched};

pub(crate) use aftermath::Over;
pub(crate) use bound::{Bound, Reached, evolve_bound, unless_over};
pub(crate) use narrow::{Choice, Covered};
pub(crate) use view::View;
