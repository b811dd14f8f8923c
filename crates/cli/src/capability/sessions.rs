//! `x811 capability sessions`.

use serde::Serialize;
use serde_json::Value;
use x811_client::http::SessionView;
use x811_client::session::Session;
use x811_protocol::did::Did;
use x811_protocol::id::SessionId;

use super::records::Record;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::shown::shorten;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One session, with its records; all without it
    #[arg(value_name = "ID")]
    session: Option<SessionId>,
    /// Only those that are not closed
    #[arg(long, conflicts_with = "session")]
    open: bool,
}

/// The agent's sessions, oldest first.
#[derive(Serialize)]
struct Listed {
    #[serde(skip)]
    me: Did,
    sessions: Vec<SessionView>,
}

/// A session with its records.
#[derive(Serialize)]
struct One {
    #[serde(flatten)]
    view: SessionView,
    /// As their author signed them.
    #[serde(skip_serializing_if = "Option::is_none")]
    signed_terms: Option<Value>,
    records: Vec<Record>,
}

/// Prints them, or one.
pub(super) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<(), Failure> {
    let (identity, client) = context.acting().await?;
    let me = identity.did;
    if let Some(id) = args.session {
        let session = Session::fetch(&client, id).await?;
        let terms = session.terms(&client).await?;
        out.report(&One {
            signed_terms: terms.map(Value::Object),
            records: session.entries.iter().map(Record::of).collect(),
            view: session.view,
        });
        return Ok(());
    }
    let mut sessions = client.sessions().await?;
    sessions.retain(|one| !args.open || one.status != "closed");
    out.report(&Listed { me, sessions });
    Ok(())
}

/// Whose word is awaited.
fn next(one: &SessionView, me: Did) -> String {
    let words = match one.status.as_str() {
        "requested" if one.target == me => "you respond",
        "requested" => "they respond",
        "open" if one.initiator == me => "you offer",
        "open" => "they offer",
        "offered" | "countered" if one.author == me => "they answer",
        "offered" | "countered" => "you answer",
        "agreeing" if one.signed_by.contains(&me) => "they sign",
        "agreeing" => "you sign",
        _ => return one.reason.clone().unwrap_or_default(),
    };
    words.to_owned()
}

impl Report for Listed {
    fn print(&self, out: &mut Out) {
        let rows = self.sessions.iter().map(|one| {
            vec![
                one.id.to_string(),
                shorten(&one.status),
                one.capability.clone(),
                one.version.to_string(),
                one.counters.to_string(),
                next(one, self.me),
            ]
        });
        let header = ["session", "status", "type", "version", "counters", "next"];
        out.list("sessions", &header, rows);
    }
}

impl Report for One {
    fn print(&self, out: &mut Out) {
        let view = &self.view;
        let heading = format!("session {}: {}", view.id, view.status);
        out.heading(Tone::Plain, heading);
        let mut fields = vec![
            ("type", format!("{} {}", view.capability, view.version)),
            ("initiator", view.initiator.to_string()),
            ("target", view.target.to_string()),
            (
                "agreement",
                format!("{}, revision {}", view.agreement_id, view.revision),
            ),
        ];
        let terms = self.signed_terms.as_ref();
        fields.extend(terms.map(|terms| ("terms", terms.to_string())));
        out.fields(&fields);
        out.gap();
        Record::print(&self.records, out);
    }
}
