//! The tool `verify`.

use schemars::JsonSchema;
use serde::Deserialize;
use x811_protocol::facts::DisputeCode;
use x811_protocol::id::InteractionId;

use super::Desk;
use super::parsed::Parsed;
use super::tool::Tool;
use crate::failure::Failure;
use crate::output::Out;
use crate::send::verify;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Verify {
    /// The id of the interaction, a UUID
    interaction_id: Parsed<InteractionId>,
    /// Leave it out to say that the result is good
    dispute: Option<Dispute>,
}

/// Why the result is not good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Dispute {
    /// WRONG_RESULT, INCOMPLETE, TIMEOUT, QUALITY or OTHER
    code: Parsed<DisputeCode>,
    /// Why, in your words
    reason: String,
}

impl Tool for Verify {
    const NAME: &'static str = "verify";
    const ABOUT: &'static str = "As initiator: says that the result is good, after its bytes were held against its hash, or disputes it. Costs nothing by itself: once it is good, the total that was accepted falls due (see history, then pay).";
    const ONLY_READS: bool = false;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        let (dispute, reason) = match self.dispute {
            Some(dispute) => (Some(dispute.code.0), Some(dispute.reason)),
            None => (None, None),
        };
        let args = verify::Args {
            interaction: self.interaction_id.0,
            file: None,
            dispute,
            reason,
        };
        out.report(&verify::run(args, &desk.context).await?);
        Ok(())
    }
}
