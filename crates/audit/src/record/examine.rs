//! What can be checked of a record without those before it: on any thread, in any order.

use std::sync::Arc;

use x811_eventlog::{Hash, Record, RecordError};
use x811_protocol::event::Event;
use x811_protocol::payload::PayloadRules;

use crate::finding::findings::{Findings, Spot};
use crate::finding::verdict::Verdict;
use crate::record::body::{self, Basis};
use crate::record::spelling;
use x811_protocol::stream::Stream;

/// A record as a source has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The leaf, as bytes or as a record.
    pub leaf: Leaf,
    /// The body, if it is there.
    pub body: Option<Arc<[u8]>>,
    /// Line of the leaf in an export, from 1.
    pub line: Option<u64>,
    /// Line of the body in an export, from 1.
    pub body_line: Option<u64>,
}

/// A leaf as a source has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaf {
    /// Bytes that nobody has read yet.
    Bytes(Vec<u8>),
    /// Bytes that were read as a record.
    Record(Record),
}

/// An entry, and what was found of it alone.
#[derive(Debug)]
pub struct Examined {
    pub(crate) hash: Hash,
    pub(crate) line: Option<u64>,
    pub(crate) content: EntryContent,
}

/// What an entry holds.
#[derive(Debug)]
pub(crate) enum EntryContent {
    /// Bytes that are no record, and why.
    NoRecord(RecordError),
    /// A record whose event cannot be read, and why.
    NoEvent(Record, String),
    /// A readable record.
    Whole(Box<Whole>),
}

/// A readable record.
#[derive(Debug)]
pub struct Whole {
    pub(crate) spot: Spot,
    pub(crate) body_spot: Spot,
    pub(crate) record: Record,
    /// Absent when the record names none of ours.
    pub(crate) stream: Option<Stream>,
    pub(crate) event: Event,
    pub(crate) body: Option<Arc<[u8]>>,
    /// Whether the signature holds; absent for a record without an envelope, and until all those of
    /// a page have been checked.
    pub(crate) signature_holds: Option<bool>,
    /// What is wrong with the signature.
    pub(crate) signature_findings: Findings,
    /// Absent where it takes what the records before add up to.
    pub(crate) judgement: Option<Judgement>,
}

/// What the body proves under some rules.
#[derive(Debug)]
pub(crate) struct Judgement {
    /// Those rules; absent before there are any.
    pub(crate) rules: Option<PayloadRules>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) findings: Findings,
}

impl Examined {
    /// Examines `entry`, all but its signature; `rules` are those that are likely to be in force at
    /// its place.
    pub fn of(entry: Entry, rules: Option<PayloadRules>) -> Examined {
        let line = entry.line;
        let (hash, record) = match entry.leaf {
            Leaf::Record(record) => (record.hash(), Ok(record)),
            Leaf::Bytes(bytes) => (Hash::of_leaf(&bytes), Record::parse(bytes)),
        };
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let content = EntryContent::NoRecord(error);
                return Examined {
                    hash,
                    line,
                    content,
                };
            }
        };
        let content = match event(&record) {
            Err(error) => EntryContent::NoEvent(record, error.to_string()),
            Ok(event) if !spelling::is_the_one(&record, &event) => {
                EntryContent::NoEvent(record, spelling::OTHER.to_owned())
            }
            Ok(event) => {
                let spot = Spot::of(&record, line);
                let mut whole = Whole {
                    body_spot: Spot {
                        line: entry.body_line.or(line),
                        ..spot.clone()
                    },
                    spot,
                    stream: record.stream().parse().ok(),
                    record,
                    event,
                    body: entry.body,
                    signature_holds: None,
                    signature_findings: Findings::default(),
                    judgement: None,
                };
                whole.judge(rules);
                EntryContent::Whole(Box::new(whole))
            }
        };
        Examined {
            hash,
            line,
            content,
        }
    }
}

impl Examined {
    /// The record, where it is readable.
    pub fn whole_mut(&mut self) -> Option<&mut Whole> {
        match &mut self.content {
            EntryContent::Whole(whole) => Some(whole),
            EntryContent::NoRecord(_) | EntryContent::NoEvent(..) => None,
        }
    }
}

/// The event of a record; an error tells of the value, not of the place in the text.
fn event(record: &Record) -> Result<Event, serde_json::Error> {
    Event::from_named_json(record.event_type(), record.event_json())
        .or_else(|_| Event::from_value(&record.event()))
}

impl Whole {
    /// A message to the registry is judged in order: with the ledger's DID and the sender's keys.
    fn judge(&mut self, rules: Option<PayloadRules>) {
        if body::needs_registry(&self.event) {
            return;
        }
        let mut findings = Findings::default();
        let known = Basis {
            payload: rules,
            ledger: None,
            sender: None,
        };
        let body = self.body.as_deref();
        let verdict = body::judge(&self.body_spot, &self.event, body, known, &mut findings);
        self.judgement = Some(Judgement {
            rules,
            verdict,
            findings,
        });
    }
}
