//! The records of a log or bundle that a trace is made of, and the nodes that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use x811_eventlog::Record;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::ParsedEnvelope;
use x811_protocol::event::{Effect, Event};
use x811_protocol::facts::{CapabilityFacts, ConsensusFacts, Facts};
use x811_protocol::id::{RoundId, SessionId};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_protocol::trace::{
    Act, MOST_PARTS, Node, Recorded, Wid, nodes, sessions_of, shown_message,
};

use super::super::paper::Said;

/// A record of one of the subjects of a trace.
struct TracedRecord {
    event: Event,
    hash: Digest,
    lacks_body: bool,
    payload: Option<Map<String, Value>>,
    position: u64,
    recorded_at_ms: TimestampMs,
    subject: Subject,
}

/// What a file has about a trace.
pub(super) struct TraceRecords {
    /// What the name may be of.
    named: Vec<Subject>,
    /// That, and the retries and sessions that belong to it.
    parts: BTreeSet<Subject>,
    records: Vec<TracedRecord>,
    /// The latest time of any record.
    pub(super) latest: TimestampMs,
}

/// The nodes that follow from the records of a file.
pub(super) struct DueNodes {
    pub(super) nodes: Vec<Node>,
    /// Hashes of records whose body is missing.
    lacking: BTreeSet<Digest>,
    /// True if a body of a session is missing.
    lacks_session: bool,
    /// A retry that the file names, and has not.
    pub(super) retry_elsewhere: Option<RoundId>,
}

impl DueNodes {
    /// True if the message that a node rests on is not in the file.
    pub(super) fn lacks_body(&self, node: &Node) -> bool {
        let hash = node.said.get("record_hash").and_then(Value::as_str);
        let hash = hash.and_then(|hash| hash.parse().ok());
        let is_of_session = matches!(
            node.act,
            Act::SessionClose | Act::AgreementCreate | Act::Renegotiate
        );
        hash.is_some_and(|hash: Digest| self.lacking.contains(&hash))
            || (is_of_session && self.lacks_session)
    }
}

impl TraceRecords {
    pub(super) fn of(wid: Wid) -> TraceRecords {
        let named = match wid {
            Wid::Contract(id) => vec![Subject::Contract(id)],
            Wid::Envelope(id) => vec![
                Subject::Round(id.into()),
                Subject::Agreement(SessionId::from(id).into()),
                Subject::Session(id.into()),
            ],
        };
        TraceRecords {
            parts: named.iter().copied().collect(),
            named,
            records: Vec::new(),
            latest: TimestampMs::new(0),
        }
    }

    /// Takes what a file says next, in order of position.
    pub(super) fn take(&mut self, said: &Said<'_>) {
        let (Said::Logged(_, Some(record), body) | Said::Placed(record, _, body)) = *said else {
            return;
        };
        let recorded_at_ms = TimestampMs::new(record.recorded_at_ms());
        self.latest = self.latest.max(recorded_at_ms);
        let Ok(Stream::Of(subject)) = record.stream().parse() else {
            return;
        };
        let Some(event) = self.event(subject, record) else {
            return;
        };
        let header = shown_message(&event);
        let payload = header.zip(body).and_then(|(header, body)| {
            let is_it = Digest::of(body) == header.digest;
            let parsed = is_it.then(|| ParsedEnvelope::from_body(body, header.signature));
            Some(parsed?.ok()?.payload)
        });
        self.records.push(TracedRecord {
            lacks_body: header.is_some() && payload.is_none(),
            event,
            hash: Digest::from_bytes(*record.hash().as_bytes()),
            payload,
            position: record.position(),
            recorded_at_ms,
            subject,
        });
    }

    /// The event of a record that belongs to the trace.
    fn event(&mut self, subject: Subject, record: &Record) -> Option<Event> {
        let event = || Event::from_json(record.event_json()).ok();
        if self.parts.contains(&subject) {
            return event();
        }
        let has_parts = matches!(subject, Subject::Round(_) | Subject::Session(_));
        let event = (record.stream_seq() == 0 && has_parts).then(event)??;
        let continues = continued(&event)?;
        if !self.parts.contains(&continues) {
            return None;
        }
        self.parts.insert(subject);
        Some(event)
    }

    /// The nodes of the trace as of the end of the file.
    pub(super) fn due(self) -> DueNodes {
        let has = |subject: &&Subject| self.records.iter().any(|kept| kept.subject == **subject);
        let subject = self.named.iter().find(has).copied();
        let parts = subject.map(|subject| self.parts_of(subject));
        let parts = parts.unwrap_or_default();
        let kept = self
            .records
            .iter()
            .filter(|kept| parts.contains(&kept.subject));
        let kept: Vec<&TracedRecord> = kept.collect();
        let recorded = kept.iter().map(|kept| Recorded {
            event: &kept.event,
            hash: kept.hash,
            payload: kept.payload.as_ref(),
            position: kept.position,
            recorded_at_ms: kept.recorded_at_ms,
            subject: kept.subject,
        });
        let lacking = kept.iter().filter(|kept| kept.lacks_body);
        let is_session = |kept: &&&TracedRecord| matches!(kept.subject, Subject::Session(_));
        DueNodes {
            nodes: subject.map_or_else(Vec::new, |subject| nodes(subject, recorded)),
            lacks_session: lacking.clone().any(|kept| is_session(&kept)),
            lacking: lacking.map(|kept| kept.hash).collect(),
            retry_elsewhere: retries(&kept)
                .into_values()
                .find(|retry| !self.parts.contains(&Subject::Round(*retry))),
        }
    }

    /// The subjects whose records a trace named by `subject` is made of.
    fn parts_of(&self, subject: Subject) -> BTreeSet<Subject> {
        let mut parts = BTreeSet::from([subject]);
        if let Subject::Agreement(_) = subject {
            let own = self.records.iter().filter(|kept| kept.subject == subject);
            let sessions = sessions_of(own.map(|kept| &kept.event)).into_iter();
            parts.extend(sessions.take(MOST_PARTS).map(Subject::Session));
        } else if let Subject::Round(first) = subject {
            let retries = retries(&self.records.iter().collect::<Vec<_>>());
            let mut last = first;
            while let Some(next) = retries.get(&last)
                && parts.len() < MOST_PARTS
            {
                parts.insert(Subject::Round(*next));
                last = *next;
            }
        }
        parts
    }
}

/// Each retry by the round that failed.
fn retries(records: &[&TracedRecord]) -> BTreeMap<RoundId, RoundId> {
    let each = records.iter().filter_map(|kept| {
        let (Subject::Round(failed), Event::Effect(Effect::Resubmitted(retry))) =
            (kept.subject, &kept.event)
        else {
            return None;
        };
        Some((failed, retry.round))
    });
    each.collect()
}

/// The failed round that a proposal retries, or the agreement that a session negotiates again.
fn continued(event: &Event) -> Option<Subject> {
    let Event::EnvelopeAccepted(accepted) = event else {
        return None;
    };
    if let Facts::Consensus(ConsensusFacts::Propose(proposal)) = &accepted.facts {
        proposal.resubmission_of.map(Subject::Round)
    } else if let Facts::Capability(CapabilityFacts::Request(request)) = &accepted.facts {
        request.agreement_id.map(Subject::Agreement)
    } else {
        None
    }
}
