//! Keys of agents that were asked for, in bounded memory: whoever talks to many strangers for long
//! remembers those of the last minutes only.

use std::collections::HashMap;
use std::sync::Arc;

use x811_protocol::did::Did;
use x811_protocol::envelope::{ParsedEnvelope, VerifiedEnvelope, verify};
use x811_protocol::key::AgentKey;
use x811_protocol::time::TimestampMs;

use super::key_history::KeyHistory;

/// How long a document may be used without asking again (AE-93).
const CACHED_MS: u64 = 300_000;

/// Agents whose keys are held at the same time.
const MOST_AGENTS: usize = 1_024;

/// The keys that were read lately, by agent.
#[derive(Debug, Default)]
pub(super) struct KnownKeys(HashMap<Did, CachedKeys>);

impl KnownKeys {
    /// What is known of the agent and may still be used.
    pub(super) fn get(&self, did: Did, now: TimestampMs) -> Option<CachedKeys> {
        let cached = self.0.get(&did)?;
        is_fresh(cached.resolved_at, now).then(|| cached.clone())
    }

    /// Keeps the agent's keys; what may not be used any more goes, and the oldest where there are
    /// too many.
    pub(super) fn insert(&mut self, did: Did, keys: CachedKeys, now: TimestampMs) {
        self.0.retain(|_, known| is_fresh(known.resolved_at, now));
        while self.0.len() >= MOST_AGENTS && !self.0.contains_key(&did) {
            let oldest = self
                .0
                .iter()
                .min_by_key(|(did, known)| (known.resolved_at, **did));
            let Some(oldest) = oldest.map(|(did, _)| *did) else {
                break;
            };
            self.0.remove(&oldest);
        }
        self.0.insert(did, keys);
    }
}

/// Whether what was read then may be used now.
pub(super) fn is_fresh(read_at: TimestampMs, now: TimestampMs) -> bool {
    now.since(read_at) <= CACHED_MS
}

/// What is known of an agent's keys as of a moment.
#[derive(Debug, Clone)]
pub(super) struct CachedKeys {
    pub(super) present: Vec<AgentKey>,
    pub(super) resolved_at: TimestampMs,
    /// Read only once a message is by none of the present keys.
    pub(super) history: Option<CachedHistory>,
}

#[derive(Debug, Clone)]
pub(super) struct CachedHistory {
    pub(super) history: Arc<KeyHistory>,
    pub(super) read_at: TimestampMs,
}

impl CachedKeys {
    /// The envelope, if one of the present keys signed it, or one that the sender had when the
    /// ledger took it at `position`.
    pub(super) fn verify(
        &self,
        parsed: &ParsedEnvelope,
        position: u64,
    ) -> Option<VerifiedEnvelope> {
        let history = self.history.as_ref().map(|cached| &*cached.history);
        let then = history.map_or(&[][..], |history| history.keys_at(position));
        let mut sets = [&self.present[..], then].into_iter();
        sets.find_map(|keys| verify(parsed.clone(), keys).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn did(number: u16) -> Did {
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        Did::from_uuid(uuid::Builder::from_random_bytes(bytes).into_uuid()).unwrap()
    }

    fn read_at(resolved_at: TimestampMs) -> CachedKeys {
        CachedKeys {
            present: Vec::new(),
            resolved_at,
            history: None,
        }
    }

    #[test]
    fn ae_093_keys_are_used_for_five_minutes_and_then_forgotten() {
        let mut known = KnownKeys::default();
        let begun = TimestampMs::new(1_000_000);
        known.insert(did(1), read_at(begun), begun);
        let last = begun.saturating_add_ms(300_000);
        assert!(known.get(did(1), last).is_some());
        known.insert(did(2), read_at(last), last);
        assert_eq!(known.0.len(), 2);
        let late = last.saturating_add_ms(1);
        assert!(known.get(did(1), late).is_none());
        known.insert(did(3), read_at(late), late);
        assert!(!known.0.contains_key(&did(1)), "what is stale is not kept");
        assert!(known.get(did(2), late).is_some());
    }

    #[test]
    fn keys_of_ever_more_agents_take_up_bounded_room() {
        let mut known = KnownKeys::default();
        let begun = TimestampMs::new(1_000_000);
        for number in 0..3_000 {
            let now = begun.saturating_add_ms(number.into());
            known.insert(did(number), read_at(now), now);
            assert!(known.0.len() <= MOST_AGENTS);
        }
        // The last ones are those that are known, and reading one of them again drops nobody.
        let now = begun.saturating_add_ms(3_000);
        let first_kept = 3_000 - u16::try_from(MOST_AGENTS).unwrap();
        assert!(known.get(did(first_kept), now).is_some());
        assert!(known.get(did(first_kept - 1), now).is_none());
        known.insert(did(2_999), read_at(now), now);
        assert!(known.get(did(first_kept), now).is_some());
    }
}
