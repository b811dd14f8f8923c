//! How the demo tells what happens: one aligned line for each thing, for a newcomer.

use std::cell::RefCell;
use x811_client::http::Accepted;
use x811_console::output::{Out, Tone};
use x811_protocol::interaction::StateName;

/// Characters of a hash that are shown.
const HASH_CHARS: usize = 12;

/// Tells the story, or keeps quiet when only the summary is wanted.
pub(super) struct Story<'a> {
    out: RefCell<&'a mut Out>,
    quiet: bool,
}

impl<'a> Story<'a> {
    pub(super) fn new(out: &'a mut Out, quiet: bool) -> Story<'a> {
        Story {
            out: RefCell::new(out),
            quiet,
        }
    }

    /// A line as it is.
    pub(super) fn line(&self, text: &str) {
        if !self.quiet {
            self.out.borrow_mut().line(text);
        }
    }

    /// The heading of an act.
    pub(super) fn heading(&self, text: &str) {
        if !self.quiet {
            let mut out = self.out.borrow_mut();
            out.gap();
            out.heading(Tone::Plain, text);
        }
    }

    /// A name and what is to be known of it.
    pub(super) fn fact(&self, name: &str, value: &str) {
        self.line(&format!("  {name:<13}{value}"));
    }

    /// A message that was accepted: who to whom, states, place in the log.
    pub(super) fn message(
        &self,
        name: &str,
        between: &str,
        before: Option<StateName>,
        accepted: &Accepted,
    ) {
        let before = before.map_or("none", StateName::as_str);
        let after = accepted.state.as_deref().unwrap_or_default();
        self.step(name, between, &format!("{before} → {after}"), accepted);
    }

    /// Something that was accepted: who to whom, what it says, place in the log.
    pub(super) fn step(&self, name: &str, between: &str, says: &str, accepted: &Accepted) {
        let hash: String = accepted
            .record_hash
            .to_string()
            .chars()
            .take(HASH_CHARS)
            .collect();
        self.line(&format!(
            "  {name:<13}{between:<14}{says:<24}position {:<5}record {hash}…",
            accepted.position
        ));
    }
}
