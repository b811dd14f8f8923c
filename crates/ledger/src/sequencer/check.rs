//! The first half of a message's way, as of the world of its arrival and, where the sender's keys have
//! changed since, as of the newest.

use super::repeat::Sent;
use crate::submission::{self, Opened, Submission, VerdictBasis};
use std::sync::Arc;
use tokio::sync::watch;
use x811_protocol::did::Did;
use x811_protocol::envelope::{ParsedEnvelope, Unverified};
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;
use x811_world::World;

/// An authentic message, or why it is none.
pub(super) type Checked = Result<Box<Submission>, Box<Refused>>;

/// Why a message is not authentic.
pub(super) struct Refused {
    pub(super) refusal: Refusal,
    /// The envelope, where it could be parsed: it may repeat an accepted message.
    pub(super) sent: Option<Sent>,
}

/// The sender and the identity that an envelope claims; its signature is not verified.
struct EnvelopeClaim {
    from: Did,
    sent: Sent,
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
        let (parsed, claim) = self.parsed()?;
        let received = submission::authenticate(parsed, &self.world, self.now);
        self.concluded(claim, received)
    }

    /// The same, but for a signature that may be checked with others, because one key only can have
    /// made it.
    ///
    /// # Errors
    /// What was found where there is none.
    pub(super) fn but_for_signature(&self) -> Result<Box<Unverified>, Checked> {
        let (parsed, claim) = self.parsed().map_err(Checked::Err)?;
        let received = match submission::open(parsed, &self.world, self.now) {
            Ok(Opened::Sealed(sealed)) => match sealed.by_one_key() {
                Ok(envelope) => return Ok(envelope),
                Err(sealed) => sealed
                    .verify()
                    .and_then(|envelope| submission::verified(envelope, &self.world)),
            },
            Ok(Opened::Authentic(submission)) => Ok(submission),
            Err(refusal) => Err(refusal),
        };
        Err(self.concluded(claim, received))
    }

    /// The envelope, and what it claims. A refusal of its form depends on no key.
    fn parsed(&self) -> Result<(ParsedEnvelope, EnvelopeClaim), Box<Refused>> {
        let parsed = submission::parse(self.bytes.as_ref(), &self.world);
        let parsed = parsed.map_err(|refusal| {
            let sent = None;
            Box::new(Refused { refusal, sent })
        })?;
        let claim = EnvelopeClaim {
            from: parsed.header.from,
            sent: Sent::of_parsed(&parsed),
        };
        Ok((parsed, claim))
    }

    /// The verdict. A refusal for the sender's keys is checked once more where those have changed
    /// since the message arrived (AX-29).
    fn concluded(
        &self,
        claim: EnvelopeClaim,
        received: Result<Box<Submission>, Refusal>,
    ) -> Checked {
        let received = match submission::deserves_fresh_look(&received) {
            true => self.checked_again(claim.from, received),
            false => received,
        };
        received.map_err(|refusal| {
            let sent = Some(claim.sent);
            Box::new(Refused { refusal, sent })
        })
    }

    /// `received`, or the verdict in the newest world if its basis is another one there. Checking a long
    /// envelope takes tens of milliseconds, so records of others are no reason to do it twice.
    fn checked_again(
        &self,
        from: Did,
        received: Result<Box<Submission>, Refusal>,
    ) -> Result<Box<Submission>, Refusal> {
        let newest = self.newest.borrow().clone();
        let before = VerdictBasis::of(&self.world, from, self.now);
        if before == VerdictBasis::of(&newest, from, self.now) {
            return received;
        }
        submission::receive(self.bytes.as_ref(), &newest, self.now)
    }
}
