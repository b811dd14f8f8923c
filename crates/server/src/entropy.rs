//! The operating system's random numbers.

use x811_ledger::entropy::Entropy;

/// Draws from the operating system.
#[derive(Debug, Clone, Copy)]
pub struct SystemEntropy(());

/// The operating system gives no random numbers.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gives no random numbers ({0}): without them nothing can be signed")]
pub struct NoEntropy(getrandom::Error);

impl SystemEntropy {
    /// Makes sure, once, that there are random numbers; later draws then cannot fail.
    ///
    /// # Errors
    /// [`NoEntropy`].
    pub fn open() -> Result<SystemEntropy, NoEntropy> {
        draw(&mut [0; 32]).map_err(NoEntropy)?;
        Ok(SystemEntropy(()))
    }
}

impl Entropy for SystemEntropy {
    #[expect(
        clippy::expect_used,
        reason = "signing with bytes that are not random would give keys and nonces away"
    )]
    fn fill(&self, bytes: &mut [u8]) {
        draw(bytes).expect("a system source that has worked once is seeded and goes on working");
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place of this crate that draws random numbers"
)]
fn draw(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
    getrandom::fill(bytes)
}
