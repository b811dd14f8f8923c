//! Effects of records on other streams, computed again: they stand directly behind their cause, those
//! and no others (machines.md section 4).

use x811_protocol::event::{Effect, Event};
use x811_protocol::round::{EscalationReason, Outcome, Reason, RoundDecided, RoundEscalated};
use x811_protocol::stream::{Stream, Subject};

use crate::finding::findings::{Cause, Findings, Spot};
use crate::finding::unchecked::Unchecked;
use x811_world::World;
use x811_world::policies;

/// Effects that are due next.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effects {
    /// The next one last.
    due: Vec<(Stream, Event)>,
    /// Position of the last record.
    last: u64,
}

impl Effects {
    /// Holds a record to what is due. An extract brings the streams of its interaction's effects, so
    /// they are due there too; whether the cause of an effect is left out is not known there.
    pub(crate) fn check(
        &mut self,
        spot: &Spot,
        stream: &Stream,
        event: &Event,
        is_extract: bool,
        findings: &mut Findings,
    ) {
        let has_gap = spot.position != self.last + 1;
        self.last = spot.position;
        if matches!(event, Event::StateRoot(_)) {
            return;
        }
        let is_due = self
            .due
            .pop_if(|(due_in, due)| (&*due_in, &*due) == (stream, event))
            .is_some();
        if is_due {
            let rests_on_rivals = is_extract && is_commit(event);
            findings.leave(Unchecked::RivalProposals, u64::from(rests_on_rivals));
            return;
        }
        if is_extract && self.is_superseded(stream, event) {
            findings.leave(Unchecked::RivalProposals, 1);
            return;
        }
        if is_extract && self.is_lacking(stream, event) {
            return;
        }
        if is_extract {
            self.pass_held(findings);
        }
        self.missing(spot, findings);
        let Event::Effect(effect) = event else {
            return;
        };
        if is_extract && has_gap && effect.may_be_caused_elsewhere() {
            findings.leave(Unchecked::EffectsElsewhere, 1);
            return;
        }
        findings.add(
            spot,
            "event",
            Cause::ReDecisionDiffers,
            format!(
                "nothing in the record at position {} causes it",
                effect.cause()
            ),
        );
    }

    /// Whether it is the decision that is due, but for a rival that is not here; then it is taken.
    fn is_superseded(&mut self, stream: &Stream, event: &Event) -> bool {
        let Event::Effect(Effect::RoundDecided(decided)) = event else {
            return false;
        };
        let due = [Reason::Accepted, Reason::LeaderDecision].map(|reason| {
            Event::Effect(Effect::RoundDecided(RoundDecided {
                outcome: Outcome::Commit,
                reason,
                winner: None,
                ..*decided
            }))
        });
        let is_due = |next: &mut (Stream, Event)| next.0 == *stream && due.contains(&next.1);
        decided.reason == Reason::Superseded
            && decided.winner.is_some()
            && self.due.pop_if(is_due).is_some()
    }

    /// Whether it escalates a round that failed as another one did that is not here. The world has taken it,
    /// so that it stands where it would be due ([`x811_protocol::round::assumed`]); it stands in place of the
    /// escalation for want of a retry, where that is due. That the other one failed is the ledger's word,
    /// counted with the decision.
    fn is_lacking(&mut self, stream: &Stream, event: &Event) -> bool {
        let Event::Effect(Effect::RoundEscalated(escalated)) = event else {
            return false;
        };
        let is_known = self.due.iter().any(|(due_in, due)| {
            let Event::Effect(Effect::RoundEscalated(due)) = due else {
                return false;
            };
            due_in == stream && due.reason == EscalationReason::Deadlock
        });
        if escalated.reason != EscalationReason::Deadlock || is_known {
            return false;
        }
        let retries = Event::Effect(Effect::RoundEscalated(RoundEscalated {
            reason: EscalationReason::Retries,
            ..*escalated
        }));
        self.due.pop_if(|due| due.0 == *stream && due.1 == retries);
        true
    }

    /// A round may be held for rivals that are not here: then its decision does not follow.
    fn pass_held(&mut self, findings: &mut Findings) {
        let due = self.due.len();
        self.due.retain(|(_, due)| !is_commit(due));
        findings.leave(Unchecked::RivalProposals, (due - self.due.len()) as u64);
    }

    /// Takes what follows from a record that was applied; `after` is the world with it. What else an agent
    /// broke is no business of who reads an extract, so no extract brings streams of conduct along: how
    /// many effects in them are left unchecked.
    pub(crate) fn note(
        &mut self,
        after: &World,
        position: u64,
        (stream, event): (&Stream, &Event),
        is_extract: bool,
    ) -> u64 {
        let mut effects = policies::follow(after, position, stream, event);
        let all = effects.len();
        let is_elsewhere = |due_in: &Stream| {
            is_extract && due_in != stream && matches!(due_in, Stream::Of(Subject::Conduct(_)))
        };
        effects.retain(|(due_in, _)| !is_elsewhere(due_in));
        let left = all - effects.len();
        self.due.extend(effects.into_iter().rev());
        left as u64
    }

    /// Of a bundle: whether a record decides a round that may be the second in a row to fail for lack of the
    /// same voters. The first one need not be here: whether humans are asked is the ledger's word then.
    pub(crate) fn rests_on_others(after: &World, stream: &Stream, event: &Event) -> bool {
        let Stream::Of(Subject::Round(id)) = stream else {
            return false;
        };
        let live = after.latest_round(*id);
        matches!(event, Event::Effect(Effect::RoundDecided(_)))
            && live.is_some_and(|live| live.state.may_lack_as_another())
    }

    /// How many are due and would have to follow the last record.
    pub(crate) fn due(&self) -> u64 {
        self.due.len() as u64
    }

    /// Names what is due and does not follow, at the record that follows instead.
    fn missing(&mut self, spot: &Spot, findings: &mut Findings) {
        for (stream, event) in self.due.drain(..).rev() {
            let Event::Effect(effect) = &event else {
                continue;
            };
            let cause = effect_of(effect);
            findings.add(
                spot,
                "event",
                Cause::ReDecisionDiffers,
                format!("{cause} in the stream {stream} is due here and is missing"),
            );
        }
    }
}

/// Whether it is a decision of a round that an open rival would have held back or superseded.
fn is_commit(event: &Event) -> bool {
    matches!(event, Event::Effect(Effect::RoundDecided(decided)) if decided.outcome == Outcome::Commit)
}

fn effect_of(effect: &Effect) -> String {
    format!(
        "the effect `{}` of the record at position {}",
        effect.type_name(),
        effect.cause()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use x811_protocol::event::{Engaged, LedgerEvent, LedgerResumed};
    use x811_protocol::id::{ContractId, EnvelopeId, InteractionId};

    fn engaged() -> (Stream, Event) {
        let envelope = EnvelopeId::from_parts(1, &[1; 10]);
        let engaged = Effect::Engaged(Engaged {
            cause: 4,
            interaction: InteractionId::from(envelope),
        });
        let contract = Subject::Contract(ContractId::from(envelope));
        (Stream::Of(contract), Event::Effect(engaged))
    }

    /// What a record at 9 is found to be, behind a REQUEST at 4 that engages a contract.
    fn found(stream: &Stream, event: &Event, is_extract: bool) -> usize {
        let mut effects = Effects {
            due: vec![engaged()],
            last: 4,
        };
        let (mut findings, position) = (Findings::default(), 9);
        let spot = Spot::at(position);
        effects.check(&spot, stream, event, is_extract, &mut findings);
        findings.list().len()
    }

    /// The operator leaves `engaged` out, so that a second REQUEST finds the contract unused: a bundle has
    /// the contract's whole stream, and no gap in it hides that.
    #[test]
    fn xn_9_an_effect_left_out_is_named_in_logs_and_bundles() {
        let resumed = Event::Ledger(LedgerEvent::Resumed(LedgerResumed {
            gap_ms: 1,
            checkpoint_adopted: false,
        }));
        for is_extract in [false, true] {
            assert_eq!(found(&Stream::Ledger, &resumed, is_extract), 1);
            let (stream, event) = engaged();
            assert_eq!(found(&stream, &event, is_extract), 0, "it is there");
        }
    }
}
