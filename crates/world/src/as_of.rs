//! A world as decisions read it.

use crate::agent::AgentStanding;
use crate::schemas::{self, Schemas};
use crate::world::World;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::machine::{AgentView, LedgerView, Machine, SchemaFit};
use x811_protocol::observation::NetworkHead;
use x811_protocol::parameters::Parameters;
use x811_protocol::time::TimestampMs;

/// A world as of a moment: the view of a turn, and of an audit of the whole log.
#[derive(Debug, Clone, Copy)]
pub struct AsOf<'a> {
    world: &'a World,
    now: TimestampMs,
    ledger: Did,
    parameters: (u64, &'a Parameters),
    /// The body of the message, and the schemas that it may be held to.
    body: Option<(&'a [u8], &'a Schemas)>,
}

impl<'a> AsOf<'a> {
    /// That world at `now`; `None` before it has an identity and parameters.
    pub fn at(world: &'a World, now: TimestampMs) -> Option<AsOf<'a>> {
        let (position, parameters) = world.parameters()?;
        Some(AsOf {
            world,
            now,
            ledger: world.identity()?.did,
            parameters: (position, parameters),
            body: None,
        })
    }

    /// The same view for a message with this body, which one of these schemas may apply to.
    #[must_use]
    pub const fn holding(self, body: &'a [u8], schemas: &'a Schemas) -> AsOf<'a> {
        AsOf {
            body: Some((body, schemas)),
            ..self
        }
    }

    /// True if a network is known and not blind.
    pub fn sees(&self, network: &str) -> bool {
        let sight = self.world.sight(network);
        sight.is_some_and(|sight| sight.blind_since.is_none())
    }
}

impl LedgerView for AsOf<'_> {
    fn now(&self) -> TimestampMs {
        self.now
    }

    fn ledger(&self) -> Did {
        self.ledger
    }

    fn parameters(&self) -> (u64, &Parameters) {
        self.parameters
    }

    fn agent(&self, did: Did) -> Option<AgentView<'_>> {
        let agent = self.world.agent(did)?;
        Some(AgentView {
            capabilities: &agent.capabilities,
            is_active: agent.standing(self.now) == AgentStanding::Active,
            is_of_reference_sdk: agent.reference_sdk.is_some(),
            last_receipt: agent.last_receipt,
            payee: agent.default_payee(),
            receipts: agent.receipts,
            registered_at: agent.registered_at_ms,
            wallets: &agent.wallets,
        })
    }

    fn is_excluded(&self, did: Did) -> bool {
        self.world.is_excluded(did, self.now)
    }

    fn trust_hundredths(&self, did: Did) -> u64 {
        u64::from(self.world.trust(did).score_hundredths())
    }

    fn heads(&self) -> Vec<NetworkHead> {
        self.world.heads()
    }

    fn height(&self, network: &str) -> Option<u64> {
        let sight = self.world.sight(network)?;
        let head = sight.head.as_ref().or(sight.recorded.as_ref());
        let seen = head.filter(|_| sight.blind_since.is_none());
        seen.map(|head| head.number)
    }

    fn state<M: Machine>(&self, id: M::Id) -> Option<&M::State> {
        let live = self.world.machines::<M>()?.get(id)?;
        Some(&live.state)
    }

    fn open<M: Machine>(&self, by: Did, with: Option<Did>) -> u64 {
        let machines = self.world.machines::<M>();
        machines.map_or(0, |machines| match with {
            None => machines.open_by(by),
            Some(with) => machines.open_between(by, with),
        })
    }

    fn states<M: Machine>(&self) -> impl Iterator<Item = &M::State> {
        let machines = self.world.machines::<M>().into_iter();
        machines.flat_map(|held| held.iter().map(|(_, live)| &live.state))
    }

    fn deliveries_charged(&self, proposer: Did) -> u64 {
        self.world.delivered_on(proposer, self.now)
    }

    fn requested_under(&self, envelope: &AcceptedHeader, key: EnvelopeId) -> Option<InteractionId> {
        // An envelope of that id is referred to by it.
        match self.world.route(key) {
            Some(_) => None,
            None => self.world.requested_under(envelope, key),
        }
    }

    fn fit(&self, schema: Digest) -> SchemaFit {
        let read = self.body.and_then(|(body, schemas)| {
            let schema = schemas.get(schema)?;
            Some(schemas::unfit(schema, body))
        });
        match read {
            None => SchemaFit::Unreadable,
            Some(None) => SchemaFit::Fits,
            Some(Some(refusal)) => SchemaFit::Unfit(refusal),
        }
    }
}
