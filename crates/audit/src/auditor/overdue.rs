//! Asks at the end what time should have caused.

use super::Auditor;
use crate::report::outcome::{Gap, Undecided};
use x811_protocol::capability::session;
use x811_protocol::code::Code;
use x811_protocol::contract;
use x811_protocol::event::{ContractWindow, SessionWindow, Window};
use x811_protocol::interaction::table::lapse_of;
use x811_protocol::interaction::{Schedule, State};
use x811_protocol::round::{self, RoundWindow};
use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;
use x811_world::Live;

impl Auditor {
    /// Nothing follows: what time should have caused by now and is not here.
    pub(crate) fn overdue(&self) -> Vec<Undecided> {
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
    pub(crate) fn window_of(&self, subject: Subject) -> Option<(&'static str, String)> {
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

/// How long before the last record a deadline may have passed, a notice been owed and a look been due
/// without anybody missing what follows (ledger-contract.md section 9).
const LAPSE_GRACE_MS: u64 = 5_000;

const NOTICE_GRACE_MS: u64 = 60_000;

const LOOK_GRACE_MS: u64 = 120_000;

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
