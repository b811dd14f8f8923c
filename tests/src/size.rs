//! Sizes and seeds of the tests, which `scripts/test.sh --full` and people set in the environment.

/// The number that an environment variable has; none where it is not set.
///
/// # Panics
///
/// Where its value is not a number.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no command line of its own"
)]
pub fn from_environment(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    match text.parse() {
        Ok(number) => Some(number),
        Err(error) => panic!("{variable}={text}: {error}"),
    }
}
