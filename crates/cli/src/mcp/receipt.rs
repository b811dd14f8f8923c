//! The tool `receipt`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use x811_protocol::id::InteractionId;

use super::Desk;
use super::parsed::Parsed;
use super::tool::{Told, Tool};
use crate::failure::Failure;
use crate::output::Out;
use crate::receipt::fetch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Receipt {
    /// The id of the interaction, a UUID
    interaction_id: Parsed<InteractionId>,
    /// The whole receipt besides what it proves; some ten kilobytes
    #[serde(default)]
    whole: bool,
}

impl Tool for Receipt {
    const NAME: &'static str = "receipt";
    const ABOUT: &'static str =
        "What the receipt of a paid interaction proves, after it was verified. Costs nothing.";
    const ONLY_READS: bool = true;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        let id = self.interaction_id.0;
        let (bytes, paid) = fetch::fetched(id, false, &desk.context).await?;
        let mut told = json!({ "interaction_id": id, "bytes": bytes.len(), "paid": paid });
        if self.whole {
            let receipt: Value = serde_json::from_slice(&bytes)
                .map_err(|error| Failure::untrusted(format!("the receipt is no JSON: {error}")))?;
            told["receipt"] = receipt;
        }
        out.report(&Told(told));
        Ok(())
    }
}
