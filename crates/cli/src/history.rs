//! `x811 history`.

mod negotiation;

use serde::Serialize;
use serde_json::Value;
use x811_client::transcript::Transcript;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::id::{ContractId, IdError, InteractionId};
use x811_protocol::interaction::{Outline, StateName};
use x811_protocol::time::TimestampMs;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::narration::{self, moment, short_hash};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which interaction, or which negotiation as neg-UUID
    #[arg(value_parser = subject)]
    pub(crate) subject: Subject,
}

/// Reads the id of an interaction, or `neg-UUID`.
fn subject(text: &str) -> Result<Subject, IdError> {
    if text.starts_with("neg-") {
        ContractId::from_public(text).map(Subject::Contract)
    } else {
        text.parse().map(Subject::Interaction)
    }
}

/// Shows the subject's records, each held against its hash and signature.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let client = context.reading_client().await?;
    match args.subject {
        Subject::Interaction(id) => {
            let transcript = Transcript::fetch(&client, id).await?;
            out.report(&History::new(&transcript, context.now()));
        }
        Subject::Contract(id) => negotiation::show(&client, id, out).await?,
    }
    Ok(Exit::Ok)
}

/// What is shown of an id on the command line.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject {
    Interaction(InteractionId),
    Contract(ContractId),
}

/// What a list of checked records proves, and what it does not.
pub(crate) const PROVEN: &str =
    "every record has the hash shown and a signature that holds; `x811 audit` proves the whole log";

#[derive(Serialize)]
struct History {
    interaction: InteractionId,
    initiator: Did,
    provider: Did,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_usdc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline_at_ms: Option<TimestampMs>,
    records: Vec<Row>,
    #[serde(skip)]
    now: TimestampMs,
}

#[derive(Serialize)]
struct Row {
    position: u64,
    record_hash: Digest,
    recorded_at_ms: TimestampMs,
    who: &'static str,
    says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_before: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state_after: Option<&'static str>,
    leaf: Value,
}

impl History {
    fn new(transcript: &Transcript, now: TimestampMs) -> History {
        let view = &transcript.view;
        let mut outline = Outline::default();
        let mut state = None;
        let mut records = Vec::new();
        for entry in &transcript.entries {
            let state_before = state;
            state = outline.follow(&entry.event).map(StateName::as_str);
            records.push(Row {
                position: entry.record.position,
                record_hash: entry.record.record_hash,
                recorded_at_ms: entry.record.recorded_at_ms,
                who: who(transcript, &entry.event),
                says: narration::event(&entry.event),
                state_before,
                state_after: state,
                leaf: entry.record.leaf.clone(),
            });
        }
        History {
            interaction: view.id,
            initiator: view.initiator,
            provider: view.provider,
            state: view.state.as_str(),
            total_usdc: view.total.map(|total| total.to_usdc_decimal()),
            deadline_at_ms: view.deadline_at_ms,
            records,
            now,
        }
    }
}

/// Who caused the record.
fn who(transcript: &Transcript, event: &Event) -> &'static str {
    let Event::EnvelopeAccepted(accepted) = event else {
        return "ledger";
    };
    if accepted.envelope.from == transcript.view.initiator {
        "initiator"
    } else if accepted.envelope.from == transcript.view.provider {
        "provider"
    } else {
        "other"
    }
}

impl Row {
    fn states(&self) -> String {
        match (self.state_before, self.state_after) {
            (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
            (_, Some(after)) => after.to_owned(),
            (_, None) => String::new(),
        }
    }
}

impl Report for History {
    fn print(&self, out: &mut Out) {
        out.heading(
            Tone::Plain,
            format_args!("interaction {}", self.interaction),
        );
        let mut fields = vec![
            ("initiator", self.initiator.to_string()),
            ("provider", self.provider.to_string()),
            ("state", self.state.to_owned()),
        ];
        let total = self.total_usdc.as_ref();
        fields.extend(total.map(|total| ("total", format!("{total} USDC"))));
        let deadline = self.deadline_at_ms.map(|at| moment(at, self.now));
        fields.extend(deadline.map(|deadline| ("deadline", deadline)));
        out.fields(&fields);
        out.gap();
        let rows: Vec<Vec<String>> = self
            .records
            .iter()
            .map(|row| {
                vec![
                    row.position.to_string(),
                    row.recorded_at_ms.to_rfc3339(),
                    short_hash(row.record_hash),
                    row.who.to_owned(),
                    row.states(),
                    row.says.clone(),
                ]
            })
            .collect();
        out.table(
            &["position", "recorded", "hash", "who", "state", "what"],
            &rows,
        );
        out.gap();
        out.line(PROVEN);
    }
}
