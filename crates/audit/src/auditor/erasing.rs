//! Records that erased bodies, and whether they might be.

use x811_protocol::stream::{Stream, Subject};
use x811_protocol::time::TimestampMs;

use super::Auditor;
use crate::decision::ordered;
use crate::finding::findings::{Cause, Findings};
use crate::finding::unchecked::Unchecked;
use crate::record::examine::Whole;
use x811_protocol::event::{Event, LedgerEvent};
use x811_world::erasure;

impl Auditor {
    /// Holds a record that erased bodies against them, and against the world before it.
    pub(crate) fn check_erasure(&mut self, whole: &Whole, at: TimestampMs) {
        let Event::Ledger(LedgerEvent::BodiesErased(erased)) = &whole.event else {
            return;
        };
        let bodies = self.erased.take(&whole.record, erased, &self.rows);
        let mut findings = Findings::default();
        let operator = erased.operator;
        if self.extract.is_some() {
            findings.leave(Unchecked::Operators, 1);
        } else if self.replay.knows(&Stream::Agent(operator))
            && erasure::check_operator(self.world(), operator, at).is_err()
        {
            let sentence = "whoever had bodies erased was no active agent of the ledger then";
            findings.add(&whole.spot, "operator", Cause::ReDecisionDiffers, sentence);
        }
        let is_known = self.replay.knows(&Stream::Agent(operator));
        let operator = self.world().agent(operator).filter(|_| is_known);
        let operator = operator.map(|agent| &**agent);
        let verdict = ordered::judge(&whole.spot, erased, operator, at, &mut findings);
        self.erasures.count(verdict);
        let ordered = erased.order.as_ref().map(|order| order.subject);
        for (position, body) in bodies {
            if self.extract.is_some() && !self.rows.holds(position) {
                findings.leave(Unchecked::ErasuresElsewhere, 1);
                continue;
            }
            body.is_of(ordered, position, &whole.spot, &mut findings);
            let may = |subject| self.may_erase(subject, at);
            body.check(position, &whole.spot, may, &mut findings);
        }
        self.findings.extend(findings);
    }

    /// Whether bodies of a subject might be erased at `at`, as far as the records before show: it is over, and so
    /// is the subject that it opened.
    fn may_erase(&self, subject: Subject, at: TimestampMs) -> bool {
        let opened = self.rows.opened_by(subject);
        let mut both = [Some(subject), opened].into_iter().flatten();
        both.all(|subject| self.may_erase_own(subject, at))
    }

    /// The same of that subject alone.
    fn may_erase_own(&self, subject: Subject, at: TimestampMs) -> bool {
        let world = self.world();
        let is_over = match &self.extract {
            // When it was watched no longer, a record of another stream may have shown.
            Some(_) => world.opened_at(subject).is_none(),
            None => erasure::check_over(world, subject, at).is_ok(),
        };
        let interaction = subject.interaction();
        let is_disputed = interaction.is_some_and(|id| self.rows.is_disputed(id));
        erasure::is_ever_erased(subject)
            && (!self.knows_subject(subject) || (is_over && !is_disputed))
    }
}
