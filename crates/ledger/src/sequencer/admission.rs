//! How much may be on its way to a decision: being checked on the CPU pool, or waiting for its turn.
//!
//! Whoever asks for more is answered at once instead of being queued, so that a flood costs a
//! bounded amount of memory and what was taken is still decided in time.

use super::batch::busy;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use x811_protocol::refusal::Refusal;

/// Messages on their way at most.
const MESSAGES: usize = 8_192;

/// Bytes of those messages together at most.
const BYTES: usize = 64 * 1_048_576;

/// What may still be taken.
#[derive(Debug, Clone)]
pub(super) struct Admission {
    messages: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
}

/// One message's share; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Admitted {
    _message: OwnedSemaphorePermit,
    _bytes: OwnedSemaphorePermit,
}

impl Admission {
    pub(super) fn new() -> Admission {
        Admission::of(MESSAGES, BYTES)
    }

    fn of(messages: usize, bytes: usize) -> Admission {
        Admission {
            messages: Arc::new(Semaphore::new(messages)),
            bytes: Arc::new(Semaphore::new(bytes)),
        }
    }

    /// Takes a message of that many bytes on.
    pub(super) fn admit(&self, bytes: usize) -> Result<Admitted, Refusal> {
        let full = || busy("too many messages are being checked");
        let bytes = u32::try_from(bytes).map_err(|_| full())?;
        Ok(Admitted {
            _message: self
                .messages
                .clone()
                .try_acquire_owned()
                .map_err(|_| full())?,
            _bytes: self
                .bytes
                .clone()
                .try_acquire_many_owned(bytes)
                .map_err(|_| full())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_protocol::code::Code;

    #[test]
    fn lc_1_2_what_is_on_its_way_is_bounded_by_count_and_by_bytes() {
        let admission = Admission::of(2, 100);
        let first = admission.admit(60).unwrap();
        let refusal = admission.admit(41).unwrap_err();
        assert_eq!(refusal.code, Code::RateLimitExceeded);
        assert_eq!(refusal.retry_after_ms, Some(1_000));
        let second = admission.admit(40).unwrap();
        assert!(admission.admit(0).is_err(), "two are on their way");
        drop(first);
        let third = admission.admit(60).unwrap();
        assert!(admission.admit(0).is_err());
        drop((second, third));
        assert!(admission.admit(100).is_ok(), "all of it came back");
    }
}
