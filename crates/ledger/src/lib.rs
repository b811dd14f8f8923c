//! Runs the rules over a log.
//!
//! `protocol` says what a message means and `eventlog` what a record is; this crate joins them: one
//! sequencer owns the order, the live state and the clock that is recorded. Everything it needs from
//! outside comes through the traits of [`port`].

pub mod port;
pub mod row;
