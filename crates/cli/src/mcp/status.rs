//! The tool `status`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Desk;
use super::tool::Tool;
use crate::failure::Failure;
use crate::output::Out;
use crate::status;

/// Nothing is asked.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {}

impl Tool for Status {
    const NAME: &'static str = "status";
    const ABOUT: &'static str =
        "How the ledger is: ready or not, its DID, its networks. Costs nothing.";
    const ONLY_READS: bool = true;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        status::run(status::Args { rate: false }, &desk.context, out).await?;
        Ok(())
    }
}
