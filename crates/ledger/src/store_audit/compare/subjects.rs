//! Rows of subjects against what the log says of them.

use rayon::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::sync::oneshot;
use x811_eventlog::{BackendError, ReadError};
use x811_protocol::stream::Subject;
use x811_world::Subjects;

use super::{Comparison, PAGE};
use crate::port::ReadModel;
use x811_audit::rows::{Digests, Expected, digests};
use x811_audit::shown;
use x811_world::row::SubjectRow;

/// A row with the digests of its detail, and the detail.
type Digested = (SubjectRow<Digests>, Value);

impl Comparison<'_> {
    pub(super) async fn subjects<R: ReadModel>(&mut self, rows: &R) -> Result<(), ReadError> {
        for kind in Subjects::KINDS {
            let mut page = rows.subjects(kind, None, None, PAGE).await?;
            while let Some(last) = page.last() {
                let after = last.subject;
                let (done, digested) = oneshot::channel();
                rayon::spawn(move || {
                    let digested: Vec<Digested> = page.into_par_iter().map(digest).collect();
                    // Nobody waits for it where reading failed.
                    let _ = done.send(digested);
                });
                let next = rows.subjects(kind, None, Some(after), PAGE).await?;
                self.is_ahead = rows.applied_size().await? > self.size;
                let found = digested.await.map_err(|lost| {
                    let lost: BackendError = Box::new(lost);
                    ReadError::Backend(lost)
                })?;
                for (row, detail) in found {
                    self.row(&row, &detail);
                }
                page = next;
            }
        }
        self.missing_rows();
        Ok(())
    }

    fn row(&mut self, row: &SubjectRow<Digests>, detail: &Value) {
        let subject = row.subject;
        let expected = self.expected(subject);
        let is_known = self.auditor.has_replayed(subject);
        if !is_known || (self.is_ahead && self.moved(row.last_position)) {
            self.check.not_compared += 1;
            return;
        }
        let Some(expected) = expected else {
            let kind = subject.kind();
            let sentence = format!("there is a row, but the log knows no such {kind}");
            self.differs(subject, row.last_position, "row", sentence);
            return;
        };
        if self.moved(expected.row.last_position) {
            self.check.not_compared += 1;
            return;
        }
        let compared = match subject.interaction() {
            Some(_) => &mut self.check.interactions,
            None => &mut self.check.subjects,
        };
        *compared += 1;
        if *row != expected.row {
            self.fields(row, detail, &expected.row);
        }
    }

    /// The row that a subject should have, the first time that it is asked for.
    fn expected(&mut self, subject: Subject) -> Option<Expected> {
        let rows = self.auditor.rows();
        let number = rows.number(subject);
        let number = number.filter(|number| self.listed.take(*number))?;
        rows.expected(number)
    }

    fn fields(
        &mut self,
        row: &SubjectRow<Digests>,
        detail: &Value,
        expected: &SubjectRow<Digests>,
    ) {
        let (subject, position) = (row.subject, expected.last_position);
        // Clocks of all may have moved in records between rows and log.
        let last = self.auditor.rows().last_every_clock();
        let clocks_moved = self.is_ahead || last.is_some_and(|at| at >= self.applied_size);
        let listed: BTreeMap<_, _> = columns(row).into_iter().collect();
        for (name, due) in columns(expected) {
            let listed = listed.get(name);
            if listed == Some(&due) || (clocks_moved && name == "deadline_at_ms") {
                continue;
            }
            let (listed, due) = (shown(listed), shown(Some(&due)));
            let sentence = format!("the row says {listed}, the log says {due}");
            self.differs(subject, position, name, sentence);
        }
        let (found, due) = (&row.detail, &expected.detail);
        let mut names: Vec<&str> = found.keys().chain(due.keys()).map(|name| &**name).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let is_clock = clocks_moved && name == "settlement";
            if found.get(name) != due.get(name) && !is_clock {
                let found = shown(detail.get(name));
                let sentence = format!("the row says {found}, which is not what the log says");
                self.differs(subject, position, &format!("detail.{name}"), sentence);
            }
        }
    }

    /// Subjects that the rows should know.
    fn missing_rows(&mut self) {
        let rows = self.auditor.rows();
        let mut missing: Vec<_> = self.listed.left(rows).collect();
        missing.sort_unstable_by_key(|(_, subject)| *subject);
        for (number, subject) in missing {
            let Some(expected) = rows.expected(number) else {
                continue;
            };
            let is_known = self.auditor.has_replayed(subject);
            if !is_known || expected.opened_position >= self.applied_size {
                self.check.not_compared += 1;
                continue;
            }
            let kind = subject.kind();
            let sentence = format!("the log knows this {kind}, but it has no row");
            self.differs(subject, expected.row.last_position, "row", sentence);
        }
    }

    fn differs(&mut self, subject: Subject, position: u64, field: &str, sentence: String) {
        let sentence = format!("{} {}: {sentence}", subject.kind(), subject.public_id());
        let stream = subject.to_string();
        self.add(position, Some(stream.into()), field, sentence);
    }
}

fn digest(row: SubjectRow) -> Digested {
    let digests = digests(&row.detail);
    let mut detail = Value::Null;
    let row = row.with_detail(|value| {
        detail = value;
        digests
    });
    (row, detail)
}

/// The members of a row except its detail, by name.
fn columns<D>(row: &SubjectRow<D>) -> Vec<(&'static str, Value)> {
    let mut columns =
        if let (Subject::Interaction(_), [initiator, provider]) = (row.subject, &row.members[..]) {
            vec![
                ("initiator", json!(initiator)),
                ("provider", json!(provider)),
            ]
        } else {
            vec![("members", json!(row.members))]
        };
    columns.extend([
        ("state", json!(row.state)),
        ("deadline_at_ms", json!(row.deadline_at_ms)),
        ("opened_at_ms", json!(row.opened_at_ms)),
        ("updated_at_ms", json!(row.updated_at_ms)),
        ("last_position", json!(row.last_position)),
    ]);
    columns
}
