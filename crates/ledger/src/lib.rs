//! Runs the rules over a log.
//!
//! [`x811_world`] says what records add up to; this crate makes them: one
//! sequencer owns the order, the live state and the clock that is recorded. Everything it needs from
//! outside comes through the traits of [`port`], [`clock`] and [`entropy`].
//!
//! | module | what is in it |
//! |---|---|
//! | [`submission`] | the half of a message's way that needs no order: parse, verify, read |
//! | `contract_wallets` | what only a node of the chain can say of a registration |
//! | `turn`, `watch` | the half that does: messages, observations, time, on a draft |
//! | `draft` | what a batch would make of the world |
//! | `sequencer` | the one task that owns both, and group commits |
//! | [`checkpoint`] | what was signed last, kept away from the log |
//! | [`notice`] | signs what the ledger tells parties |
//! | [`receipt`], [`export`], [`refresh`] | writes what [`x811_audit`] reads |
//! | [`store_audit`], [`doctor`] | audits and examines what a store holds |
//! | [`keyring`] | the ledger's own keys, from its log alone |
//! | [`proof`] | that a record is under a checkpoint |
//! | [`port`], [`clock`], [`entropy`] | what it needs from outside |
//! | [`snapshot`] | the world as of some record, so that a restart replays the tail alone |
//! | [`figures`] | what an operator counts |
//! | [`copy`] | the log and what lies beside it, from one store into another |
//! | [`memory`] | a place to keep it, for tests |
//! | [`conformance`] | what every such place promises, as tests |

pub mod answer;
pub mod checkpoint;
pub mod clock;
pub mod conformance;
mod contract_wallets;
pub mod copy;
pub mod doctor;
mod draft;
pub mod entropy;
pub mod export;
pub mod figures;
pub mod keyring;
pub mod memory;
pub mod notice;
pub mod port;
pub mod proof;
pub mod receipt;
pub mod refresh;
pub mod sequencer;
pub mod snapshot;
pub mod store_audit;
pub mod submission;
mod turn;
mod watch;
pub mod whole;

/// Target of the spans that follow a message: `submit`, `check`, `turn`, `commit`. Nobody listens
/// unless told to, and then a span costs one comparison. They hold no agent's words.
pub const SPANS: &str = "x811::span";
