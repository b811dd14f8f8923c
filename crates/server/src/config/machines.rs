//! What the blocks of machines beside interactions may say.

use super::{ConfigError, ServerConfig};
use x811_protocol::parameters::Contracts;

/// Most turns of a negotiation.
pub(super) const MAX_TURNS: u64 = 200;

/// The longest life of terms, and of an agreed contract before its REQUEST: 366 days.
pub(super) const MAX_CONTRACT_MS: u64 = 366 * 86_400_000;

impl ServerConfig {
    /// Whether each block holds its machine to something that can be kept.
    pub(super) fn validate_machines(&self) -> Result<(), ConfigError> {
        if self.contracts.is_some_and(|block| !is_bounded(&block)) {
            return Err(ConfigError::Contracts);
        }
        match self.capabilities {
            Some(block) if block.adverts_per_hour == 0 => Err(ConfigError::Capabilities),
            Some(_) | None => Ok(()),
        }
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
    use x811_protocol::parameters::Capabilities;

    #[test]
    fn cc_063_a_limit_that_nobody_keeps_is_refused() {
        let network = NetworkConfig::base(RpcUrl::new("http://127.0.0.1:8545"));
        let config = |adverts_per_hour| ServerConfig {
            capabilities: Some(Capabilities { adverts_per_hour }),
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
