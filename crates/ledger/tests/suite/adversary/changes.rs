//! Every lie about one member or one record of a log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::lies::{How, others};
use super::log::{Log, Written};
use super::members::{Member, Pool, members};

/// The member that stands for a record as a whole.
pub(crate) const RECORD: &str = "(record)";
/// The one that stands for its place among records of other streams.
pub(crate) const ORDER: &str = "(order)";
/// The one that stands for its time.
pub(crate) const TIME: &str = "(recorded_at_ms)";
/// The one that stands for its stream.
pub(crate) const STREAM: &str = "(stream)";
/// The one that stands for its body.
pub(crate) const BODY: &str = "(body)";

/// One change to an honest log, before everything is sealed anew.
#[derive(Debug, Clone)]
pub(crate) struct Lie {
    /// Place of the record in the honest log.
    pub(crate) record: usize,
    pub(crate) event: String,
    pub(crate) member: String,
    pub(crate) how: How,
    edit: Edit,
}

#[derive(Debug, Clone)]
enum Edit {
    /// The record says this instead; the ledger's own message follows it or not.
    Event(Value, bool),
    /// So does every record of these that says the same under that name.
    Everywhere(Everywhere),
    At(u64),
    Stream(String),
    NoBody,
    Twice(String),
    Drop,
    Double,
    Swap,
}

#[derive(Debug, Clone)]
struct Everywhere {
    name: String,
    was: Value,
    is: Value,
    /// Those that say so.
    records: Vec<usize>,
}

impl Lie {
    /// The log with the lie in it, and the first record that differs.
    pub(crate) fn told(&self, log: &Log) -> (Vec<Arc<Written>>, usize) {
        let mut records = log.records.clone();
        let (at, mut from) = (self.record, self.record);
        let written = || Written::clone(&log.records[at]);
        let instead = |written: Written| Arc::new(written);
        match &self.edit {
            Edit::Event(event, follows) => {
                let event = event.clone();
                records[at] = instead(Written {
                    event,
                    follows: *follows,
                    keeps_numbers: true,
                    ..written()
                });
            }
            Edit::Everywhere(lie) => {
                for index in lie.records.iter().copied() {
                    records[index] = instead(lie.in_record(&records[index]));
                    from = from.min(index);
                }
            }
            Edit::At(at_ms) => {
                records[at] = instead(Written {
                    at_ms: *at_ms,
                    ..written()
                })
            }
            Edit::Stream(stream) => {
                let stream = stream.clone();
                records[at] = instead(Written {
                    stream,
                    ..written()
                });
            }
            Edit::NoBody => {
                records[at] = instead(Written {
                    body: None,
                    ..written()
                })
            }
            Edit::Twice(_) => {}
            Edit::Drop => drop(records.remove(at)),
            Edit::Double => records.insert(
                at + 1,
                instead(Written {
                    was: None,
                    ..written()
                }),
            ),
            Edit::Swap => {
                // Each at the other's time, so that time does not run back.
                let times = [records[at].at_ms, records[at + 1].at_ms];
                records.swap(at, at + 1);
                for (record, at_ms) in records[at..].iter_mut().zip(times) {
                    *record = Arc::new(Written {
                        at_ms,
                        ..Written::clone(record)
                    });
                }
            }
        }
        (records, from)
    }

    /// The name of a member that stands twice in the record's text.
    pub(crate) fn written_twice(&self) -> Option<&str> {
        if let Edit::Twice(pointer) = &self.edit {
            return Some(pointer);
        }
        None
    }

    /// Whether the record changes places with the one behind it.
    pub(crate) fn swaps(&self) -> bool {
        matches!(self.edit, Edit::Swap)
    }

    /// What it says, for people.
    pub(crate) fn what(&self, log: &Log) -> String {
        let said = match &self.edit {
            Edit::Event(event, follows) => {
                let honest = &log.records[self.record].event;
                format!("{} (follows: {follows})", difference(honest, event))
            }
            Edit::Everywhere(lie) => {
                format!("{} → {} in {} records", lie.was, lie.is, lie.records.len())
            }
            edit @ (Edit::At(_)
            | Edit::Stream(_)
            | Edit::NoBody
            | Edit::Twice(_)
            | Edit::Drop
            | Edit::Double
            | Edit::Swap) => format!("{edit:?}"),
        };
        format!(
            "record {}: {} {:?}: {said}",
            self.record, self.member, self.how
        )
    }
}

fn difference(honest: &Value, forged: &Value) -> String {
    let of = |event: &Value| -> Vec<String> {
        let members = members(event).into_iter();
        let leaves = members.map(|member| {
            let value = event.pointer(&member.pointer).unwrap();
            format!("{}={}", member.pointer, value)
        });
        leaves.collect()
    };
    let (before, after) = (of(honest), of(forged));
    let lost = before.iter().rfind(|line| !after.contains(line));
    let new = after.iter().rfind(|line| !before.contains(line));
    let text = |line: Option<&String>| {
        line.map_or("nothing".to_owned(), |line| {
            line.chars().take(160).collect()
        })
    };
    format!("{} → {}", text(lost), text(new))
}

impl Everywhere {
    /// The record with the lie in it; what agents signed stays.
    fn in_record(&self, written: &Written) -> Written {
        let mut event = written.event.clone();
        for member in said_by_the_ledger(&written.event) {
            let value = event.pointer_mut(&member.pointer).unwrap();
            if *value == self.was && member.name() == self.name {
                *value = self.is.clone();
            }
        }
        if event["type"] == "notice_issued" && self.name == "to" {
            event["envelope"]["to"] = event["to"].clone();
        }
        Written {
            event,
            keeps_numbers: true,
            ..written.clone()
        }
    }
}

/// Members of an event that follow from no message.
fn said_by_the_ledger(event: &Value) -> Vec<Member> {
    if event["type"].as_str().unwrap().starts_with("agent_") {
        return Vec::new();
    }
    let mut members = members(event);
    members.retain(|member| !["envelope", "facts"].contains(&member.root()));
    members
}

/// Which records say what of their own, by name and value.
#[derive(Debug, Default)]
pub(crate) struct SaidBy(BTreeMap<(String, String), BTreeSet<usize>>);

impl SaidBy {
    pub(crate) fn of(log: &Log) -> SaidBy {
        let mut said_by = SaidBy::default();
        for (index, written) in log.records.iter().enumerate() {
            for member in said_by_the_ledger(&written.event) {
                let value = written.event.pointer(&member.pointer).unwrap();
                if !value.is_array() && !value.is_object() {
                    let key = (member.name().to_owned(), value.to_string());
                    said_by.0.entry(key).or_default().insert(index);
                }
            }
        }
        said_by
    }

    fn records(&self, name: &str, value: &Value) -> Vec<usize> {
        let key = (name.to_owned(), value.to_string());
        self.0.get(&key).into_iter().flatten().copied().collect()
    }
}

/// All lies about the record at that place.
pub(crate) fn lies(log: &Log, pool: &Pool, said_by: &SaidBy, record: usize) -> Vec<Lie> {
    let written = &log.records[record];
    let mut told = Told {
        log,
        pool,
        said_by,
        written,
        record,
        lies: Vec::new(),
    };
    told.root();
    for member in members(&written.event) {
        told.member(&member);
    }
    told.of_record();
    told.lies
}

struct Told<'a> {
    log: &'a Log,
    pool: &'a Pool,
    said_by: &'a SaidBy,
    written: &'a Written,
    record: usize,
    lies: Vec<Lie>,
}

impl Told<'_> {
    fn tell(&mut self, member: &str, how: How, edit: Edit) {
        self.lies.push(Lie {
            record: self.record,
            event: self.written.event_type().to_owned(),
            member: member.to_owned(),
            how,
            edit,
        });
    }

    /// The record says `event` instead; where the ledger signs for what it says, with that signature
    /// as it was and anew.
    fn event(&mut self, member: &str, how: How, event: Value) {
        let of = self.written.event_type();
        if ["notice_issued", "ledger_key_rotated"].contains(&of) {
            self.tell(member, how, Edit::Event(event.clone(), false));
        }
        if (of, member) != ("ledger_key_rotated", "proof") {
            self.tell(member, how, Edit::Event(event, true));
        }
    }

    /// Members that the event has not, though others have.
    fn root(&mut self) {
        self.added("", "");
    }

    fn added(&mut self, pointer: &str, path: &str) {
        let event = &self.written.event;
        let object = event.pointer(pointer).unwrap();
        for (name, value) in self.pool.absent(self.written.event_type(), path, object) {
            let mut event = event.clone();
            event.pointer_mut(pointer).unwrap()[&name] = value;
            let dot = if path.is_empty() { "" } else { "." };
            self.event(&format!("{path}{dot}{name}"), How::Added, event);
        }
    }

    fn member(&mut self, member: &Member) {
        let (event, path) = (&self.written.event, &member.path);
        let value = event.pointer(&member.pointer).unwrap().clone();
        for other in others(self.pool, self.written.event_type(), path, &value) {
            let mut event = event.clone();
            *event.pointer_mut(&member.pointer).unwrap() = other.clone();
            self.event(path, How::Changed, event);
            if !value.is_array() && !value.is_object() {
                self.everywhere(member, &value, &other);
            }
        }
        let (parent, name) = member.pointer.rsplit_once('/').unwrap();
        if event.pointer(parent).unwrap().is_object() {
            let mut event = event.clone();
            let object = event.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            object.remove(name);
            self.event(path, How::Removed, event);
            self.tell(path, How::WrittenTwice, Edit::Twice(member.pointer.clone()));
        }
        match &value {
            Value::Array(values) => self.array(member, values),
            Value::Object(_) => self.added(&member.pointer, path),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The same said wherever the log has it, and in the whole stream.
    fn everywhere(&mut self, member: &Member, was: &Value, is: &Value) {
        if ["envelope", "facts"].contains(&member.root()) {
            return;
        }
        let of_log = self.said_by.records(member.name(), was);
        let mut of_stream = of_log.clone();
        of_stream.retain(|index| self.log.records[*index].stream == self.written.stream);
        let is_different = of_stream.len() < of_log.len();
        for records in [Some(of_log), Some(of_stream).filter(|_| is_different)] {
            // Told once, where it is said first.
            let is_first = |records: &Vec<usize>| records.len() > 1 && records[0] == self.record;
            let Some(records) = records.filter(is_first) else {
                continue;
            };
            let lie = Everywhere {
                name: member.name().to_owned(),
                was: was.clone(),
                is: is.clone(),
                records,
            };
            self.tell(&member.path, How::Changed, Edit::Everywhere(lie));
        }
    }

    fn array(&mut self, member: &Member, values: &[Value]) {
        let objects = values
            .iter()
            .enumerate()
            .filter(|(_, value)| value.is_object());
        for (index, _) in objects {
            let (pointer, path) = (&member.pointer, &member.path);
            self.added(&format!("{pointer}/{index}"), &format!("{path}[]"));
        }
        let mut instead = |how, values: Vec<Value>| {
            let mut event = self.written.event.clone();
            *event.pointer_mut(&member.pointer).unwrap() = json!(values);
            self.event(&member.path, how, event);
        };
        for index in 0..values.len() {
            let mut dropped = values.to_vec();
            dropped.remove(index);
            instead(How::ElementDropped, dropped);
            let mut doubled = values.to_vec();
            doubled.insert(index, values[index].clone());
            instead(How::ElementDoubled, doubled);
            if index + 1 < values.len() && values[index] != values[index + 1] {
                let mut swapped = values.to_vec();
                swapped.swap(index, index + 1);
                instead(How::ElementsSwapped, swapped);
            }
        }
    }

    fn of_record(&mut self) {
        let (records, at) = (&self.log.records, self.record);
        self.tell(RECORD, How::RecordDropped, Edit::Drop);
        self.tell(RECORD, How::RecordDoubled, Edit::Double);
        if let Some(next) = records.get(at + 1) {
            // Notices come in a later commit than their cause, among whatever happens meanwhile.
            let is_notice = [self.written, next].map(|one| one.event_type() == "notice_issued");
            let is_of_one = next.stream == self.written.stream && is_notice == [false; 2];
            let member = if is_of_one { RECORD } else { ORDER };
            self.tell(member, How::RecordsSwapped, Edit::Swap);
        }
        let now = self.written.at_ms;
        let before = at.checked_sub(1).map(|before| records[before].at_ms);
        let after = records.get(at + 1).map(|after| after.at_ms);
        let mut times = vec![now + 1, now - 1, now + 1_000, now - 1_000, now + 60_000];
        times.extend([before, after].into_iter().flatten());
        times.sort_unstable();
        times.dedup();
        for time in times.into_iter().filter(|time| *time != now) {
            self.tell(TIME, How::Changed, Edit::At(time));
        }
        let kind = self.written.stream.split(':').next().unwrap();
        let mut streams: Vec<&String> = records.iter().map(|written| &written.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        let others = streams
            .into_iter()
            .filter(|stream| **stream != self.written.stream);
        let (alike, different): (Vec<_>, Vec<_>) =
            others.partition(|stream| stream.starts_with(kind));
        let others: Vec<_> = alike
            .into_iter()
            .take(3)
            .chain(different.into_iter().step_by(4))
            .cloned()
            .collect();
        for stream in others {
            self.tell(STREAM, How::Changed, Edit::Stream(stream));
        }
        if self.written.body.is_some() {
            self.tell(BODY, How::BodyDropped, Edit::NoBody);
        }
    }
}
