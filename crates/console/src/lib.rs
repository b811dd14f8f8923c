//! The console of a command: its output, its failures and its exit codes.
//!
//! The programs `x811` and `x811-bench` and the library of the development chain share it. Everything a
//! command prints goes through [`output`], which escapes whatever an agent or the network may have
//! written; every error becomes a [`failure::Failure`] with a code, what happened and what to do next;
//! [`exit`] has the table of exit codes.

pub mod captured;
pub mod exit;
pub mod failure;
pub mod output;
pub mod stop;
mod terminal;
