//! Records of a session or an agreement, each held against its hash and signature.

use serde::Serialize;
use serde_json::Value;
use x811_client::transcript::Entry;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::time::TimestampMs;

use crate::history::PROVEN;
use crate::output::Out;
use x811_protocol::narration::{self, short_hash};

#[derive(Serialize)]
pub(super) struct Record {
    position: u64,
    record_hash: Digest,
    recorded_at_ms: TimestampMs,
    /// Whose message it is; none of an effect or a lapse, which are the ledger's.
    who: Option<Did>,
    says: String,
    leaf: Value,
}

impl Record {
    pub(super) fn of(entry: &Entry) -> Record {
        let record = &entry.record;
        Record {
            position: record.position,
            record_hash: record.record_hash,
            recorded_at_ms: record.recorded_at_ms,
            who: entry.event.envelope().map(|header| header.from),
            says: narration::event(&entry.event),
            leaf: record.leaf.clone(),
        }
    }

    /// A table of them.
    pub(super) fn print(records: &[Record], out: &mut Out) {
        let rows = records.iter().map(|record| {
            vec![
                record.position.to_string(),
                record.recorded_at_ms.to_rfc3339(),
                short_hash(record.record_hash),
                record
                    .who
                    .map_or("ledger".to_owned(), |who| who.to_string()),
                record.says.clone(),
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        out.table(&["position", "recorded", "hash", "who", "what"], &rows);
        out.gap();
        out.line(PROVEN);
    }
}
