//! A log that is told otherwise: records named by their place in the honest log, whatever was put in
//! or taken out before.

use std::sync::Arc;

use serde_json::{Value, json};
use x811_audit::{Options, Outcome, Report, audit_export};
use x811_eventlog::note::NoteKey;
use x811_protocol::canonical::to_canonical;
use x811_protocol::code::Code;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;

use super::super::extract::bundle_of;
use super::super::ledgerbox::Ledgerbox;
use super::super::log::{Log, Written};
use super::super::rarer::quiet;
use super::super::single::written_by;
use super::super::verdict::judge;

/// Names of records that were put in begin here.
const PUT_IN: u64 = 1_000_000;

/// A log to be changed.
#[derive(Debug, Clone)]
pub(crate) struct Story {
    log: Log,
    put_in: u64,
    /// The checkpoint key that the auditor has from elsewhere.
    trusted: NoteKey,
}

impl Story {
    /// As the ledger wrote it.
    pub(crate) fn of(log: Log) -> Story {
        let opened = log.header().unwrap().opened;
        let key = NoteKey::new(&*opened.origin, *opened.keys.checkpoint.as_bytes());
        Story {
            log,
            put_in: PUT_IN,
            trusted: key.unwrap(),
        }
    }

    /// The golden log of every event: `tests/vectors/bundle/log-every-event.x811`.
    pub(crate) fn golden() -> Story {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/vectors/bundle/log-every-event.x811"
        );
        let export = std::fs::read(path).unwrap();
        Story::of(Log::of(&export, super::super::keys::all()))
    }

    /// The records of interactions of the golden log, and the erasure. Some messages to other machines name the
    /// position of a record, so that nothing before them can be put in or taken out.
    pub(crate) fn of_interactions() -> Story {
        let mut story = Story::golden();
        let erasure = story.events("bodies_erased")[0];
        let is_other = |written: &Written| written.stream.starts_with("contract:");
        let first = story.names(is_other)[0];
        story.moved(erasure, first);
        let others = story.names(|_| true).into_iter();
        let others = others.skip_while(|name| *name != first);
        story.without(others);
        story
    }

    /// What the ledger has written.
    pub(crate) async fn written_by(ledgerbox: &Ledgerbox) -> Story {
        Story::of(written_by(ledgerbox).await)
    }

    /// What the ledger has written by the time that nothing is due.
    pub(crate) async fn at_rest(mut ledgerbox: Ledgerbox) -> Story {
        quiet(&mut ledgerbox).await;
        Story::written_by(&ledgerbox).await
    }

    fn index(&self, name: u64) -> usize {
        let is_it =
            |written: &Arc<Written>| written.was.as_ref().is_some_and(|(at, _)| *at == name);
        self.log
            .records
            .iter()
            .position(is_it)
            .expect("it is there")
    }

    /// The record of that name.
    pub(crate) fn record(&self, name: u64) -> &Written {
        &self.log.records[self.index(name)]
    }

    fn record_mut(&mut self, name: u64) -> &mut Written {
        let index = self.index(name);
        Arc::make_mut(&mut self.log.records[index])
    }

    /// Where the record of that name stands now.
    pub(crate) fn position(&self, name: u64) -> u64 {
        self.index(name) as u64
    }

    /// Checks that the story is about what it says.
    pub(crate) fn expect(&self, name: u64, event_type: &str) -> &Story {
        assert_eq!(self.record(name).event_type(), event_type, "{name}");
        self
    }

    /// Names of the records that are so, in order.
    pub(crate) fn names(&self, is_one: impl Fn(&Written) -> bool) -> Vec<u64> {
        let records = self.log.records.iter();
        let ones = records.filter(|written| is_one(written));
        ones.map(|written| written.was.as_ref().unwrap().0)
            .collect()
    }

    /// Names of the events of that type.
    pub(crate) fn events(&self, event_type: &str) -> Vec<u64> {
        self.names(|written| written.event_type() == event_type)
    }

    /// Names of the messages of that type.
    pub(crate) fn messages(&self, message_type: &str) -> Vec<u64> {
        self.names(|written| written.message_type() == message_type)
    }

    /// Lapses of that window, in order.
    pub(crate) fn lapses(&self, window: &str) -> Vec<u64> {
        self.names(|it| it.event_type() == "lapsed" && it.event["window"] == window)
    }

    /// The notices that tell of that record.
    pub(crate) fn notices(&self, cause: u64) -> Vec<u64> {
        self.names(|it| it.event_type() == "notice_issued" && it.event["cause"] == json!(cause))
    }

    /// The record with the notices that tell of it.
    pub(crate) fn with_notices(&self, name: u64) -> Vec<u64> {
        [vec![name], self.notices(name)].concat()
    }

    /// The record behind that one.
    pub(crate) fn next(&self, name: u64) -> u64 {
        let next = &self.log.records[self.index(name) + 1];
        next.was.as_ref().unwrap().0
    }

    /// The stream of a record.
    pub(crate) fn stream(&self, name: u64) -> String {
        self.record(name).stream.clone()
    }

    /// What a member holds.
    pub(crate) fn get(&self, name: u64, pointer: &str) -> Value {
        let event = &self.record(name).event;
        event.pointer(pointer).expect("it has it").clone()
    }

    /// The member says this; one that is not there is put in.
    pub(crate) fn set(&mut self, name: u64, pointer: &str, value: Value) -> &mut Story {
        let written = self.record_mut(name);
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        let holder = written.event.pointer_mut(parent).expect("it has it");
        if let Value::Array(values) = holder {
            values[member.parse::<usize>().unwrap()] = value;
        } else {
            holder[member] = value;
        }
        written.keeps_numbers = true;
        self
    }

    /// The member is not there.
    pub(crate) fn unset(&mut self, name: u64, pointer: &str) -> &mut Story {
        let written = self.record_mut(name);
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        let object = written.event.pointer_mut(parent).unwrap();
        object
            .as_object_mut()
            .unwrap()
            .remove(member)
            .expect("it is there");
        written.keeps_numbers = true;
        self
    }

    /// Changes a member of the message beside a notice, which the ledger signs anew.
    pub(crate) fn say(&mut self, name: u64, member: &str, value: Value) -> &mut Story {
        let written = self.record_mut(name);
        let body = written.body.as_ref().unwrap();
        let mut message: Value = serde_json::from_slice(body).unwrap();
        message["payload"][member] = value;
        written.body = Some(to_canonical(&message));
        written.says_more = true;
        self
    }

    /// Recorded at another time.
    pub(crate) fn at(&mut self, name: u64, at_ms: u64) -> &mut Story {
        self.record_mut(name).at_ms = at_ms;
        self
    }

    /// When it was recorded.
    pub(crate) fn time(&self, name: u64) -> u64 {
        self.record(name).at_ms
    }

    /// In another stream.
    pub(crate) fn in_stream(&mut self, name: u64, stream: &str) -> &mut Story {
        stream.clone_into(&mut self.record_mut(name).stream);
        self
    }

    /// Its body is not there.
    pub(crate) fn without_body(&mut self, name: u64) -> &mut Story {
        self.record_mut(name).body = None;
        self
    }

    /// These never happened.
    pub(crate) fn without(&mut self, names: impl IntoIterator<Item = u64>) -> &mut Story {
        for name in names {
            let index = self.index(name);
            self.log.records.remove(index);
        }
        self
    }

    /// Nothing behind that record happened in its stream.
    pub(crate) fn ends_with(&mut self, name: u64) -> &mut Story {
        let (index, stream) = (self.index(name), self.record(name).stream.clone());
        let mut place = 0;
        self.log.records.retain(|written| {
            place += 1;
            place <= index + 1 || written.stream != stream
        });
        self
    }

    /// A record that never was, right before another and at its time; gives its name.
    pub(crate) fn put(&mut self, before: u64, stream: &str, event: Value) -> u64 {
        let at_ms = self.time(before);
        self.put_written(before, Written::new(at_ms, stream, event))
    }

    /// The same with all that belongs to it.
    pub(crate) fn put_written(&mut self, before: u64, written: Written) -> u64 {
        self.put_in += 1;
        let index = self.index(before);
        let was = Some((self.put_in, format!("put in {}", self.put_in)));
        self.log
            .records
            .insert(index, Arc::new(Written { was, ..written }));
        self.put_in
    }

    /// A record once more, right before another and at its time; gives its name.
    pub(crate) fn again(&mut self, name: u64, before: u64) -> u64 {
        let at_ms = self.time(before);
        let copy = self.record(name).clone();
        self.put_written(before, Written { at_ms, ..copy })
    }

    /// Moves a record right before another, to its time.
    pub(crate) fn moved(&mut self, name: u64, before: u64) -> &mut Story {
        let index = self.index(name);
        let written = self.log.records.remove(index);
        let (at, at_ms) = (self.index(before), self.time(before));
        self.log.records.insert(
            at,
            Arc::new(Written {
                at_ms,
                ..Written::clone(&written)
            }),
        );
        self
    }

    /// Recorded at another time, which moves the deadline that it opens.
    pub(crate) fn retimed(&mut self, name: u64, at_ms: u64) -> &mut Story {
        const DEADLINE: &str = "/derived/deadline_at_ms";
        let was_ms = self.time(name);
        let deadline = self.record(name).event.pointer(DEADLINE);
        if let Some(deadline_ms) = deadline.and_then(Value::as_u64) {
            self.set(name, DEADLINE, json!(deadline_ms + at_ms - was_ms));
        }
        self.at(name, at_ms)
    }

    /// Moves a record right before another, to its time, with the deadline that it opens.
    pub(crate) fn retimed_before(&mut self, name: u64, before: u64) -> &mut Story {
        let at_ms = self.time(before);
        self.retimed(name, at_ms).moved(name, before)
    }

    /// A notice is signed at the moment of its record.
    pub(crate) fn signed_when_recorded(&mut self, notice: u64) -> &mut Story {
        let at_ms = self.time(notice);
        let id = made_at(at_ms, &self.get(notice, "/envelope/id"));
        self.set(notice, "/envelope/id", id)
            .set(notice, "/envelope/created_ms", json!(at_ms))
    }

    /// Issues the notices of a record right before another.
    pub(crate) fn told_before(&mut self, cause: u64, before: u64) -> &mut Story {
        for notice in self.notices(cause) {
            self.moved(notice, before).signed_when_recorded(notice);
        }
        self
    }

    /// Moves a record and the notices of it right before another.
    pub(crate) fn moved_with_notices(&mut self, name: u64, before: u64) -> &mut Story {
        self.moved(name, before).told_before(name, before)
    }

    /// Issues notices like those of another record at the time of their cause, with these members, right before a
    /// record.
    pub(crate) fn told_like(
        &mut self,
        (like, cause): (u64, u64),
        before: u64,
        members: &[(&str, Value)],
    ) -> &mut Story {
        let (at_ms, stream) = (self.time(cause), self.stream(cause));
        for notice in self.notices(like) {
            let copy = self.again(notice, before);
            self.at(copy, at_ms).in_stream(copy, &stream);
            let id = unlike(&made_at(at_ms, &self.get(notice, "/envelope/id")), copy);
            self.set(copy, "/envelope/id", id)
                .set(copy, "/envelope/created_ms", json!(at_ms))
                .set(copy, "/cause", json!(cause))
                .say(copy, "cause_position", json!(cause));
            for (member, value) in members {
                self.say(copy, member, value.clone());
            }
            let written = self.record_mut(copy);
            let body = written.body.as_ref().unwrap();
            let mut message: Value = serde_json::from_slice(body).unwrap();
            message["nonce"] = unlike(&message["nonce"], copy);
            written.body = Some(to_canonical(&message));
        }
        self
    }

    /// Moves the record behind all others.
    pub(crate) fn moved_to_the_end(&mut self, name: u64) -> &mut Story {
        let index = self.index(name);
        let written = self.log.records.remove(index);
        let at_ms = self.log.records.last().unwrap().at_ms;
        self.log.records.push(Arc::new(Written {
            at_ms,
            ..Written::clone(&written)
        }));
        self
    }

    /// Tells both parties of a record that was put in, with its code, right before another; `related`
    /// is the message that it came after.
    pub(crate) fn told(&mut self, cause: u64, related: u64, before: u64) -> &mut Story {
        let code = self.get(cause, "/code");
        self.told_with(cause, (related, code), before)
    }

    /// The same of a record that names no code.
    pub(crate) fn told_with(
        &mut self,
        cause: u64,
        (related, code): (u64, Value),
        before: u64,
    ) -> &mut Story {
        let like = self.events("notice_issued")[0];
        let stream = self.record(cause).stream.clone();
        let request = self.names(|written| written.stream == stream)[0];
        let interaction = stream.strip_prefix("interaction:").unwrap();
        let related = self.get(related, "/envelope/id");
        for (party, number) in [("/envelope/from", 0), ("/envelope/to", 1)] {
            let mut notice = self.record(like).clone();
            let to = self.get(request, party);
            let mut message: Value = serde_json::from_slice(&notice.body.unwrap()).unwrap();
            let at_ms = self.time(before);
            let id = made_at(at_ms, &unlike(&message["id"], self.put_in * 2 + number));
            message["nonce"] = unlike(&message["nonce"], self.put_in * 2 + number);
            let known: Code = serde_json::from_value(code.clone()).unwrap();
            message["payload"] = json!({
                "code": code,
                "message": known.what_to_do(),
                "related_message_id": related,
                "interaction_id": interaction,
                "cause_position": cause,
            });
            let event = &mut notice.event;
            (event["to"], event["code"], event["cause"]) = (to.clone(), code.clone(), json!(cause));
            let envelope = &mut event["envelope"];
            (envelope["id"], envelope["to"]) = (id, to);
            envelope["created_ms"] = json!(at_ms);
            notice.body = Some(to_canonical(&message));
            notice.says_more = true;
            notice.stream.clone_from(&stream);
            self.put_written(before, Written { at_ms, ..notice });
        }
        self
    }

    /// The whole file, with everything that the ledger signs.
    pub(crate) fn sealed(&self) -> Vec<u8> {
        self.log.sealed().expect("it can be written")
    }

    /// The bundle of it that has the streams of that honest one.
    pub(crate) fn bundle(&self, honest: &[u8]) -> Vec<u8> {
        bundle_of(&self.sealed(), honest, &self.log.hand)
    }

    /// The key that an auditor has from elsewhere.
    pub(crate) fn trusted(&self) -> &NoteKey {
        &self.trusted
    }

    /// The ledger's secret key of that role.
    pub(crate) fn secret(&self, role: LedgerRole) -> &SecretKey {
        let keys = self.log.header().unwrap().opened.keys;
        self.log.hand.secret(&keys.of(role)).unwrap()
    }

    /// What the audit says of it.
    pub(crate) fn report(&self) -> Report {
        let options = Options {
            trust: Some(self.trusted.clone().into()),
            ..Options::default()
        };
        audit_export(&self.sealed()[..], options).unwrap()
    }

    /// Asserts that nobody finds that it is not true.
    #[track_caller]
    pub(crate) fn is_clean(&self) -> Report {
        let report = self.report();
        assert_eq!(report.verdict, Outcome::Clean, "{:#?}", report.findings);
        report
    }

    /// Asserts that the audit finds that it is not true.
    #[track_caller]
    pub(crate) fn is_found(&self) {
        assert_ne!(judge(&self.report()), Outcome::Clean, "nobody finds it");
    }
}

/// The same UUIDv7 of another time.
fn made_at(at_ms: u64, id: &Value) -> Value {
    let (time, id) = (format!("{at_ms:012x}"), id.as_str().unwrap());
    json!(format!("{}-{}{}", &time[..8], &time[8..], &id[13..]))
}

/// Another UUID that looks like this one.
fn unlike(id: &Value, number: u64) -> Value {
    let id = id.as_str().unwrap();
    json!(format!("{}{:08x}", &id[..28], number))
}
