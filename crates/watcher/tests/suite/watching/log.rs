//! The lines that a watcher writes to the log.

#![expect(clippy::unwrap_used, reason = "a harness stops the test at once")]

use std::fmt;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Level, Metadata, Subscriber};

/// Level and message of each line, from `INFO` up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<(Level, String)>>>);

impl Log {
    /// Records the lines of this thread until the guard is dropped.
    pub(crate) fn start() -> (Log, DefaultGuard) {
        let log = Log::default();
        let guard = set_default(log.clone());
        (log, guard)
    }

    /// Levels of the lines whose message contains `words`.
    pub(crate) fn levels_of(&self, words: &str) -> Vec<Level> {
        let lines = self.0.lock().unwrap();
        let found = lines.iter().filter(|(_, message)| message.contains(words));
        found.map(|(level, _)| *level).collect()
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        let line = (*event.metadata().level(), message.0);
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}
