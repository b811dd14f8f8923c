//! What holds for every leaf that is read (record.md section 1) and every event (section 4).

use x811_eventlog::{Draft, Record};
use x811_protocol::canonical::to_canonical;
use x811_protocol::event::{Event, LedgerEvent};
use x811_protocol::json::{Limits, parse_strict};

/// Fails when one of the properties does not hold for `bytes`.
pub fn holds(bytes: &[u8]) {
    let Ok(record) = Record::parse(bytes.to_vec()) else {
        return;
    };
    assert_eq!(record.bytes(), bytes, "kept verbatim");
    let strict = parse_strict(bytes, &Limits::default()).expect("a leaf is strict JSON");
    assert_eq!(to_canonical(&strict), bytes, "and its own canonical form");
    let draft = Draft {
        recorded_at_ms: record.recorded_at_ms(),
        stream: record.stream().to_owned(),
        stream_seq: record.stream_seq(),
        event: record.event().clone(),
    };
    let sealed = Record::seal(record.position(), record.prev(), draft);
    assert_eq!(sealed.expect("what is read can be sealed"), record);

    let Ok(event) = Event::from_json(record.event_json()) else {
        return;
    };
    let written = serde_json::to_value(&event).expect("events are plain JSON");
    assert_eq!(Event::from_value(&written).ok().as_ref(), Some(&event));
    if matches!(event, Event::Ledger(LedgerEvent::ParametersSet(_))) {
        // Written before a limit was known, it is read as unlimited: the one event with two forms.
        return;
    }
    assert_eq!(
        String::from_utf8_lossy(&to_canonical(&written)),
        String::from_utf8_lossy(&to_canonical(&record.event())),
        "an event has one form"
    );
    if let Some(header) = event.envelope() {
        // Whatever the signature is, checking it harms nobody.
        let _ = header.verify_from_leaf();
    }
}
