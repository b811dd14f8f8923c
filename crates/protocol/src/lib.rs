//! The words and the rules of x811.
//!
//! Everything here is a pure function of its arguments: no clock, no random numbers, no files, no
//! sockets. What a message means, what a state allows and what a signature covers is decided in
//! this crate and nowhere else, so that an auditor who links it reaches the ledger's own verdicts.
//!
//! | room | what is in it |
//! |---|---|
//! | [`json`], [`canonical`], [`digest`] | strict reading, RFC 8785 writing, SHA-256 |
//! | [`named!`] | enums with a text for each variant |
//! | [`did`], [`id`], [`key`], [`signature`], [`time`], [`money`], [`evm`] | the small words |
//! | [`code`], [`refusal`] | every way to say no |
//! | [`document`], [`wallet`], [`authorization`] | who an agent is, which accounts are its own, what a transfer is for |
//! | [`signed_read`] | who asks to read: HTTP message signatures (RFC 9421) |
//! | [`jws`] | signatures under objects, for strangers' tools (RFC 7515) |
//! | [`envelope`], [`payload`], [`facts`] | from bytes to what the machines decide on |
//! | [`event`], [`parameters`], [`observation`] | what the log records and what it was decided on |
//! | [`stream`] | names of the log's streams and of what they are about |
//! | [`jws`] | signatures inside a payload |
//! | [`machine`], [`interaction`], [`contract`], [`capability`], [`round`] | the machines |
//! | [`settlement`] | what pays, whoever owes it |
//! | [`settlement_view`] | where an interaction's money is, read off its records |
//! | [`answer`] | what the ledger answers over HTTP, for who writes it and who reads it |
//! | [`trust`] | what agents earn by how their interactions end |

#[macro_use]
mod named;

pub mod answer;
pub mod authorization;
pub mod canonical;
pub mod capability;
pub mod code;
pub mod contract;
pub mod contract_page;
pub mod did;
pub mod digest;
pub mod document;
pub mod envelope;
pub mod event;
pub mod evm;
pub mod facts;
pub mod id;
pub mod interaction;
pub mod json;
pub mod jws;
pub mod key;
pub mod loopback;
pub mod machine;
pub mod money;
pub mod narration;
pub mod observation;
#[cfg(feature = "openapi")]
mod openapi;
pub mod parameters;
pub mod payload;
pub mod refusal;
pub mod round;
pub mod rules;
pub mod settlement;
pub mod settlement_view;
pub mod shown;
pub mod signature;
pub mod signed_read;
mod spelled;
pub mod stream;
pub mod time;
pub mod trace;
pub mod trust;
mod turns;
pub mod wallet;
