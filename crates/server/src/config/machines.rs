//! What the blocks of machines beside interactions may say.

use super::{ConfigError, ServerConfig};
use x811_protocol::parameters::{Capabilities, Contracts};

/// Most turns of a negotiation.
pub(super) const MAX_TURNS: u64 = 200;

/// The longest life of terms, and of an agreed contract before its REQUEST: 366 days.
pub(super) const MAX_CONTRACT_MS: u64 = 366 * 86_400_000;

/// The longest agreement: ten years.
pub(super) const MAX_AGREEMENT_S: u64 = 10 * 366 * 86_400;

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
        Ok(())
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
        open_sessions_per_initiator,
        open_sessions_per_pair,
        response_ms,
        session_max_ms,
        session_min_ms,
        session_ms,
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
        let none = ServerConfig {
            capabilities: None,
            ..config(0)
        };
        assert_eq!(none.validate_machines(), Ok(()));
    }
}
