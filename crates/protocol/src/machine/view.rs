//! What decisions read of the ledger besides the state of their own subject.

use super::Machine;
use crate::did::Did;
use crate::digest::Digest;
use crate::envelope::AcceptedHeader;
use crate::evm::EvmAddress;
use crate::id::{EnvelopeId, InteractionId};
use crate::observation::NetworkHead;
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::time::TimestampMs;
use crate::wallet::Wallet;

/// A registered agent as of a moment.
#[derive(Debug, Clone, Copy)]
pub struct AgentView<'a> {
    /// Task types it offers.
    pub capabilities: &'a [String],
    /// True if its DID is active.
    pub is_active: bool,
    /// True if it registered in the form of the published SDK, which proves no account.
    pub is_of_reference_sdk: bool,
    /// Record hash of the last receipt it was given.
    pub last_receipt: Option<Digest>,
    /// The account it is paid to when an OFFER names none.
    pub payee: Option<EvmAddress>,
    /// Receipts it has been given so far.
    pub receipts: u64,
    /// The moment of its registration.
    pub registered_at: TimestampMs,
    /// Accounts bound to it.
    pub wallets: &'a [Wallet],
}

/// How the body of a message fits a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaFit {
    /// It fits, as far as that can be judged.
    Fits,
    /// The schema cannot be read: it was published a moment ago, was erased, or the message has no body here.
    Unreadable,
    /// It does not fit.
    Unfit(Refusal),
}

/// The ledger as of a moment, as a decision may read it.
///
/// Another subject is found by the type of its machine, so that a machine is free to ask for any. Two
/// questions are of one machine alone: [`LedgerView::requested_under`], a leniency of interactions, and
/// [`LedgerView::deliveries_charged`], which limits rounds.
pub trait LedgerView {
    /// The moment of the decision.
    fn now(&self) -> TimestampMs;

    /// The ledger's own DID.
    fn ledger(&self) -> Did;

    /// The position of the parameters in force, and the parameters.
    fn parameters(&self) -> (u64, &Parameters);

    /// A registered agent.
    fn agent(&self, did: Did) -> Option<AgentView<'_>>;

    /// True if an agent is excluded for breaches of agreements.
    fn is_excluded(&self, did: Did) -> bool;

    /// The trust in an agent, in hundredths; 0 while it has no history.
    fn trust_hundredths(&self, did: Did) -> u64;

    /// The last known heads of all networks.
    fn heads(&self) -> Vec<NetworkHead>;

    /// Height of the last known head of a network, unless that is blind.
    fn height(&self, network: &str) -> Option<u64>;

    /// The state of another subject. One that is over is found while a notice about it is owed.
    fn state<M: Machine>(&self, id: M::Id) -> Option<&M::State>;

    /// How many subjects of a machine are open that `by` opened, with that agent where one is named.
    fn open<M: Machine>(&self, by: Did, with: Option<Did>) -> u64;

    /// The states of all live subjects of a machine.
    fn states<M: Machine>(&self) -> impl Iterator<Item = &M::State>;

    /// Deliveries that an agent's proposals of today are charged for.
    fn deliveries_charged(&self, proposer: Did) -> u64;

    /// The interaction that the message of `envelope` means by the idempotency key of its REQUEST
    /// (decision 0190).
    fn requested_under(&self, envelope: &AcceptedHeader, key: EnvelopeId) -> Option<InteractionId>;

    /// How the parameters in the message's body fit the schema of that hash.
    fn fit(&self, schema: Digest) -> SchemaFit;
}
