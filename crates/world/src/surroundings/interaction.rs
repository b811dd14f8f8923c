//! What a decision about an interaction may look at.

use crate::agent::AgentStanding;
use crate::{Live, World};
use std::sync::Arc;
use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::evm::EvmAddress;
use x811_protocol::facts::{Facts, RefersTo};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::interaction::{Context, ProviderView};
use x811_protocol::observation::NetworkHead;
use x811_protocol::parameters::Parameters;
use x811_protocol::stream::Subject;
use x811_protocol::time::TimestampMs;

/// What a decision about one interaction may look at, held so that a context can borrow it.
pub struct Surroundings {
    parameters: Arc<Parameters>,
    parameters_position: u64,
    heads: Vec<NetworkHead>,
    provider: ProviderView,
    ledger: Did,
    initiator_wallets: Vec<EvmAddress>,
    initiator_is_of_reference_sdk: bool,
    request_key: Option<EnvelopeId>,
    agreement: Option<Arc<Live<x811_protocol::capability::agreement::State>>>,
    contract: Option<Arc<Live<x811_protocol::contract::State>>>,
}

impl Surroundings {
    /// Of a message with this header and these facts about that interaction; `None` before the ledger has
    /// parameters.
    pub fn of(
        world: &World,
        id: InteractionId,
        header: &AcceptedHeader,
        facts: &Facts,
        now: TimestampMs,
    ) -> Option<Surroundings> {
        let (initiator, provider) = match world.interaction(id) {
            Some(live) => (
                live.state.opening().initiator,
                live.state.opening().provider,
            ),
            None => (header.from, header.to),
        };
        let surroundings = Surroundings::between(world, initiator, provider, now);
        surroundings.map(|surroundings| surroundings.naming(world, id, header, facts))
    }

    /// What a decision about an interaction between these two may look at, as of `now`; `None`
    /// before the ledger has parameters.
    pub fn between(
        world: &World,
        initiator: Did,
        provider: Did,
        now: TimestampMs,
    ) -> Option<Surroundings> {
        let (parameters_position, parameters) = world.parameters()?;
        let agent = world.agent(initiator);
        let initiator_wallets = agent.map_or_else(Vec::new, |agent| {
            agent.wallets.iter().map(|wallet| wallet.address).collect()
        });
        Some(Surroundings {
            parameters: parameters.clone(),
            parameters_position,
            heads: world.heads(),
            provider: view(world, provider, now),
            ledger: world.identity()?.did,
            initiator_wallets,
            initiator_is_of_reference_sdk: agent.is_some_and(|agent| agent.reference_sdk.is_some()),
            request_key: None,
            agreement: None,
            contract: None,
        })
    }

    /// With the contract and the agreement that a REQUEST names, and the idempotency key by which
    /// another message refers to this interaction.
    pub fn naming(
        self,
        world: &World,
        id: InteractionId,
        header: &AcceptedHeader,
        facts: &Facts,
    ) -> Surroundings {
        let request_key = match facts.refers_to() {
            RefersTo::Envelope(reference) => Some(reference),
            RefersTo::Itself
            | RefersTo::Subject(_)
            | RefersTo::Nothing
            | RefersTo::EnvelopeIfKnown(_) => None,
        };
        let request_key = request_key
            .filter(|reference| world.route(*reference).is_none())
            .filter(|key| world.requested_under(header, *key) == Some(id));
        let agreement = facts.names().find_map(Subject::agreement);
        let contract = facts.names().find_map(Subject::contract);
        Surroundings {
            request_key,
            agreement: agreement.and_then(|id| world.agreement(id)).cloned(),
            contract: contract.and_then(|id| world.contract(id)).cloned(),
            ..self
        }
    }

    /// What guards and transitions read.
    pub fn context(&self) -> Context<'_> {
        Context {
            parameters: &self.parameters,
            parameters_position: self.parameters_position,
            heads: &self.heads,
            provider: &self.provider,
            initiator_wallets: &self.initiator_wallets,
            initiator_is_of_reference_sdk: self.initiator_is_of_reference_sdk,
            request_key: self.request_key,
            ledger: self.ledger,
            agreement: self.agreement.as_ref().map(|live| &live.state),
            contract: self.contract.as_ref().map(|live| &live.state),
        }
    }
}

fn view(world: &World, provider: Did, now: TimestampMs) -> ProviderView {
    world
        .agent(provider)
        .map_or_else(ProviderView::default, |agent| ProviderView {
            active: agent.standing(now) == AgentStanding::Active,
            capabilities: agent.capabilities.clone(),
            wallet: agent.default_payee(),
            receipts: agent.receipts,
            last_receipt: agent.last_receipt,
        })
}
