//! The tool `request`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use x811_protocol::did::Did;

use super::Desk;
use super::parsed::Parsed;
use super::tool::Tool;
use crate::failure::Failure;
use crate::output::Out;
use crate::send::request;
use crate::usdc::Usdc;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    /// The provider's DID
    to: Parsed<Did>,
    /// What to do: a capability the provider registered
    task: String,
    /// The most you would pay, protocol fee included, such as `0.05`
    budget_usdc: Usdc,
    /// How long the work may take, in seconds
    deadline_s: u64,
    /// What the task needs, as the provider describes it
    #[serde(default)]
    parameters: Map<String, Value>,
    /// The same key with the same request opens only one interaction
    idempotency_key: Option<String>,
}

impl Tool for Request {
    const NAME: &'static str = "request";
    const ABOUT: &'static str = "Asks a provider for an offer; opens an interaction. Costs nothing by itself: at most the budget falls due, and only after accept.";
    const ONLY_READS: bool = false;

    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure> {
        let args = request::Args {
            to: self.to.0,
            task: self.task,
            budget: self.budget_usdc.0,
            deadline: self.deadline_s,
            policy: desk.policy,
            threshold: desk.threshold,
            parameters: self.parameters.into_iter().collect(),
            object: None,
            idempotency_key: self.idempotency_key,
            callback_url: None,
        };
        out.report(&request::run(args, &desk.context).await?);
        Ok(())
    }
}
