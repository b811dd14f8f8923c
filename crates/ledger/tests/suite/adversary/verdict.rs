//! What the audit says of a forged log, in one word.

use std::sync::Arc;

use x811_audit::export::{Body, CheckpointLine, Item, RecordLine};
use x811_audit::{ExportAudit, Options, Outcome, Report, Verdict};
use x811_eventlog::note::NoteKey;

use super::log::{Log, Sealing, Written};

/// The verdict of a report, for an auditor who has the ledger's key from elsewhere: of a log that is
/// not proven to be under it nothing is called clean (exit code 21).
pub(crate) fn judge(report: &Report) -> Outcome {
    match (report.verdict, report.trust.verdict) {
        (Outcome::Clean, Verdict::Asserted | Verdict::Broken) => Outcome::Incomplete,
        (verdict, _) => verdict,
    }
}

/// An honest log, and the audit of it before each record: a change in a record need not be audited
/// from the beginning.
pub(crate) struct Honest {
    pub(crate) log: Log,
    options: Options,
    /// The first record that `before` has an audit before.
    first: usize,
    before: Vec<(ExportAudit, Sealing)>,
}

impl Honest {
    /// Of a log that nothing is wrong with.
    pub(crate) fn of(log: Log) -> Honest {
        Honest::changed_from(log, 0)
    }

    /// The same, to be changed from the record of that place on.
    pub(crate) fn changed_from(log: Log, first: usize) -> Honest {
        let opened = log.header().unwrap().opened;
        let key = NoteKey::new(&*opened.origin, *opened.keys.checkpoint.as_bytes()).unwrap();
        let options = Options {
            trust: Some(key.into()),
            ..Options::default()
        };
        let mut honest = Honest {
            log,
            options,
            first,
            before: Vec::new(),
        };
        let (mut audit, mut sealing) = honest.begun(&honest.log);
        let mut before = Vec::new();
        for (at, written) in honest.log.records.iter().enumerate() {
            if at >= first {
                before.push((audit.clone(), sealing.clone()));
            }
            take(&mut audit, &mut sealing, written).unwrap();
        }
        let report = finish(audit, &sealing);
        assert_eq!(report.findings, []);
        assert_eq!(judge(&report), Outcome::Clean, "{report:#?}");
        honest.before = before;
        honest
    }

    fn begun(&self, log: &Log) -> (ExportAudit, Sealing) {
        let mut audit = ExportAudit::new(self.options.clone());
        if let Some(header) = log.header() {
            audit.take(Ok(Item::Header(Box::new(header)))).unwrap();
        }
        (audit, log.sealing())
    }

    /// The verdict on `records` in the place of the honest ones, of which those before `from` are the
    /// same. The rest is not read once something is found.
    pub(crate) fn verdict(&self, records: Vec<Arc<Written>>, from: usize) -> Outcome {
        let forged = Log {
            records,
            hand: self.log.hand.clone(),
        };
        let known = from.checked_sub(self.first).filter(|_| from > 0);
        let known = known.and_then(|at| self.before.get(at));
        let from = known.map_or(0, |_| from);
        let (mut audit, mut sealing) = known.cloned().unwrap_or_else(|| self.begun(&forged));
        for written in forged.records.iter().skip(from) {
            if take(&mut audit, &mut sealing, written).is_none() || !audit.findings().is_empty() {
                return Outcome::Broken;
            }
        }
        judge(&finish(audit, &sealing))
    }
}

/// Seals the next record and has it audited; `None` where it cannot be sealed.
fn take(audit: &mut ExportAudit, sealing: &mut Sealing, written: &Written) -> Option<()> {
    let line = 2 * sealing.size() + 2;
    let sealed = sealing.seal(written)?;
    let body = sealed.body.map(|bytes| Body {
        line: line + 1,
        bytes,
    });
    let record = RecordLine {
        line,
        leaf: sealed.leaf,
        body,
        path: None,
    };
    audit.take(Ok(Item::Record(record))).unwrap();
    Some(())
}

fn finish(mut audit: ExportAudit, sealing: &Sealing) -> Report {
    let line = 2 * sealing.size() + 2;
    let (note, trailer) = sealing.end();
    let checkpoint = CheckpointLine { line, note };
    audit.take(Ok(Item::Checkpoint(checkpoint))).unwrap();
    let line = line + 1;
    audit.take(Ok(Item::Trailer { line, trailer })).unwrap();
    audit.finish()
}
