//! Any flipped bit is found, and the record it was flipped in is named.

use x811_ledger::audit::{Cause, ExportAudit};
use x811_ledger::export::{Header, Item, Reader};

use crate::scene::{exported, settled_and_disputed};

/// An export, and the audit of it before each of its lines, so that a change in a line need not be
/// audited from the beginning.
struct Walk {
    bytes: Vec<u8>,
    header: Header,
    items: Vec<Before>,
    /// Position that each line, from 1, belongs to.
    positions: Vec<u64>,
}

/// What was known before an item.
struct Before {
    /// Its first line, from 1.
    line: u64,
    /// Its first byte.
    start: usize,
    audit: ExportAudit,
}

impl Walk {
    fn through(bytes: Vec<u8>) -> Walk {
        let mut audit = ExportAudit::new(None);
        let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
        let header = Header::parse(&bytes[..end]).unwrap();
        let ends = (1..).zip(&bytes).filter(|(_, byte)| **byte == b'\n');
        let starts: Vec<usize> = std::iter::once(0).chain(ends.map(|(end, _)| end)).collect();
        let (mut items, mut positions, mut records) = (Vec::new(), Vec::new(), 0_u64);
        for item in Reader::new(&bytes[..]) {
            let item = item.unwrap();
            let line = match &item {
                Item::Header(_) => 1,
                Item::Record(record) => record.line,
                Item::Trailer { line, .. } => *line,
                Item::Checkpoint(checkpoint) => checkpoint.line,
                Item::End(end) => end.line,
            };
            items.push(Before {
                line,
                start: starts[line as usize - 1],
                audit: audit.clone(),
            });
            let lines = match &item {
                Item::Record(record) => {
                    1 + usize::from(record.body.is_some()) + usize::from(record.path.is_some())
                }
                Item::Header(_) | Item::Checkpoint(_) | Item::End(_) | Item::Trailer { .. } => 1,
            };
            let position = match &item {
                Item::Trailer { .. } => records - 1,
                Item::Header(_) | Item::Record(_) => records,
                Item::Checkpoint(_) | Item::End(_) => records.saturating_sub(1),
            };
            positions.extend(std::iter::repeat_n(position, lines));
            records += u64::from(matches!(item, Item::Record(_)));
            audit.take(Ok(item)).unwrap();
        }
        assert!(audit.finish().is_clean());
        Walk {
            bytes,
            header,
            items,
            positions,
        }
    }

    /// Flips bits of a byte; whether it was found, and whether its line or record was named.
    fn flip(&self, at: usize, bits: u8) -> (bool, bool) {
        let line = 1 + self.bytes[..at]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count() as u64;
        let position = self.positions[line as usize - 1];
        let item = self.items.partition_point(|item| item.line <= line) - 1;
        let Before {
            line: first,
            start,
            ref audit,
        } = self.items[item];
        let mut audit = audit.clone();
        let mut bytes = self.bytes[start..].to_vec();
        bytes[at - start] ^= bits;
        let names = |findings: &[x811_ledger::audit::Finding]| {
            findings
                .iter()
                .any(|f| f.line == Some(line) || f.position == position)
        };
        let reader = if item == 0 {
            Reader::new(&bytes[..])
        } else {
            Reader::resume(&bytes[..], &self.header, first - 1, position)
        };
        for item in reader {
            audit.take(item).unwrap();
            if names(audit.findings()) {
                return (true, true);
            }
        }
        let report = audit.finish();
        (!report.is_clean(), names(&report.findings))
    }
}

#[tokio::test]
async fn promise_4_every_flipped_byte_is_found_and_named() {
    let ledgerbox = settled_and_disputed().await;
    let walk = Walk::through(exported(&ledgerbox).await);
    let size = walk.bytes.len();
    let sample = (0..size).step_by(29);
    let flips: Vec<(usize, u8)> = (0..size)
        .map(|at| (at, 1 << (at % 8)))
        .chain(sample.flat_map(|at| (0..8).map(move |bit| (at, 1 << bit))))
        .collect();
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let missed: Vec<(usize, u8, bool)> = std::thread::scope(|scope| {
        let parts = flips.chunks(flips.len().div_ceil(threads));
        let running: Vec<_> = parts
            .map(|part| {
                let walk = &walk;
                scope.spawn(move || {
                    let flipped = part
                        .iter()
                        .map(|(at, bits)| (*at, *bits, walk.flip(*at, *bits)));
                    flipped
                        .filter(|(_, _, (_, named))| !named)
                        .map(|(at, bits, (found, _))| (at, bits, found))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        let parts = running.into_iter();
        parts.flat_map(|part| part.join().unwrap()).collect()
    });
    let unfound: Vec<_> = missed.iter().filter(|(_, _, found)| !found).collect();
    assert_eq!(unfound, Vec::<&(usize, u8, bool)>::new(), "of {size} bytes");
    assert!(
        missed.len() * 100 <= flips.len(),
        "{} of {} flips are named elsewhere: {missed:?}",
        missed.len(),
        flips.len()
    );
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
        let report = crate::scene::audit((lines.join("\n") + "\n").as_bytes());
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
