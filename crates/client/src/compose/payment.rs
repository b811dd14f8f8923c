//! `x811/payment` (AE-64, AE-65).

use serde_json::{Map, Value};
use x811_protocol::digest::Digest;
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::id::{EnvelopeId, InteractionId};
use x811_protocol::money::MicroUsdc;

use super::{ComposeError, Members, Payload};

/// Names the transfer that pays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Id of the interaction: the envelope id of its REQUEST.
    pub interaction: InteractionId,
    /// Envelope id of the OFFER.
    pub offer_id: EnvelopeId,
    /// Hash of the transaction that paid.
    pub tx_hash: TxHash,
    /// The transaction that moved the fee, when it was another one.
    pub fee_tx_hash: Option<TxHash>,
    /// All that was paid, fee included (AX-17).
    pub amount: MicroUsdc,
    /// On which network, such as `base`.
    pub network: String,
    /// Who paid: a wallet registered by this agent.
    pub payer: EvmAddress,
    /// Who was paid: the account the OFFER named, or the provider's registered wallet (AX-15).
    pub payee: EvmAddress,
    /// The nonce of the EIP-3009 authorization it was paid under: only transfers under it count
    /// then, and they count whoever's wallet paid ([`x811_protocol::authorization`]).
    pub authorization_nonce: Option<Digest>,
}

impl Payload for Payment {
    fn message_type(&self) -> MessageType {
        CoreType::Payment.into()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let members = Members::default()
            .set_text("request_id", self.interaction)
            .set_text("offer_id", self.offer_id)
            .set_text("tx_hash", self.tx_hash)
            .set_some("fee_tx_hash", self.fee_tx_hash.map(|hash| hash.to_string()))
            .set_text("amount", self.amount.to_usdc_decimal())
            .set("currency", "USDC")
            .set_text("network", &self.network)
            .set_text("payer_address", self.payer.to_checksum())
            .set_text("payee_address", self.payee.to_checksum())
            .set_some(
                "authorization_nonce",
                self.authorization_nonce.map(|nonce| nonce.to_string()),
            );
        Ok(members.0)
    }
}
