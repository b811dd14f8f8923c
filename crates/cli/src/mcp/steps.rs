//! Tools that take a step of an interaction and spend nothing by it: `request`, `offer`, `reject`, `deliver`,
//! `verify`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use x811_protocol::did::Did;
use x811_protocol::facts::{DisputeCode, RejectCode};
use x811_protocol::id::InteractionId;

use super::Desk;
use super::parsed::Parsed;
use super::tool::Tool;
use crate::failure::Failure;
use crate::output::Out;
use crate::send::{offer, reject, request, result, verify};
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
    /// Conditions beside the price, as text for people
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
