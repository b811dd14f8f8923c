//! `--checkpoint NOTE`: a signed checkpoint that the auditor noted elsewhere.

use std::path::Path;

use x811_audit::Report;
use x811_eventlog::Checkpoint;

use crate::bounded;
use crate::failure::Failure;

/// Most bytes of a note: with the signatures of many witnesses.
const MAX_BYTES: usize = 65_535;

/// Reads it from a file, or from standard input for `-`.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    let unread = |why: &dyn std::fmt::Display| {
        let message = format!("{} is no signed checkpoint: {why}", file.display());
        Failure::local("checkpoint", message)
            .hint("name a file with the note, as GET /log/checkpoint gives it")
    };
    let bytes = bounded::read(file, MAX_BYTES).map_err(|error| unread(&error))?;
    if bytes.len() > MAX_BYTES {
        return Err(unread(&format!("it has more than {MAX_BYTES} bytes")));
    }
    let note = String::from_utf8(bytes).map_err(|error| unread(&error))?;
    Checkpoint::claimed(&note).map_err(|error| unread(&error))?;
    Ok(note)
}

/// That it holds, where one was named and does.
pub(super) fn sentence(report: &Report) -> Option<String> {
    let held = report.noted_checkpoint?;
    let behind = report.records.saturating_sub(held.size);
    Some(format!(
        "the checkpoint you noted holds: the first {} records are those that it was signed over; {} \
         followed them",
        held.size, behind
    ))
}
