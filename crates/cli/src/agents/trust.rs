//! `x811 agents trust`.

use serde::Serialize;
use x811_client::http::TrustShown;
use x811_protocol::did::Did;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The agent whose trust is shown
    did: Did,
    /// As of the record at this position; the last one without it
    #[arg(long, value_name = "POSITION")]
    as_of: Option<u64>,
}

/// Shows what an agent has earned.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let trust = context.client()?.trust(args.did, args.as_of).await?;
    out.report(&Shown {
        did: args.did,
        trust,
    });
    Ok(Exit::Ok)
}

/// The score with all it was made of.
pub(super) fn sentence(trust: &TrustShown) -> String {
    let TrustShown {
        score_hundredths,
        s,
        f,
        d,
        contested,
        distinct_payers,
    } = trust;
    format!(
        "{}.{:02} ({s} paid, {f} failed, {d} in dispute, of which {contested} by the other party's \
         word alone; {distinct_payers} distinct payers)",
        score_hundredths / 100,
        score_hundredths % 100
    )
}

#[derive(Serialize)]
struct Shown {
    did: Did,
    #[serde(flatten)]
    trust: TrustShown,
}

impl Report for Shown {
    fn print(&self, out: &mut Out) {
        out.fields(&[
            ("did", self.did.to_string()),
            ("trust", sentence(&self.trust)),
        ]);
        out.line("a score says how interactions ended, not who somebody is: docs/agents.md");
    }
}
