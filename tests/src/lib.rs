//! Shared harness of the end-to-end tests.

pub mod anvil;
pub mod binary;
pub mod browser;
pub mod eventstore;
pub mod ports;
pub mod postgres;
pub mod proxy;
pub mod size;
pub mod soak;
pub mod tunnel;
pub mod verifiers;
