//! Tools that spend: `accept`, `pay`. Each answers what it would cost until it is called with that total.

use schemars::JsonSchema;
use serde::Deserialize;
use x811_protocol::id::InteractionId;

use super::Desk;
use super::parsed::Parsed;
use super::spending::{allowed, check_committed, confirmed};
use super::tool::{Told, Tool};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;
use crate::pay;
use crate::send::accept;
use crate::send::case::{Case, Party};
use crate::usdc::Usdc;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Accept {
    /// The id of the interaction, a UUID
    interaction_id: Parsed<InteractionId>,
    /// The total you saw in the answer without this member; without it nothing is sent
    confirm_total_usdc: Option<Usdc>,
}

impl Tool for Accept {
    const NAME: &'static str = "accept";
    const ABOUT: &'static str = "As initiator: takes the offer, which commits you to pay its total. SPENDS: without confirm_total_usdc it only answers what it would cost. Caps and policy are checked, and a person may have to approve.";
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
        let mut guard = limits.guard(&case).await?;
        allowed(guard.rule(id).await?, &case, total)?;
        // A ledger that showed the guard another OFFER than was confirmed gets no ACCEPT.
        check_committed(&guard, id, total)?;
        match accept::accept(&case).await {
            Ok(sent) => {
                guard.accepted(id)?;
                out.report(&sent);
                Ok(())
            }
            Err(failure) => {
                if failure.exit == Exit::Refused {
                    guard.refused(id)?;
                }
                Err(failure)
            }
        }
    }
}

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
            rpc: Some(limits.rpc_url.clone()),
            instructions: false,
            network: Some(limits.network().to_owned()),
            wait: 0,
            follow: pay::FOLLOW_S,
            plain_transfer: false,
        };
        pay::pay(&case, args, out).await?;
        Ok(())
    }
}
