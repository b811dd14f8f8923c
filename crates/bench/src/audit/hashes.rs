//! The hashes alone, as `x811 audit --hash-only` takes them, against raw SHA-256 over the same leaves
//! on the same cores: links and tree, without reading what the records say.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use rayon::prelude::*;
use serde::Serialize;
use x811_audit::{HashAudit, HashReport, Options, PAGE_RECORDS, Piece};
use x811_eventlog::{EventLog as _, Record};
use x811_ledger::port::LedgerStore as _;
use x811_protocol::digest::Digest;
use x811_store::Backend;

use crate::broken;
use crate::cpu::now;
use crate::figures::thousands;
use x811_console::failure::Failure;

/// What it should reach.
const TARGET_RATIO: f64 = 0.3;

/// Records it is measured with, at most; they are in memory.
const SAMPLE: usize = 100_000;

/// Turns of each.
const TURNS: usize = 10;

/// Records that one core takes at a time.
const AT_A_TIME: usize = 64;

/// What was measured.
#[derive(Debug, Serialize)]
pub(super) struct Hashes {
    ratio: f64,
    target_ratio: f64,
    records: usize,
    bytes: usize,
    records_per_second: f64,
    raw_sha256_records_per_second: f64,
}

/// Measures both in turns, over the first records of the log in `directory`.
pub(super) async fn measure(directory: &Path) -> Result<Hashes, Failure> {
    let leaves = leaves(directory).await?;
    let (mut raw, mut linked) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..TURNS {
        let started = now();
        hash(&leaves);
        raw += started.elapsed();
        let started = now();
        let report = link(&leaves);
        linked += started.elapsed();
        if !report.hashes_hold || report.records != leaves.len() as u64 {
            return Err(broken("the log is not linked"));
        }
    }
    let per_second = |time: Duration| (TURNS * leaves.len()) as f64 / time.as_secs_f64();
    Ok(Hashes {
        ratio: raw.as_secs_f64() / linked.as_secs_f64(),
        target_ratio: TARGET_RATIO,
        records: leaves.len(),
        bytes: leaves.iter().map(|leaf| leaf.bytes().len()).sum(),
        records_per_second: per_second(linked),
        raw_sha256_records_per_second: per_second(raw),
    })
}

async fn leaves(directory: &Path) -> Result<Vec<Record>, Failure> {
    let store = Backend::open_read_only(directory).await.map_err(broken)?;
    let mut leaves = Vec::new();
    while leaves.len() < SAMPLE {
        let next = leaves.len() as u64;
        let page = store.log().read(next, SAMPLE - leaves.len()).await;
        let page = page.map_err(broken)?;
        if page.is_empty() {
            break;
        }
        leaves.extend(page);
    }
    store.close().await;
    Ok(leaves)
}

/// SHA-256, and nothing else.
fn hash(leaves: &[Record]) {
    let digest = |leaf: &Record| black_box(Digest::of(leaf.bytes()));
    leaves.par_iter().with_max_len(AT_A_TIME).for_each(|leaf| {
        digest(leaf);
    });
}

/// What `x811 audit --hash-only` does with the leaves.
fn link(leaves: &[Record]) -> HashReport {
    let mut audit = HashAudit::new(&Options::default());
    for page in leaves.chunks(PAGE_RECORDS) {
        let leaf = |leaf: &Record| Piece::Leaf {
            leaf: leaf.clone(),
            line: None,
            path: None,
        };
        audit.take(page.iter().map(leaf).collect());
    }
    black_box(audit.finish())
}

impl Hashes {
    pub(super) fn text(&self) -> String {
        format!(
            "{:.2} of raw SHA-256 over the same leaves (target {:.2}): {} records a second, {} raw",
            self.ratio,
            self.target_ratio,
            thousands(self.records_per_second),
            thousands(self.raw_sha256_records_per_second)
        )
    }
}
