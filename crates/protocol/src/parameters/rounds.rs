//! What rounds are held to (round.md, "Parameters").

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{BlockVersion, no_limit};
use crate::did::Did;

/// The block `rounds` of the parameters.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounds {
    /// Whether an abstention is a vote received (CX-12).
    pub abstain_counts: bool,
    /// What is noticed in votes.
    pub anomalies: Anomalies,
    /// What breaks a cycle of rounds that block each other.
    pub cycle: CycleRule,
    /// The network whose blocks draw; `random` needs one.
    pub cycle_network: Option<String>,
    /// Most deliveries charged to one proposer in a day of UTC.
    #[serde(default = "no_limit")]
    pub deliveries_per_day: u64,
    /// How much of its window an optimistic round may lose to the ledger's downtime, in thousandths.
    pub downtime_permille: u64,
    /// How many blocks ahead of the last known head is drawn from.
    pub draw_blocks: u64,
    /// The longest that a draw is waited for.
    pub draw_ms: u64,
    /// Whether a round ends as soon as nothing can change (CX-15).
    pub early_close: bool,
    /// How long participants may report what they did.
    pub execution_ms: u64,
    /// The longest that a round is held for a rival.
    pub hold_ms: u64,
    /// How long humans may decide.
    pub human_ms: u64,
    /// Who decides what was escalated; at most 16.
    pub humans: Vec<Did>,
    /// Who may lead.
    pub leaders: Leaders,
    /// Only who was heard within this time before the decision is connected; absent: since the
    /// proposal.
    pub liveness_ms: Option<u64>,
    /// The longest time from now to the timeout.
    pub max_timeout_ms: u64,
    /// The least age of a registration.
    pub min_age_ms: u64,
    /// The shortest time for votes.
    pub min_timeout_ms: u64,
    /// The least trust, in hundredths.
    pub min_trust: u64,
    /// How long a round may wait to be opened.
    pub open_ms: u64,
    /// Most undecided rounds of one proposer.
    #[serde(default = "no_limit")]
    pub open_per_proposer: u64,
    /// Whether optimistic rounds may be of any risk (CX-19).
    pub optimistic_any_risk: bool,
    /// Most participants, at most 512.
    pub participants: u64,
    /// How long failed rounds are remembered as related.
    pub related_ms: u64,
    /// How long a failed round waits for its retry.
    pub resubmit_ms: u64,
    /// Most retries of a proposal (CC-47).
    pub retries: u64,
    /// The delay before the first retry; each further one doubles it.
    pub retry_base_ms: u64,
    /// The longest delay before a retry.
    pub retry_cap_ms: u64,
    /// How long sealed votes may be revealed, where the proposal does not say.
    pub reveal_ms: u64,
    /// Most participants of all undecided rounds of one proposer.
    #[serde(default = "no_limit")]
    pub seats_per_proposer: u64,
    /// How long the leader's signal is waited for.
    pub signal_ms: u64,
    /// The version of the block.
    pub version: BlockVersion,
}

/// Written and read as the block itself: rounds share it.
pub(super) mod block {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    use super::Rounds;

    pub(in super::super) fn serialize<S: Serializer>(
        rounds: &Option<Arc<Rounds>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        rounds.as_deref().serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Arc<Rounds>>, D::Error> {
        Option::<Rounds>::deserialize(deserializer).map(|rounds| rounds.map(Arc::new))
    }
}

/// Who may lead rounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leaders {
    /// With policy `listed`: who, beside the ledger; at most 64.
    pub dids: Vec<Did>,
    /// The rule of who may lead.
    pub policy: LeaderPolicy,
}

/// The rule of who leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaderPolicy {
    /// The ledger alone.
    Ledger,
    /// The ledger and the agents named.
    Listed,
}

/// What breaks a cycle of rounds that block each other (CC-60 to CC-62).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CycleRule {
    /// The oldest stays.
    Oldest,
    /// The hash of a block draws one.
    Random,
    /// Humans are asked.
    Escalate,
}

/// What is noticed in votes (CX-50); it never changes a tally.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Anomalies {
    /// That many equal rationales.
    pub equal_rationales: u64,
    /// Three votes or more within that time.
    pub within_ms: u64,
}

impl Rounds {
    /// The defaults of round.md.
    pub const DEFAULT: Rounds = Rounds {
        abstain_counts: true,
        anomalies: Anomalies {
            equal_rationales: 3,
            within_ms: 50,
        },
        cycle: CycleRule::Oldest,
        cycle_network: None,
        deliveries_per_day: 100_000,
        downtime_permille: 100,
        draw_blocks: 30,
        draw_ms: 3_600_000,
        early_close: false,
        execution_ms: 86_400_000,
        hold_ms: 3_600_000,
        human_ms: 604_800_000,
        humans: Vec::new(),
        leaders: Leaders {
            dids: Vec::new(),
            policy: LeaderPolicy::Ledger,
        },
        liveness_ms: None,
        max_timeout_ms: 604_800_000,
        min_age_ms: 0,
        min_timeout_ms: 5_000,
        min_trust: 0,
        open_ms: 30_000,
        open_per_proposer: 10,
        optimistic_any_risk: false,
        participants: 512,
        related_ms: 3_600_000,
        resubmit_ms: 600_000,
        retries: 3,
        retry_base_ms: 5_000,
        retry_cap_ms: 60_000,
        reveal_ms: 10_000,
        seats_per_proposer: 1_024,
        signal_ms: 30_000,
        version: BlockVersion::Two,
    };

    /// Whether that agent may lead, beside the ledger.
    pub fn is_leader(&self, agent: Did) -> bool {
        self.leaders.policy == LeaderPolicy::Listed && self.leaders.dids.contains(&agent)
    }

    /// The delay before that retry, counted from 1: base · 2^(k − 1), at most the cap (CX-23).
    pub fn retry_delay_ms(&self, retry: u64) -> u64 {
        let doubled = u32::try_from(retry.saturating_sub(1))
            .ok()
            .and_then(|doublings| 1_u64.checked_shl(doublings))
            .unwrap_or(u64::MAX);
        self.retry_base_ms
            .saturating_mul(doubled)
            .min(self.retry_cap_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cc_047_and_cx_23_retries_back_off_to_a_cap() {
        let delays =
            [1, 2, 3, 4, 5, 6, 64, 65, u64::MAX].map(|k| Rounds::DEFAULT.retry_delay_ms(k));
        let expected = [5, 10, 20, 40, 60, 60, 60, 60, 60].map(|s| s * 1_000);
        assert_eq!(delays, expected);
    }

    #[test]
    fn the_block_is_written_in_the_order_of_its_members() {
        let text = serde_json::to_string(&Rounds::DEFAULT).unwrap();
        let read: Rounds = serde_json::from_str(&text).unwrap();
        assert_eq!(read, Rounds::DEFAULT);
        let canonical = crate::canonical::to_canonical(&Rounds::DEFAULT);
        assert_eq!(text.as_bytes(), canonical);
    }
}
