//! Asks at the end what time should have caused.

use super::Auditor;
use crate::report::outcome::{Gap, Undecided};
use x811_protocol::interaction::Schedule;
use x811_protocol::machine::WindowEnd;
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
        let window = world.window_of(subject)?;
        let (name, due) = (window.name, due_of(window.end));
        let sentence = format!(
            "{name} of {} {} ended at {}; records until {} are here, and {due} is not: it was \
             left out, or never recorded. So of {count} windows",
            subject.kind(),
            subject.public_id(),
            window.ends_at.to_rfc3339(),
            self.last_at().to_rfc3339(),
        );
        Undecided::of(Gap::OverdueLapses, count, sentence)
    }

    /// Whether all that the log says of that subject was replayed.
    pub(super) fn knows_subject(&self, subject: Subject) -> bool {
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

/// What the end of a window causes, as sentences name it.
pub(super) fn due_of(end: WindowEnd) -> String {
    match end {
        WindowEnd::Lapse(lapsed) => format!("its lapse ({})", lapsed.code.as_str()),
        WindowEnd::NothingDue => "the confirmation that nothing is due".to_owned(),
    }
}
