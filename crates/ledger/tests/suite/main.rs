//! Every integration test of the ledger, in one binary: one more costs one more link.

mod adversary;
mod audit;
mod conformance;
mod receipts;
mod sequencer;
mod support;
