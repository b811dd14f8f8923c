//! The records that gave the initiator its keys, where its messages are signed by several.

use super::ReceiptError;
use crate::port::{LedgerStore, ReadModel};
use std::collections::BTreeMap;
use x811_audit::receipt::Enclosed;
use x811_eventlog::Record;
use x811_protocol::did::Did;
use x811_protocol::event::{AgentEvent, Event};
use x811_protocol::key::AgentKey;
use x811_protocol::stream::Stream;

/// Most records of an agent that are read at once.
const PAGE_RECORDS: usize = 1_000;

/// Of each message of the initiator, the last record before it that gave the initiator its key; none
/// when one key signed them all. `envelopes` are those of a receipt, in its order.
pub(super) async fn of<S: LedgerStore, R: ReadModel>(
    store: &S,
    rows: &R,
    envelopes: &[Enclosed],
) -> Result<Vec<Record>, ReceiptError> {
    let sender = |enclosed: &Enclosed| enclosed.body["from"].as_str().map(str::to_owned);
    // The last is a PAYMENT.
    let Some(last) = envelopes.last() else {
        return Ok(Vec::new());
    };
    let initiator = sender(last);
    let own = envelopes.iter().filter(|it| sender(it) == initiator);
    let signed: Vec<(AgentKey, u64)> = own.map(by).collect();
    if signed.iter().all(|(key, _)| *key == by(last).0) {
        return Ok(Vec::new());
    }
    let missing = ReceiptError::Missing { what: "key" };
    let agent = initiator;
    let agent: Option<Did> = agent.and_then(|agent| agent.parse().ok());
    let stream = Stream::Agent(agent.ok_or(missing)?).to_string();
    let mut given: Vec<Option<Record>> = vec![None; signed.len()];
    let (mut seq, mut is_last) = (0, false);
    while !is_last {
        let positions = rows.stream_positions(&stream, seq, PAGE_RECORDS).await?;
        is_last = positions.len() < PAGE_RECORDS;
        seq += positions.len() as u64;
        for record in store.records(&positions).await? {
            let keys = keys_of(&record);
            for ((key, position), from) in signed.iter().zip(&mut given) {
                if record.position() < *position && keys.contains(key) {
                    *from = Some(record.clone());
                }
            }
        }
    }
    let given: Option<Vec<Record>> = given.into_iter().collect();
    let given = given.ok_or(ReceiptError::Missing { what: "key" })?;
    let by_position = given.into_iter().map(|it| (it.position(), it));
    let by_position: BTreeMap<u64, Record> = by_position.collect();
    Ok(by_position.into_values().collect())
}

/// The key that signed it, and where its record stands.
fn by(enclosed: &Enclosed) -> (AgentKey, u64) {
    let key = AgentKey {
        key: enclosed.key,
        profile: enclosed.profile,
    };
    (key, enclosed.place.position)
}

/// The keys that the agent has by it and had not before.
fn keys_of(record: &Record) -> Vec<AgentKey> {
    if !matches!(record.event_type(), b"agent_registered" | b"key_rotated") {
        return Vec::new();
    }
    let event = Event::from_named_json(record.event_type(), record.event_json());
    if let Ok(Event::Agent(AgentEvent::Registered(registered))) = event {
        registered.keys
    } else if let Ok(Event::Agent(AgentEvent::KeyRotated(rotated))) = event {
        vec![rotated.new_key]
    } else {
        Vec::new()
    }
}
