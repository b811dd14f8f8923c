//! The tool `deliver`.

use schemars::JsonSchema;
use serde::Deserialize;
use x811_protocol::id::InteractionId;

use super::Desk;
use super::parsed::Parsed;
use super::tool::Tool;
use crate::failure::Failure;
use crate::output::Out;
use crate::send::result;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Deliver {
    /// The id of the interaction, a UUID
    interaction_id: Parsed<InteractionId>,
    /// The result itself, text of at most 512 KiB
    content: String,
    /// Its MIME type; text/plain without it
    content_type: Option<String>,
    /// The model that did the work
    model: Option<String>,
    /// How it was done
    methodology: Option<String>,
}

impl Tool for Deliver {
    const NAME: &'static str = "deliver";
    const ABOUT: &'static str =
        "As provider: delivers the result of an accepted interaction. Costs nothing.";
    const ONLY_READS: bool = false;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        let content_type = self.content_type;
        let args = result::Args {
            interaction: self.interaction_id.0,
            content: Some(self.content),
            file: None,
            url: None,
            content_type: content_type.unwrap_or_else(|| "text/plain".to_owned()),
            execution_time_ms: None,
            model: self.model,
            methodology: self.methodology,
        };
        out.report(&result::run(args, &desk.context).await?);
        Ok(())
    }
}
