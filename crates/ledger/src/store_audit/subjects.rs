//! Rows of subjects beside interactions, and the index from members to them, against what the log says.

use std::collections::{BTreeMap, BTreeSet};

use x811_audit::rows::{DueSubject, SubjectRows, row_digest};
use x811_eventlog::ReadError;
use x811_protocol::stream::Subject;
use x811_world::Subjects;
use x811_world::row::{MemberRow, SubjectRow};

use crate::port::ReadModel;

/// Rows read at a time.
const PAGE: usize = 1_000;

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

/// Compares all rows. What `is_moving` says of the position of a row's last record is left out:
/// rows lag behind the log, or are ahead of what was read of it.
pub(super) async fn compare<R: ReadModel>(
    due: &SubjectRows,
    rows: &R,
    is_moving: impl Fn(u64) -> bool,
) -> Result<Compared, ReadError> {
    let mut compared = Compared::default();
    let mut left = due.due().clone();
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
    due_rows: &SubjectRows,
    rows: &R,
    size: u64,
    is_moving: impl Fn(u64) -> bool,
) -> Result<Vec<WrongRow>, ReadError> {
    let (mut due, mut moving) = (BTreeMap::new(), BTreeSet::new());
    for (subject, it) in due_rows.due() {
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
    fn note(&mut self, row: &SubjectRow, due: Option<DueSubject>, is_moving: impl Fn(u64) -> bool) {
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
            Some(due) if due.digest != row_digest(row) => "the row is not what the log adds up to",
            Some(_) => return,
        };
        let wrong = WrongRow::of(row.subject, last_position, sentence);
        self.wrong.push(wrong);
    }
}
