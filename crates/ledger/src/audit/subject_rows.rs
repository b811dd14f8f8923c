//! Rows of subjects beside interactions: what they should be, and whether they are.

use std::collections::BTreeMap;

use x811_eventlog::ReadError;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::stream::Subject;

use crate::port::ReadModel;
use crate::projection;
use crate::row::SubjectRow;
use crate::world::{Subjects, World};

/// Rows read at a time.
const PAGE: usize = 1_000;

/// What the row of one subject should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Due {
    last_position: u64,
    digest: Digest,
}

impl Due {
    fn of(row: &SubjectRow) -> Due {
        Due {
            last_position: row.last_position,
            digest: digest(row),
        }
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
    pub(super) subject: Subject,
    pub(super) position: u64,
    pub(super) sentence: &'static str,
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
            self.0.insert(subject, Due::of(&row));
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
            compared.wrong.push(WrongRow {
                subject,
                position: due.last_position,
                sentence: "the log knows it, but it has no row",
            });
        }
        Ok(compared)
    }
}

impl Compared {
    fn note(&mut self, row: &SubjectRow, due: Option<Due>, is_moving: impl Fn(u64) -> bool) {
        let last_position = due.map_or(row.last_position, |due| due.last_position);
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
        self.wrong.push(WrongRow {
            subject: row.subject,
            position: last_position,
            sentence,
        });
    }
}
