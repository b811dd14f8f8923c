//! What of a damaged log can still be read, and that part as an export.

use std::path::{Path, PathBuf};

use serde::Serialize;
use x811_ledger::doctor::{Readable, readable};
use x811_ledger::export::UpTo;
use x811_store::Backend;

use crate::export::written;
use crate::failure::Failure;
use crate::output::{Out, Tone};

/// The records that can be read, from the first on.
#[derive(Debug, Serialize)]
pub(crate) struct Prefix {
    #[serde(flatten)]
    readable: Readable,
    /// Where they were written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    written_to: Option<PathBuf>,
}

impl Prefix {
    /// Reads as far as it goes, and writes that to `target` where one is named.
    pub(crate) async fn read(store: &Backend, target: Option<&Path>) -> Result<Prefix, Failure> {
        let readable = readable(store).await;
        let target = target.filter(|_| readable.records > 0);
        if let Some(target) = target {
            written(store, UpTo::Records(readable.records), target).await?;
        }
        Ok(Prefix {
            readable,
            written_to: target.map(Path::to_owned),
        })
    }

    /// For a person.
    pub(crate) fn print(&self, out: &mut Out, data_dir: &Path) {
        out.gap();
        out.heading(Tone::Waiting, self.sentence());
        match (&self.written_to, self.readable.records) {
            (Some(file), _) => {
                let file = file.display();
                out.line(format_args!("  They are in {file}: x811 audit {file}"));
            }
            (None, 1..) => out.line(format_args!(
                "  Write them out with x811 doctor {} --write-readable FILE",
                data_dir.display()
            )),
            (None, 0) => {}
        }
    }

    /// Up to where the log can be read, and why no further.
    pub(crate) fn sentence(&self) -> String {
        let why = self.readable.why.as_deref();
        let why = why.unwrap_or("nothing more is listed behind them");
        match self.readable.records.checked_sub(1) {
            Some(last) => format!(
                "the log can be read up to position {last} ({} records, head {}); then: {why}",
                self.readable.records, self.readable.head
            ),
            None => format!("nothing of the log can be read: {why}"),
        }
    }
}
