//! How far an audit is, for a person who waits.

use std::io::Read;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressBarIter, ProgressStyle};
use x811_audit::Options;

const OF_BYTES: &str = "auditing {wide_bar} {bytes} of {total_bytes}, {eta} left";
const OF_RECORDS: &str = "auditing {wide_bar} {human_pos} of {human_len} records, {eta} left";
const OF_TRANSACTIONS: &str =
    "asking the network {wide_bar} {human_pos} of {human_len} transactions, {eta} left";
const OF_A_STREAM: &str = "auditing {spinner} {bytes}, {bytes_per_sec}";

/// A line on standard error that says how much is done and how long it may take.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// One that is shown, or not.
    pub(super) fn new(is_shown: bool) -> Bar {
        Bar(if is_shown {
            ProgressBar::no_length()
        } else {
            ProgressBar::hidden()
        })
    }

    /// Follows how far `input` is read.
    pub(super) fn over_bytes<R: Read>(
        &self,
        input: R,
        size_bytes: Option<u64>,
    ) -> ProgressBarIter<R> {
        match size_bytes {
            Some(size_bytes) => {
                self.dress(OF_BYTES);
                self.0.set_length(size_bytes);
            }
            None => self.dress(OF_A_STREAM),
        }
        self.0.wrap_read(input)
    }

    /// Follows the audit of a store.
    pub(super) fn over_records(&self, options: Options) -> Options {
        self.dress(OF_RECORDS);
        let bar = self.0.clone();
        let on_progress = move |done, total| {
            bar.set_length(total);
            bar.set_position(done);
        };
        Options {
            on_progress: Some(Arc::new(on_progress)),
            ..options
        }
    }

    /// Follows how many transactions the network was asked about.
    pub(super) fn over_transactions(&self, count: u64) {
        self.dress(OF_TRANSACTIONS);
        self.0.reset();
        self.0.set_length(count);
    }

    /// So many more are done.
    pub(super) fn advance(&self, count: u64) {
        self.0.inc(count);
    }

    /// Leaves nothing of it on the terminal.
    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }

    fn dress(&self, template: &str) {
        // A template that cannot be read would only look plain.
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style.progress_chars("=> "));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}
