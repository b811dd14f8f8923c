//! Bodies that are not there: which of them a record erased, and whether it might.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;
use x811_eventlog::Record;
use x811_protocol::event::BodiesErased;
use x811_protocol::id::InteractionId;
use x811_protocol::key::Profile;

use super::examine::Whole;
use super::finding::{Cause, Findings, Spot};
use super::report::{AbsentBodies, Erasure};
use crate::erasure::erasable_profile;
use crate::stream::Stream;

/// Most erasures that are listed.
const MAX_LISTED: usize = 1_000;

/// What is known of the bodies so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Erased {
    /// REQUESTs and RESULTs, by position.
    erasable: HashMap<u64, Erasable, RandomState>,
    /// Envelopes whose bodies are not there and that no record has erased so far.
    missing: BTreeSet<u64>,
    /// How many a record has.
    erased: u64,
    listed: Vec<Erasure>,
    left_out: u64,
}

#[derive(Debug, Clone, Copy)]
struct Erasable {
    interaction: InteractionId,
    profile: Profile,
    is_there: bool,
    /// Position of the record that erased it.
    erased_by: Option<u64>,
}

/// A body that a record says was erased; empty for one of no REQUEST or RESULT.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named(Option<Erasable>);

impl Erased {
    /// Notes whether the body of the record is there.
    pub(super) fn note(&mut self, whole: &Whole) {
        let (position, is_there) = (whole.record.position(), whole.body.is_some());
        if whole.event.envelope().is_some() && !is_there {
            self.missing.insert(position);
        }
        if let Some(Stream::Interaction(interaction)) = whole.stream
            && let Some(profile) = erasable_profile(&whole.event)
        {
            let erasable = Erasable {
                interaction,
                profile,
                is_there,
                erased_by: None,
            };
            self.erasable.insert(position, erasable);
        }
    }

    /// Takes the record for the reason why bodies are not there, and gives them by position.
    pub(super) fn take(&mut self, record: &Record, erased: &BodiesErased) -> Vec<(u64, Named)> {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(Erasure {
                position: record.position(),
                operator: erased.operator.to_string(),
                reason_code: erased.reason_code.clone(),
                positions: erased.positions.clone(),
            });
        } else {
            self.left_out += 1;
        }
        let named = erased.positions.iter().map(|position| {
            self.erased += u64::from(self.missing.remove(position));
            let erasable = self.erasable.get_mut(position);
            let named = erasable.map(|erasable| {
                let before = *erasable;
                erasable.erased_by.get_or_insert(record.position());
                before
            });
            (*position, Named(named))
        });
        named.collect()
    }

    /// For the report.
    pub(super) fn report(self) -> AbsentBodies {
        AbsentBodies {
            erased: self.erased,
            missing: self.missing.len() as u64,
            erasures: self.listed,
            erasures_left_out: self.left_out,
        }
    }
}

impl Named {
    /// Names what is wrong with its erasure, recorded at `spot`; `may` says whether bodies of an
    /// interaction might be erased there.
    pub(super) fn check(
        self,
        position: u64,
        spot: &Spot,
        may: impl Fn(InteractionId) -> bool,
        findings: &mut Findings,
    ) {
        let Some(erasable) = self.0 else {
            let sentence = format!(
                "the record at position {position} is no REQUEST or RESULT, and no other body is \
                 erased"
            );
            findings.add(spot, "positions", Cause::ReDecisionDiffers, sentence);
            return;
        };
        let interaction = erasable.interaction;
        if erasable.profile == Profile::Direct {
            let sentence = format!(
                "the signature of the record at position {position} holds with its body alone \
                 (profile direct), and such bodies are not erased"
            );
            findings.add(spot, "positions", Cause::ReDecisionDiffers, sentence);
        }
        if !may(interaction) {
            let sentence = format!(
                "position {position} is of the interaction {interaction}, which was not over or is \
                 in dispute: its bodies are not erased"
            );
            findings.add(spot, "positions", Cause::ReDecisionDiffers, sentence);
        }
        if let Some(by) = erasable.erased_by {
            let sentence = format!(
                "the body of the record at position {position} was erased before, by the record at \
                 position {by}"
            );
            findings.add(spot, "positions", Cause::ReDecisionDiffers, sentence);
        }
        if erasable.is_there {
            let sentence = format!(
                "the body of the record at position {position} is still here: erase it from this \
                 copy, or throw the copy away"
            );
            findings.add(spot, "positions", Cause::BodyNotErased, sentence);
        }
    }
}
