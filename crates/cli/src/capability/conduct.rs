//! `x811 capability conduct` and `x811 capability lift`.

use serde::Serialize;
use x811_client::http::{Conduct, Lifted};
use x811_protocol::did::Did;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose; your own without it. Of others auditors and operators may ask
    did: Option<Did>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LiftArgs {
    /// Whose exclusion
    did: Did,
}

/// Reads what an agent answers for.
pub(super) async fn run(args: Args, context: &Context) -> Result<Shown, Failure> {
    let (identity, client) = context.acting().await?;
    let agent = args.did.unwrap_or(identity.did);
    Ok(Shown(client.conduct(agent).await?))
}

/// Orders it, signed by the agent, which the ledger's configuration must name under `operators`.
pub(super) async fn lift(args: LiftArgs, context: &Context) -> Result<Done, Failure> {
    let (_, client) = context.acting().await?;
    let conduct = client.conduct(args.did).await?;
    let exclusion = conduct.exclusion.filter(|_| conduct.is_excluded);
    let exclusion = exclusion.ok_or_else(|| {
        Failure::state("the agent is not excluded now")
            .hint("`x811 capability conduct DID` shows what it answers for")
    })?;
    let lifted = client.lift_exclusion(args.did, exclusion.position);
    Ok(Done(lifted.await?))
}

/// What an agent answers for.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Shown(Conduct);

impl Report for Shown {
    fn print(&self, out: &mut Out) {
        let Shown(conduct) = self;
        let (tone, word) = match conduct.is_excluded {
            true => (Tone::Bad, "excluded from new sessions and rounds"),
            false => (Tone::Good, "may take part in sessions"),
        };
        out.heading(tone, word);
        let mut fields = vec![
            ("agent", conduct.agent_id.to_string()),
            ("breaches", conduct.breaches.to_string()),
            ("of these count", conduct.counted.len().to_string()),
        ];
        if let Some(exclusion) = &conduct.exclusion {
            let until = exclusion.until_ms.to_rfc3339();
            let how = match exclusion.is_lifted {
                true => "lifted; it was until",
                false => "until",
            };
            fields.push(("last exclusion", format!("{how} {until}")));
            fields.push(("record", exclusion.position.to_string()));
        }
        out.fields(&fields);
    }
}

/// That an exclusion holds no longer.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Done(Lifted);

impl Report for Done {
    fn print(&self, out: &mut Out) {
        let Done(lifted) = self;
        out.heading(Tone::Good, "lifted");
        out.fields(&[
            ("agent", lifted.agent_id.to_string()),
            ("exclusion", lifted.excluded.to_string()),
            ("record", lifted.position.to_string()),
        ]);
    }
}
