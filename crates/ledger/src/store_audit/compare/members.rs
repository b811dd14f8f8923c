//! The index from members to the subjects that they may read, against what the log says.

use std::collections::{BTreeMap, BTreeSet};

use x811_eventlog::ReadError;
use x811_world::row::MemberRow;

use super::{Comparison, PAGE};
use crate::port::ReadModel;

const UNFOUNDED: &str = "the index lists it for an agent that is no member by the log";
const NOT_LISTED: &str = "the index does not list it for an agent that is a member by the log";

impl Comparison<'_> {
    /// Compares the whole index. Entries of subjects whose last record moved are left out, and entries too
    /// many while the rows are ahead.
    pub(super) async fn members<R: ReadModel>(&mut self, rows: &R) -> Result<(), ReadError> {
        let (mut due, mut moving) = self.due_members();
        let mut after: Option<MemberRow> = None;
        loop {
            let page = rows.subject_members(after.as_ref(), PAGE).await?;
            after = page.last().cloned();
            if after.is_none() {
                break;
            }
            let is_ahead = rows.applied_size().await? > self.size;
            for entry in page {
                let is_due = due.remove(&entry).is_some() || moving.remove(&entry);
                if !is_due && !is_ahead {
                    self.wrong_member(&entry, self.size.saturating_sub(1), UNFOUNDED);
                }
            }
        }
        for (entry, position) in due {
            self.wrong_member(&entry, position, NOT_LISTED);
        }
        Ok(())
    }

    /// The entries that should be there, each with the last position of its subject; and those of subjects
    /// whose last record moved.
    fn due_members(&self) -> (BTreeMap<MemberRow, u64>, BTreeSet<MemberRow>) {
        let rows = self.auditor.rows();
        let (mut due, mut moving) = (BTreeMap::new(), BTreeSet::new());
        let listed = rows.subjects();
        for (number, subject) in listed.filter(|(_, subject)| subject.has_list()) {
            let Some(row) = rows.expected(number).map(|expected| expected.row) else {
                continue;
            };
            let entries = MemberRow::of(subject, &row.members);
            if self.moved(row.last_position) {
                moving.extend(entries);
            } else {
                due.extend(entries.map(|entry| (entry, row.last_position)));
            }
        }
        (due, moving)
    }

    fn wrong_member(&mut self, entry: &MemberRow, position: u64, sentence: &str) {
        let MemberRow { kind, member, id } = entry;
        let stream = format!("{kind}:{id}");
        let sentence = format!("{kind} {id}: {sentence}: {member}");
        self.add(position, Some(stream.into()), "subject_members", sentence);
    }
}
