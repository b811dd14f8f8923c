//! What a decision about an interaction reads besides its own state.

use super::State;
use crate::capability::agreement::{self, Agreement};
use crate::contract::{self, Contract};
use crate::did::Did;
use crate::facts::{Facts, RefersTo};
use crate::id::EnvelopeId;
use crate::machine::{AgentView, Input, LedgerView, Machine as _};
use crate::observation::NetworkHead;
use crate::parameters::Parameters;
use crate::stream::Subject;

/// Parameters, registry and heads as of now.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Parameters a new interaction is opened under.
    pub parameters: &'a Parameters,
    /// Their position in the log.
    pub parameters_position: u64,
    /// The agreement that a REQUEST names, if it is active.
    pub agreement: Option<&'a agreement::State>,
    /// The contract that a REQUEST names, if it is live.
    pub contract: Option<&'a contract::State>,
    /// Last known heads, where an ACCEPT is decided.
    pub heads: Vec<NetworkHead>,
    /// The initiator, if it is registered.
    pub initiator: Option<AgentView<'a>>,
    /// The provider, if it is registered.
    pub provider: Option<AgentView<'a>>,
    /// The ledger: what its payments are authorised for names it.
    pub ledger: Did,
    /// The idempotency key of its REQUEST, where the message names that in place of the REQUEST's id
    /// and the parameters are lenient to the published SDK (decision 0190).
    pub request_key: Option<EnvelopeId>,
}

impl<'a> Context<'a> {
    pub(super) fn of<V: LedgerView>(
        view: &'a V,
        state: Option<&'a State>,
        input: &Input<'a>,
    ) -> Context<'a> {
        let Input { envelope, facts } = *input;
        let opening = state.map(State::opening);
        let parties = opening.map_or((envelope.from, envelope.to), |opening| {
            (opening.initiator, opening.provider)
        });
        let (parameters_position, parameters) = view.parameters();
        let agreement = facts.names().find_map(Subject::agreement);
        let agreement = agreement.and_then(|id| view.state::<Agreement>(id));
        let contract = facts.names().find_map(Subject::contract);
        Context {
            parameters,
            parameters_position,
            agreement: agreement.filter(|state| !Agreement::is_terminal(state)),
            contract: contract.and_then(|id| view.state::<Contract>(id)),
            heads: if matches!(facts, Facts::Accept(_)) {
                view.heads()
            } else {
                Vec::new()
            },
            initiator: view.agent(parties.0),
            provider: view.agent(parties.1),
            ledger: view.ledger(),
            request_key: state.and_then(|state| request_key(view, state, input)),
        }
    }
}

/// The idempotency key by which a message refers to the REQUEST of its interaction.
fn request_key(view: &impl LedgerView, state: &State, input: &Input<'_>) -> Option<EnvelopeId> {
    let reference = match input.facts.refers_to() {
        RefersTo::Envelope(reference) => Some(reference),
        RefersTo::Itself
        | RefersTo::Subject(_)
        | RefersTo::Nothing
        | RefersTo::EnvelopeIfKnown(_) => None,
    };
    reference.filter(|key| view.requested_under(input.envelope, *key) == Some(state.opening().id))
}
