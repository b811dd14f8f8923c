//! Sizes of random and exhaustive tests: small in the gate, and as large as `scripts/test.sh --full` says.

/// The value of an environment variable, or `gate_size` where it is not set.
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no command line of its own"
)]
pub(crate) fn size(variable: &str, gate_size: u32) -> u32 {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|error| panic!("{variable}={text}: {error}")),
        Err(_) => gate_size,
    }
}
