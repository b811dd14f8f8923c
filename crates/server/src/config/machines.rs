//! What the blocks of machines beside interactions may say.

use super::{ConfigError, ServerConfig, found};
use x811_protocol::parameters::{Capabilities, Contracts, CycleRule, Exclusion, Rounds};

/// Most turns of a negotiation.
pub(super) const MAX_TURNS: u64 = 200;

/// The longest life of terms, and of an agreed contract before its REQUEST: 366 days.
pub(super) const MAX_CONTRACT_MS: u64 = 366 * 86_400_000;

/// The longest agreement: ten years.
pub(super) const MAX_AGREEMENT_S: u64 = 10 * 366 * 86_400;

/// Most participants of a round: a list of DIDs in a leaf has no more.
const MAX_PARTICIPANTS: u64 = 512;

/// Most agents that may lead rounds.
const MAX_LEADERS: usize = 64;

/// Most humans who decide what was escalated.
const MAX_HUMANS: usize = 16;

/// Most retries of a proposal.
const MAX_RETRIES: u64 = 100;

/// Most breaches that an exclusion may take.
const MAX_BREACHES: u64 = 64;

/// Most counters of a session.
pub(super) const MAX_COUNTERS: u64 = 100;

impl ServerConfig {
    /// Which blocks hold their machine to something that cannot be kept.
    pub(super) fn faults_of_machines(&self) -> Vec<ConfigError> {
        let contracts = self.contracts.as_ref();
        let capabilities = self.capabilities.as_ref();
        let mut faults = found([
            (
                contracts.is_some_and(|block| !is_bounded(block)),
                ConfigError::Contracts,
            ),
            (
                capabilities.is_some_and(|block| !can_be_kept(block)),
                ConfigError::Capabilities,
            ),
        ]);
        if let Some(block) = &self.rounds {
            let needs = needs_of_rounds(block, &self.network.name);
            faults.extend(needs.map(ConfigError::Rounds));
        }
        faults
    }
}

/// Whether adverts can be published and sessions come to an agreement.
fn can_be_kept(block: &Capabilities) -> bool {
    let Capabilities {
        active_agreements_per_pair,
        adverts_per_hour,
        agree_ms,
        agreement_max_s,
        counters,
        exclusion,
        open_sessions_per_initiator,
        open_sessions_per_pair,
        response_ms,
        session_max_ms,
        session_min_ms,
        session_ms,
        version: _,
    } = *block;
    let at_least_one = [
        active_agreements_per_pair,
        adverts_per_hour,
        agree_ms,
        open_sessions_per_initiator,
        open_sessions_per_pair,
        response_ms,
        session_min_ms,
    ];
    let longest_ms = [agree_ms, response_ms, session_max_ms];
    !at_least_one.contains(&0)
        && longest_ms.iter().all(|ms| *ms <= MAX_CONTRACT_MS)
        && (session_min_ms..=session_max_ms).contains(&session_ms)
        && (1..=MAX_AGREEMENT_S).contains(&agreement_max_s)
        && counters <= MAX_COUNTERS
        && exclusion.is_none_or(is_fair)
}

/// Whether it takes breaches of two consumers at least, and a record has room for all that count.
fn is_fair(exclusion: Exclusion) -> bool {
    (2..=MAX_BREACHES).contains(&exclusion.breaches)
        && (1..=MAX_CONTRACT_MS).contains(&exclusion.within_ms)
        && (1..=MAX_CONTRACT_MS).contains(&exclusion.for_ms)
}

/// What `block` lacks for rounds that can be opened and come to an end.
fn needs_of_rounds(block: &Rounds, network: &str) -> impl Iterator<Item = &'static str> {
    let times_ms = [
        block.min_timeout_ms,
        block.max_timeout_ms,
        block.open_ms,
        block.signal_ms,
        block.reveal_ms,
        block.hold_ms,
        block.resubmit_ms,
        block.human_ms,
        block.execution_ms,
        block.draw_ms,
    ];
    let is_time = |ms: &u64| (1..=MAX_CONTRACT_MS).contains(ms);
    let quotas = [
        block.participants,
        block.open_per_proposer,
        block.seats_per_proposer,
        block.deliveries_per_day,
    ];
    let is_drawn = block.cycle == CycleRule::Random;
    let is_watched = block.cycle_network.as_deref() == Some(network);
    let shortest_ms = block.open_ms.saturating_add(block.min_timeout_ms);
    let checks = [
        (
            !times_ms.iter().all(is_time),
            "needs times of 1 ms to 366 days",
        ),
        (
            shortest_ms > block.max_timeout_ms,
            "needs a max_timeout_ms of at least open_ms and min_timeout_ms together",
        ),
        (
            block.participants > MAX_PARTICIPANTS || quotas.contains(&0),
            "needs 1 to 512 participants, and limits of a proposer of at least 1",
        ),
        (
            block.leaders.dids.len() > MAX_LEADERS || block.humans.len() > MAX_HUMANS,
            "takes 64 leaders.dids and 16 humans at most",
        ),
        (
            block.downtime_permille > 1_000,
            "needs a downtime_permille of 1000 at most",
        ),
        (
            is_drawn && (!is_watched || block.draw_blocks == 0),
            "with cycle = \"random\" needs the name of its network as cycle_network, and draw_blocks of at least 1",
        ),
        (block.retries > MAX_RETRIES, "takes 100 retries at most"),
    ];
    let lacking = checks.into_iter().filter(|(is_lacking, _)| *is_lacking);
    lacking.map(|(_, need)| need)
}

/// Whether negotiations are held to something that can be kept: a rendering is made in one piece.
fn is_bounded(block: &Contracts) -> bool {
    (1..=MAX_TURNS).contains(&block.max_turns)
        && block.min_life_ms <= block.max_life_ms
        && block.max_life_ms.max(block.engagement_ms) <= MAX_CONTRACT_MS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{NetworkConfig, RpcUrl};

    #[test]
    fn cc_063_a_limit_that_nobody_keeps_is_refused() {
        let network = NetworkConfig::base(RpcUrl::new("http://127.0.0.1:8545"));
        let config = |adverts_per_hour| ServerConfig {
            capabilities: Some(Capabilities {
                adverts_per_hour,
                ..Capabilities::DEFAULT
            }),
            ..ServerConfig::new("data", network.clone())
        };
        assert_eq!(config(1).faults_of_machines(), []);
        assert_eq!(config(0).faults_of_machines(), [ConfigError::Capabilities]);
        // One breach is one consumer's word against a provider: it takes two at least.
        for (breaches, is_taken) in [(1, false), (2, true), (64, true), (65, false)] {
            let mut told = config(1);
            if let Some(block) = &mut told.capabilities {
                block.exclusion = Some(Exclusion {
                    breaches,
                    ..Exclusion::DEFAULT
                });
            }
            let is_kept = told.faults_of_machines().is_empty();
            assert_eq!(is_kept, is_taken, "{breaches}");
        }
        let none = ServerConfig {
            capabilities: None,
            ..config(0)
        };
        assert_eq!(none.faults_of_machines(), []);
    }

    #[test]
    fn cx_1_rounds_that_nobody_can_hold_are_refused() {
        let network = NetworkConfig::base(RpcUrl::new("http://127.0.0.1:8545"));
        let with = |rounds| ServerConfig {
            rounds: Some(rounds),
            ..ServerConfig::new("data", network.clone())
        };
        let faults = |rounds| with(rounds).faults_of_machines();
        assert_eq!(faults(Rounds::DEFAULT), []);
        let drawn = Rounds {
            cycle: CycleRule::Random,
            cycle_network: Some(network.name.clone()),
            ..Rounds::DEFAULT
        };
        assert_eq!(faults(drawn), []);
        let changes: [fn(&mut Rounds); 10] = [
            |it| it.min_timeout_ms = 0,
            |it| it.human_ms = u64::MAX,
            |it| it.max_timeout_ms = it.open_ms,
            |it| it.participants = 513,
            |it| it.open_per_proposer = 0,
            |it| it.downtime_permille = 1_001,
            |it| it.retries = 101,
            |it| it.deliveries_per_day = 0,
            |it| it.cycle = CycleRule::Random,
            |it| {
                it.cycle = CycleRule::Random;
                it.cycle_network = Some("nowhere".to_owned());
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut rounds = Rounds::DEFAULT;
            change(&mut rounds);
            let found = faults(rounds);
            assert!(matches!(found[..], [ConfigError::Rounds(_)]), "{number}");
        }
    }
}
