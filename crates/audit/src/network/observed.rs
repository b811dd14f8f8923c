//! Records that say what the watcher saw, or that it saw nothing. The rules are held against what
//! they say, and what follows from it is decided again; that it was so is the ledger's word. Of a
//! payment an endpoint of the auditor's choice can say the same; of what was absent nobody can
//! afterwards (settlement-watcher.md).

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use x811_protocol::event::{Event, FindingStatus, Looked, SettlementEvent};

/// Records that rest on what the watcher saw, where all else about them holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Observations {
    /// Whose evidence of payments an endpoint that the auditor chose confirmed, all of it.
    pub proven: u64,
    /// The ledger's word: nobody asked, or it cannot be asked for afterwards.
    pub asserted: u64,
    /// Of whose evidence the network says otherwise.
    pub broken: u64,
    /// How many of each type of event, and of looks that found nothing (`looked_not_found`).
    pub records: BTreeMap<&'static str, u64>,
}

impl Observations {
    /// Counts the record of `event`, if it says what the watcher saw.
    pub(crate) fn count(&mut self, event: &Event) {
        if let Some(kind) = kind(event) {
            self.asserted += 1;
            *self.records.entry(kind).or_default() += 1;
        }
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.proven + self.asserted + self.broken
    }

    /// Takes what the network says of the records at these positions.
    pub(crate) fn hold_against_network(&mut self, heard: &Heard) {
        let broken = (heard.differ.len() as u64).min(self.asserted);
        let proven = heard.same.difference(&heard.differ);
        let proven = proven.filter(|position| !heard.open.contains(position));
        let proven = (proven.count() as u64).min(self.asserted - broken);
        self.asserted -= broken + proven;
        self.broken += broken;
        self.proven += proven;
    }
}

/// Positions of records with evidence that the network was asked for, by its answers.
#[derive(Debug, Clone, Default)]
pub struct Heard {
    /// It has some evidence as the record says.
    pub same: BTreeSet<u64>,
    /// It says otherwise of some.
    pub differ: BTreeSet<u64>,
    /// It has some no longer, could not tell, or was not asked.
    pub open: BTreeSet<u64>,
}

impl Heard {
    /// Counts nothing of the record at this position.
    pub(crate) fn leave_out(&mut self, position: u64) {
        for positions in [&mut self.same, &mut self.differ, &mut self.open] {
            positions.remove(&position);
        }
    }
}

/// What an observation is counted as; `None` for what needs no watcher.
fn kind(event: &Event) -> Option<&'static str> {
    let rests_on_watcher = match event {
        Event::Settlement(SettlementEvent::Looked(looked)) if finds_nothing(looked) => {
            return Some("looked_not_found");
        }
        Event::Network(_)
        | Event::Settlement(
            SettlementEvent::Looked(_)
            | SettlementEvent::Seen(_)
            | SettlementEvent::Unseen(_)
            | SettlementEvent::Refuted(_)
            | SettlementEvent::Final(_)
            | SettlementEvent::Reversed(_)
            | SettlementEvent::Returned(_)
            | SettlementEvent::Late(_),
        )
        | Event::CycleDrawn(_) => true,
        // Nothing was looked at where nothing was due.
        Event::Settlement(SettlementEvent::Confirmed(confirmed)) => !confirmed.evidence.is_empty(),
        // An ACCEPT has the heads that were seen when it was taken.
        Event::EnvelopeAccepted(accepted) => accepted.derived.heads.is_some(),
        Event::Ledger(_)
        | Event::Agent(_)
        | Event::Lapsed(_)
        | Event::NoticeIssued(_)
        | Event::StateRoot(_)
        | Event::Effect(_) => false,
    };
    rests_on_watcher.then(|| event.type_name())
}

fn finds_nothing(looked: &Looked) -> bool {
    let mut findings = looked.finding.iter();
    findings.all(|finding| finding.status == FindingStatus::NotFound)
}
