//! Every integration test of the protocol, in one binary: one more costs one more link.

mod contract_page;
mod envelope;
mod interaction;
mod payload_rules;
mod round;
mod session_cells;
mod turn;
