//! Any flipped bit is found, and the record it was flipped in is named.

use rayon::prelude::*;
use x811_audit::export::{Fault, FaultKind, Header, Item, Reader};
use x811_audit::{Cause, ExportAudit, Finding};

use super::bundles::{bundle, interactions, signed};
use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::party::Account;
use super::scene::{exported, exported_under, settled_and_disputed};
use super::size::size;

/// Items behind a change that are audited before the whole rest is: a change in a record shows
/// there at the latest, but for what only the end can tell.
const ITEMS_BEHIND: usize = 2;

/// Distance in bytes between two flips in the gate. It has no factor in common with 8, so each bit has its turn.
const FLIP_STEP: u32 = 13;

/// An export, and the audit of it before each of its items, so that a change in an item need not be
/// audited from the beginning.
struct Walk {
    bytes: Vec<u8>,
    header: Header,
    items: Vec<Before>,
    /// First byte of each line, and the position that it belongs to.
    lines: Vec<(usize, u64)>,
}

/// What was known before an item.
struct Before {
    /// Its first line, from 1.
    line: u64,
    /// Its first byte.
    start: usize,
    /// Records before it.
    records: u64,
    audit: ExportAudit,
}

impl Walk {
    fn through(bytes: Vec<u8>) -> Walk {
        let mut audit = ExportAudit::new(None);
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        let header = Header::parse(&bytes[..end]).unwrap();
        let ends = (1..).zip(&bytes).filter(|(_, byte)| **byte == b'\n');
        let starts: Vec<usize> = std::iter::once(0).chain(ends.map(|(end, _)| end)).collect();
        let (mut items, mut lines) = (Vec::new(), Vec::new());
        let (mut records, mut position) = (0, 0);
        for item in Reader::new(&bytes[..]) {
            let item = item.unwrap();
            let line = lines.len() as u64 + 1;
            items.push(Before {
                line,
                start: starts[lines.len()],
                records,
                audit: audit.clone(),
            });
            let mut of_item = 1;
            if let Item::Record(record) = &item {
                let leaf = x811_eventlog::Record::parse(record.leaf.clone()).unwrap();
                (position, records) = (leaf.position(), records + 1);
                let beside = [record.body.is_some(), record.path.is_some()];
                of_item += beside.into_iter().filter(|is_there| *is_there).count();
            }
            for _ in 0..of_item {
                lines.push((starts[lines.len()], position));
            }
            audit.take(Ok(item)).unwrap();
        }
        assert!(audit.finish().is_clean());
        Walk {
            bytes,
            header,
            items,
            lines,
        }
    }

    /// Flips bits of a byte; whether it was found, and whether its line or record was named.
    fn flip(&self, at: usize, bits: u8) -> (bool, bool) {
        let index = self.lines.partition_point(|(start, _)| *start <= at) - 1;
        let (line, position) = (index as u64 + 1, self.lines[index].1);
        let names = |findings: &[Finding]| {
            let mut findings = findings.iter();
            findings.any(|f| f.line == Some(line) || f.position == position)
        };
        let item = self.items.partition_point(|item| item.line <= line) - 1;
        if let Some(end) = self.items.get(item + 1 + ITEMS_BEHIND)
            && names(self.audit(item, end.start, at, bits, names).findings())
        {
            return (true, true);
        }
        let report = self.audit(item, self.bytes.len(), at, bits, names).finish();
        (!report.is_clean(), names(&report.findings))
    }

    /// The audit from an item on to the byte `end`, or until it is `enough`, with bits of the byte
    /// `at` flipped.
    fn audit(
        &self,
        item: usize,
        end: usize,
        at: usize,
        bits: u8,
        enough: impl Fn(&[Finding]) -> bool,
    ) -> ExportAudit {
        let before = &self.items[item];
        let mut audit = before.audit.clone();
        let mut bytes = self.bytes[before.start..end].to_vec();
        bytes[at - before.start] ^= bits;
        let reader = if item == 0 {
            Reader::new(&bytes[..])
        } else {
            Reader::resume(&bytes[..], &self.header, before.line - 1, before.records)
        };
        let is_cut_here = |item: &Result<Item, Fault>| {
            let fault = item.as_ref().err();
            end < self.bytes.len() && fault.is_some_and(|f| matches!(f.kind, FaultKind::NoTrailer))
        };
        for item in reader.take_while(|item| !is_cut_here(item)) {
            audit.take(item).unwrap();
            if enough(audit.findings()) {
                break;
            }
        }
        audit
    }

    /// Flips a bit of every byte at a distance of `X811_FLIP_STEP`, and all bits of some bytes and of the first
    /// line, which neither a hash nor a signature covers: everything has to be found, and almost everything to be named.
    fn sweep(&self) {
        let step = size("X811_FLIP_STEP", FLIP_STEP) as usize;
        let size = self.bytes.len();
        let first_line = self.bytes.iter().position(|byte| *byte == b'\n').unwrap();
        let sample = (0..first_line).chain((first_line..size).step_by(211 * step));
        let flips: Vec<(usize, u8)> = (0..size)
            .step_by(step)
            .map(|at| (at, 1 << (at % 8)))
            .chain(sample.flat_map(|at| (0..8).map(move |bit| (at, 1 << bit))))
            .collect();
        let missed = |(at, bits): &(usize, u8)| {
            let (is_found, is_named) = self.flip(*at, *bits);
            Some((*at, *bits, is_found)).filter(|_| !is_named)
        };
        // The ledger in the box has made the common pool one of a single thread.
        let pool = rayon::ThreadPoolBuilder::new().build().unwrap();
        let missed: Vec<(usize, u8, bool)> =
            pool.install(|| flips.par_iter().filter_map(missed).collect());
        let unfound = missed.iter().find(|(_, _, is_found)| !is_found);
        assert_eq!(unfound, None, "of {size} bytes");
        assert!(
            missed.len() * 100 <= flips.len(),
            "{} of {} flips are named elsewhere: {missed:?}",
            missed.len(),
            flips.len()
        );
    }
}

/// A log of about 200 kB: what is paid for and what is disputed, and others after them.
async fn large() -> Ledgerbox {
    let ledgerbox = settled_and_disputed().await;
    let first = Deal::opened(&ledgerbox, Until::Verified).await;
    while exported(&ledgerbox).await.len() < 190_000 {
        let account = Account::new(0x46);
        let mut next = Deal::between(&ledgerbox, &first.initiator, &first.provider, account);
        next.go(&ledgerbox, Until::Verified).await;
    }
    ledgerbox
}

#[tokio::test]
async fn promise_4_flipped_bytes_of_a_log_are_found_and_named() {
    let ledgerbox = large().await;
    let note = signed(&ledgerbox, ledgerbox.records().await.len() - 20).await;
    Walk::through(exported_under(&ledgerbox, Some(&note)).await).sweep();
}

#[tokio::test]
async fn promise_4_flipped_bytes_of_a_bundle_are_found_and_named() {
    let ledgerbox = settled_and_disputed().await;
    let ids = interactions(&ledgerbox).await;
    Walk::through(bundle(&ledgerbox, ids[1]).await).sweep();
}

#[tokio::test]
async fn promise_4_a_changed_leaf_is_blamed_and_not_its_neighbour() {
    let ledgerbox = settled_and_disputed().await;
    let bytes = exported(&ledgerbox).await;
    let text = String::from_utf8(bytes).unwrap();
    // `prev` of one record; the time of another, in its last digit: both stay good leaves.
    for (position, member) in [(5_u64, "\"prev\":\""), (6, "\"recorded_at_ms\":17673120")] {
        let line = text
            .lines()
            .position(|line| line.contains(&format!("\"position\":{position},")))
            .unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = lines[line].find(member).unwrap() + member.len();
        let digit = if lines[line].as_bytes()[at] == b'3' {
            "4"
        } else {
            "3"
        };
        lines[line].replace_range(at..=at, digit);
        let report = super::scene::audit((lines.join("\n") + "\n").as_bytes());
        let blamed: Vec<u64> = report
            .findings
            .iter()
            .filter(|finding| finding.cause == Cause::BytesChanged)
            .map(|finding| finding.position)
            .collect();
        assert!(!blamed.is_empty(), "{member}");
        assert!(
            blamed.iter().all(|at| *at == position),
            "{member}: {blamed:?}"
        );
        let first = &report.findings[0];
        assert_eq!(
            (first.position, first.line),
            (position, Some(line as u64 + 1))
        );
    }
}
