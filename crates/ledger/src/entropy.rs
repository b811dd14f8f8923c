//! Randomness from outside, so that a test can say what is drawn.

use uuid::Uuid;
use x811_protocol::time::TimestampMs;

/// A source of random bytes.
pub trait Entropy: Send + Sync + 'static {
    /// Fills `bytes` with random bytes.
    fn fill(&self, bytes: &mut [u8]);

    /// A new random UUID of version 4.
    fn uuid_v4(&self) -> Uuid {
        let mut bytes = [0; 16];
        self.fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid()
    }

    /// A UUIDv7 of that moment.
    fn uuid_v7(&self, at: TimestampMs) -> Uuid {
        let mut bytes = [0; 10];
        self.fill(&mut bytes);
        uuid::Builder::from_unix_timestamp_millis(at.as_ms(), &bytes).into_uuid()
    }
}
