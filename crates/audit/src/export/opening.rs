//! How a subject began, as far as it says which streams its replay rests on.

use x811_protocol::did::Did;
use x811_protocol::event::{Effect, Event};
use x811_protocol::facts::{CapabilityFacts, ConsensusFacts, Facts};
use x811_protocol::id::ContractId;
use x811_protocol::parameters::Parameters;
use x811_protocol::stream::{Stream, Subject};

/// Between whom, and under which parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// Nobody but the sender where it is addressed to the ledger, for everybody.
    parties: Vec<Did>,
    /// Position of the parameters; an agreement has those of its sessions.
    pub parameters: Option<u64>,
    /// Whether something is paid in it; a contract only says how much.
    has_money: bool,
    /// The contract it was opened by, if one was named.
    contract: Option<ContractId>,
}

impl Opening {
    /// What the first record of a subject's stream says; `None` for one that is none.
    pub fn of(event: &Event) -> Option<Opening> {
        if let Event::Effect(Effect::Agreed(agreed)) = event {
            return Some(Opening {
                parties: vec![agreed.consumer, agreed.provider],
                parameters: None,
                has_money: false,
                contract: None,
            });
        }
        if let Event::Effect(Effect::BreachRecorded(breach)) = event {
            return Some(Opening {
                parties: vec![breach.provider],
                parameters: None,
                has_money: false,
                contract: None,
            });
        }
        let Event::EnvelopeAccepted(accepted) = event else {
            return None;
        };
        let (from, to) = (accepted.envelope.from, accepted.envelope.to);
        let parties = match &accepted.facts {
            Facts::Capability(CapabilityFacts::Advertise(_)) => vec![from],
            Facts::Consensus(ConsensusFacts::Propose(proposal)) => {
                // The ledger itself is in its own stream.
                let leader = Some(proposal.leader).filter(|leader| *leader != to);
                let participants = proposal.participants.iter().copied();
                participants.chain([from]).chain(leader).collect()
            }
            Facts::Request(_)
            | Facts::Offer(_)
            | Facts::Accept(_)
            | Facts::Reject(_)
            | Facts::Result(_)
            | Facts::Verify(_)
            | Facts::Payment(_)
            | Facts::Error(_)
            | Facts::Negotiation(_)
            | Facts::Capability(_)
            | Facts::Consensus(_)
            | Facts::Custom(_) => vec![from, to],
        };
        Some(Opening {
            parties,
            parameters: Some(accepted.derived.parameters?),
            has_money: matches!(accepted.facts, Facts::Request(_)),
            contract: accepted.derived.contract.map(|contract| contract.id),
        })
    }

    /// The streams of all parties, of the networks on which may be paid, and of its contract.
    pub fn streams(self, parameters: Option<&Parameters>) -> Vec<String> {
        let networks = parameters.iter().flat_map(|set| &set.networks);
        let networks = networks.filter(|_| self.has_money);
        let networks = networks.map(|network| Stream::Network(network.name.clone()));
        let parties = self.parties.into_iter().map(Stream::Agent);
        let contract = self.contract.map(|id| Stream::Of(Subject::Contract(id)));
        let streams = parties.chain(networks).chain(contract);
        streams.map(|stream| stream.to_string()).collect()
    }
}
