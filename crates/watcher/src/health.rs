//! What an operator sees of a watcher: each endpoint, and what is held of the network. Published
//! after every look; the server shows it in metrics, status and logs.

use std::collections::BTreeSet;

use x811_protocol::evm::TxHash;
use x811_protocol::named;
use x811_protocol::observation::Block;

use crate::source::HeadTag;

/// How a network is watched.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NetworkHealth {
    /// The network's name.
    pub network: String,
    /// Every endpoint, in order of configuration.
    pub endpoints: Vec<EndpointHealth>,
    /// Blocks whose transfers are held.
    pub indexed_blocks: usize,
    /// How many transfers are held in memory.
    pub indexed_transfers: usize,
    /// Transactions being watched.
    pub watched: usize,
    /// Those whose endpoints contradict each other or have not answered: nothing is reported of
    /// them.
    pub unsettled: usize,
    /// Those of them of which endpoints say what excludes each other: one has it at the agreed head, and
    /// another has not, or something else.
    pub contested: BTreeSet<TxHash>,
    /// Whether as many endpoints as must agree carry one head.
    pub is_agreed: bool,
    /// Reorganisations since the start.
    pub reorgs: u64,
    /// Blocks that the deepest of them replaced.
    pub deepest_reorg_blocks: u64,
}

impl NetworkHealth {
    /// Labels of the endpoints that give no usable answer: they count as silent. One that was not asked
    /// yet is not among them.
    pub fn silent(&self) -> Vec<&str> {
        let silent = self
            .endpoints
            .iter()
            .filter(|endpoint| match endpoint.state {
                EndpointState::Failing | EndpointState::Misfit => true,
                EndpointState::Unknown | EndpointState::Good | EndpointState::Lagging => false,
            });
        silent.map(|endpoint| endpoint.label.as_str()).collect()
    }
}

/// How one endpoint behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointHealth {
    /// Its configured label; never its URL.
    pub label: String,
    /// Whether it can be used.
    pub state: EndpointState,
    /// Whether it is the one that headers and transfers are asked of.
    pub leads: bool,
    /// The head it last named. Its age is the present less the block's timestamp.
    pub head: Option<Block>,
    /// Why it last failed; kept after it recovered.
    pub last_error: Option<String>,
    /// Requests made of it, receipts counted one by one.
    pub calls: u64,
    /// Times it failed.
    pub failures: u64,
    /// Times what it said of a transaction contradicted another endpoint.
    pub disagreements: u64,
    /// Which of `safe` and `finalized` it did not name on the last request.
    pub unnamed: BTreeSet<HeadTag>,
}

named! {
    /// Whether an endpoint can be used.
    pub enum EndpointState {
        /// Not asked yet.
        Unknown = "unknown",
        /// It answers, and its head is not behind the others.
        Good = "good",
        /// It answers, but its head is behind: what it does not have proves nothing.
        Lagging = "lagging",
        /// It gives no usable answer.
        Failing = "failing",
        /// It serves another chain, or no USDC where it should be.
        Misfit = "misfit",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sw_26_who_gives_no_usable_answer_is_silent_and_who_was_not_asked_is_not() {
        let endpoints = EndpointState::ALL.map(|state| EndpointHealth {
            label: state.as_str().to_owned(),
            state,
            leads: false,
            head: None,
            last_error: None,
            calls: 0,
            failures: 0,
            disagreements: 0,
            unnamed: BTreeSet::new(),
        });
        let health = NetworkHealth {
            endpoints: endpoints.into(),
            ..NetworkHealth::default()
        };
        assert_eq!(health.silent(), ["failing", "misfit"]);
    }
}
