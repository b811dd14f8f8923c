//! The streams of the double, and the server's rules for them.
//!
//! - A wrong expected revision is an answer, not a failure. The same events at the same revision
//!   are stored once; their payload is not compared.
//! - The newest event of `$$NAME` is the metadata of `NAME`. `$maxCount` and `$tb` hide events at
//!   once. A scavenge removes hidden events, and always keeps the last event.
//! - A soft delete replaces the metadata, access rights included, by `$tb` at its greatest value.
//!   The next append goes on at the old revision and ends the delete. So does the next change of the
//!   metadata. Both set `$tb` to the number of events: deleted events stay hidden until the metadata
//!   changes once more.
//! - A tombstone is for ever.

use serde_json::{Value, json};

use super::double::State;
use super::proto::{ReadOptions, RevisionOption};

/// `$tb` after a soft delete.
const DELETED: u64 = i64::MAX.unsigned_abs();

/// An event to be stored: its id and its payload.
pub(super) type Event = ([u8; 16], Vec<u8>);

/// An event as it is stored.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) id: [u8; 16],
    pub(super) revision: u64,
    pub(super) data: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    events: Vec<Stored>,
    next_revision: u64,
    is_tombstoned: bool,
}

/// The end of a stream that an append expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Any,
    NoStream,
    Revision(u64),
}

/// The outcome of an append.
#[derive(Debug)]
pub(super) enum Appended {
    /// Stored, now or before. The last event has this revision.
    Stored(u64),
    WrongRevision,
    Tombstoned,
}

/// The outcome of a read.
#[derive(Debug)]
pub(super) enum Page {
    Events {
        events: Vec<Stored>,
        /// Revision of the last event of the stream.
        last: u64,
    },
    NotFound,
    Tombstoned,
    /// The first revision is no signed number of 64 bits.
    Uncountable,
}

impl State {
    fn stream(&mut self, name: &str) -> &mut Stream {
        self.streams.entry(name.to_owned()).or_default()
    }

    /// Returns the payloads of a stream, hidden ones included.
    pub(super) fn payloads(&self, name: &str) -> Vec<Vec<u8>> {
        let events = self.streams[name].events.iter();
        events.map(|event| event.data.clone()).collect()
    }

    /// Takes one event out of a stream, as a limit on its age does.
    pub(super) fn forget(&mut self, name: &str, revision: u64) {
        let stream = self.stream(name);
        stream.events.retain(|event| event.revision != revision);
    }

    /// Changes an event of a stream in its place.
    pub(super) fn replace(&mut self, name: &str, revision: u64, data: Vec<u8>) {
        let events = &mut self.stream(name).events;
        let event = events.iter_mut().find(|event| event.revision == revision);
        event.unwrap().data = data;
    }

    /// Puts an event at the end of a stream, past all rules.
    pub(super) fn put(&mut self, name: &str, data: Vec<u8>) {
        self.stream(name).push([0; 16], data);
    }

    /// Returns the metadata of a stream, or null.
    pub(super) fn metadata(&self, name: &str) -> Value {
        let events = self.streams.get(&metadata_of(name));
        let newest = events.and_then(|stream| stream.events.last());
        let metadata = newest.and_then(|event| serde_json::from_slice(&event.data).ok());
        metadata.unwrap_or_default()
    }

    /// Changes the metadata of a stream as an administrator does.
    pub(super) fn set_metadata(&mut self, name: &str, metadata: &str) {
        let was_deleted = self.is_soft_deleted(name);
        self.put(&metadata_of(name), metadata.as_bytes().to_vec());
        if was_deleted {
            let size = self.stream(name).next_revision;
            self.hide_before(name, size);
        }
    }

    /// Shows all events of a stream again. After a soft delete this takes two changes.
    pub(super) fn clear_metadata(&mut self, name: &str) {
        self.set_metadata(name, "{}");
        self.set_metadata(name, "{}");
    }

    /// Deletes a stream so that it can be written to again.
    pub(super) fn soft_delete(&mut self, name: &str) {
        let metadata = json!({ "$tb": DELETED }).to_string();
        self.put(&metadata_of(name), metadata.into_bytes());
    }

    /// Deletes a stream for ever.
    pub(super) fn tombstone(&mut self, name: &str) {
        self.stream(name).is_tombstoned = true;
    }

    /// Removes all hidden events.
    pub(super) fn scavenge(&mut self) {
        let names: Vec<String> = self.streams.keys().cloned().collect();
        for name in names {
            let (shown, is_gone) = (self.first_shown(&name), self.is_tombstoned(&name));
            let events = &mut self.stream(&name).events;
            let last = events.last().map(|event| event.revision);
            events.retain(|event| {
                !is_gone && (event.revision >= shown || Some(event.revision) == last)
            });
        }
    }

    fn is_soft_deleted(&self, name: &str) -> bool {
        let metadata = self.metadata(name);
        metadata.get("$tb").and_then(Value::as_u64) == Some(DELETED)
    }

    /// Returns true if a stream, or the one whose metadata it is, was deleted for ever.
    fn is_tombstoned(&self, name: &str) -> bool {
        let original = name.strip_prefix("$$").unwrap_or(name);
        let stream = self.streams.get(original);
        stream.is_some_and(|stream| stream.is_tombstoned)
    }

    /// Returns the first revision of a stream that is shown.
    fn first_shown(&self, name: &str) -> u64 {
        let stream = self.streams.get(name);
        let size = stream.map_or(0, |stream| stream.next_revision);
        if name.starts_with("$$") {
            return size.saturating_sub(1);
        }
        let metadata = self.metadata(name);
        let number = |member: &str| metadata.get(member).and_then(Value::as_u64);
        let by_count = number("$maxCount").map_or(0, |count| size.saturating_sub(count));
        by_count.max(number("$tb").unwrap_or(0))
    }

    /// Sets `$tb` and keeps the other members of the metadata.
    fn hide_before(&mut self, name: &str, revision: u64) {
        let mut metadata = self.metadata(name);
        metadata["$tb"] = json!(revision);
        self.put(&metadata_of(name), metadata.to_string().into_bytes());
    }

    pub(super) fn read(&self, options: &ReadOptions) -> Page {
        let asked = options.stream.as_ref().unwrap();
        let name = asked.stream_identifier.as_ref().unwrap().name();
        let is_forwards = options.read_direction == 0;
        let from = match asked.revision_option {
            Some(RevisionOption::End(_) | RevisionOption::Revision(u64::MAX)) => None,
            Some(RevisionOption::Revision(from)) => Some(from),
            Some(RevisionOption::Start(_)) | None => Some(0),
        };
        match from {
            None if is_forwards => return Page::Uncountable,
            Some(from) if i64::try_from(from).is_err() => return Page::Uncountable,
            None | Some(_) => {}
        }
        if self.is_tombstoned(name) {
            return Page::Tombstoned;
        }
        let Some(stream) = self.streams.get(name) else {
            return Page::NotFound;
        };
        let Some(last) = stream.events.last() else {
            return Page::NotFound;
        };
        if self.is_soft_deleted(name) {
            return Page::NotFound;
        }
        let count = usize::try_from(options.count.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let shown = &stream.events[stream.before(self.first_shown(name))..];
        let events = if is_forwards {
            let before = shown.partition_point(|event| Some(event.revision) < from);
            shown[before..].iter().take(count).cloned().collect()
        } else {
            let is_wanted = |event: &Stored| from.is_none_or(|from| event.revision <= from);
            let wanted = shown.partition_point(is_wanted);
            shown[..wanted].iter().rev().take(count).cloned().collect()
        };
        let last = last.revision;
        Page::Events { events, last }
    }

    pub(super) fn append(&mut self, name: &str, expected: Expected, events: &[Event]) -> Appended {
        assert!(!events.is_empty(), "the ledger appends at least one event");
        if self.is_tombstoned(name) {
            return Appended::Tombstoned;
        }
        let is_deleted = self.is_soft_deleted(name);
        let original = name.strip_prefix("$$").map(ToOwned::to_owned);
        let deleted_original = original.filter(|original| self.is_soft_deleted(original));
        let stream = self.stream(name);
        let size = stream.next_revision;
        let first = match expected {
            Expected::Any => size,
            Expected::NoStream => 0,
            Expected::Revision(last) => last.saturating_add(1),
        };
        if first < size && stream.has(first, events) {
            return Appended::Stored(first + events.len() as u64 - 1);
        }
        let goes_on = is_deleted && expected == Expected::NoStream;
        if first != size && !goes_on {
            return Appended::WrongRevision;
        }
        for (id, data) in events {
            stream.push(*id, data.clone());
        }
        let last = stream.next_revision - 1;
        self.stored_appends += 1;
        if is_deleted {
            self.hide_before(name, size);
        }
        if let Some(original) = deleted_original {
            let size = self.stream(&original).next_revision;
            self.hide_before(&original, size);
        }
        Appended::Stored(last)
    }
}

impl Stream {
    fn push(&mut self, id: [u8; 16], data: Vec<u8>) {
        let revision = self.next_revision;
        self.events.push(Stored { id, revision, data });
        self.next_revision += 1;
    }

    /// Returns how many of its events are before `revision`.
    fn before(&self, revision: u64) -> usize {
        self.events
            .partition_point(|event| event.revision < revision)
    }

    /// Returns true if these very events are stored from `first` on.
    fn has(&self, first: u64, events: &[Event]) -> bool {
        let stored = self.events[self.before(first)..].iter().take(events.len());
        let meant = (first..).zip(events.iter().map(|(id, _)| *id));
        stored.map(|event| (event.revision, event.id)).eq(meant)
    }
}

/// Returns the name of the stream with the metadata of another one.
fn metadata_of(name: &str) -> String {
    format!("$${name}")
}
