//! The ledger of the tests as decisions read it.

use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::machine::{AgentView, LedgerView, Machine, SchemaFit};
use x811_protocol::observation::NetworkHead;
use x811_protocol::parameters::Parameters;
use x811_protocol::time::TimestampMs;

use super::messages::PROVIDER;
use super::world::{LEDGER, Registry};

/// The ledger of these tests as a decision reads it, without any other subject.
pub(crate) struct View<'a> {
    pub(crate) now: TimestampMs,
    pub(crate) heads: &'a [NetworkHead],
    pub(crate) registry: &'a Registry,
}

/// The ledger's DID.
pub(crate) fn ledger() -> Did {
    LEDGER.parse().unwrap()
}

impl LedgerView for View<'_> {
    fn now(&self) -> TimestampMs {
        self.now
    }

    fn ledger(&self) -> Did {
        ledger()
    }

    fn parameters(&self) -> (u64, &Parameters) {
        let registry = self.registry;
        (registry.parameters_position, &registry.parameters)
    }

    fn agent(&self, did: Did) -> Option<AgentView<'_>> {
        let provider = &self.registry.provider;
        let neither = AgentView {
            capabilities: &[],
            is_active: true,
            is_of_reference_sdk: false,
            last_receipt: None,
            payee: None,
            receipts: 0,
            registered_at: TimestampMs::new(0),
            wallets: &[],
        };
        Some(if did == *PROVIDER {
            AgentView {
                capabilities: &provider.capabilities,
                is_active: provider.active,
                last_receipt: provider.last_receipt,
                payee: provider.wallet,
                receipts: provider.receipts,
                ..neither
            }
        } else {
            AgentView {
                wallets: &self.registry.initiator_wallets,
                ..neither
            }
        })
    }

    fn is_excluded(&self, _did: Did) -> bool {
        false
    }

    fn trust_hundredths(&self, _did: Did) -> u64 {
        0
    }

    fn heads(&self) -> Vec<NetworkHead> {
        self.heads.to_vec()
    }

    fn height(&self, _network: &str) -> Option<u64> {
        None
    }

    fn state<M: Machine>(&self, _id: M::Id) -> Option<&M::State> {
        None
    }

    fn open<M: Machine>(&self, _by: Did, _with: Option<Did>) -> u64 {
        0
    }

    fn states<M: Machine>(&self) -> impl Iterator<Item = &M::State> {
        std::iter::empty()
    }

    fn deliveries_charged(&self, _proposer: Did) -> u64 {
        0
    }

    fn requested_under(&self, _: &AcceptedHeader, _key: EnvelopeId) -> Option<InteractionId> {
        None
    }

    fn fit(&self, _schema: Digest) -> SchemaFit {
        SchemaFit::Fits
    }
}
