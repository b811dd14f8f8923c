//! Rows of subjects beside interactions, and the index from members to them: what they should be, and
//! whether they are.

use std::collections::{BTreeMap, BTreeSet};

use x811_eventlog::ReadError;
use x811_protocol::canonical::to_canonical;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::stream::Subject;

use crate::port::ReadModel;
use crate::projection;
use crate::row::{MemberRow, SubjectRow};
use crate::world::{Subjects, World};

/// Rows read at a time.
const PAGE: usize = 1_000;

/// What the row of one subject should be.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Due {
    last_position: u64,
    digest: Digest,
    /// Every agent that was a member so far: entries of the index are never removed.
    members: Vec<Did>,
}

impl Due {
    fn of(row: &SubjectRow) -> Due {
        Due {
            last_position: row.last_position,
            digest: digest(row),
            members: row.members.clone(),
        }
    }

    /// Adds the members that the subject had before.
    fn after(mut self, before: &Due) -> Due {
        let former = before.members.iter();
        let former: Vec<Did> = former
            .filter(|member| !self.members.contains(member))
            .copied()
            .collect();
        self.members.extend(former);
        self
    }
}

fn digest(row: &SubjectRow) -> Digest {
    Digest::of(&to_canonical(row))
}

/// What the rows should be after the records so far.
#[derive(Debug, Clone, Default)]
pub(super) struct SubjectRows(BTreeMap<Subject, Due>);

/// A row that is not what the log adds up to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrongRow {
    /// The stream of the subject, as its row spells it.
    pub(super) stream: String,
    pub(super) position: u64,
    /// Name of the table, after `read_model.`.
    pub(super) field: &'static str,
    pub(super) sentence: String,
}

/// What a comparison came to.
#[derive(Debug, Default)]
pub(super) struct Compared {
    pub(super) subjects: u64,
    pub(super) not_compared: u64,
    pub(super) wrong: Vec<WrongRow>,
}

impl SubjectRows {
    /// Takes what a record made of that subject; `world` is the state after it.
    pub(super) fn fold(&mut self, world: &World, subject: Subject) {
        let row = projection::subject_row(world, subject);
        if let Some(row) = row {
            let due = Due::of(&row);
            let due = match self.0.get(&subject) {
                Some(before) => due.after(before),
                None => due,
            };
            self.0.insert(subject, due);
        }
    }

    /// Nothing follows: downtime has moved the windows of what is live.
    pub(super) fn close(&mut self, world: &World) {
        for subject in world.moving() {
            self.fold(world, subject);
        }
    }

    /// Compares all rows. What `is_moving` says of the position of a row's last record is left out:
    /// rows lag behind the log, or are ahead of what was read of it.
    pub(super) async fn compare<R: ReadModel>(
        &self,
        rows: &R,
        is_moving: impl Fn(u64) -> bool,
    ) -> Result<Compared, ReadError> {
        let mut compared = Compared::default();
        let mut left = self.0.clone();
        for kind in Subjects::KINDS {
            let mut after: Option<String> = None;
            loop {
                let page = rows.subjects(kind, None, after.as_deref(), PAGE).await?;
                let Some(last) = page.last() else {
                    break;
                };
                after = Some(last.subject.id());
                for row in &page {
                    compared.note(row, left.remove(&row.subject), &is_moving);
                }
            }
        }
        for (subject, due) in left {
            if is_moving(due.last_position) {
                compared.not_compared += 1;
                continue;
            }
            let sentence = "the log knows it, but it has no row";
            let wrong = WrongRow::of(subject, due.last_position, sentence);
            compared.wrong.push(wrong);
        }
        Ok(compared)
    }

    /// Compares the index from members to subjects of a log of `size` records. Entries of subjects
    /// whose last record `is_moving` are left out, and entries too many while the rows are ahead.
    pub(super) async fn compare_members<R: ReadModel>(
        &self,
        rows: &R,
        size: u64,
        is_moving: impl Fn(u64) -> bool,
    ) -> Result<Vec<WrongRow>, ReadError> {
        let (mut due, mut moving) = (BTreeMap::new(), BTreeSet::new());
        for (subject, it) in &self.0 {
            let entries = MemberRow::of(*subject, &it.members);
            if is_moving(it.last_position) {
                moving.insert((subject.kind(), subject.id()));
            } else {
                due.extend(entries.map(|entry| (entry, it.last_position)));
            }
        }
        let mut wrong = Vec::new();
        let mut after: Option<MemberRow> = None;
        loop {
            let page = rows.subject_members(after.as_ref(), PAGE).await?;
            after = page.last().cloned();
            if after.is_none() {
                break;
            }
            let is_ahead = rows.applied_size().await? > size;
            for entry in page {
                let is_moving = moving.contains(&(entry.kind.as_str(), entry.id.clone()));
                if due.remove(&entry).is_none() && !is_moving && !is_ahead {
                    wrong.push(WrongRow::of_member(
                        &entry,
                        size.saturating_sub(1),
                        UNFOUNDED,
                    ));
                }
            }
        }
        let missing = due.iter();
        wrong.extend(missing.map(|(entry, at)| WrongRow::of_member(entry, *at, NOT_LISTED)));
        Ok(wrong)
    }
}

const UNFOUNDED: &str = "the index lists it for an agent that is no member by the log";
const NOT_LISTED: &str = "the index does not list it for an agent that is a member by the log";

impl WrongRow {
    fn of(subject: Subject, position: u64, sentence: &str) -> WrongRow {
        WrongRow {
            stream: subject.to_string(),
            position,
            field: "row",
            sentence: format!("{} {}: {sentence}", subject.kind(), subject.public_id()),
        }
    }

    fn of_member(entry: &MemberRow, position: u64, sentence: &str) -> WrongRow {
        let MemberRow { kind, member, id } = entry;
        WrongRow {
            stream: format!("{kind}:{id}"),
            position,
            field: "subject_members",
            sentence: format!("{kind} {id}: {sentence}: {member}"),
        }
    }
}

impl Compared {
    fn note(&mut self, row: &SubjectRow, due: Option<Due>, is_moving: impl Fn(u64) -> bool) {
        let last_position = due
            .as_ref()
            .map_or(row.last_position, |due| due.last_position);
        if is_moving(row.last_position) || is_moving(last_position) {
            self.not_compared += 1;
            return;
        }
        self.subjects += 1;
        let sentence = match due {
            None => "there is a row, but the log knows nothing of it",
            Some(due) if due.digest != digest(row) => "the row is not what the log adds up to",
            Some(_) => return,
        };
        let wrong = WrongRow::of(row.subject, last_position, sentence);
        self.wrong.push(wrong);
    }
}
