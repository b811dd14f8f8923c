//! Rows for readers against what the log says they should be.
//!
//! A running ledger moves under the audit: rows may lag behind the log, or be ahead of what was
//! read of it. What moved in between is not compared, and counted.

mod members;
mod subjects;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use x811_eventlog::ReadError;
use x811_protocol::did::Did;

use x811_audit::rows::{Lists, Number, Rows};
use x811_audit::{Auditor, Cause, Findings, ReadModelCheck, Spot};

use super::agents;
use crate::port::{DamagedRow, ReadModel, Stretch};
use x811_protocol::stream::{Stream, Subject};

/// Rows read at a time.
const PAGE: usize = 1_000;

/// Positions by stream, which are due.
struct Positions<'a> {
    rows: &'a Rows,
    /// Lists of subjects, by their number.
    lists: Lists,
    /// Of all other streams, until they were taken.
    others: HashMap<Box<str>, Vec<u64>, RandomState>,
    /// Subjects that were taken.
    taken: MetSubjects,
}

impl Positions<'_> {
    /// Takes what is due of a stream, which can be done once; `None` for a stream that is not in the
    /// log.
    fn take(&mut self, stream: &str) -> Option<Cow<'_, [u64]>> {
        if let Ok(Stream::Of(subject)) = stream.parse() {
            let number = self.rows.number(subject)?;
            let is_first = self.taken.take(number);
            return is_first.then(|| self.lists.of(number).into());
        }
        self.others.remove(stream).map(Cow::from)
    }

    /// Names of those that were not taken.
    fn left(&self) -> Vec<String> {
        let subjects = self.taken.left(self.rows);
        let subjects = subjects.map(|(_, subject)| subject.to_string());
        let others = self.others.keys().map(|name| name.to_string());
        subjects.chain(others).collect()
    }
}

/// The subjects that were met, by their number.
#[derive(Default)]
struct MetSubjects(Vec<bool>);

impl MetSubjects {
    /// Marks a subject as met; returns true if it was not.
    fn take(&mut self, number: Number) -> bool {
        let index = number.index();
        if self.0.len() <= index {
            self.0.resize(index + 1, false);
        }
        !std::mem::replace(&mut self.0[index], true)
    }

    /// Subjects that were not met.
    fn left(&self, rows: &Rows) -> impl Iterator<Item = (Number, Subject)> {
        let was_met = |number: Number| self.0.get(number.index()).copied().unwrap_or(false);
        rows.subjects().filter(move |(number, _)| !was_met(*number))
    }
}

/// Compares every row. `applied_size` was read before the log, `size` is how far it was read.
///
/// # Errors
/// When the rows cannot be read.
pub(super) async fn read_model<R: ReadModel>(
    auditor: &mut Auditor,
    rows: &R,
    applied_size: u64,
    size: u64,
) -> Result<ReadModelCheck, ReadError> {
    let others = auditor.take_other_streams();
    // What lost records left in these rows cannot be told from what was put there.
    let is_whole = auditor.not_replayed() == 0;
    let begin = || Comparison::new(auditor, applied_size, size);
    let (mut subjects, mut deliveries, mut streams) = (begin(), begin(), begin());
    subjects.rows_are_behind();
    if is_whole {
        let compared = subjects.members(rows).await;
        subjects.or_damaged(compared)?;
    }
    let mut agents = 0;
    if is_whole && applied_size >= size {
        let compared = subjects.agents(rows).await;
        agents = subjects.or_damaged(compared)?;
    }
    tokio::try_join!(
        async {
            let compared = subjects.subjects(rows).await;
            subjects.or_damaged(compared)
        },
        async {
            if is_whole {
                let compared = deliveries.deliveries(rows).await;
                deliveries.or_damaged(compared)?;
            }
            Ok(())
        },
        async {
            if is_whole {
                let compared = streams.streams(rows, others).await;
                streams.or_damaged(compared)?;
            }
            Ok(())
        },
    )?;
    let check = ReadModelCheck {
        applied_size,
        lag_records: size.saturating_sub(applied_size),
        deliveries: deliveries.check.deliveries,
        agents,
        ..subjects.check
    };
    for findings in [subjects.findings, deliveries.findings, streams.findings] {
        auditor.findings_mut().extend(findings);
    }
    Ok(check)
}

/// Rows of one kind against the log; several kinds are read at the same time.
struct Comparison<'a> {
    applied_size: u64,
    size: u64,
    /// The rows reflect records that were not read.
    is_ahead: bool,
    auditor: &'a Auditor,
    /// Subjects that have a row.
    listed: MetSubjects,
    findings: Findings,
    check: ReadModelCheck,
}

impl<'a> Comparison<'a> {
    fn new(auditor: &'a Auditor, applied_size: u64, size: u64) -> Comparison<'a> {
        Comparison {
            applied_size,
            size,
            is_ahead: false,
            auditor,
            listed: MetSubjects::default(),
            findings: Findings::default(),
            check: ReadModelCheck::default(),
        }
    }

    /// Makes a damaged row a finding, with which the comparison of its table ends.
    fn or_damaged<T: Default>(&mut self, compared: Result<T, ReadError>) -> Result<T, ReadError> {
        compared.or_else(|error| {
            let damaged = DamagedRow::reported_by(&error).cloned();
            damaged_row(&mut self.findings, self.size, &damaged.ok_or(error)?);
            Ok(T::default())
        })
    }

    /// Rows of agents, and what those have earned; how many were compared.
    async fn agents<R: ReadModel>(&mut self, rows: &R) -> Result<u64, ReadError> {
        let world = self.auditor.world();
        let compared = agents::compare(self.auditor.agent_rows(), world, self.size, rows);
        let (agents, wrong) = compared.await?;
        for wrong in wrong {
            let stream = Stream::Agent(wrong.did).to_string();
            self.add(
                wrong.position,
                Some(stream.into()),
                wrong.field,
                wrong.sentence,
            );
        }
        Ok(agents)
    }

    /// Rows follow the log: what they had reflected before the log was read must be in it.
    fn rows_are_behind(&mut self) {
        if self.applied_size <= self.size {
            return;
        }
        let (applied_size, size) = (self.applied_size, self.size);
        let spot = Spot::at(size);
        let sentence = format!(
            "the rows reflect {applied_size} records and the log has {size}: it was cut off, or \
             restored from an older copy"
        );
        let findings = &mut self.findings;
        findings.add(&spot, "read_model.applied_size", Cause::Missing, sentence);
    }

    /// Rows that reflect records which were not read, or lag behind them, stand for themselves.
    fn moved(&self, last_position: u64) -> bool {
        last_position >= self.applied_size.min(self.size)
    }

    async fn deliveries<R: ReadModel>(&mut self, rows: &R) -> Result<(), ReadError> {
        let until = self.applied_size.min(self.size);
        let delivered = self.auditor.rows().deliveries(until);
        let mut further = self.auditor.rows().further_deliveries(until);
        let recipients = self.auditor.rows().recipients();
        let registered = self.auditor.world().registered();
        let registered = registered.map(|(did, _)| did);
        let all: BTreeSet<Did> = recipients.keys().copied().chain(registered).collect();
        for recipient in all {
            let mut due = Vec::new();
            if let Some(number) = recipients.get(&recipient) {
                due.extend(delivered.of(*number).iter());
                due.extend(further.remove(&number.index()).unwrap_or_default());
                due.sort_unstable();
            }
            let mut found = Vec::new();
            let mut from = 0;
            loop {
                let page = rows.deliveries(recipient, from, PAGE).await?;
                let Some(last) = page.last() else {
                    break;
                };
                from = last.position.saturating_add(1);
                for delivery in page.iter().filter(|delivery| delivery.position < until) {
                    self.envelope(recipient, delivery.position, delivery.envelope_id);
                    found.push(delivery.position);
                }
            }
            self.check.deliveries += due.len() as u64;
            if let Some(position) = first_difference(&due, &found) {
                let sentence = format!(
                    "{} deliveries to {recipient} in the rows, {} in the log; the first that \
                     differs is at position {position}",
                    found.len(),
                    due.len()
                );
                self.add(position, None, "deliveries", sentence);
            }
        }
        Ok(())
    }

    fn envelope(&mut self, recipient: Did, position: u64, id: x811_protocol::id::EnvelopeId) {
        let known = self.auditor.envelope(id);
        if known != Some(position) {
            let id = id.uuid();
            let sentence = format!(
                "the delivery to {recipient} names envelope {id}, which is not the record's"
            );
            self.add(position, None, "deliveries.envelope_id", sentence);
        }
    }

    async fn streams<R: ReadModel>(
        &mut self,
        rows: &R,
        mut others: HashMap<Box<str>, Vec<u64>, RandomState>,
    ) -> Result<(), ReadError> {
        let until = self.applied_size.min(self.size);
        for positions in others.values_mut() {
            positions.retain(|at| *at < until);
        }
        let rows_due = self.auditor.rows();
        let mut due = Positions {
            rows: rows_due,
            lists: rows_due.positions(until),
            others,
            taken: MetSubjects::default(),
        };
        let mut different = BTreeMap::new();
        let mut listed: Option<Stretch> = None;
        loop {
            let after = listed
                .as_ref()
                .map(|last| (last.stream.clone(), last.last_seq));
            let page = rows.stretches(after, PAGE).await?;
            if page.is_empty() {
                break;
            }
            for stretch in page {
                if let Some(whole) = next_stretch(&mut listed, stretch) {
                    self.stream(whole, &mut due, &mut different);
                }
            }
        }
        if let Some(whole) = listed {
            self.stream(whole, &mut due, &mut different);
        }
        for stream in due.left() {
            let none = Stretch {
                stream,
                last_seq: 0,
                positions: Vec::new(),
            };
            self.stream(none, &mut due, &mut different);
        }
        for (name, position) in different {
            let sentence = format!(
                "the rows list the records of {name} otherwise than the log, first at position \
                 {position}"
            );
            self.add(position, Some(name.into()), "stream_records", sentence);
        }
        Ok(())
    }

    /// Compares what the rows list of a stream with what is due: nothing of a stream that is not in
    /// the log.
    fn stream(
        &self,
        listed: Stretch,
        due: &mut Positions<'_>,
        different: &mut BTreeMap<String, u64>,
    ) {
        let until = self.applied_size.min(self.size);
        let due = due.take(listed.stream.as_str()).unwrap_or_default();
        let mut found = listed.positions;
        found.retain(|at| *at < until);
        if let Some(position) = first_difference(&due, &found) {
            different.insert(listed.stream, position);
        }
    }

    fn add(&mut self, position: u64, stream: Option<Arc<str>>, field: &str, sentence: String) {
        let spot = Spot {
            position,
            line: None,
            stream,
        };
        let field = format!("read_model.{field}");
        let findings = &mut self.findings;
        findings.add(&spot, field, Cause::ReadModelDiffers, sentence);
    }
}

/// Adds the finding of a damaged row; the log has `size` records.
pub(super) fn damaged_row(findings: &mut Findings, size: u64, damaged: &DamagedRow) {
    let sentence = format!("{damaged}; the rows of this table after it were not compared");
    let field = format!("read_model.{}", damaged.table);
    let spot = Spot::at(size.saturating_sub(1));
    findings.add(&spot, field, Cause::ReadModelDiffers, sentence);
}

/// Adds `next` to what is listed of its stream; gives the stream before it, which is whole then.
fn next_stretch(listed: &mut Option<Stretch>, next: Stretch) -> Option<Stretch> {
    match listed {
        Some(last) if last.stream == next.stream => {
            last.last_seq = next.last_seq;
            last.positions.extend(next.positions);
            None
        }
        Some(_) | None => listed.replace(next),
    }
}

fn first_difference(due: &[u64], found: &[u64]) -> Option<u64> {
    let differs = due.iter().zip(found).find(|(due, found)| due != found);
    let shorter = due.len().min(found.len());
    differs
        .map(|(due, found)| *due.min(found))
        .or_else(|| due.get(shorter).or(found.get(shorter)).copied())
}
