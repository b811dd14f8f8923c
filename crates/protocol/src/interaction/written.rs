//! What never changes is written once, for every state that it is a part of.

use std::sync::OnceLock;

/// The bytes of something that is not changed any more, from when they are first asked for. They say
/// nothing of their own: a copy begins without them, and any two are equal.
#[derive(Debug, Default)]
pub struct WrittenOnce(OnceLock<Box<[u8]>>);

impl WrittenOnce {
    /// The bytes; `write` makes them the first time.
    ///
    /// # Errors
    /// That of `write`.
    pub fn or_write<E>(&self, write: impl FnOnce() -> Result<Vec<u8>, E>) -> Result<&[u8], E> {
        if let Some(bytes) = self.0.get() {
            return Ok(bytes);
        }
        let bytes = write()?;
        Ok(self.0.get_or_init(|| bytes.into()))
    }
}

impl Clone for WrittenOnce {
    fn clone(&self) -> WrittenOnce {
        WrittenOnce::default()
    }
}

impl PartialEq for WrittenOnce {
    fn eq(&self, _other: &WrittenOnce) -> bool {
        true
    }
}
