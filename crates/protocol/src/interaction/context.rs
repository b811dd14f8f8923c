//! What a decision may look at besides the interaction's own state: all of it looked up before.

use crate::capability::agreement;
use crate::contract;
use crate::did::Did;
use crate::digest::Digest;
use crate::evm::EvmAddress;
use crate::id::EnvelopeId;
use crate::observation::NetworkHead;
use crate::parameters::Parameters;
use std::sync::Arc;

/// The provider as the registry knows it now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderView {
    /// Whether the DID is registered and active.
    pub active: bool,
    /// Task types it offers.
    pub capabilities: Arc<[String]>,
    /// The account it is paid to when an OFFER names none.
    pub wallet: Option<EvmAddress>,
    /// Receipts it has been given so far.
    pub receipts: u64,
    /// Record hash of the last one.
    pub last_receipt: Option<Digest>,
}

/// Parameters, registry and heads as of now.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// Parameters a new interaction is opened under.
    pub parameters: &'a Parameters,
    /// Their position in the log.
    pub parameters_position: u64,
    /// The agreement that a REQUEST names, if it is live.
    pub agreement: Option<&'a agreement::State>,
    /// The contract that a REQUEST names, if it is live.
    pub contract: Option<&'a contract::State>,
    /// Last known heads.
    pub heads: &'a [NetworkHead],
    /// What the registry knows of the provider.
    pub provider: &'a ProviderView,
    /// The ledger: what its payments are authorised for names it.
    pub ledger: Did,
    /// Accounts bound to the initiator.
    pub initiator_wallets: &'a [EvmAddress],
    /// The idempotency key of its REQUEST, where the message names that in place of the REQUEST's id
    /// and the parameters are lenient to the published SDK (decision 0190).
    pub request_key: Option<EnvelopeId>,
    /// Whether the initiator registered in the form of the published SDK, which proves no account.
    pub initiator_is_of_reference_sdk: bool,
}
