//! The records of a negotiation.

use serde::Serialize;
use serde_json::Value;
use x811_client::http::LedgerClient;
use x811_client::transcript::{self, Entry};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::Event;
use x811_protocol::id::ContractId;
use x811_protocol::time::TimestampMs;

use super::PROVEN;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::narration::{self, short_hash};
use x811_protocol::stream::Subject;

/// Reads and shows them.
pub(super) async fn show(
    client: &LedgerClient,
    id: ContractId,
    out: &mut Out,
) -> Result<(), Failure> {
    let entries = transcript::checked(client.records_of(Subject::Contract(id)).await?)?;
    let parties = entries.iter().find_map(|entry| {
        let header = entry.event.envelope()?;
        Some((header.from, header.to))
    });
    let Some((initiator, responder)) = parties else {
        return Err(Failure::usage("the negotiation has no offer"));
    };
    let who = |event: &Event| match event.envelope() {
        None => "ledger",
        Some(header) if header.from == initiator => "initiator",
        Some(_) => "responder",
    };
    let rows = entries
        .iter()
        .map(|entry| Row::new(entry, who(&entry.event)));
    out.report(&History {
        negotiation: id.to_public(),
        initiator,
        responder,
        records: rows.collect(),
    });
    Ok(())
}

#[derive(Serialize)]
struct History {
    negotiation: String,
    initiator: Did,
    responder: Did,
    records: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    position: u64,
    record_hash: Digest,
    recorded_at_ms: TimestampMs,
    who: &'static str,
    says: String,
    leaf: Value,
}

impl Row {
    fn new(entry: &Entry, who: &'static str) -> Row {
        let record = &entry.record;
        Row {
            position: record.position,
            record_hash: record.record_hash,
            recorded_at_ms: record.recorded_at_ms,
            who,
            says: narration::event(&entry.event),
            leaf: record.leaf.clone(),
        }
    }
}

impl Report for History {
    fn print(&self, out: &mut Out) {
        let heading = format!("negotiation {}", self.negotiation);
        out.heading(Tone::Plain, heading);
        out.fields(&[
            ("initiator", self.initiator.to_string()),
            ("responder", self.responder.to_string()),
        ]);
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
                    row.says.clone(),
                ]
            })
            .collect();
        out.table(&["position", "recorded", "hash", "who", "what"], &rows);
        out.gap();
        out.line(PROVEN);
    }
}
