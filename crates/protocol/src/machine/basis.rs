//! What a bundle of a subject rests on besides the streams that its records link to.

use crate::did::Did;
use crate::event::EnvelopeAccepted;
use crate::parameters::Parameters;
use crate::stream::Stream;

/// What the first record of a subject says of the streams that its replay rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleBasis {
    /// Agents between whom it is. The ledger itself is in its own stream.
    pub agents: Vec<Did>,
    /// True if something is paid in it.
    pub is_paid: bool,
    /// Position of its parameters; an agreement has those of its sessions.
    pub parameters: Option<u64>,
}

impl BundleBasis {
    /// The opening by a message under parameters that it names, in which nothing is paid; `None` for one that
    /// names none.
    pub(crate) fn by_message(accepted: &EnvelopeAccepted, agents: Vec<Did>) -> Option<BundleBasis> {
        Some(BundleBasis {
            agents,
            is_paid: false,
            parameters: Some(accepted.derived.parameters?),
        })
    }

    /// The opening by a message between its sender and its recipient.
    pub(crate) fn between(accepted: &EnvelopeAccepted) -> Option<BundleBasis> {
        let envelope = &accepted.envelope;
        BundleBasis::by_message(accepted, vec![envelope.from, envelope.to])
    }

    /// The opening by an effect of a record of another subject.
    pub(crate) const fn by_effect(agents: Vec<Did>) -> BundleBasis {
        BundleBasis {
            agents,
            is_paid: false,
            parameters: None,
        }
    }

    /// Names of the streams of its agents, and of the networks on which may be paid.
    pub fn streams(self, parameters: Option<&Parameters>) -> Vec<String> {
        let networks = parameters.iter().flat_map(|set| &set.networks);
        let networks = networks.filter(|_| self.is_paid);
        let networks = networks.map(|network| Stream::Network(network.name.clone()));
        let agents = self.agents.into_iter().map(Stream::Agent);
        let streams = agents.chain(networks);
        streams.map(|stream| stream.to_string()).collect()
    }
}
