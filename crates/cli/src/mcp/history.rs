//! The tool `history`.

use schemars::JsonSchema;
use serde::Deserialize;
use x811_protocol::id::InteractionId;

use super::Desk;
use super::parsed::Parsed;
use super::tool::Tool;
use crate::failure::Failure;
use crate::history;
use crate::output::Out;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct History {
    /// The id of the interaction, a UUID
    interaction_id: Parsed<InteractionId>,
}

impl Tool for History {
    const NAME: &'static str = "history";
    const ABOUT: &'static str = "Every record of an interaction, its state and what is due, each held against its hash and signature. Costs nothing.";
    const ONLY_READS: bool = true;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        let args = history::Args {
            subject: history::Subject::Interaction(self.interaction_id.0),
        };
        history::run(args, &desk.context, out).await?;
        Ok(())
    }
}
