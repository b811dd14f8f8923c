//! The tool `pay`.

use schemars::JsonSchema;
use serde::Deserialize;
use x811_protocol::id::InteractionId;

use super::Desk;
use super::parsed::Parsed;
use super::spending::{check_committed, confirmed};
use super::tool::{Told, Tool};
use crate::failure::Failure;
use crate::output::Out;
use crate::pay;
use crate::send::case::{Case, Party};
use crate::usdc::Usdc;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pay {
    /// The id of the interaction, a UUID
    interaction_id: Parsed<InteractionId>,
    /// The total you saw in the answer without this member; without it nothing is sent
    confirm_total_usdc: Option<Usdc>,
}

impl Tool for Pay {
    const NAME: &'static str = "pay";
    const ABOUT: &'static str = "As initiator: transfers the total of a verified interaction in USDC and declares the payment. SPENDS: without confirm_total_usdc it only answers what it would cost. Pays only what accept committed to, and never twice.";
    const ONLY_READS: bool = false;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        let limits = desk.limits()?;
        let _alone = desk.spending.lock().await;
        let id = self.interaction_id.0;
        let case = Case::open(&desk.context, id, Party::Initiator).await?;
        let total = match confirmed(&case, self.confirm_total_usdc, limits)? {
            Ok(total) => total,
            Err(cost) => {
                out.report(&Told(cost));
                return Ok(());
            }
        };
        let guard = limits.guard(&case).await?;
        check_committed(&guard, id, total)?;
        let args = pay::Args {
            interaction: id,
            rpc: limits.rpc_url.clone(),
            network: Some(limits.network().to_owned()),
            wait: 0,
            plain_transfer: false,
        };
        pay::pay(&case, args, out).await?;
        Ok(())
    }
}
