//! Everything outside a loop: ledger, chain, files, clock. A test enumerates the calls.

use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{SealedEnvelope, VerifiedEnvelope};
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::facts::AdvertiseFacts;
use x811_protocol::id::{ContractId, EnvelopeId, InteractionId, SessionId};
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use super::approval::Question;
use super::bargain::Bargain;
use super::case::Case;
use super::dealt::Dealt;
use super::money::Transfer;
use super::outbox::{Act, Entry, Lookup, Reply};
use super::proof::ProofDue;
use super::state::{State, StateError};
use crate::compose::{ComposeError, Payload, SessionStep};
use crate::home::HomeError;
use crate::http::{AgreementView, ClientError};
use crate::policy;

/// What a transfer is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) payee: EvmAddress,
    pub(crate) total: MicroUsdc,
    /// The EIP-3009 nonce.
    pub(crate) nonce: Digest,
}

/// How far a transfer came.
#[cfg_attr(
    all(not(feature = "pay"), not(test)),
    expect(dead_code, reason = "without payments nothing is broadcast")
)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The network has it.
    Waiting,
    /// The payee was paid under its nonce, by this transaction.
    Mined { tx_hash: TxHash },
    /// It can never pay: reverted, or its account nonce went to another transaction.
    Lost,
}

/// Why nothing was signed or sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PayFault {
    /// Whether waiting may help.
    pub(crate) is_passing: bool,
    pub(crate) text: String,
}

pub(crate) trait World {
    fn now(&self) -> TimestampMs;
    /// Who this agent is.
    fn me(&self) -> Did;
    /// At which ledger.
    fn ledger(&self) -> Did;
    /// The account that pays, if the agent has one.
    fn payer(&self) -> Option<EvmAddress>;

    fn save(&self, state: &State) -> Result<(), StateError>;
    fn question(&self, interaction: InteractionId) -> Result<Option<Question>, HomeError>;
    fn ask(&self, question: &Question) -> Result<(), HomeError>;
    fn forget_question(&self, interaction: InteractionId) -> Result<(), HomeError>;
    fn keep_proof(&self, due: &ProofDue, text: &str) -> Result<(), String>;

    /// The signature under an agreement, by the key that seals.
    fn signed(&self, agreement: Map<String, Value>) -> SessionStep;
    fn seal(&self, to: Did, payload: &dyn Payload) -> Result<SealedEnvelope, ComposeError>;

    async fn send(&self, entry: &Entry) -> Reply;
    async fn lookup(&self, id: EnvelopeId) -> Lookup;
    async fn case(&self, id: InteractionId) -> Result<Case, ClientError>;
    async fn bargain(&self, id: ContractId) -> Result<Bargain, ClientError>;
    async fn dealt(&self, id: SessionId) -> Result<Dealt, ClientError>;
    /// What this agent published of itself.
    async fn descriptor(&self) -> Result<Option<AdvertiseFacts>, ClientError>;
    /// Agreements of this agent that are in force.
    async fn active_agreements(&self) -> Result<Vec<AgreementView>, ClientError>;
    /// A message of the interaction as its sender signed it.
    async fn body(
        &self,
        case: &Case,
        act: Act,
        from: Did,
    ) -> Result<Option<VerifiedEnvelope>, ClientError>;
    async fn standing(&self, provider: Did) -> Result<policy::Provider, ClientError>;
    async fn proof(&self, due: &ProofDue) -> Result<String, ClientError>;

    /// A transfer under the nonce: the one that was made, if one was, else one newly signed.
    async fn sign(&self, due: &Due) -> Result<Transfer, PayFault>;
    async fn broadcast(&self, transfer: &Transfer) -> Result<Arrival, PayFault>;
    /// The same transfer with higher fees, where the network asks for more than it was signed with.
    async fn raise_fees(&self, transfer: &Transfer) -> Result<Option<Transfer>, PayFault>;
}
