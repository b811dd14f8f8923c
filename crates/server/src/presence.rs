//! Who said lately that it is there (agents.md section 3). In memory alone: after a restart nothing is
//! known of anybody, and who is unknown may be addressed (AX-40). Nothing here is recorded, and no
//! decision that a replay makes rests on it.

use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use x811_protocol::answer::Availability;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::envelope::{AcceptedHeader, CoreType, MessageType};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::time::TimestampMs;

/// How long a heartbeat is good unless it says otherwise, in seconds (AX-40).
pub(crate) const DEFAULT_TTL_S: u64 = 300;

/// The longest that a heartbeat is good, in seconds.
pub(crate) const MAX_TTL_S: u64 = 3_600;

/// When to try again to reach somebody who is offline.
const RETRY_AFTER_MS: u64 = 30_000;

/// What an agent says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Declared {
    /// It takes work.
    #[default]
    Online,
    /// It takes work, and not at once.
    Busy,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Beat {
    pub(crate) declared: Declared,
    /// When it came, by the recorded clock.
    pub(crate) at: TimestampMs,
    /// When it was made, by its sender's clock, where the heartbeat says that: a newer one takes its
    /// place, and the same one is not taken again.
    pub(crate) created: Option<TimestampMs>,
    /// Until when it is good, by the clock that never jumps.
    pub(crate) until_monotonic_ms: u64,
}

/// The last heartbeat of everybody who sent one: registered agents alone, so no more than those.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    beats: Mutex<HashMap<Did, Beat>>,
}

impl Presence {
    /// Notes a heartbeat; it takes the place of the one before, whichever is good for longer.
    pub(crate) fn note(&self, did: Did, beat: Beat) {
        let mut beats = self.beats();
        let made = beats.get(&did).and_then(|before| before.created);
        let created = beat.created.max(made);
        beats.insert(did, Beat { created, ..beat });
    }

    /// Notes a heartbeat that says when it was made; `false` when it is not newer than the one before.
    pub(crate) fn note_newer(&self, did: Did, beat: Beat) -> bool {
        let mut beats = self.beats();
        let before = beats.get(&did).and_then(|before| before.created);
        let is_newer = before < beat.created;
        if is_newer {
            beats.insert(did, beat);
        }
        is_newer
    }

    /// Whether `did` can be reached, and when it was last heard of.
    pub(crate) fn of(
        &self,
        did: Did,
        now_monotonic_ms: u64,
    ) -> (Availability, Option<TimestampMs>) {
        let Some(beat) = self.beats().get(&did).copied() else {
            return (Availability::Unknown, None);
        };
        let availability = match beat.declared {
            _ if now_monotonic_ms > beat.until_monotonic_ms => Availability::Offline,
            Declared::Online => Availability::Online,
            Declared::Busy => Availability::Busy,
        };
        (availability, Some(beat.at))
    }

    /// Refuses a REQUEST to somebody who is offline, before its nonce is spent (X811-3003). Messages
    /// about an interaction that is open always pass: what was agreed is not held up by a silence.
    pub(crate) fn admit(&self, header: &AcceptedHeader, now_ms: u64) -> Result<(), Refusal> {
        if header.message_type != MessageType::Core(CoreType::Request) {
            return Ok(());
        }
        match self.of(header.to, now_ms).0 {
            Availability::Online | Availability::Busy | Availability::Unknown => Ok(()),
            Availability::Offline => {
                let message = "this agent was online and is not heard of any more: send the same \
                               REQUEST again later, or ask another agent";
                let refusal = Refusal::new(Code::AgentOffline, Kind::Limit, message);
                Err(refusal.retry_after_ms(RETRY_AFTER_MS))
            }
        }
    }

    fn beats(&self) -> MutexGuard<'_, HashMap<Did, Beat>> {
        // An insertion that panicked has left the map whole.
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ax_40_who_never_said_anything_is_unknown_and_who_fell_silent_is_offline() {
        let presence = Presence::default();
        let did: Did = "did:x811:018f8c1e-0000-7000-8000-000000000001"
            .parse()
            .unwrap();
        assert_eq!(presence.of(did, 0), (Availability::Unknown, None));
        let at = TimestampMs::new(7);
        let beat = Beat {
            declared: Declared::Busy,
            at,
            created: None,
            until_monotonic_ms: 1_000,
        };
        presence.note(did, beat);
        assert_eq!(presence.of(did, 1_000), (Availability::Busy, Some(at)));
        assert_eq!(presence.of(did, 1_001), (Availability::Offline, Some(at)));
        let again = Beat {
            declared: Declared::Online,
            until_monotonic_ms: 3_000,
            ..beat
        };
        presence.note(did, again);
        assert_eq!(presence.of(did, 1_001).0, Availability::Online);
    }

    #[test]
    fn sdk_a_heartbeat_is_taken_once_and_an_older_one_not_at_all() {
        let presence = Presence::default();
        let did: Did = "did:x811:018f8c1e-0000-7000-8000-000000000001"
            .parse()
            .unwrap();
        let made_at = |ms, until_monotonic_ms| Beat {
            declared: Declared::Online,
            at: TimestampMs::new(7),
            created: Some(TimestampMs::new(ms)),
            until_monotonic_ms,
        };
        assert!(presence.note_newer(did, made_at(5, 10)));
        for again in [5, 4] {
            assert!(!presence.note_newer(did, made_at(again, 99)));
        }
        assert_eq!(presence.of(did, 11).0, Availability::Offline);
        // One that does not say when it was made opens no way back.
        let signed = Beat {
            created: None,
            ..made_at(0, 12)
        };
        presence.note(did, signed);
        assert!(!presence.note_newer(did, made_at(5, 99)));
        assert!(presence.note_newer(did, made_at(6, 99)));
    }
}
