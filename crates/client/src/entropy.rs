//! Randomness, injected: keys, ids, nonces and the jitter between retries come from here.

/// A source of random bytes fit for keys.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    ///
    /// # Errors
    /// [`EntropyError`] when the source fails; nothing may then be signed or generated.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError>;
}

impl dyn Entropy + '_ {
    /// An array of random bytes.
    ///
    /// # Errors
    /// As [`Entropy::fill`].
    pub fn array<const N: usize>(&self) -> Result<[u8; N], EntropyError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }
}

/// The operating system's generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the operating system for random bytes"
    )]
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        getrandom::fill(bytes).map_err(|_| EntropyError)
    }
}

/// The source of randomness failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gave no random bytes; nothing was signed, try again")]
pub struct EntropyError;
