//! What an agent links: signing, sending, reading, paying.
//!
//! An agent is a DID with a key of its own. This crate keeps that key in a file nobody else can
//! read, seals messages with it, sends them so that a lost answer does no harm, checks the signature
//! of everything that comes back, judges offers by the policy the agent declared, and moves USDC.
//! The ledger is never trusted for what another agent said.
//!
//! | room | what is in it |
//! |---|---|
//! | [`clock`], [`entropy`] | time and randomness, injected so that tests own both |
//! | [`identity`], [`wallet`], [`home`] | keys, and the files they live in |
//! | [`compose`] | sealed envelopes for every kind of message |
//! | [`http`] | the ledger's HTTP interface, with retries |
//! | [`transcript`], [`mod@settlement`] | one interaction as recorded, and whether it is paid |
//! | [`policy`] | accept, ask a person, or reject |
//! | [`negotiation`] | chains of XAP, another protocol, verified offline |
//! | [`negotiator`] | what to bid and when to agree, within limits |
//! | [`usage`] | how much use of a capability to ask for or grant, within limits |
//! | [`round`] | deciding together: who proposes, votes, leads |
//! | [`agent`] | loops that run unattended: provider, initiator |
//! | [`pay`] | the USDC transfer (feature `pay`) |
//!
//! TLS needs a process-wide rustls provider; the binary installs it.

pub mod agent;
pub mod clock;
pub mod compose;
pub mod entropy;
pub mod home;
pub mod http;
pub mod identity;
pub mod negotiation;
pub mod negotiator;
pub mod outgoing;
#[cfg(feature = "pay")]
pub mod pay;
pub mod policy;
pub mod round;
pub mod session;
pub mod settlement;
pub mod transcript;
pub mod usage;
pub mod wallet;

#[cfg(test)]
mod testing;
