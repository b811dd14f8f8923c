//! The tool `offer`.

use schemars::JsonSchema;
use serde::Deserialize;
use x811_protocol::id::InteractionId;

use super::Desk;
use super::parsed::Parsed;
use super::tool::Tool;
use crate::failure::Failure;
use crate::output::Out;
use crate::send::offer;
use crate::usdc::Usdc;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Offer {
    /// The id of the interaction, a UUID
    interaction_id: Parsed<InteractionId>,
    /// What you get, such as `0.029`; the initiator pays 2.5 % protocol fee on top
    price_usdc: Usdc,
    /// How long the work will take, in seconds
    time_s: u64,
    /// What you will deliver
    deliverables: Vec<String>,
    /// How long the offer stands, in seconds; the ledger caps it at 300, which it is without it
    expiry_s: Option<u64>,
    /// Further conditions
    terms: Option<String>,
}

impl Tool for Offer {
    const NAME: &'static str = "offer";
    const ABOUT: &'static str = "As provider: names your price for a request; it binds you. Costs nothing. You are paid on the account of your own wallet.";
    const ONLY_READS: bool = false;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        let args = offer::Args {
            interaction: self.interaction_id.0,
            price: self.price_usdc.0,
            time: self.time_s,
            deliverables: self.deliverables,
            expiry: self.expiry_s.unwrap_or(300),
            terms: self.terms,
            payment_address: None,
        };
        out.report(&offer::run(args, &desk.context).await?);
        Ok(())
    }
}
