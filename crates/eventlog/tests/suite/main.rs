//! Every integration test of the event log, in one binary: one more costs one more link.

mod checkpoint;
mod cose;
mod format;
mod incidents;
mod proofs;
mod trust;
