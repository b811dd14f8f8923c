//! `x811 rounds show`.

use serde::Serialize;
use serde_json::{Map, Value};
use x811_client::http::RoundView;
use x811_client::transcript::{self, Entry};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::id::RoundId;
use x811_protocol::time::TimestampMs;

use super::Member;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::narration::{self, moment, short_hash};
use x811_protocol::shown::shorten;
use x811_protocol::stream::Subject;

/// A round as it stands, what was proposed, and its records.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    view: RoundView,
    subject: String,
    action: Map<String, Value>,
    records: Vec<Row>,
    #[serde(skip)]
    now: TimestampMs,
}

#[derive(Debug, Serialize)]
struct Row {
    position: u64,
    record_hash: Digest,
    recorded_at_ms: TimestampMs,
    /// Who said it; nobody of what the ledger records by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Did>,
    says: String,
    leaf: Value,
}

impl Row {
    fn new(entry: &Entry) -> Row {
        let record = &entry.record;
        Row {
            position: record.position,
            record_hash: record.record_hash,
            recorded_at_ms: record.recorded_at_ms,
            from: entry.event.envelope().map(|header| header.from),
            says: narration::event(&entry.event),
            leaf: record.leaf.clone(),
        }
    }
}

impl Report for Shown {
    fn print(&self, out: &mut Out) {
        let view = &self.view;
        let tone = match view.status.as_str() {
            "committed" | "done" | "human_approved" => Tone::Good,
            "aborted" | "human_rejected" | "undecided" => Tone::Bad,
            _ => Tone::Waiting,
        };
        out.heading(
            tone,
            format!("round {}: {}", view.id, shorten(&view.status)),
        );
        let votes = format!("{} of {}", view.voted.len(), view.participants.len());
        let mut fields = vec![
            ("subject", shorten(&self.subject)),
            ("action", shorten(&view.action_type)),
            ("proposer", view.proposer.to_string()),
            ("leader", view.leader.to_string()),
            (
                "decided by",
                format!("{}, {} votes", view.mechanism, view.voting),
            ),
            ("attempt", view.attempt.to_string()),
            ("voted", votes),
            ("votes until", moment(view.timeout_ms, self.now)),
        ];
        if let Some(outcome) = &view.outcome {
            let word = |name: &str| outcome.get(name).and_then(Value::as_str).unwrap_or("-");
            let decided = format!("{}, {}", word("outcome"), word("reason"));
            fields.push(("outcome", shorten(&decided)));
        }
        out.fields(&fields);
        out.gap();
        let rows: Vec<Vec<String>> = self
            .records
            .iter()
            .map(|row| {
                let from = row.from.map(|did| did.to_string());
                vec![
                    row.position.to_string(),
                    row.recorded_at_ms.to_rfc3339(),
                    short_hash(row.record_hash),
                    from.unwrap_or_else(|| "ledger".to_owned()),
                    row.says.clone(),
                ]
            })
            .collect();
        out.table(&["position", "recorded", "hash", "who", "what"], &rows);
    }
}

/// Prints it. Votes are among its records once it is decided.
pub(super) async fn run(round: RoundId, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let member = Member::open(context).await?;
    let view = member.client.round(round).await?;
    let proposed = member.proposed(round).await?;
    if proposed.facts.proposal_hash != view.proposal_hash {
        return Err(Failure::untrusted(
            "the proposal that the ledger shows is not the one that its proposer signed",
        ));
    }
    let entries = transcript::checked(member.client.records_of(Subject::Round(round)).await?)?;
    out.report(&Shown {
        view,
        subject: proposed.subject,
        action: proposed.action,
        records: entries.iter().map(Row::new).collect(),
        now: context.now(),
    });
    Ok(Exit::Ok)
}
