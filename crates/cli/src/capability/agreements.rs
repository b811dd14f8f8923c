//! `x811 capability agreements`.

use serde::Serialize;
use x811_client::http::AgreementView;
use x811_client::transcript;
use x811_protocol::did::Did;
use x811_protocol::id::AgreementId;

use super::records::Record;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::shown::shorten;
use x811_protocol::stream::Subject;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One agreement, with its records; all without it
    #[arg(value_name = "ID")]
    agreement: Option<AgreementId>,
    /// Only those in force
    #[arg(long, conflicts_with = "agreement")]
    active: bool,
    /// Only those that were in force as of this record of the log
    #[arg(long, value_name = "POSITION", conflicts_with_all = ["agreement", "active"])]
    as_of: Option<u64>,
}

/// The agent's agreements, oldest first.
#[derive(Serialize)]
struct Listed {
    #[serde(skip)]
    me: Did,
    agreements: Vec<AgreementView>,
}

/// An agreement with its records.
#[derive(Serialize)]
struct One {
    #[serde(flatten)]
    view: AgreementView,
    records: Vec<Record>,
}

/// Prints them, or one.
pub(super) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<(), Failure> {
    let (identity, client) = context.acting().await?;
    let me = identity.did;
    if let Some(id) = args.agreement {
        let view = client.agreement(id).await?;
        let entries = transcript::checked(client.records_of(Subject::Agreement(id)).await?)?;
        let records = entries.iter().map(Record::of).collect();
        out.report(&One { view, records });
        return Ok(());
    }
    let mut agreements = client.agreements(args.as_of).await?;
    agreements.retain(|one| !args.active || one.status == "active");
    out.report(&Listed { me, agreements });
    Ok(())
}

/// How much was used of how much.
fn uses(view: &AgreementView) -> String {
    match view.limits.max_requests {
        Some(most) => format!("{} of {most}", view.requests),
        None => view.requests.to_string(),
    }
}

impl Report for Listed {
    fn print(&self, out: &mut Out) {
        let rows = self.agreements.iter().map(|one| {
            let side = if one.consumer == self.me {
                "use"
            } else {
                "provide"
            };
            vec![
                one.id.to_string(),
                shorten(&one.status),
                one.revision.to_string(),
                side.to_owned(),
                one.capability.clone(),
                uses(one),
                one.ends_at_ms.to_rfc3339(),
            ]
        });
        let header = [
            "agreement",
            "status",
            "revision",
            "you",
            "type",
            "used",
            "until",
        ];
        out.list("agreements", &header, rows);
    }
}

impl Report for One {
    fn print(&self, out: &mut Out) {
        let view = &self.view;
        let heading = format!(
            "agreement {}, revision {}: {}",
            view.id, view.revision, view.status
        );
        out.heading(Tone::Plain, heading);
        out.fields(&[
            ("type", format!("{} {}", view.capability, view.version)),
            ("consumer", view.consumer.to_string()),
            ("provider", view.provider.to_string()),
            ("from", view.starts_at_ms.to_rfc3339()),
            ("until", view.ends_at_ms.to_rfc3339()),
            ("used", uses(view)),
        ]);
        out.gap();
        Record::print(&self.records, out);
    }
}
