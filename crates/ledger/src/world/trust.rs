//! What agents have earned: the sum of how their interactions stand (agents.md section 4). Counted
//! under all rules; part of the root of all states from rules 2 on.

use super::World;
use x811_protocol::did::Did;
use x811_protocol::interaction::State;
use x811_protocol::trust::{Merit, TrustCounters};

impl World {
    /// What a DID has earned.
    pub fn trust(&self, did: Did) -> TrustCounters {
        self.trust.get(&did).copied().unwrap_or_default()
    }

    /// Whose counters the last record moved.
    pub(crate) fn trust_moved(&self) -> impl Iterator<Item = Did> {
        self.trust_moved.into_iter().flatten()
    }

    /// Counts an interaction as it stands `after` a record, and no longer as it stood `before`.
    pub(super) fn count_merit(&mut self, before: Option<&State>, after: &State) {
        let before = before.map(Merit::of).unwrap_or_default();
        let merit = Merit::of(after);
        let opening = after.opening();
        self.trust_moved = [
            self.move_trust(opening.initiator, before.initiator, merit.initiator),
            self.move_trust(opening.provider, before.provider, merit.provider),
        ];
    }

    fn move_trust(&mut self, did: Did, before: TrustCounters, after: TrustCounters) -> Option<Did> {
        if before == after {
            return None;
        }
        let counters = self.trust(did).moved(before, after);
        if counters.has_history() {
            self.trust.insert(did, counters);
        } else {
            self.trust.remove(&did);
        }
        Some(did)
    }
}
