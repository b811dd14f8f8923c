//! Runs the rules over a log.
//!
//! `protocol` says what a message means and `eventlog` what a record is; this crate joins them: one
//! sequencer owns the order, the live state and the clock that is recorded. Everything it needs from
//! outside comes through the traits of [`port`], [`clock`] and [`entropy`].
//!
//! | room | what is in it |
//! |---|---|
//! | [`submission`] | the half of a message's way that needs no order: parse, verify, read |
//! | `contract_wallets` | what only a node of the chain can say of a registration |
//! | `turn`, `watch` | the half that does: messages, observations, time, on a draft |
//! | `registry`, [`agent`] | who may ask what of the registry, and what a DID's records add up to |
//! | [`world`], `draft` | what the log adds up to, and what a batch would make of it |
//! | `sequencer` | the one task that owns both, and group commits |
//! | [`settlement_view`] | where an interaction's money is, from its records and the world |
//! | [`checkpoint`] | what was signed last, kept away from the log |
//! | [`erasure`] | which bodies an operator may have erased |
//! | [`notice`] | what the ledger tells parties, signed |
//! | [`receipt`] | proof of a payment in one file |
//! | [`projection`], [`row`] | rows for readers |
//! | [`keyring`] | the ledger's own keys, and which were in force when |
//! | [`keys_statement`] | the same beside the log, signed with each checkpoint |
//! | [`standing`] | what became of a payment, in the word that ends of streams say it with |
//! | [`refresh`] | papers from before the ledger replaced its checkpoint key |
//! | [`proof`] | that a record is under a checkpoint |
//! | [`port`], [`clock`], [`entropy`] | what it needs from outside |
//! | [`snapshot`] | the world as of some record, so that a restart replays the tail alone |
//! | [`figures`] | what an operator counts |
//! | [`copy`] | the log and what lies beside it, from one store into another |
//! | [`memory`] | a place to keep it, for tests |
//! | [`conformance`] | what every such place promises, as tests |

pub mod agent;
pub mod answer;
pub mod audit;
pub mod checkpoint;
pub mod clock;
pub mod conformance;
mod contract_wallets;
pub mod copy;
pub mod doctor;
mod draft;
pub mod entropy;
pub mod erasure;
pub mod export;
pub mod figures;
pub mod keyring;
pub mod keys_statement;
pub mod memory;
pub mod notice;
mod policies;
pub mod port;
pub mod projection;
pub mod proof;
mod quota;
pub mod receipt;
mod recent;
pub mod refresh;
mod registry;
pub mod row;
mod schemas;
pub mod sequencer;
pub mod settlement_view;
pub mod snapshot;
mod spent;
pub mod standing;
pub mod submission;
mod turn;
mod watch;
pub mod whole;
pub mod world;

/// Target of the spans that follow a message: `submit`, `check`, `turn`, `commit`. Nobody listens
/// unless told to, and then a span costs one comparison. They hold no agent's words.
pub const SPANS: &str = "x811::span";
