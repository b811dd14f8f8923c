//! What a decision about a round reads besides its own state.

use super::machine::Round;
use super::state::State;
use crate::did::Did;
use crate::facts::Facts;
use crate::facts::consensus::ConsensusFacts;
use crate::id::RoundId;
use crate::machine::{Input, LedgerView};
use crate::parameters::Rounds;

/// The capability whose registration says that an agent takes part in rounds.
const CAPABILITY: &str = "x811.consensus";

/// What an agent is to a ledger.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VoterStanding {
    /// How long ago it was registered, in milliseconds.
    pub age_ms: u64,
    /// Its DID is registered and active.
    pub is_active: bool,
    /// It is excluded for now (CC-113).
    pub is_excluded: bool,
    /// It has registered the capability `x811.consensus`.
    pub takes_part: bool,
    /// Its trust in hundredths, 0 while it has no history.
    pub trust_hundredths: u64,
}

/// What a decision about a round reads of a [`LedgerView`], as a trait that [`Context`] can hold as an object.
pub trait RoundLedger {
    /// What that agent is to the ledger.
    fn standing(&self, agent: Did) -> VoterStanding;

    /// The round of that id, if it is not over.
    fn round(&self, id: RoundId) -> Option<&State>;
}

/// Parameters, registry and other rounds as of now.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Registry and other rounds.
    pub view: &'a dyn RoundLedger,
    /// Height of the last known head of the network that draws, unless that is blind.
    pub head: Option<u64>,
    /// The ledger, which every message is addressed to.
    pub ledger: Did,
    /// Position of the parameters in the log.
    pub parameters_position: u64,
    /// Parameters in force, if they take rounds.
    pub rounds: Option<&'a Rounds>,
}

impl<V: LedgerView> RoundLedger for V {
    fn standing(&self, agent: Did) -> VoterStanding {
        let Some(known) = self.agent(agent) else {
            return VoterStanding::default();
        };
        let (_, parameters) = self.parameters();
        VoterStanding {
            age_ms: self.now().since(known.registered_at),
            is_active: known.is_active,
            is_excluded: parameters.capabilities.is_some() && self.is_excluded(agent),
            takes_part: known.capabilities.iter().any(|name| name == CAPABILITY),
            trust_hundredths: self.trust_hundredths(agent),
        }
    }

    fn round(&self, id: RoundId) -> Option<&State> {
        self.state::<Round>(id)
    }
}

impl<'a> Context<'a> {
    pub(super) fn of<V: LedgerView>(
        view: &'a V,
        state: Option<&'a State>,
        input: &Input<'a>,
    ) -> Context<'a> {
        let (parameters_position, parameters) = view.parameters();
        let is_vote = matches!(input.facts, Facts::Consensus(ConsensusFacts::Vote(_)));
        let voted = state.filter(|_| is_vote);
        let network = voted.and_then(|state| state.opening.rounds.cycle_network.as_deref());
        Context {
            view,
            head: network.and_then(|network| view.height(network)),
            ledger: view.ledger(),
            parameters_position,
            rounds: parameters.rounds.as_deref(),
        }
    }
}
