//! Files that are made to be large in memory: millions of small lines, names nobody has.

use std::fs;
use std::io::{BufReader, Read};

use x811_audit::{Report, audit_export};

use super::deal::{Deal, Until};
use super::ledgerbox::Ledgerbox;
use super::scene::exported;

/// What the audit of small lines may take at most, however many there are, besides what it takes of any;
/// and of lines as long as records, whose pages are full.
const SMALL_BYTES: u64 = 24 << 20;
const LONG_BYTES: u64 = 48 << 20;

/// Lines that are made while they are read, so that none is in memory before.
struct Lines<F> {
    line: F,
    number: u64,
    count: u64,
    rest: Vec<u8>,
}

impl<F: FnMut(u64) -> String> Read for Lines<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.rest.len() < buffer.len() && self.number < self.count {
            self.rest.extend((self.line)(self.number).bytes());
            self.rest.push(b'\n');
            self.number += 1;
        }
        let length = self.rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest[..length]);
        self.rest.drain(..length);
        Ok(length)
    }
}

/// A number of `/proc/self/status`, in bytes.
fn status_bytes(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1_024)
}

/// Audits `head` and so many lines behind it; the report, and how much the process grew for it. Every
/// test is a process of its own; where one is not, or counts nothing, growth is not known.
fn audited(head: &[u8], count: u64, line: impl FnMut(u64) -> String) -> (Report, Option<u64>) {
    let before = status_bytes("VmHWM:");
    let lines = Lines {
        line,
        number: 0,
        count,
        rest: Vec::new(),
    };
    let report = audit_export(BufReader::new(head.chain(lines)), None).unwrap();
    let after = status_bytes("VmHWM:");
    (
        report,
        before.zip(after).map(|(before, after)| after - before),
    )
}

fn is_bounded(bound_bytes: u64, head: &[u8], count: u64, line: impl FnMut(u64) -> String) {
    let (report, grown) = audited(head, count, line);
    assert!(!report.findings.is_empty() && report.is_broken());
    if let Some(grown) = grown {
        assert!(grown < bound_bytes, "it took {} kB more", grown >> 10);
    }
}

/// The first records of an honest log, as lines.
async fn honest() -> Vec<u8> {
    let ledgerbox = Ledgerbox::open().await;
    Deal::opened(&ledgerbox, Until::Pending).await;
    let bytes = exported(&ledgerbox).await;
    // Once, so that what every audit takes is taken.
    audit_export(&bytes[..], None).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().take(3).collect();
    format!("{}\n", lines.join("\n")).into_bytes()
}

/// The header of a bundle of the same log.
fn bundle_of(head: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(head.to_vec()).unwrap();
    let header = text.lines().next().unwrap();
    let scope = r#""scope":{"interaction":"019b76da-a800-7000-8000-000000000001"}"#;
    let header = header.replace(r#""scope":"log""#, scope);
    format!("{header}\n").into_bytes()
}

fn record(position: u64, stream: &str) -> String {
    let zeros = "0".repeat(64);
    format!(
        r#"r {{"event":{{"type":"x"}},"position":{position},"prev":"{zeros}","recorded_at_ms":1767225600007,"stream":"{stream}","stream_seq":0,"v":1}}"#
    )
}

#[tokio::test]
async fn lc_9_lines_that_are_no_records_take_no_memory() {
    let head = honest().await;
    is_bounded(
        SMALL_BYTES,
        &head[..head.iter().position(|b| *b == b'\n').unwrap() + 1],
        1_000_000,
        |_| "r ".to_owned(),
    );
}

#[tokio::test]
async fn lc_9_ends_of_streams_that_nobody_has_take_no_memory() {
    let head = bundle_of(&honest().await);
    let signature = "A".repeat(86);
    is_bounded(SMALL_BYTES, &head, 150_000, |number| {
        format!(r#"e {{"signature":"{signature}","stream":"s{number}","tree_size":1}}"#)
    });
}

#[tokio::test]
async fn lc_9_words_as_long_as_a_record_are_not_quoted_whole() {
    let head = honest().await;
    let long = "x".repeat(60_000);
    is_bounded(LONG_BYTES, &head, 2_000, |number| {
        record(2 + number, "ledger").replace(r#""type":"x""#, &format!(r#""type":"{long}""#))
    });
}
