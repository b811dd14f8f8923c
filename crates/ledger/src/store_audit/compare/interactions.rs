//! Rows of interactions against what the log says of them.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use x811_eventlog::{BackendError, ReadError};
use x811_protocol::digest::Digest;
use x811_protocol::id::InteractionId;

use super::{Comparison, PAGE};
use crate::port::ReadModel;
use x811_audit::rows::{Digests, Expected, digests};
use x811_audit::shown;
use x811_protocol::stream::Stream;
use x811_world::row::InteractionRow;

impl<'a> Comparison<'a> {
    pub(super) async fn interactions<R: ReadModel>(&mut self, rows: &R) -> Result<(), ReadError> {
        let mut page = rows.interactions(None, PAGE).await?;
        while let Some(last) = page.last() {
            let after = last.id;
            let (done, digested) = oneshot::channel();
            rayon::spawn(move || {
                let digests: Vec<Digests> =
                    page.par_iter().map(|row| digests(&row.detail)).collect();
                // Nobody waits for it where reading failed.
                let _ = done.send((page, digests));
            });
            let next = rows.interactions(Some(after), PAGE).await?;
            self.is_ahead = rows.applied_size().await? > self.size;
            let (found, digests) = digested.await.map_err(|lost| {
                let lost: BackendError = Box::new(lost);
                ReadError::Backend(lost)
            })?;
            for (row, digests) in found.iter().zip(digests) {
                self.row(row, &digests);
            }
            page = next;
        }
        self.missing_rows();
        Ok(())
    }

    fn row(&mut self, row: &InteractionRow, digests: &Digests) {
        let expected = self.expected(row.id);
        if !self.auditor.knows(row.id) || (self.is_ahead && self.moved(row.last_position)) {
            self.check.not_compared += 1;
            return;
        }
        let Some(expected) = expected else {
            let sentence = "there is a row, but the log knows no such interaction";
            self.differs(row.id, row.last_position, "row", sentence.to_owned());
            return;
        };
        if self.moved(expected.kept.last_position) {
            self.check.not_compared += 1;
            return;
        }
        self.check.interactions += 1;
        self.fields(row, digests, &expected);
    }

    /// What the row of an interaction should be, the first time it is asked for.
    fn expected(&mut self, id: InteractionId) -> Option<Expected<'a>> {
        let rows = self.auditor.rows();
        let number = rows.number(id).filter(|number| self.listed.take(*number))?;
        rows.expected(number)
    }

    fn fields(&mut self, row: &InteractionRow, found: &Digests, expected: &Expected<'_>) {
        let (found, due) = (by_name(found), due_by_name(expected));
        if is_as_expected(row, expected) && found == due {
            return;
        }
        let position = expected.kept.last_position;
        // Clocks of all may have moved in records between rows and log.
        let clocks_moved = self.is_ahead
            || self
                .auditor
                .rows()
                .last_every_clock()
                .is_some_and(|at| at >= self.applied_size);
        let (listed, expected) = (members(row), expected_members(expected));
        for ((name, listed), (_, due)) in listed.iter().zip(&expected) {
            if listed == due || (clocks_moved && *name == "deadline_at_ms") {
                continue;
            }
            let (listed, due) = (shown(Some(listed)), shown(Some(due)));
            let sentence = format!("the row says {listed}, the log says {due}");
            self.differs(row.id, position, name, sentence);
        }
        let mut names: Vec<&str> = found.keys().chain(due.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let is_clock = clocks_moved && name == "settlement";
            if found.get(name) != due.get(name) && !is_clock {
                let found = shown(row.detail.get(name));
                let sentence = format!("the row says {found}, which is not what the log says");
                self.differs(row.id, position, &format!("detail.{name}"), sentence);
            }
        }
    }

    /// Interactions that the rows should know.
    fn missing_rows(&mut self) {
        let rows = self.auditor.rows();
        let missing = self.listed.left(rows);
        let mut missing: Vec<_> = missing
            .filter_map(|(number, id)| Some((id, rows.expected(number)?.kept)))
            .collect();
        missing.sort_unstable_by_key(|(id, _)| *id);
        for (id, expected) in missing {
            if !self.auditor.knows(id) || expected.opened_position >= self.applied_size {
                self.check.not_compared += 1;
                continue;
            }
            let sentence = "the log knows this interaction, but it has no row".to_owned();
            self.differs(id, expected.last_position, "row", sentence);
        }
    }

    fn differs(&mut self, id: InteractionId, position: u64, field: &str, sentence: String) {
        let sentence = format!("interaction {}: {sentence}", id.request_id().uuid());
        let stream = Stream::interaction(id).to_string();
        self.add(position, Some(stream.into()), field, sentence);
    }
}

/// The members of a row but its detail, by name.
fn members(row: &InteractionRow) -> [(&'static str, Value); 8] {
    [
        ("initiator", json!(row.initiator)),
        ("provider", json!(row.provider)),
        ("state", json!(row.state)),
        ("total", json!(row.total)),
        ("deadline_at_ms", json!(row.deadline_at_ms)),
        ("opened_at_ms", json!(row.opened_at_ms)),
        ("updated_at_ms", json!(row.updated_at_ms)),
        ("last_position", json!(row.last_position)),
    ]
}

/// The same of what the log says.
fn expected_members(expected: &Expected<'_>) -> [(&'static str, Value); 8] {
    let kept = expected.kept;
    [
        ("initiator", json!(expected.initiator)),
        ("provider", json!(expected.provider)),
        ("state", json!(kept.state.as_str())),
        ("total", json!(kept.total)),
        ("deadline_at_ms", json!(kept.deadline_at_ms)),
        ("opened_at_ms", json!(kept.opened_at_ms)),
        ("updated_at_ms", json!(kept.updated_at_ms)),
        ("last_position", json!(kept.last_position)),
    ]
}

/// Whether all of these members are as they should be.
fn is_as_expected(row: &InteractionRow, expected: &Expected<'_>) -> bool {
    let kept = expected.kept;
    row.initiator == expected.initiator
        && row.provider == expected.provider
        && row.state == kept.state.as_str()
        && row.total == kept.total
        && row.deadline_at_ms == kept.deadline_at_ms
        && row.opened_at_ms == kept.opened_at_ms
        && row.updated_at_ms == kept.updated_at_ms
        && row.last_position == kept.last_position
}

fn due_by_name<'a>(expected: &Expected<'a>) -> BTreeMap<&'a str, Digest> {
    let members = expected.kept.detail.iter();
    members
        .map(|(member, digest)| (member.as_str(), *digest))
        .collect()
}

fn by_name(digests: &Digests) -> BTreeMap<&str, Digest> {
    digests
        .iter()
        .map(|(name, digest)| (&**name, *digest))
        .collect()
}
