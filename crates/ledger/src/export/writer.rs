//! From a store to lines, a page at a time.

use std::io::Write;

use x811_eventlog::{Checkpoint, CheckpointError, EventLog, Frontier, Hash, ReadError, Record};
use x811_protocol::canonical::to_canonical;
use x811_protocol::event::{Event, LedgerEvent};

use crate::port::LedgerStore;
use x811_audit::export::{Header, Scope, Trailer};

/// Records read at a time; their bodies are held in memory together.
const PAGE: usize = 64;

/// Why a log was not exported.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file cannot be written.
    #[error("the export cannot be written: {0}. Check the disk and the target's permissions")]
    Write(#[from] std::io::Error),
    /// There is nothing to export.
    #[error("the log is empty: there is nothing to export")]
    Empty,
    /// Position 0 does not say whose log it is.
    #[error("position 0 is no `ledger_opened`, so the export has no header: audit the directory")]
    NotOpened,
    /// The log ended before its head.
    #[error(
        "the log names {size} records, but position {position} is not there: audit the directory"
    )]
    CutShort {
        /// Records there should be.
        size: u64,
        /// The first that is missing.
        position: u64,
    },
    /// A body with a line end in it was not written by this ledger.
    #[error(
        "the body at position {position} holds a line end: it was altered, audit the directory"
    )]
    BodyLine {
        /// Position of its record.
        position: u64,
    },
    /// The checkpoint is none.
    #[error("the checkpoint cannot be read: {0}")]
    Checkpoint(#[from] CheckpointError),
    /// The checkpoint covers records that are not there.
    #[error(
        "{signed} records were signed, but the log has {size}: it was restored from an older copy, \
         or the checkpoint is another ledger's"
    )]
    CutBehindCheckpoint {
        /// Records the checkpoint covers.
        signed: u64,
        /// Records there are.
        size: u64,
    },
    /// A line cannot be written as JSON.
    #[error("header or trailer cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// With which record an export of a log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpTo<'a> {
    /// The last one under this signed checkpoint: nothing is in the file that nobody signed
    /// (ledger-contract.md section 9).
    Checkpoint(&'a str),
    /// The last one of the log; of what stands behind the checkpoint, if there is one, only the file
    /// says that it is the ledger's.
    Head(Option<&'a str>),
    /// So many records from the first on, with no checkpoint: what can be read of a damaged log.
    Records(u64),
}

/// Writes the log up to that end to `out`, and returns the trailer. Records that are appended
/// meanwhile are left out. No signature or hash is checked here: that is the audit's work.
///
/// # Errors
/// See [`WriteError`]; `out` then holds a part of the export without trailer.
pub async fn write<S: LedgerStore>(
    store: &S,
    up_to: UpTo<'_>,
    out: &mut (impl Write + Send),
) -> Result<Trailer, WriteError> {
    let head_size = match up_to {
        // The last record of a damaged log may be what cannot be read.
        UpTo::Records(size) => size,
        UpTo::Checkpoint(_) | UpTo::Head(_) => store.log().head().await?.size,
    };
    let note = match up_to {
        UpTo::Checkpoint(note) => Some(note),
        UpTo::Head(note) => note,
        UpTo::Records(_) => None,
    };
    let signed = note.map(Checkpoint::claimed).transpose()?;
    let signed = signed.map(|checkpoint| checkpoint.size);
    if let Some(signed) = signed.filter(|signed| *signed > head_size) {
        let size = head_size;
        return Err(WriteError::CutBehindCheckpoint { signed, size });
    }
    let size = match up_to {
        UpTo::Checkpoint(_) => signed.unwrap_or(head_size),
        UpTo::Head(_) | UpTo::Records(_) => head_size,
    };
    let mut frontier = Frontier::new();
    let mut last = Hash::ZERO;
    if size == 0 {
        return Err(WriteError::Empty);
    }
    while frontier.size() < size {
        let position = frontier.size();
        let rest = usize::try_from(size - position).unwrap_or(usize::MAX);
        let page = store.log().read(position, PAGE.min(rest)).await?;
        if page.is_empty() {
            return Err(WriteError::CutShort { size, position });
        }
        if position == 0 {
            write_line(out, b"", &header(&page)?.to_line()?)?;
        }
        let positions: Vec<u64> = page.iter().map(Record::position).collect();
        let bodies = store.bodies(&positions).await?;
        for record in &page {
            write_line(out, b"r ", record.bytes())?;
            if let Some(body) = bodies.get(&record.position()) {
                if body.bytes.contains(&b'\n') {
                    let position = record.position();
                    return Err(WriteError::BodyLine { position });
                }
                write_line(out, b"b ", &body.bytes)?;
            }
            frontier.push(record.hash());
            last = record.hash();
            if let Some(note) = note.filter(|_| signed == Some(frontier.size())) {
                write_line(out, b"c ", &to_canonical(note))?;
            }
        }
    }
    let trailer = Trailer {
        head: last,
        records: None,
        root: frontier.root(),
        size: frontier.size(),
    };
    write_line(out, b"", &trailer.to_line()?)?;
    out.flush()?;
    Ok(trailer)
}

fn header(page: &[Record]) -> Result<Header, WriteError> {
    let first = page.first().ok_or(WriteError::NotOpened)?;
    match Event::from_json(first.event_json()) {
        Ok(Event::Ledger(LedgerEvent::Opened(opened))) => Ok(Header {
            opened,
            scope: Scope::Log,
        }),
        Ok(_) | Err(_) => Err(WriteError::NotOpened),
    }
}

fn write_line(out: &mut impl Write, letter: &[u8], bytes: &[u8]) -> std::io::Result<()> {
    out.write_all(letter)?;
    out.write_all(bytes)?;
    out.write_all(b"\n")
}
