//! What the hash chain shows, and which record to blame.
//!
//! A link that does not fit says that one of two records was changed, not which. The next link
//! decides: a record whose own bytes were changed breaks the link *behind* it; if the link before
//! it broke too, it is the one that names a wrong predecessor.

use x811_eventlog::{Break, Hash};

use crate::finding::findings::{Cause, Findings, Spot};

/// Links that wait for the next record before somebody is blamed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    /// The record before the last, and the last.
    before: Option<Spot>,
    last: Option<Spot>,
    pending: Option<Pending>,
}

#[derive(Debug, Clone)]
struct Pending {
    /// The record that names another predecessor.
    names: Spot,
    /// Its predecessor, as far as it was given.
    named: Option<Spot>,
    expected: Hash,
    found: Hash,
}

impl Links {
    /// Takes what the chain verifier said of the record at `spot`.
    pub(crate) fn take(&mut self, spot: &Spot, breaks: Vec<Break>, findings: &mut Findings) {
        self.before = self.last.replace(spot.clone());
        let mut broken = None;
        for Break { position, cause } in breaks {
            if let x811_eventlog::Cause::LinkBroken { expected, found } = cause {
                broken = Some((position, expected, found));
            } else {
                report(spot, position, &cause, findings);
            }
        }
        let Some((position, expected, found)) = broken else {
            self.settle(false, findings);
            return;
        };
        self.settle(position == spot.position, findings);
        self.pending = Some(Pending {
            names: Spot {
                position,
                ..spot.clone()
            },
            named: self.before.clone(),
            expected,
            found,
        });
    }

    /// Nothing follows. `end_differs`: a head that somebody noted is not the hash of the last
    /// record, so that the last record was changed.
    pub(crate) fn finish(&mut self, end_differs: bool, findings: &mut Findings) {
        self.settle(end_differs, findings);
    }

    pub(crate) fn last(&self) -> Option<&Spot> {
        self.last.as_ref()
    }

    /// `next_broken`: the link behind the waiting one is broken too.
    fn settle(&mut self, next_broken: bool, findings: &mut Findings) {
        let Some(Pending {
            names,
            named,
            expected,
            found,
        }) = self.pending.take()
        else {
            return;
        };
        let (at, previous) = (names.position, names.position.saturating_sub(1));
        match named.filter(|named| !next_broken && named.position == previous) {
            Some(named) => findings.add(
                &named,
                "leaf",
                Cause::BytesChanged,
                format!(
                    "this record hashes to {expected}, but position {at} names {found} as the \
                     record before it: these bytes are not those that were written"
                ),
            ),
            None => findings.add(
                &names,
                "prev",
                Cause::BytesChanged,
                format!(
                    "it names {found} as the record before it, but position {previous} hashes to \
                     {expected}: one of the two was changed"
                ),
            ),
        }
    }
}

/// Names what was found at `position` while the record at `spot` was taken.
pub(crate) fn report(
    spot: &Spot,
    position: u64,
    cause: &x811_eventlog::Cause,
    findings: &mut Findings,
) {
    let here = Spot {
        position,
        line: spot.line,
        stream: spot.stream.clone().filter(|_| position == spot.position),
    };
    let (field, named) = match cause {
        x811_eventlog::Cause::NotARecord(_) => ("leaf", Cause::BytesChanged),
        x811_eventlog::Cause::Missing { .. } => ("position", Cause::Missing),
        x811_eventlog::Cause::Reordered { .. } => ("position", Cause::Reordered),
        x811_eventlog::Cause::Duplicated { .. } => ("position", Cause::Duplicated),
        x811_eventlog::Cause::TimeRanBack { .. } => ("recorded_at_ms", Cause::TimeRanBack),
        x811_eventlog::Cause::StreamGap { .. } => ("stream_seq", Cause::StreamGap),
        x811_eventlog::Cause::LinkBroken { .. } => ("prev", Cause::BytesChanged),
        x811_eventlog::Cause::BeyondHead { .. } | x811_eventlog::Cause::HeadDiffers { .. } => {
            ("head", Cause::HeadDiffers)
        }
    };
    findings.add(&here, field, named, cause.to_string());
}
