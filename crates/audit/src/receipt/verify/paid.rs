//! What a receipt says, once it is found to hold.

use serde::{Serialize, Serializer};
use serde_with::skip_serializing_none;
use x811_eventlog::{Hash, Record};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::{Confirmed, Level, PayerBinding};
use x811_protocol::evm::{ChainId, EvmAddress, TxHash};
use x811_protocol::id::{ContractId, InteractionId};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::Block;
use x811_protocol::time::TimestampMs;

/// What was paid, as far as the file is whole.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PaidPayment {
    /// Id of the interaction.
    pub interaction: InteractionId,
    /// DID of the ledger.
    pub ledger: Option<Did>,
    /// What was agreed; absent when the receipt holds no messages.
    pub terms: Option<Terms>,
    /// The transfers that paid it; none when nothing was due.
    pub transfers: Vec<PaidTransfer>,
    /// What they exceed the total by.
    pub surplus: Option<MicroUsdc>,
    /// Place of the confirmation in the log.
    pub position: u64,
    /// Records under the checkpoint that the file has; absent where no signature covers the number.
    pub tree_size: Option<u64>,
    /// Its record hash.
    pub record_hash: Hash,
    /// When the ledger recorded it.
    pub confirmed_at_ms: TimestampMs,
    /// Number of the receipt among the provider's, from 0.
    pub provider_seq: u64,
    /// Record hash of the provider's receipt before; absent for the first.
    pub provider_prev: Option<Digest>,
}

/// What two agents agreed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Terms {
    /// The contract that the REQUEST names, where one opened the interaction: `neg-` and a UUID.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_public")]
    pub contract: Option<ContractId>,
    /// The agent that pays.
    pub initiator: Did,
    /// Who is paid.
    pub provider: Did,
    /// What the provider asked.
    pub price: MicroUsdc,
    /// What goes to the protocol.
    pub protocol_fee: MicroUsdc,
    /// Price and protocol fee together.
    pub total_cost: MicroUsdc,
    /// The account that was to be paid.
    pub payee: EvmAddress,
    /// Whether the signed OFFER names it; the ledger took it from the provider's registration
    /// otherwise.
    pub payee_is_signed: bool,
}

#[expect(clippy::ref_option, reason = "serde hands over the member as it is")]
fn as_public<S: Serializer>(
    contract: &Option<ContractId>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    contract.map(ContractId::to_public).serialize(serializer)
}

/// A transfer of USDC that paid.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PaidTransfer {
    /// Name of the network.
    pub network: String,
    /// EIP-155 chain id.
    pub chain_id: ChainId,
    /// The USDC contract; absent when the receipt does not hold the ledger's parameters.
    pub token: Option<EvmAddress>,
    /// Hash of the transaction.
    pub tx_hash: TxHash,
    /// Place among all transfers of the token in the transaction, from 0.
    pub ordinal: u64,
    /// The account that paid.
    pub from: EvmAddress,
    /// How that account is bound to the initiator; absent when the receipt holds no messages.
    pub payer_binding: Option<PayerBinding>,
    /// The EIP-3009 nonce that stands for this transfer, by ledger, interaction and OFFER: it was made
    /// under that, or under none; absent when the receipt holds no messages.
    pub authorization_nonce: Option<Digest>,
    /// Who was paid.
    pub to: EvmAddress,
    /// How much was transferred.
    pub amount: MicroUsdc,
    /// The transaction's block.
    pub block: Block,
    /// Blocks, its own included, up to the head that was held.
    pub depth: u64,
    /// How sure that was.
    pub level: Level,
    /// Labels of the endpoints that agreed.
    pub endpoints: Vec<String>,
}

impl PaidPayment {
    pub(super) fn new(
        interaction: InteractionId,
        record: &Record,
        confirmed: &Confirmed,
        transfers: Vec<PaidTransfer>,
    ) -> PaidPayment {
        PaidPayment {
            interaction,
            ledger: None,
            terms: None,
            transfers,
            surplus: confirmed.surplus,
            position: record.position(),
            tree_size: None,
            record_hash: record.hash(),
            confirmed_at_ms: TimestampMs::new(record.recorded_at_ms()),
            provider_seq: confirmed.provider_seq,
            provider_prev: confirmed.provider_prev,
        }
    }

    pub(super) fn by(mut self, ledger: Did) -> PaidPayment {
        self.ledger = Some(ledger);
        self
    }

    pub(super) fn under_checkpoint(mut self, tree_size: u64) -> PaidPayment {
        self.tree_size = Some(tree_size);
        self
    }

    pub(super) fn under(mut self, terms: Terms) -> PaidPayment {
        self.terms = Some(terms);
        self
    }

    /// As of which record and time the receipt speaks: what came behind, it does not know.
    pub fn as_of(&self) -> String {
        let at = self.confirmed_at_ms.to_rfc3339();
        match self.tree_size {
            Some(size) => format!(
                "record {} under the checkpoint over {size} records, {at}",
                self.position
            ),
            None => format!("record {}, {at}", self.position),
        }
    }

    /// What all transfers together moved.
    pub fn amount(&self) -> MicroUsdc {
        let amounts = self.transfers.iter().map(|transfer| transfer.amount);
        let sum = amounts.fold(0_u64, |sum, amount| {
            sum.saturating_add(amount.as_micro_usdc())
        });
        MicroUsdc::from_micro_usdc(sum).unwrap_or(MicroUsdc::MAX)
    }
}
