//! What was due before the log's last record and is not in it: whoever holds the ledger's keys can
//! leave a record out and sign everything anew, but not without a gap in what time must have caused
//! (ledger-contract.md sections 1.3 and 5, design.md section 4).
//!
//! The sequencer records the lapses that are due before it decides anything and at the end of every batch,
//! and a batch is whole in the log or not there. So at the end no deadline before the last decision is
//! still open, but for two reasons that a ledger may have: more were due than a batch may
//! hold, which shows in the lapses of the last moments; and the batch in which a ledger says that it
//! is up again, or what its keys and parameters are, which lapses nothing. Downtime and blindness
//! have moved the deadlines already, as the replay has them. In a whole log [`super::late_lapse`] names
//! the decision before which the lapse is missing, too.
//!
//! Looks are not decided so. A look is answered only by a head that is fresh, younger than
//! `fresh_ms`, and as long as one younger than `blind_after_ms` is seen, nothing is recorded: heads
//! are seen, not recorded, and a watcher may fail to ask for one transaction while it answers for
//! others.
//!
//! What is due longer than its grace leaves an audit *incomplete*, not *broken* (section 9): the log
//! may have been copied there, or its ledger may have been slow.

use std::collections::VecDeque;

use x811_protocol::capability::session;
use x811_protocol::code::Code;
use x811_protocol::contract;
use x811_protocol::event::{ContractWindow, Event, LedgerEvent, SessionWindow, Window};
use x811_protocol::interaction::table::lapse_of;
use x811_protocol::interaction::{Schedule, State};
use x811_protocol::round::{self, RoundWindow};
use x811_protocol::time::TimestampMs;

use super::auditor::Auditor;
use super::outcome::{Gap, Undecided};
use crate::world::Live;
use x811_protocol::stream::{Stream, Subject};

/// Fewer lapses than this at a time leave room for more in any batch.
const FEW_LAPSES: usize = 64;

/// How long before the last record a deadline may have passed, a notice been owed and a look been due
/// without anybody missing what follows (ledger-contract.md section 9).
const LAPSE_GRACE_MS: u64 = 5_000;
const NOTICE_GRACE_MS: u64 = 60_000;
const LOOK_GRACE_MS: u64 = 120_000;

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
            if matches!(event, Event::Ledger(LedgerEvent::Resumed(_))) {
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
    /// Nothing follows: what time should have caused by now and is not here.
    pub(super) fn overdue(&self) -> Vec<Undecided> {
        let world = self.replay.world();
        if !self.knows_rules() || world.identity().is_none() {
            return Vec::new();
        }
        let end = self.last_at();
        let notice_moment = end.saturating_sub_ms(NOTICE_GRACE_MS);
        let (notices, first) = self.owing.before(notice_moment);
        let notices = Undecided::of(
            Gap::OverdueNotices,
            notices,
            format!(
                "{notices} notices were owed to parties for more than {} s and are not here; the \
                 first tells of the record at position {first}: they were left out, or the ledger \
                 did not issue them",
                NOTICE_GRACE_MS / 1_000
            ),
        );
        let mut undecided: Vec<Undecided> = notices.into_iter().collect();
        let effects = self.effects.due();
        let sentence = format!(
            "{effects} effects of the last record on other streams are not here: the log ends between \
             a cause and its effects, which are recorded together"
        );
        undecided.extend(Undecided::of(Gap::MissingEffects, effects, sentence));
        // Without every word on downtime, nobody can say what else was due.
        if let Some(moment) = self.turns.nothing_due_before()
            && self.replay.knows(&Stream::Ledger)
        {
            undecided.extend(self.lapses_due(moment.min(end.saturating_sub_ms(LAPSE_GRACE_MS))));
            undecided.extend(self.looks_due(moment.min(end.saturating_sub_ms(LOOK_GRACE_MS))));
        }
        undecided
    }

    /// Windows that ended before `moment` and whose lapse is not here.
    fn lapses_due(&self, moment: TimestampMs) -> Option<Undecided> {
        let world = self.replay.world();
        let due = world.due(moment);
        let mut missing =
            due.filter(|subject| self.knows_subject(*subject) && self.sees_clocks_of(*subject));
        let subject = missing.next()?;
        let count = 1 + missing.count() as u64;
        let (window, due) = self.window_of(subject)?;
        let sentence = format!(
            "{window} of {} {} ended at {}; records until {} are here, and {due} is not: it was \
             left out, or never recorded. So of {count} windows",
            subject.kind(),
            subject.public_id(),
            world.deadline_of(subject)?.to_rfc3339(),
            self.last_at().to_rfc3339(),
        );
        Undecided::of(Gap::OverdueLapses, count, sentence)
    }

    /// The window that is open of a subject, and what time causes in it.
    pub(super) fn window_of(&self, subject: Subject) -> Option<(&'static str, String)> {
        let world = self.replay.world();
        match subject {
            Subject::Interaction(id) => {
                let state = &world.interaction(id)?.state;
                Some((window_of(state), due_of(state)))
            }
            Subject::Contract(id) => contract_window(&world.contract(id)?.state),
            Subject::Session(id) => session_window(&world.session(id)?.state),
            Subject::Agreement(_) => Some((
                "the duration",
                format!("its lapse ({})", Code::AgreementEnded.as_str()),
            )),
            Subject::Round(id) => round_window(&world.round(id)?.state),
            // It has no window.
            Subject::Descriptor(_) | Subject::Conduct(_) => None,
        }
    }

    /// Whether all that the log says of that subject was replayed.
    fn knows_subject(&self, subject: Subject) -> bool {
        match subject.interaction() {
            Some(id) => self.knows(id),
            None => self.replay.knows(&Stream::Of(subject)),
        }
    }

    /// Whether every word is there that moves the windows of that subject, besides downtime's.
    fn sees_clocks_of(&self, subject: Subject) -> bool {
        let Some(id) = subject.interaction() else {
            return true;
        };
        let live = self.world().interaction(id);
        live.is_none_or(|live| self.sees_networks_of(live))
    }

    /// Whether every word on blindness is there that moves the interaction's windows.
    fn sees_networks_of(&self, live: &Live) -> bool {
        let networks = live.state.opening().parameters.networks.iter();
        let mut streams = networks.map(|network| Stream::Network(network.name.clone()));
        streams.all(|stream| self.replay.knows(&stream))
    }

    /// Looks that were due before `moment` and that nobody has answered.
    fn looks_due(&self, moment: TimestampMs) -> Option<Undecided> {
        let live = self.replay.world().interactions().map(|(_, live)| live);
        let overdue = live.filter(|live| {
            let settlement = live.state.settlement();
            let running = settlement.filter(|settlement| settlement.paused_since.is_none());
            running.is_some_and(
                |settlement| matches!(settlement.schedule, Schedule::Look { due, .. } if due < moment),
            )
        });
        let count = overdue.count() as u64;
        let sentence = format!(
            "{count} looks for a payment were due for more than {} s and no record answers them: they \
             were left out, or the network showed no fresh head, which no record says",
            LOOK_GRACE_MS / 1_000
        );
        Undecided::of(Gap::OverdueLooks, count, sentence)
    }
}

/// What is open in that state of a negotiation, and what time causes in it.
fn contract_window(state: &contract::State) -> Option<(&'static str, String)> {
    let rule = contract::table::lapse_of(state.open_window()?);
    let window = match rule.window {
        ContractWindow::Contract => "the time to answer the terms",
        ContractWindow::Engagement => "the window for a REQUEST",
    };
    Some((window, format!("its lapse ({})", rule.code.as_str())))
}

/// What is open in that state of a round, and what time causes in it.
fn round_window(state: &round::State) -> Option<(&'static str, String)> {
    let (window, _) = state.next_window()?;
    let name = match window {
        RoundWindow::Open => "the time for opening it",
        RoundWindow::Votes => "the time for votes",
        RoundWindow::Reveals => "the time for reveals",
        RoundWindow::Hold => "the time that it is held",
        RoundWindow::Draw => "the time for the draw",
        RoundWindow::Signal => "the time for the leader's signal",
        RoundWindow::Resubmission => "the time for a retry",
        RoundWindow::Human => "the time for humans",
        RoundWindow::Execution => "the time for reports",
    };
    Some((name, format!("its lapse ({})", window.code().as_str())))
}

/// What is open in that state of a session, and what time causes in it.
fn session_window(state: &session::State) -> Option<(&'static str, String)> {
    let window = state.state.window()?;
    let (code, _) = session::table::lapse_of(window);
    let window = match window {
        SessionWindow::Response => "the window for a response",
        SessionWindow::Session => "the life",
        SessionWindow::Agree => "the window for signatures",
    };
    Some((window, format!("its lapse ({})", code.as_str())))
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
