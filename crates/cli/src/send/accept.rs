//! `x811 send accept`.

use x811_client::compose::Accept;
use x811_client::policy::{OfferVerdict, Provider, Trust, judge};
use x811_protocol::envelope::CoreType;
use x811_protocol::id::InteractionId;

use super::case::{Case, Party};
use super::sent::Sent;
use crate::context::Context;
use crate::failure::Failure;
use x811_protocol::narration;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which interaction
    pub(crate) interaction: InteractionId,
}

/// Takes the offer. Running this is the approval that the policies `human_approval` and
/// `threshold` ask a person for (AE-113, AE-116); what they or `auto` rule out is not sent.
pub(crate) async fn run(args: Args, context: &Context) -> Result<Sent, Failure> {
    let case = Case::open(context, args.interaction, Party::Initiator).await?;
    accept(&case).await
}

/// Takes the offer of an interaction that was read.
pub(crate) async fn accept(case: &Case<'_>) -> Result<Sent, Failure> {
    let signed_offer = case.signed(CoreType::Offer, "OFFER").await?;
    case.signed(CoreType::Request, "REQUEST").await?;
    let total = enforce_policy(case).await?;
    let sent = case.say(&Accept::of(&signed_offer)).await?;
    let payee = case.transcript.payee();
    let sent = sent.note("to pay", total);
    Ok(match payee {
        Some(payee) => sent.note("to", payee.to_checksum()),
        None => sent,
    })
}

/// AE-109: the initiator's own software holds it to the policy it declared. The facts were proven
/// from the signed messages before.
async fn enforce_policy(case: &Case<'_>) -> Result<String, Failure> {
    let (_, offer) = case.offer()?;
    let request = case
        .transcript
        .request()
        .ok_or_else(|| Failure::internal("the interaction has no REQUEST"))?;
    let provider = Provider {
        status: case.client.agent(case.counterparty()).await?.status.into(),
        trust: Trust::NEW_AGENT,
    };
    match judge(offer, request, provider, Trust::ZERO) {
        OfferVerdict::Accept | OfferVerdict::AskPerson => Ok(narration::usdc(offer.total_cost)),
        OfferVerdict::Reject { code, error_code } => {
            let message = format!(
                "not sent: policy {} of your REQUEST rules this offer out ({code})",
                request.acceptance_policy
            );
            let id = case.transcript.id();
            Err(Failure::refused(error_code, message)
                .hint(format!("turn it down: x811 send reject {id} --code {code}")))
        }
    }
}
