//! What the blocks of machines beside interactions may say.

use super::{ConfigError, ServerConfig};
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
    /// Whether each block holds its machine to something that can be kept.
    pub(super) fn validate_machines(&self) -> Result<(), ConfigError> {
        if self.contracts.is_some_and(|block| !is_bounded(&block)) {
            return Err(ConfigError::Contracts);
        }
        if self.capabilities.is_some_and(|block| !can_be_kept(&block)) {
            return Err(ConfigError::Capabilities);
        }
        let can_be_decided = |block| can_be_decided(block, &self.network.name);
        match self.rounds.as_ref().map(can_be_decided) {
            Some(Err(why)) => Err(ConfigError::Rounds(why)),
            Some(Ok(())) | None => Ok(()),
        }
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

/// Whether rounds can be opened and come to an end; what is wrong otherwise.
fn can_be_decided(block: &Rounds, network: &str) -> Result<(), &'static str> {
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
    if !times_ms.iter().all(is_time) {
        Err("needs times of 1 ms to 366 days")
    } else if block.open_ms.saturating_add(block.min_timeout_ms) > block.max_timeout_ms {
        Err("needs a max_timeout_ms of at least open_ms and min_timeout_ms together")
    } else if block.participants > MAX_PARTICIPANTS || quotas.contains(&0) {
        Err("needs 1 to 512 participants, and limits of a proposer of at least 1")
    } else if block.leaders.dids.len() > MAX_LEADERS || block.humans.len() > MAX_HUMANS {
        Err("takes 64 leaders.dids and 16 humans at most")
    } else if block.downtime_permille > 1_000 {
        Err("needs a downtime_permille of 1000 at most")
    } else if is_drawn && (!is_watched || block.draw_blocks == 0) {
        Err(
            "with cycle = \"random\" needs the name of its network as cycle_network, and draw_blocks of at least 1",
        )
    } else if block.retries > MAX_RETRIES {
        Err("takes 100 retries at most")
    } else {
        Ok(())
    }
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
        assert_eq!(config(1).validate_machines(), Ok(()));
        assert_eq!(
            config(0).validate_machines(),
            Err(ConfigError::Capabilities)
        );
        // One breach is one consumer's word against a provider: it takes two at least.
        for (breaches, is_taken) in [(1, false), (2, true), (64, true), (65, false)] {
            let mut told = config(1);
            if let Some(block) = &mut told.capabilities {
                block.exclusion = Some(Exclusion {
                    breaches,
                    ..Exclusion::DEFAULT
                });
            }
            assert_eq!(told.validate_machines().is_ok(), is_taken, "{breaches}");
        }
        let none = ServerConfig {
            capabilities: None,
            ..config(0)
        };
        assert_eq!(none.validate_machines(), Ok(()));
    }

    #[test]
    fn cx_1_rounds_that_nobody_can_hold_are_refused() {
        let network = NetworkConfig::base(RpcUrl::new("http://127.0.0.1:8545"));
        let with = |rounds| ServerConfig {
            rounds: Some(rounds),
            ..ServerConfig::new("data", network.clone())
        };
        let verdict = |rounds| with(rounds).validate_machines();
        assert_eq!(verdict(Rounds::DEFAULT), Ok(()));
        let drawn = Rounds {
            cycle: CycleRule::Random,
            cycle_network: Some(network.name.clone()),
            ..Rounds::DEFAULT
        };
        assert_eq!(verdict(drawn), Ok(()));
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
            let refused = verdict(rounds);
            assert!(matches!(refused, Err(ConfigError::Rounds(_))), "{number}");
        }
    }
}
