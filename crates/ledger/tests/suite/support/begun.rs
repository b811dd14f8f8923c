//! Logs that some earlier program began.

use std::sync::Arc;

use serde_json::{Value, json};
use x811_eventlog::{Draft, Head, Record};
use x811_ledger::memory::{MemoryReadModel, MemoryStore};
use x811_ledger::port::{Commit, LedgerStore};
use x811_ledger::snapshot::MemorySnapshots;
use x811_protocol::event::{Event, LedgerEvent};

use super::ledgerbox::Ledgerbox;

/// Puts a log of these events of the stream `ledger` in the place of the ledger's own.
pub(crate) async fn stored(ledgerbox: &mut Ledgerbox, events: &[Value]) {
    ledgerbox.crash().await;
    ledgerbox.store = Arc::new(MemoryStore::new());
    ledgerbox.rows = Arc::new(MemoryReadModel::new());
    ledgerbox.snapshots = Arc::new(MemorySnapshots::new());
    let mut head = Head::EMPTY;
    let mut records = Vec::new();
    for (seq, event) in (0..).zip(events) {
        let draft = Draft {
            recorded_at_ms: ledgerbox.now().as_ms(),
            stream: "ledger".to_owned(),
            stream_seq: seq,
            event: event.clone(),
        };
        let record = Record::seal(head.size, head.hash, draft).unwrap();
        head = Head::after(&record);
        records.push(record);
    }
    let commit = Commit {
        expected_size: 0,
        records,
        ..Commit::default()
    };
    ledgerbox.store.commit(commit).await.unwrap();
}

/// The first two events of the ledger's log.
pub(crate) fn first_events(ledgerbox: &Ledgerbox) -> [Value; 2] {
    let opened = Event::Ledger(LedgerEvent::Opened(ledgerbox.opened()));
    let parameters = Event::Ledger(LedgerEvent::ParametersSet(ledgerbox.parameters.clone()));
    [json!(opened), json!(parameters)]
}
