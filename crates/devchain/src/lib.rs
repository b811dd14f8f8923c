//! A chain like Base on this computer, for people who try the ledger.
//!
//! [`anvil`] runs Anvil with test USDC and breaks it in every way the real chain can; [`demo`] settles
//! four interactions on a ledger and an Anvil of their own. The commands `x811 anvil` and `x811 demo`
//! are their arguments and functions; `x811-bench` takes its chain from here.

pub mod anvil;
pub mod demo;
