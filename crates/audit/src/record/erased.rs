//! Bodies that are not there: which of them a record erased, and whether it might.

use std::collections::{BTreeMap, BTreeSet};

use x811_eventlog::Record;
use x811_protocol::event::BodiesErased;
use x811_protocol::key::Profile;
use x811_protocol::stream::Subject;

use crate::finding::findings::{Cause, Findings, Spot};
use crate::record::examine::Whole;
use crate::record::places::Erasable;
use crate::replay::rows::Rows;
use crate::report::document::{AbsentBodies, Erasure};
use x811_world::erasure::why_not;

/// Most erasures that are listed.
const MAX_LISTED: usize = 1_000;

/// What is known of the bodies so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Erased {
    /// Envelopes whose bodies are not there and that no record has erased so far.
    missing: BTreeSet<u64>,
    /// By position, those that a record has, and the position of the first.
    erased_by: BTreeMap<u64, u64>,
    /// How many a record has.
    erased: u64,
    listed: Vec<Erasure>,
    left_out: u64,
}

/// A body that a record says was erased.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Named {
    /// Absent where no body may be erased.
    erasable: Option<Erasable>,
    /// Position of the record that erased it before.
    erased_by: Option<u64>,
}

impl Erased {
    /// Notes whether the body of the record is there.
    pub(crate) fn note(&mut self, whole: &Whole) {
        if whole.event.envelope().is_some() && whole.body.is_none() {
            self.missing.insert(whole.record.position());
        }
    }

    /// Takes the record for the reason why bodies are not there, and gives them by position;
    /// `rows` is what was noted before it.
    pub(crate) fn take(
        &mut self,
        record: &Record,
        erased: &BodiesErased,
        rows: &Rows,
    ) -> Vec<(u64, Named)> {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(Erasure {
                position: record.position(),
                operator: erased.operator.to_string(),
                is_ordered: erased.order.is_some(),
                reason_code: erased.reason_code.clone(),
                positions: erased.positions.clone(),
            });
        } else {
            self.left_out += 1;
        }
        let named = erased.positions.iter().map(|position| {
            self.erased += u64::from(self.missing.remove(position));
            let named = Named {
                erasable: rows.erasable(*position),
                erased_by: self.erased_by.get(position).copied(),
            };
            if named.erasable.is_some() {
                let by = self.erased_by.entry(*position);
                by.or_insert(record.position());
            }
            (*position, named)
        });
        named.collect()
    }

    /// How many are not there that no record has erased.
    pub(crate) fn missing(&self) -> u64 {
        self.missing.len() as u64
    }

    /// For the report.
    pub(crate) fn report(self) -> AbsentBodies {
        AbsentBodies {
            erased: self.erased,
            missing: self.missing.len() as u64,
            erasures: self.listed,
            erasures_left_out: self.left_out,
        }
    }
}

impl Named {
    /// Names what is wrong if it is of another subject than was ordered, where an order is kept.
    pub(crate) fn is_of(
        self,
        ordered: Option<Subject>,
        position: u64,
        spot: &Spot,
        findings: &mut Findings,
    ) {
        let of = self.erasable.map(|erasable| erasable.subject);
        if let (Some(ordered), Some(of)) = (ordered, of)
            && ordered != of
        {
            let sentence = format!(
                "position {position} is of {}, and {} was ordered",
                of.public_id(),
                ordered.public_id()
            );
            findings.add(spot, "positions", Cause::ReDecisionDiffers, sentence);
        }
    }

    /// Names what is wrong with its erasure, recorded at `spot`; `may` says whether bodies of a subject
    /// might be erased there.
    pub(crate) fn check(
        self,
        position: u64,
        spot: &Spot,
        may: impl Fn(Subject) -> bool,
        findings: &mut Findings,
    ) {
        let Some(erasable) = self.erasable else {
            let sentence = format!(
                "the record at position {position} is no REQUEST or RESULT and of no negotiation, session or \
                 agreement, or it is what both signed: no other body is erased"
            );
            findings.add(spot, "positions", Cause::ReDecisionDiffers, sentence);
            return;
        };
        let subject = erasable.subject;
        if erasable.body.profile == Profile::Direct {
            let sentence = format!(
                "the signature of the record at position {position} holds with its body alone \
                 (profile direct), and such bodies are not erased"
            );
            findings.add(spot, "positions", Cause::ReDecisionDiffers, sentence);
        }
        if !may(subject) {
            let why = why_not(subject);
            let sentence = format!("position {position} is of {why}: its bodies are not erased");
            findings.add(spot, "positions", Cause::ReDecisionDiffers, sentence);
        }
        if let Some(by) = self.erased_by {
            let sentence = format!(
                "the body of the record at position {position} was erased before, by the record at \
                 position {by}"
            );
            findings.add(spot, "positions", Cause::ReDecisionDiffers, sentence);
        }
        if erasable.body.is_there {
            let sentence = format!(
                "the body of the record at position {position} is still here: erase it from this \
                 copy, or throw the copy away"
            );
            findings.add(spot, "positions", Cause::BodyNotErased, sentence);
        }
    }
}
