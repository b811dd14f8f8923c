//! Two files of one log held against each other: what they cannot both say is evidence that the ledger
//! told two people different things (ledger-contract.md section 8).
//!
//! | one | the other | what is compared |
//! |---|---|---|
//! | anything | anything | records of one position; checkpoints of one size |
//! | bundle, receipt | anything | records of one place in a stream |
//! | checkpoint | whole log | its root, and that over as many records |
//! | bundle, receipt | anything with records | ends of streams, and the records there |
//! | bundle, receipt | bundle, receipt | ends of one stream; keys statements |
//! | trace | whole log, bundle | every node, made anew from the records: `trace` |
//!
//! Neither is audited: what is wrong in one file alone is not looked for. Who said something is told
//! from signed checkpoints that cover it; what stands under none anybody may have written.
//!
//! In memory are the hashes of one of the two, 32 bytes for each record of a whole log and some hundred
//! for each of a bundle; the other is read once.

mod paper;
mod report;
mod trace;
mod word;

use std::collections::HashMap;
use std::io::BufRead;

use foldhash::fast::RandomState;
use x811_eventlog::{Frontier, Hash};
use x811_protocol::trace::TraceFault;

pub use paper::PaperKind;
use paper::{Identity, Opened, Paper, Said, Seen};
pub use report::{Comparison, Contradiction, Contradicts, PaperReport};
use report::{Findings, Side};
pub use trace::{TraceComparison, TraceDifference, TraceGap, compare_trace};

/// Why two files were not compared.
#[derive(Debug, thiserror::Error)]
pub enum AgainstError {
    /// The one of this name is nothing that can be compared.
    #[error("{name}: {why}")]
    Unreadable {
        /// The file, by the name that it was given.
        name: String,
        /// What is the matter with it.
        why: String,
    },
    /// The trace is none, or its signatures do not hold.
    #[error("{name}: the trace does not hold: {why}")]
    BrokenTrace {
        /// The file with the trace.
        name: String,
        /// What is the matter with it.
        why: TraceFault,
    },
    /// They are of two logs.
    #[error(
        "{one} is of the log {of_one}, {other} of {of_other}: files of two logs say nothing about each other"
    )]
    OtherLogs {
        /// The first file.
        one: String,
        /// The log that the first file is of: its origin, and its id where the file has it.
        of_one: String,
        /// The second file.
        other: String,
        /// The log that the second file is of.
        of_other: String,
    },
}

/// Holds what `other` says against what `one` says; both are named for people. A file that is no
/// whole log is kept in memory, and of two whole logs `one`: the smaller one takes less.
///
/// # Errors
/// [`AgainstError`] when they cannot be compared.
pub fn compare(
    (name, one): (&str, impl BufRead),
    (other_name, other): (&str, impl BufRead),
) -> Result<Comparison, AgainstError> {
    let one = Opened::of(one).map_err(|why| unreadable(name, why))?;
    let other = Opened::of(other).map_err(|why| unreadable(other_name, why))?;
    if let Some((of_one, of_other)) = Identity::differ(one.identity(), other.identity()) {
        return Err(AgainstError::OtherLogs {
            one: name.to_owned(),
            of_one,
            other: other_name.to_owned(),
            of_other,
        });
    }
    let (findings, one, other) = if one.is_whole() && !other.is_whole() {
        let (findings, other, one) = hold((other_name, other), (name, one))?;
        (findings.mirrored(), one, other)
    } else {
        hold((name, one), (other_name, other))?
    };
    let side = |name, paper, other| Side { name, paper, other };
    Ok(findings.report(side(name, &one, &other), side(other_name, &other, &one)))
}

/// Reads both, `one` first.
fn hold(
    (name, one): (&str, Opened<impl BufRead>),
    (other_name, other): (&str, Opened<impl BufRead>),
) -> Result<(Findings, Paper, Paper), AgainstError> {
    let mut index = Index::default();
    let one = one.read(|said| index.take(said));
    let one = one.map_err(|why| unreadable(name, why))?;
    let mut against = Against {
        index: &index,
        one: &one,
        mine: Frontier::new(),
        theirs: Frontier::new(),
        next: 0,
        findings: Findings::default(),
    };
    let other = other.read(|said| against.take(said));
    let other = other.map_err(|why| unreadable(other_name, why))?;
    let findings = against.finish(&other);
    Ok((findings, one, other))
}

fn unreadable(name: &str, why: String) -> AgainstError {
    AgainstError::Unreadable {
        name: name.to_owned(),
        why,
    }
}

/// What one file says, to be looked up.
#[derive(Debug, Default)]
struct Index {
    /// Of a whole log, in order from position 0.
    log: Vec<Hash>,
    /// Of a bundle or receipt, by position.
    records: HashMap<u64, Hash, RandomState>,
    /// The same by place in a stream.
    streams: HashMap<(Box<str>, u64), (u64, Hash), RandomState>,
}

impl Index {
    fn take(&mut self, said: Said<'_>) {
        match said {
            Said::Logged(hash, ..) => self.log.push(hash),
            Said::Placed(record, hash, _) => {
                self.records.insert(record.position(), hash);
                let place = (record.stream().into(), record.stream_seq());
                self.streams.insert(place, (record.position(), hash));
            }
            Said::Checkpoint(_) => {}
        }
    }

    fn at(&self, position: u64) -> Option<Hash> {
        let of_log = usize::try_from(position).ok();
        let of_log = of_log.and_then(|position| self.log.get(position));
        of_log.or_else(|| self.records.get(&position)).copied()
    }
}

/// A comparison on its way.
struct Against<'a> {
    index: &'a Index,
    one: &'a Paper,
    /// The tree over as many records of the one as were read of the other, where both are whole logs;
    /// and that over the other.
    mine: Frontier,
    theirs: Frontier,
    /// Which of the one's checkpoints comes next in order of size.
    next: usize,
    findings: Findings,
}

impl Against<'_> {
    fn take(&mut self, said: Said<'_>) {
        match said {
            Said::Logged(hash, record, _) => {
                let position = self.theirs.size();
                self.record(position, hash);
                if let Some(record) = record {
                    self.place(record.stream(), record.stream_seq(), position, hash);
                }
                self.theirs.push(hash);
                if let Ok(index) = usize::try_from(position)
                    && let Some(mine) = self.index.log.get(index)
                {
                    self.mine.push(*mine);
                }
                self.reached();
            }
            Said::Placed(record, hash, _) => {
                self.record(record.position(), hash);
                self.place(
                    record.stream(),
                    record.stream_seq(),
                    record.position(),
                    hash,
                );
            }
            Said::Checkpoint(seen) => self.checkpoint(seen),
        }
    }

    fn record(&mut self, position: u64, hash: Hash) {
        if let Some(mine) = self.index.at(position) {
            self.findings.record(position, mine, hash);
        }
    }

    /// A place of a stream: the one may have it at another position, or an end that hides it.
    fn place(&mut self, stream: &str, seq: u64, position: u64, hash: Hash) {
        let one = self.one;
        let hidden = one.words.against_record((stream, seq), position, hash);
        hidden.for_each(|found| self.findings.keep(found));
        if self.index.streams.is_empty() {
            return;
        }
        let mine = self.index.streams.get(&(stream.into(), seq));
        if let Some((at, mine)) = mine.filter(|(at, _)| *at != position) {
            self.findings
                .place(stream, seq, (*at, *mine), (position, hash));
        }
    }

    /// Holds the one's checkpoints over as many records as were read of the other against its tree.
    fn reached(&mut self) {
        let size = self.theirs.size();
        while let Some(seen) = self.one.checkpoints.get(self.next)
            && seen.size <= size
        {
            if seen.size == size {
                let here = self.theirs.root();
                self.findings.roots(size, seen.root, here);
            }
            self.next += 1;
        }
    }

    /// Holds a checkpoint of the other against the one's tree, where it is a whole log, and against its
    /// checkpoint of the same size.
    fn checkpoint(&mut self, seen: &Seen) {
        let mut own = self.one.checkpoints.iter();
        if let Some(own) = own.find(|own| own.size == seen.size) {
            self.findings.roots(seen.size, own.root, seen.root);
        }
        let Ok(size) = usize::try_from(seen.size) else {
            return;
        };
        if size == 0 || size > self.index.log.len() {
            return;
        }
        // In a log they stand where the tree has their size; elsewhere there is one alone.
        let here = if self.theirs.size() == seen.size {
            self.mine.root()
        } else if self.theirs.size() == 0 {
            x811_eventlog::root_of(&self.index.log[..size])
        } else {
            return;
        };
        self.findings.roots(seen.size, here, seen.root);
    }

    /// Nothing follows: the checkpoints of a bundle, receipt or note against each other were compared
    /// as they came. What the other file signed at its end is held against all of the one.
    fn finish(mut self, other: &Paper) -> Findings {
        for found in self.one.words.against(&other.words) {
            self.findings.keep(found);
        }
        let mut places: Vec<_> = self.index.streams.iter().collect();
        places.sort_by_key(|(_, (position, _))| *position);
        for ((stream, seq), (position, hash)) in places {
            let hidden = other.words.against_record((stream, *seq), *position, *hash);
            hidden.for_each(|found| self.findings.keep(found.mirrored()));
        }
        let behind = |paper: &Paper, size: u64| {
            let checkpoints = paper.checkpoints.iter();
            checkpoints.filter(|seen| seen.size > size).count() as u64
        };
        self.findings.beyond = match (self.one.is_whole(), other.is_whole()) {
            (true, true) => 0,
            (true, false) => behind(other, self.one.records),
            (false, true) => behind(self.one, other.records),
            (false, false) => 0,
        };
        self.findings
    }
}
