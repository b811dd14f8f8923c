//! `x811/offer` (AE-49 to AE-56).

use serde_json::{Map, Value};
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::evm::EvmAddress;
use x811_protocol::id::InteractionId;
use x811_protocol::money::MicroUsdc;

use super::{ComposeError, Members, Payload};

/// A binding price (AE-67). Fee and total follow from it (AX-4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// Which REQUEST it answers.
    pub interaction: InteractionId,
    /// What the provider gets.
    pub price: MicroUsdc,
    /// How long the work will take, in seconds.
    pub estimated_time_s: u64,
    /// What will be delivered; at least one.
    pub deliverables: Vec<String>,
    /// How long the offer stands, in seconds from now; the ledger caps it at 300 (AX-5).
    pub expiry_s: u64,
    /// Conditions beside the price, as text for people.
    pub terms: Option<String>,
    /// Where to be paid. Without it the ledger takes the registered wallet, and that is its word: in
    /// a receipt the payee is proven only where the OFFER names it. Name
    /// [`Identity::account`](crate::identity::Identity::account) if in doubt.
    pub payment_address: Option<EvmAddress>,
}

impl Offer {
    /// Price and protocol fee together: what the initiator pays.
    ///
    /// # Errors
    /// [`ComposeError::TotalTooLarge`].
    pub fn total_cost(&self) -> Result<MicroUsdc, ComposeError> {
        let total = self.price.total();
        total.ok_or(ComposeError::TotalTooLarge)
    }
}

impl Payload for Offer {
    fn message_type(&self) -> MessageType {
        CoreType::Offer.into()
    }

    fn members(&self) -> Result<Map<String, Value>, ComposeError> {
        let members = Members::default()
            .set_text("request_id", self.interaction)
            .set_text("price", self.price.to_usdc_decimal())
            .set_text("protocol_fee", self.price.protocol_fee().to_usdc_decimal())
            .set_text("total_cost", self.total_cost()?.to_usdc_decimal())
            .set("currency", "USDC")
            .set("estimated_time", self.estimated_time_s)
            .set("deliverables", self.deliverables.clone())
            .set("expiry", self.expiry_s)
            .set_some("terms", self.terms.clone())
            .set_some(
                "payment_address",
                self.payment_address.map(EvmAddress::to_checksum),
            );
        Ok(members.0)
    }
}
