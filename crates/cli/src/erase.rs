//! `x811 erase`: an operator has the bodies of a finished interaction, or of a closed negotiation, session or
//! agreement erased.

use serde::Serialize;
use x811_client::http::Erased;
use x811_protocol::id::{AgreementId, ContractId, InteractionId, SessionId};
use x811_protocol::stream::Subject;
use x811_world::erasure::ReasonCode;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    whose: Whose,
    /// Why, in 1 to 32 characters of a-z, 0-9 and _; it is recorded for ever
    #[arg(long = "reason", value_name = "CODE")]
    reason_code: ReasonCode,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Whose {
    /// Which interaction, or which negotiation, as neg-UUID; an interaction must be over, its
    /// settlement final, and not in dispute; a negotiation closed, and its interaction over likewise
    #[arg(value_name = "ID", value_parser = subject)]
    subject: Option<Subject>,
    /// Of a session about a capability: it must be closed, and the agreement that it made over; what
    /// both signed stays
    #[arg(long, value_name = "SESSION")]
    session: Option<SessionId>,
    /// Of an agreement that is over: why it was revoked
    #[arg(long, value_name = "AGREEMENT")]
    agreement: Option<AgreementId>,
}

impl Whose {
    fn subject(&self) -> Option<Subject> {
        let session = self.session.map(Subject::Session);
        let agreement = self.agreement.map(Subject::Agreement);
        self.subject.or(session).or(agreement)
    }
}

fn subject(text: &str) -> Result<Subject, String> {
    let read = match text.starts_with("neg-") {
        true => ContractId::from_public(text).map(Subject::Contract),
        false => text.parse::<InteractionId>().map(Subject::Interaction),
    };
    read.map_err(|error| error.to_string())
}

/// Orders it, signed by the agent, which the ledger's configuration must name under `operators`.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let (_, client) = context.acting().await?;
    let reason_code = args.reason_code.to_string();
    let subject = args.whose.subject();
    let subject = subject.ok_or_else(|| Failure::usage("name whose messages are erased"))?;
    let erased = client.erase(subject, &reason_code).await?;
    out.report(&Done(erased));
    Ok(Exit::Ok)
}

#[derive(Serialize)]
#[serde(transparent)]
struct Done(Erased);

impl Report for Done {
    fn print(&self, out: &mut Out) {
        let Done(erased) = self;
        out.heading(Tone::Good, "erased");
        let interaction = erased
            .interaction_id
            .map(|id| ("interaction", id.to_string()));
        let negotiation = erased.negotiation_id.clone();
        let session = erased.session_id.map(|id| ("session", id.to_string()));
        let agreement = erased.agreement_id.map(|id| ("agreement", id.to_string()));
        let of = interaction.or(negotiation.map(|id| ("negotiation", id)));
        let of = of.or(session).or(agreement);
        let mut fields: Vec<_> = of.into_iter().collect();
        fields.push(("bodies of", listed(&erased.erased)));
        if !erased.kept.is_empty() {
            let kept = listed(&erased.kept);
            fields.push((
                "kept",
                format!("{kept}: signed with a key of profile direct"),
            ));
        }
        fields.push(("record", erased.position.to_string()));
        out.fields(&fields);
        out.gap();
        out.line("leaves, signatures and facts stay; `x811 audit` counts them as asserted only");
        out.line("backups and exports made before still hold the bodies: throw them away");
    }
}

fn listed(positions: &[u64]) -> String {
    let positions: Vec<String> = positions.iter().map(u64::to_string).collect();
    positions.join(", ")
}
