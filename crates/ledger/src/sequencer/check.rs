//! The first half of a message's way, as of the world of its arrival and, where that may matter, as
//! of the newest.

use super::repeat::Sent;
use crate::submission::{self, Opened, Submission};
use crate::world::World;
use std::sync::Arc;
use tokio::sync::watch;
use x811_protocol::envelope::Unverified;
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;

/// An authentic message, or why it is none.
pub(super) type Checked = Result<Box<Submission>, Box<Refused>>;

/// Why a message is not authentic.
pub(super) struct Refused {
    pub(super) refusal: Refusal,
    /// What was sent, where it may be the repeat of an accepted message.
    pub(super) sent: Option<Sent>,
}

/// A message to be checked, with everything that needs no order.
pub(super) struct Check<B> {
    pub(super) bytes: B,
    pub(super) world: Arc<World>,
    pub(super) newest: watch::Receiver<Arc<World>>,
    pub(super) now: TimestampMs,
}

/// Up to here an envelope takes little longer to check than its signature does, and handing it over
/// to another thread would cost a tenth of that.
const SHORT_BYTES: usize = 16 * 1_024;

impl<B: AsRef<[u8]>> Check<B> {
    /// Whether it is worth no other thread.
    pub(super) fn is_short(&self) -> bool {
        self.bytes.as_ref().len() <= SHORT_BYTES
    }

    /// Checks everything on this thread.
    pub(super) fn alone(&self) -> Checked {
        let received = submission::receive(self.bytes.as_ref(), &self.world, self.now);
        self.looked_at_again(received)
    }

    /// The same, but for a signature that may be checked with others, because one key only can have
    /// made it.
    ///
    /// # Errors
    /// What was found where there is none.
    pub(super) fn but_for_signature(&self) -> Result<Box<Unverified>, Checked> {
        let received = match submission::open(self.bytes.as_ref(), &self.world, self.now) {
            Ok(Opened::Sealed(sealed)) => match sealed.by_one_key() {
                Ok(envelope) => return Ok(envelope),
                Err(sealed) => sealed
                    .verify()
                    .and_then(|envelope| submission::verified(envelope, &self.world)),
            },
            Ok(Opened::Authentic(submission)) => Ok(submission),
            Err(refusal) => Err(refusal),
        };
        Err(self.looked_at_again(received))
    }

    /// A refusal for keys that have changed since the message arrived is looked at once more in the
    /// newest world (AX-29).
    fn looked_at_again(&self, received: Result<Box<Submission>, Refusal>) -> Checked {
        if !submission::deserves_fresh_look(&received) {
            let sent = None;
            return received.map_err(|refusal| Box::new(Refused { refusal, sent }));
        }
        let (bytes, newest) = (self.bytes.as_ref(), self.newest.borrow().clone());
        let received = if newest.head() == self.world.head() {
            received
        } else {
            submission::receive(bytes, &newest, self.now)
        };
        let sent = Sent::unverified(bytes, &newest);
        received.map_err(|refusal| Box::new(Refused { refusal, sent }))
    }
}
