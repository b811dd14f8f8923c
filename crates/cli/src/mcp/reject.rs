//! The tool `reject`.

use schemars::JsonSchema;
use serde::Deserialize;
use x811_protocol::facts::RejectCode;
use x811_protocol::id::InteractionId;

use super::Desk;
use super::parsed::Parsed;
use super::tool::Tool;
use crate::failure::Failure;
use crate::output::Out;
use crate::send::reject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reject {
    /// The id of the interaction, a UUID
    interaction_id: Parsed<InteractionId>,
    /// PRICE_TOO_HIGH, DEADLINE_TOO_SHORT, TRUST_TOO_LOW, POLICY_REJECTED or OTHER
    code: Option<Parsed<RejectCode>>,
    /// Why, in your words, for the provider to read
    reason: Option<String>,
}

impl Tool for Reject {
    const NAME: &'static str = "reject";
    const ABOUT: &'static str =
        "As initiator: turns the offer down; ends the interaction. Costs nothing.";
    const ONLY_READS: bool = false;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        let reason = self.reason;
        let args = reject::Args {
            interaction: self.interaction_id.0,
            code: self.code.map_or(RejectCode::Other, |code| code.0),
            reason: reason.unwrap_or_else(|| "the initiator declined".to_owned()),
        };
        out.report(&reject::run(args, &desk.context).await?);
        Ok(())
    }
}
