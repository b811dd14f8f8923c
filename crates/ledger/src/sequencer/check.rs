//! The first half of a message's way, as of the world of its arrival and, where that may matter, as
//! of the newest.

use super::repeat::Sent;
use crate::submission::{self, Submission};
use crate::world::World;
use std::sync::Arc;
use tokio::sync::watch;
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;

/// An authentic message, or why it is none.
pub(super) type Checked = Result<Submission, Box<Refused>>;

/// Why a message is not authentic.
pub(super) struct Refused {
    pub(super) refusal: Refusal,
    /// What was sent, where it may be the repeat of an accepted message.
    pub(super) sent: Option<Sent>,
}

/// Checks everything that needs no order. A refusal for keys that have changed since `world` is
/// looked at once more in the `newest` (AX-29).
pub(super) fn check(
    bytes: &[u8],
    world: &World,
    newest: &watch::Receiver<Arc<World>>,
    now: TimestampMs,
) -> Checked {
    let received = submission::receive(bytes, world, now);
    if !submission::deserves_fresh_look(&received) {
        let sent = None;
        return received.map_err(|refusal| Box::new(Refused { refusal, sent }));
    }
    let newest = newest.borrow().clone();
    let received = if newest.head() == world.head() {
        received
    } else {
        submission::receive(bytes, &newest, now)
    };
    let sent = Sent::unverified(bytes, &newest);
    received.map_err(|refusal| Box::new(Refused { refusal, sent }))
}
