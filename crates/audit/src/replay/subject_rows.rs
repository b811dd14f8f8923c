//! Rows of subjects beside interactions, and the index from members to them: what they should be.

use std::collections::BTreeMap;

use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::stream::Subject;

use x811_world::World;
use x811_world::projection;
use x811_world::row::SubjectRow;

/// What the row of one subject should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueSubject {
    /// Position of the last record that changed it.
    pub last_position: u64,
    /// Of its row in canonical form.
    pub digest: Digest,
    /// Every agent that was a member so far: entries of the index are never removed.
    pub members: Vec<Did>,
}

impl DueSubject {
    fn of(row: &SubjectRow) -> DueSubject {
        DueSubject {
            last_position: row.last_position,
            digest: row_digest(row),
            members: row.members.clone(),
        }
    }

    /// Adds the members that the subject had before.
    fn after(mut self, before: &DueSubject) -> DueSubject {
        let former = before.members.iter();
        let former: Vec<Did> = former
            .filter(|member| !self.members.contains(member))
            .copied()
            .collect();
        self.members.extend(former);
        self
    }
}

/// Digest of a row in canonical form.
pub fn row_digest(row: &SubjectRow) -> Digest {
    Digest::of(&to_canonical(row))
}

/// What the rows should be after the records so far.
#[derive(Debug, Clone, Default)]
pub struct SubjectRows(BTreeMap<Subject, DueSubject>);

impl SubjectRows {
    /// Takes what a record made of that subject; `world` is the state after it.
    pub(crate) fn fold(&mut self, world: &World, subject: Subject) {
        let row = projection::subject_row(world, subject);
        if let Some(row) = row {
            let due = DueSubject::of(&row);
            let due = match self.0.get(&subject) {
                Some(before) => due.after(before),
                None => due,
            };
            self.0.insert(subject, due);
        }
    }

    /// Nothing follows: downtime has moved the windows of what is live.
    pub(crate) fn close(&mut self, world: &World) {
        for subject in world.moving() {
            self.fold(world, subject);
        }
    }

    /// What is due of each subject.
    pub fn due(&self) -> &BTreeMap<Subject, DueSubject> {
        &self.0
    }
}
