#![no_main]

#[path = "../properties/tlog_proof.rs"]
mod property;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| property::holds(bytes));
