//! What was due before the log's last record and is not in it: whoever holds the ledger's keys can
//! leave a record out and sign everything anew, but not without a gap in what time must have caused
//! (ledger-contract.md sections 1.3 and 5, design.md section 4).
//!
//! The sequencer ends every batch with the lapses that are due at its last moment, and a batch is
//! whole in the log or not there. So behind any record that it decided, no deadline before that
//! moment is still open, but for two reasons that a ledger may have: more were due than a batch may
//! hold, which shows in the lapses of the last moments; and the batch in which a ledger says that it
//! is up again, or what its keys and parameters are, which lapses nothing. Downtime and blindness
//! have moved the deadlines already, as the replay has them.
//!
//! Looks are not decided so. A look is answered only by a head that is fresh, younger than
//! `fresh_ms`, and as long as one younger than `blind_after_ms` is seen, nothing is recorded: heads
//! are seen, not recorded, and a watcher may fail to ask for one transaction while it answers for
//! others. A look that was never answered is counted, and proves nothing.

use std::collections::VecDeque;

use x811_protocol::event::{Event, Window};
use x811_protocol::id::InteractionId;
use x811_protocol::interaction::table::lapse_of;
use x811_protocol::interaction::{Schedule, State};
use x811_protocol::time::TimestampMs;

use super::auditor::Auditor;
use super::decision::KNOWN_RULES;
use super::finding::{Cause, Spot};
use crate::stream::Stream;
use crate::world::Live;

/// Fewer lapses than this at a time leave room for more in any batch.
const FEW_LAPSES: usize = 64;

/// What is missing, as the `field` of a finding.
const LAPSE: &str = "lapse";

/// How long a ledger may take for all that are due at a time.
const BACKLOG_MS: u64 = 60_000;

/// What of the records so far says how late a lapse may be.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns {
    /// When the last record was decided that the ledger did not make while it started.
    last_at: Option<TimestampMs>,
    /// When deadlines lapsed, within [`BACKLOG_MS`] of the last of them.
    lapses: VecDeque<TimestampMs>,
    /// When the ledger last said that it had been away.
    resumed_at: Option<TimestampMs>,
}

impl Turns {
    pub(super) fn note(&mut self, stream: Option<&Stream>, event: &Event, at: TimestampMs) {
        if matches!(stream, None | Some(Stream::Ledger | Stream::Roots)) {
            if matches!(event, Event::LedgerResumed(_)) {
                self.resumed_at = Some(at);
            }
            return;
        }
        self.last_at = Some(at);
        if matches!(event, Event::Lapsed(_)) {
            let old = at.saturating_sub_ms(BACKLOG_MS);
            while self.lapses.pop_front_if(|lapse| *lapse < old).is_some() {}
            self.lapses.push_back(at);
        }
    }

    /// The moment before which nothing may be due any more.
    fn nothing_due_before(&self) -> Option<TimestampMs> {
        let at = self.last_at?;
        let recent = at.saturating_sub_ms(BACKLOG_MS);
        let lapses = self.lapses.iter().filter(|lapse| **lapse >= recent);
        if lapses.count() < FEW_LAPSES {
            return Some(at);
        }
        // What parties signed is not moved by downtime, and all of it lapses after one.
        let is_up = self.resumed_at.is_none_or(|resumed| resumed < recent);
        is_up.then_some(recent)
    }
}

impl Auditor {
    /// Nothing follows: what time should have caused by now.
    pub(super) fn check_overdue(&mut self) {
        let world = self.replay.world();
        let rules_are_known = world.identity().is_some() && world.rules_version() == KNOWN_RULES;
        let Some(moment) = self.turns.nothing_due_before().filter(|_| rules_are_known) else {
            return;
        };
        // Without every word on downtime, nobody can say what was due.
        if !self.replay.knows(&Stream::Ledger) {
            return;
        }
        let due: Vec<InteractionId> = world.due(moment).collect();
        let end = self.end();
        for id in due {
            let Some(live) = self.replay.world().interaction(id).cloned() else {
                continue;
            };
            if self.knows(id)
                && self.sees_networks_of(&live)
                && let Some(deadline) = live.state.deadline()
            {
                let spot = Spot {
                    stream: Some(Stream::Interaction(id).to_string().into()),
                    ..end.clone()
                };
                let sentence = format!(
                    "{} of interaction {id} ended at {}; records until {} are here, and {} is not: \
                     it was left out, or never recorded",
                    window_of(&live.state),
                    deadline.to_rfc3339(),
                    moment.to_rfc3339(),
                    due_of(&live.state)
                );
                self.findings.add(&spot, LAPSE, Cause::Missing, sentence);
            }
        }
        self.looks_overdue = self.looks_due(moment);
    }

    /// Whether every word on blindness is there that moves the interaction's windows.
    fn sees_networks_of(&self, live: &Live) -> bool {
        let networks = live.state.opening().parameters.networks.iter();
        let mut streams = networks.map(|network| Stream::Network(network.name.clone()));
        streams.all(|stream| self.replay.knows(&stream))
    }

    /// Looks that nobody has answered.
    fn looks_due(&self, moment: TimestampMs) -> u64 {
        let live = self.replay.world().interactions().map(|(_, live)| live);
        let overdue = live.filter(|live| {
            let settlement = live.state.settlement();
            let running = settlement.filter(|settlement| settlement.paused_since.is_none());
            running.is_some_and(
                |settlement| matches!(settlement.schedule, Schedule::Look { due, .. } if due < moment),
            )
        });
        overdue.count() as u64
    }
}

/// What is open in that state.
fn window_of(state: &State) -> &'static str {
    match state.open_window() {
        Some(Window::Offer) => "the window for an OFFER",
        Some(Window::Accept) => "the window for an ACCEPT",
        Some(Window::Result) => "the window for a RESULT",
        Some(Window::Verify) => "the window for a VERIFY",
        Some(Window::Payment) => "the window for a PAYMENT",
        Some(Window::Confirmation) => "the window for the confirmation",
        None => "a window",
    }
}

/// What time causes in that state.
fn due_of(state: &State) -> String {
    let is_free = state.offer().is_some_and(|offer| offer.total.is_zero());
    match state.open_window() {
        Some(Window::Confirmation) if is_free => "the confirmation that nothing is due".to_owned(),
        Some(window) => format!("its lapse ({})", lapse_of(window).code.as_str()),
        None => "its lapse".to_owned(),
    }
}
