//! `x811 audit LOG --proofs DIR`: a log against the proofs that an agent was given of its records. A
//! record that was proven and is not in the log was left out of it, whatever else holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_audit::checkpoint_note::verifies;
use x811_audit::export::{Item, Reader};
use x811_audit::{Cause, Finding, Outcome, Report};
use x811_eventlog::{EventLog as _, Hash, Policy, Record, TlogProof};
use x811_ledger::port::LedgerStore as _;

use super::bar::Bar;
use super::input;
use crate::bounded;
use crate::data_dir::open_store;
use crate::failure::Failure;

/// The largest proof file, in bytes: a record of 1 MiB in base64, and its path.
const MAX_BYTES: usize = 2 << 20;

/// A proof that holds by itself.
pub(super) struct Proven {
    file: PathBuf,
    position: u64,
    hash: Hash,
}

/// What came of the comparison.
#[derive(Debug, Serialize)]
pub(super) struct ProofsHeld {
    /// Proofs whose record is in the log.
    pub(super) held: u64,
    /// Proofs whose record is missing, or another one stands there.
    pub(super) broken: u64,
    /// Proofs of records that this extract of the log does not hold.
    pub(super) not_compared: u64,
}

impl ProofsHeld {
    /// The same for people.
    pub(super) fn sentence(&self) -> String {
        let ProofsHeld {
            held,
            broken,
            not_compared,
        } = self;
        let rest = match not_compared {
            0 => String::new(),
            count => format!("; {count} are of records that this extract does not hold"),
        };
        match broken {
            0 => format!("{held} records that an agent has proofs of are in the log{rest}"),
            count => format!(
                "{count} records that an agent has proofs of are NOT in the log, {held} are{rest}"
            ),
        }
    }
}

/// The proofs of a folder, each checked by the keys that are trusted. A file that does not hold is an
/// error: it says nothing of the log.
pub(super) fn read(folder: &Path, policy: &Policy) -> Result<Vec<Proven>, Failure> {
    let unread = |error: std::io::Error| {
        Failure::local("proofs", format!("{}: {error}", folder.display()))
            .hint("name the folder `proofs` of an agent's loop")
    };
    let mut proven = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread)? {
        let file = entry.map_err(unread)?.path();
        if file
            .extension()
            .is_some_and(|ending| ending == "tlog-proof")
        {
            proven.push(proof(file, policy)?);
        }
    }
    if proven.is_empty() {
        let message = format!("{} has no file that ends in .tlog-proof", folder.display());
        return Err(Failure::local("proofs", message).hint("name the folder of the proofs"));
    }
    proven.sort_by_key(|proof| proof.position);
    Ok(proven)
}

fn proof(file: PathBuf, policy: &Policy) -> Result<Proven, Failure> {
    let bad = |why: &dyn std::fmt::Display| {
        let message = format!("{} proves nothing: {why}", file.display());
        Failure::local("proof", message).hint("take the file away, or name the right --key")
    };
    let text = bounded::text(&file, MAX_BYTES).map_err(|error| bad(&error))?;
    let read = TlogProof::from_text(&text).map_err(|error| bad(&error))?;
    let leaf = read
        .extra
        .as_ref()
        .ok_or_else(|| bad(&"it has no record in it"))?;
    let hash = Hash::of_leaf(leaf);
    let trusted = policy.check(&read.checkpoint, verifies);
    let trusted = trusted.map_err(|error| bad(&error))?;
    read.verify(hash, &trusted.checkpoint)
        .map_err(|error| bad(&error))?;
    let position = read.index;
    Ok(Proven {
        file,
        position,
        hash,
    })
}

/// Holds the log against the proofs; what is missing breaks the report.
pub(super) async fn hold(
    proven: &[Proven],
    source: &Path,
    report: &mut Report,
) -> Result<ProofsHeld, Failure> {
    let wanted = proven.iter().map(|proof| proof.position).collect();
    let found = match source.is_dir() {
        true => in_directory(source, wanted).await?,
        false => in_export(source, &wanted)?,
    };
    let mut held = ProofsHeld {
        held: 0,
        broken: 0,
        not_compared: 0,
    };
    for proof in proven {
        match found.get(&proof.position) {
            Some(hash) if *hash == proof.hash => held.held += 1,
            None if report.extract.is_some() => held.not_compared += 1,
            other => {
                held.broken += 1;
                report.findings.push(finding(proof, other.copied()));
                *report
                    .findings_by_cause
                    .entry(Cause::NotIncluded)
                    .or_default() += 1;
            }
        }
    }
    if held.broken > 0 {
        report.findings.sort_by_key(|finding| finding.position);
        report.verdict = Outcome::Broken;
    }
    Ok(held)
}

fn finding(proof: &Proven, other: Option<Hash>) -> Finding {
    let Proven {
        file,
        position,
        hash,
    } = proof;
    let instead = match other {
        Some(other) => format!("the log has {other} there"),
        None => "the log has no such record".to_owned(),
    };
    Finding {
        position: *position,
        line: None,
        stream: None,
        field: "leaf".to_owned(),
        cause: Cause::NotIncluded,
        sentence: format!(
            "{} proves that record {position} is {hash}, signed by the ledger, and {instead}",
            file.display()
        ),
    }
}

async fn in_directory(
    directory: &Path,
    wanted: BTreeSet<u64>,
) -> Result<BTreeMap<u64, Hash>, Failure> {
    let store = open_store(directory).await?;
    let mut found = BTreeMap::new();
    for position in wanted {
        let page = store.log().read(position, 1).await;
        let page = page.map_err(|error| Failure::local("log", error.to_string()))?;
        found.extend(page.first().map(|record| (position, record.hash())));
    }
    Ok(found)
}

fn in_export(file: &Path, wanted: &BTreeSet<u64>) -> Result<BTreeMap<u64, Hash>, Failure> {
    let bytes = input(file, &Bar::new(false))?;
    let mut found = BTreeMap::new();
    for item in Reader::new(bytes) {
        // The audit says what is wrong with a line.
        let Ok(Item::Record(line)) = item else {
            continue;
        };
        if let Ok(record) = Record::parse(line.leaf)
            && wanted.contains(&record.position())
        {
            found.insert(record.position(), record.hash());
        }
    }
    Ok(found)
}
